"""The conventions of a document: its language, the order of its dates, its decimal mark, its currency."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docmill.understanding.page.layout import Layout
from docmill.understanding.text.dates import WrittenDate, find_dates
from docmill.understanding.text.folding import tokens
from docmill.understanding.text.money import (
    Mark,
    WrittenAmount,
    currency_in,
    decimal_mark,
    find_amounts,
    find_currencies,
    in_thousandths,
)
from docmill.understanding.vocabulary import LANGUAGES

_LEAST_LANGUAGE_SCORE = 2.5
_LEAST_LANGUAGE_LEAD = 1.25
_SHORTEST_TELLING_WORD = 2
_COMMA_LANGUAGES = frozenset(language.code for language in LANGUAGES if language.decimal_comma)
_US_ADDRESS = re.compile(r"\b[A-Z]{2}\.?,?\s+\d{5}(?:-\d{4})?\b")
_DOLLARS = (
    (r"\bsingapore\b", "SGD"),
    (r"\baustralia\b|\babn\b", "AUD"),
    (r"\bnew zealand\b", "NZD"),
    (r"\bcanada\b|\bhst\b", "CAD"),
)


@dataclass(frozen=True, slots=True)
class Conventions:
    """language: ISO 639-1 or null. currency: ISO 4217 or null. us: the document looks American."""

    language: str | None
    day_first: bool
    mark: Mark
    currency: str | None


def conventions(layout: Layout) -> Conventions:
    """The document's conventions, by its own words."""
    texts = [segment.text for segment in layout.segments]
    numeric = [text for text in texts if any(map(str.isdecimal, text))]
    amounts = [amount for text in numeric for amount in find_amounts(text, misread=False)]
    dates = [written for text in numeric for written in find_dates(text)]
    text = "\n".join(texts)
    language = language_of(texts)
    currency = _currency(text, amounts, language)
    default: Mark = "," if language in _COMMA_LANGUAGES else "."
    return Conventions(
        language=language,
        day_first=_day_first(dates, american=_american(text, currency)),
        mark=decimal_mark(
            [amount.digits for amount in amounts], default=default, thousandths=in_thousandths(currency)
        ),
        currency=currency,
    )


def _telling_words() -> dict[str, dict[str, float]]:
    """For each word the languages it speaks for; a word of several languages says little of each."""
    languages: dict[str, set[str]] = {}
    for language in LANGUAGES:
        phrases = [phrase for found in language.labels.values() for phrase in found]
        phrases += [phrase for found in language.titles.values() for phrase in found]
        words = {token.text for phrase in phrases for token in tokens(phrase)} | set(language.common)
        for word in words:
            if len(word) >= _SHORTEST_TELLING_WORD:
                languages.setdefault(word, set()).add(language.code)
    return {word: dict.fromkeys(codes, 1 / len(codes) ** 2) for word, codes in languages.items()}


_TELLING = _telling_words()


def language_of(texts: Sequence[str]) -> str | None:
    """The language most of the words speak for; None if few do or two languages are close."""
    scores: Counter[str] = Counter()
    counts = Counter(token.text for text in texts for token in tokens(text))
    for word, count in counts.items():
        for code, weight in _TELLING.get(word, {}).items():
            scores[code] += weight * min(count, 3)  # type: ignore[assignment]
    ranking = [*scores.most_common(2), ("", 0), ("", 0)]
    (best, score), (_, second) = ranking[0], ranking[1]
    if score < _LEAST_LANGUAGE_SCORE or score < _LEAST_LANGUAGE_LEAD * second:
        return None
    return best


def _american(text: str, currency: str | None) -> bool:
    return currency == "USD" and (_US_ADDRESS.search(text) is not None or "$" in text)


def _day_first(dates: Sequence[WrittenDate], *, american: bool) -> bool:
    day_first = sum(written.only_day_first or written.order == "day first" for written in dates)
    month_first = sum(written.only_month_first for written in dates)
    if day_first == month_first:
        return not american
    return day_first > month_first


def _currency(text: str, amounts: Sequence[WrittenAmount], language: str | None) -> str | None:
    codes = [currency_in(amount.symbol, language) for amount in amounts if amount.symbol]
    votes: Counter[str] = Counter(code for code in codes if code)
    dollar = sum(amount.symbol == "$" for amount in amounts)
    votes.update(find_currencies(text))
    if "US$" in text:
        votes["USD"] += 2
    if dollar and votes.most_common(1)[0][0] == "USD":
        for pattern, code in _DOLLARS:
            if "USD" not in text and re.search(pattern, text, re.IGNORECASE):
                return code
    return votes.most_common(1)[0][0] if votes else None
