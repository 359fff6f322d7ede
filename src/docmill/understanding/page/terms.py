"""Terms of payment as printed: `30 Tage netto`, `payable within 14 days`, `60 gg data fattura fine mese`."""

import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.vocabulary import LANGUAGES

_LONGEST_TERM = 365
_FIRST_WORDS = 4
_LONG_WORD = 4
"""Letters from which on a word means the same in whatever language the rest is."""


def _starting(stems: Iterable[str]) -> str:
    """A regular expression for words that begin with one of the stems."""
    return rf"(?<![^\W\d_])(?:{alternatives(stems)})"


def _whole(phrases: Iterable[str]) -> str:
    """A regular expression for whole phrases."""
    return rf"{_starting(phrases)}(?![^\W\d_])"


_TERMS = [language.terms for language in LANGUAGES]
_DISCOUNTS = frozenset(stem for terms in _TERMS for stem in terms.discount)
_OTHER_STEMS = [stem for terms in _TERMS for stem in terms.other]
_PAYMENT = re.compile(_starting(stem for terms in _TERMS for stem in terms.payment))
_OTHER = re.compile(rf"%|{_starting(_OTHER_STEMS)}")
_OTHER_THAN_DISCOUNT = re.compile(_starting(stem for stem in _OTHER_STEMS if stem not in _DISCOUNTS))
_CONDITIONAL: Mapping[str | None, re.Pattern[str]] = {
    None: re.compile(
        _whole(
            word for language in LANGUAGES for word in language.payment.conditional if len(word) >= _LONG_WORD
        )
    ),
    **{language.code: re.compile(_whole(language.payment.conditional)) for language in LANGUAGES},
}
_CONDITIONAL_TAX: Mapping[str | None, re.Pattern[str]] = {
    None: re.compile(
        _whole(
            word for language in LANGUAGES for word in language.taxes.conditional if len(word) > _LONG_WORD
        )
    ),
    **{
        language.code: re.compile(_whole(language.taxes.conditional))
        for language in LANGUAGES
        if language.taxes.conditional
    },
}
_DISCOUNT = re.compile(_starting(_DISCOUNTS))
_MONTH_END = re.compile(_whole(phrase for terms in _TERMS for phrase in terms.month_end))
_SETTLED = re.compile(_whole(phrase for terms in _TERMS for phrase in terms.settled))
_UNTIL = _whole(phrase for terms in _TERMS for phrase in terms.until)
_UNTIL_END, _UNTIL_DATE = re.compile(rf"{_UNTIL}\W*$"), re.compile(rf"{_UNTIL}\W*\d")
_NET = alternatives(word for terms in _TERMS for word in terms.net)
_HAS_DAYS = re.compile(rf"\d\)?\s?-?\s?[bcdghjktw]|\b(?:{_NET})", re.IGNORECASE)
"""Matches in every text in which `_DAYS` does; quick, since most texts have no days."""
_DAYS = re.compile(
    r"(?<![\d.,/\-])(?P<days>\d{1,3})\)?\s?-?\s?"
    rf"(?:{alternatives(word for terms in _TERMS for word in terms.days)})(?![^\W\d_])"
    rf"|(?<![^\W\d_])(?:{_NET})\s?(?P<net>\d{{1,3}})(?=\W*$|[,;.)]\s)"
)
_BETWEEN = alternatives(word for terms in _TERMS for word in terms.between)
_CLAUSE = re.compile(rf"[,;]\s|\.\s|\s(?:{_BETWEEN})\.?\s")
_SENTENCE_PART = re.compile(r"[,;]\s|\.\s")
_NEAR_AFTER = 40
"""Characters behind a date in which a verb may still ask for payment: `bis zum 12.03.2026 zu zahlen`."""


class Term(NamedTuple):
    """A number of days at characters `start` to `stop` (exclusive) of a text.

    of_payment: the text says that this is the time to pay. otherwise: the clause says that it is for
    something else, such as a discount; both can be true. month_end: the end of the month is meant in which
    the days end.
    """

    days: int
    start: int
    stop: int
    of_payment: bool
    otherwise: bool
    month_end: bool

    def last_day(self, issued: date) -> date:
        """The last day to pay what was issued on a day."""
        day = issued + timedelta(days=self.days)
        return day.replace(day=monthrange(day.year, day.month)[1]) if self.month_end else day


