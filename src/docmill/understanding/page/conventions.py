"""The conventions of a document: its language, the order of its dates, its decimal mark, its currency."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.schemas.document_types import DEFINITIONS
from docmill.understanding.page.layout import Layout
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.folding import token_texts
from docmill.understanding.text.money import (
    Mark,
    currency_in,
    decimal_mark,
    find_amounts,
    find_currencies,
    in_thousandths,
    replaced_by_euro,
)
from docmill.understanding.text.united_states import has_canadian_postcode, has_us_address, has_us_phone
from docmill.understanding.text.weekdays import orders_by_weekday
from docmill.understanding.vocabulary import LANGUAGES

_LEAST_LANGUAGE_SCORE = 2.5
_LEAST_LANGUAGE_LEAD = 1.25
_SHORTEST_TELLING_WORD = 2
_MOST_OF_ONE_WORD = 3
_COMMA_LANGUAGES = frozenset(language.code for language in LANGUAGES if language.decimal_comma)
_DOLLARS = [
    (re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE), code)
    for language in LANGUAGES
    for word, code in language.dollars.items()
]


@dataclass(frozen=True, slots=True)
class Conventions:
    """The conventions by which a document writes dates and amounts.

    language: ISO 639-1 code, None if unclear. day_first: whether the day stands before the month in dates.
    has_date_order: False if the dates do not tell, so that `day_first` only follows from the country. mark:
    the decimal mark. currency: ISO 4217 code of the most frequent currency, None if none is named.
    """

    language: str | None
    day_first: bool
    has_date_order: bool
    mark: Mark
    currency: str | None


def conventions(layout: Layout) -> Conventions:
    """Infer the conventions from all texts of the document.

    The order of dates is voted on by the dates that can be read in one way only and by weekdays. In a tie
    the month comes first on papers of the United States, told by dollars, addresses and telephone numbers.
    """
    texts = [segment.text for segment in layout.segments]
    numeric = [text for text in texts if any(map(str.isdecimal, text))]
    amounts = [amount for text in numeric for amount in find_amounts(text, misread=False)]
    dates = [written for text in numeric for written in find_dates(text)]
    text = "\n".join(texts)
    language = language_of(texts)
    codes = [currency_in(amount.symbol, language) for amount in amounts if amount.symbol]
    votes: Counter[str] = Counter(code for code in codes if code)
    votes.update(find_currencies(text))
    if "US$" in text:
        votes["USD"] += 2
    currency = _in_force(votes, [written.year for written in dates])
    is_bare = currency == "USD" and "USD" not in text and any(amount.symbol == "$" for amount in amounts)
    if is_bare and not has_us_address(text):  # a restaurant in the States may have Hong Kong in its name
        elsewhere = "CAD" if has_canadian_postcode(text) else currency
        currency = next((code for name, code in _DOLLARS if name.search(text)), elsewhere)
    day_first = sum(written.only_day_first or written.order == "day first" for written in dates)
    month_first = sum(written.only_month_first for written in dates)
    by_weekday = list(orders_by_weekday(text)) if any(written.order == "open" for written in dates) else []
    day_first += by_weekday.count("day first")
    month_first += by_weekday.count("month first")
    has_dollars = currency == "USD" and "$" in text
    is_american = currency in (None, "USD") and (
        has_us_address(text) or (language in (None, "en") and (has_us_phone(text) or has_dollars))
    )
    digits = [amount.digits for amount in amounts]
    default: Mark = "," if language in _COMMA_LANGUAGES else "."
    return Conventions(
        language=language,
        day_first=not is_american if day_first == month_first else day_first > month_first,
        has_date_order=day_first != month_first,
        mark=decimal_mark(digits, default=default, thousandths=in_thousandths(currency)),
        currency=currency,
    )


def _in_force(votes: Counter[str], years: Sequence[int]) -> str | None:
    """The currency that is named most often; of the euro and the one that it replaced, that of all dates.

    Around the change both are printed. years: of the dates of the document.
    """
    if not votes:
        return None
    replaced = replaced_by_euro()
    former = max((code for code in votes if code in replaced), key=votes.__getitem__, default=None)
    likeliest = votes.most_common(1)[0][0]
    if former is None or not years or likeliest not in ("EUR", former):
        return likeliest
    changed = replaced[former].year
    if max(years) < changed or "EUR" not in votes:
        return former
    return "EUR" if min(years) >= changed else likeliest


def _language_weights() -> dict[str, dict[str, float]]:
    """For each word its languages with their weights; a word of several languages says little of each."""
    languages: dict[str, set[str]] = {}
    for language in LANGUAGES:
        of_types = (
            by_language.get(language.code, ())
            for definition in DEFINITIONS.values()
            for by_language in (definition.words.titles, *definition.words.labels.values())
        )
        phrases = (*language.labels.values(), *language.titles.values(), *of_types)
        words = {word for several in phrases for phrase in several for word in token_texts(phrase)}
        for word in words | set(language.common):
            if len(word) >= _SHORTEST_TELLING_WORD:
                languages.setdefault(word, set()).add(language.code)
    return {word: dict.fromkeys(codes, 1 / len(codes) ** 2) for word, codes in languages.items()}


_LANGUAGE_WEIGHTS = _language_weights()


def language_of(texts: Sequence[str]) -> str | None:
    """ISO 639-1 code of the language that most words belong to; None if few do or two languages are close."""
    scores = {"": 0.0, " ": 0.0}  # so that there are two
    for word, count in Counter(word for text in texts for word in token_texts(text)).items():
        for code, weight in _LANGUAGE_WEIGHTS.get(word, {}).items():
            scores[code] = scores.get(code, 0.0) + weight * min(count, _MOST_OF_ONE_WORD)
    (best, score), (_, second) = sorted(scores.items(), key=lambda pair: -pair[1])[:2]
    return best if score >= max(_LEAST_LANGUAGE_SCORE, _LEAST_LANGUAGE_LEAD * second) else None