def find_terms(text: str) -> Iterator[Term]:
    """Yield each number of days in `text` with what the words around it say of it."""
    if _HAS_DAYS.search(text) is None:
        return
    folded = fold(text)
    begin = 0
    for match in _DAYS.finditer(folded):
        before = _CLAUSE.split(folded[begin : match.start()])[-1]
        clause = before + match[0] + _CLAUSE.split(folded[match.end() :])[0]
        begin = match.end()
        days = int(match["days"] or match["net"])
        if 0 < days <= _LONGEST_TERM:
            # `end of month` holds a word that parts clauses elsewhere, the Dutch `of`.
            rest = _SENTENCE_PART.split(folded[match.end() :])[0]
            is_month_end = _MONTH_END.search(f"{clause} {rest}") is not None
            yield Term(
                days=days,
                start=match.start("days" if match["days"] else "net"),
                stop=match.end(),
                of_payment=is_month_end or match["net"] is not None or _PAYMENT.search(folded) is not None,
                otherwise=_OTHER.search(clause) is not None,
                month_end=is_month_end,
            )


def speaks_of_payment(text: str) -> bool:
    """True if a text has words of payment and none of discounts or arrears."""
    folded = fold(text)
    return _PAYMENT.search(folded) is not None and _OTHER.search(folded) is None


def begins_with_payment(text: str) -> bool:
    """True if a number of days is first or second in a text, or one of its first four words is of payment."""
    folded = fold(text)
    days = _DAYS.search(folded)
    if days is not None and len(folded[: days.start()].split()) <= 1:
        return True
    return _PAYMENT.search(" ".join(folded.split()[:_FIRST_WORDS])) is not None


def is_conditional(text: str, language: str | None) -> bool:
    """True if a sentence has words of possibility or negation, such as `may` or `not`.

    language: ISO 639-1 code of the document. Words of fewer than four letters count in their language only.
    """
    folded = fold(text)
    return any(_CONDITIONAL[code].search(folded) for code in {language, None} if code in _CONDITIONAL)


def is_conditional_tax(text: str, language: str | None) -> bool:
    """True if a sentence says when a tax would be due, without a word on this document.

    language: as in `is_conditional`. Negations are none: `no VAT is charged`.
    """
    folded = fold(text)
    return any(_CONDITIONAL_TAX[code].search(folded) for code in {language, None} if code in _CONDITIONAL_TAX)


def offers_discount(text: str) -> bool:
    """True if a text gives a discount in per cent for payment."""
    folded = fold(text)
    return "%" in folded and _DISCOUNT.search(folded) is not None


def speaks_of_other_terms(text: str) -> bool:
    """True for words of arrears, delivery, returns or other terms than those of payment and discount."""
    return _OTHER_THAN_DISCOUNT.search(fold(text)) is not None


def names_last_day(text: str) -> bool:
    """True if the text has a word of payment, and one such as `until` before a number."""
    folded = fold(text)
    return _PAYMENT.search(folded) is not None and _UNTIL_DATE.search(folded) is not None


def is_payable_by(before: str, after: str = "") -> bool:
    """True if the texts around a date say that it is the last day to pay, and for no discount.

    A clause of nothing but `bis zum` goes on with the clause before it: `…, bis zum 22.03.2026 ohne Abzug`.
    """
    *earlier, clause = _CLAUSE.split(fold(before))
    until = _UNTIL_END.search(clause)
    if until is None:
        return False
    rest = _CLAUSE.split(fold(after))[0]
    words = clause[: until.start()]  # without `no later than`, which is not about arrears
    if _OTHER.search(words) or _OTHER.search(rest):
        return False
    own = f"{words} {rest[:_NEAR_AFTER]}"
    is_open = len(words.split()) <= 1 and bool(earlier)
    return _PAYMENT.search(own) is not None or (is_open and _PAYMENT.search(earlier[-1]) is not None)


def is_discount_until(before: str, after: str) -> bool:
    """True if the texts around a date say that it is the last day to pay with a discount."""
    clause = _CLAUSE.split(fold(before))[-1]
    if _UNTIL_END.search(clause) is None:
        return False
    return _DISCOUNT.search(clause) is not None or _DISCOUNT.search(_CLAUSE.split(fold(after))[0]) is not None


def says_settled(text: str) -> bool:
    """True if the text says that nothing is left to pay."""
    return _SETTLED.search(fold(text)) is not None
