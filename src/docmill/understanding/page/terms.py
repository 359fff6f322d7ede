"""Terms of payment as printed: `30 Tage netto`, `payable within 14 days`, `60 gg data fattura fine mese`."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import LANGUAGES

_LONGEST_TERM = 365


def _either(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(set(words), key=lambda word: (-len(word), word)))


def _whole(phrases: Sequence[str]) -> str:
    return rf"(?<![^\W\d_])(?:{_either(phrases)})(?![^\W\d_])"


_TERMS = [language.terms for language in LANGUAGES]
_DAY_WORDS = _either([word for terms in _TERMS for word in terms.days])
_PAYMENT = re.compile(rf"(?<![^\W\d_])(?:{_either([stem for terms in _TERMS for stem in terms.payment])})")
_OTHER = re.compile(rf"%|(?<![^\W\d_])(?:{_either([stem for terms in _TERMS for stem in terms.other])})")
_DISCOUNTS = frozenset(stem for terms in _TERMS for stem in terms.discount)
_FIRST_WORDS = 4
_OTHER_STEMS = [stem for terms in _TERMS for stem in terms.other if stem not in _DISCOUNTS]
_NO_TERMS = re.compile(rf"(?<![^\W\d_])(?:{_either(_OTHER_STEMS)})")
_LONG_WORD = 4
"""Letters from which on a word means the same in whatever language the rest is."""
_CONDITIONAL: Mapping[str | None, re.Pattern[str]] = {
    None: re.compile(
        _whole([word for known in LANGUAGES for word in known.payment.conditional if len(word) >= _LONG_WORD])
    ),
    **{known.code: re.compile(_whole(known.payment.conditional)) for known in LANGUAGES},
}
_MONTH_END = re.compile(_whole([phrase for terms in _TERMS for phrase in terms.month_end]))
_SETTLED = re.compile(_whole([phrase for terms in _TERMS for phrase in terms.settled]))
_UNTIL = re.compile(_whole([phrase for terms in _TERMS for phrase in terms.until]) + r"\W*$")
_UNTIL_ANYWHERE = re.compile(_whole([phrase for terms in _TERMS for phrase in terms.until]) + r"\W*\d")
_HAS_DAYS = re.compile(r"\d\)?\s?-?\s?[bcdghjktw]|\bnet", re.IGNORECASE)
"""What is in every text that has `_DAYS`; quick, since most texts have not."""
_DAYS = re.compile(
    rf"(?<![\d.,/\-])(?P<days>\d{{1,3}})\)?\s?-?\s?(?:{_DAY_WORDS})(?![^\W\d_])"
    r"|(?<![^\W\d_])net\s?(?P<net>\d{1,3})(?=\W*$|[,;.)]\s)"
)
_CLAUSE = re.compile(r"[,;]\s|\.\s|\s(?:oder|or|ou|od|of|bzw)\.?\s")


class Term(NamedTuple):
    """A number of days at `start` to `stop` of a text.

    of_payment: the text says that they are days to pay. otherwise: it says that they are for something else,
    such as a discount. month_end: the last of its month is meant.
    """

    days: int
    start: int
    stop: int
    of_payment: bool
    otherwise: bool
    month_end: bool


def find_terms(text: str) -> Iterator[Term]:
    """The numbers of days in `text`."""
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
            yield Term(
                days=days,
                start=match.start("days" if match["days"] else "net"),
                stop=match.end(),
                of_payment=match["net"] is not None or _PAYMENT.search(folded) is not None,
                otherwise=_OTHER.search(clause) is not None,
                month_end=_MONTH_END.search(clause) is not None,
            )


def speaks_of_payment(text: str) -> bool:
    """Whether it speaks of payment and not of discounts or arrears."""
    folded = fold(text)
    return _PAYMENT.search(folded) is not None and _OTHER.search(folded) is None


def begins_with_payment(text: str) -> bool:
    """Whether one of its first words speaks of payment or is a number of days."""
    folded = fold(text)
    days = _DAYS.search(folded)
    if days is not None and len(folded[: days.start()].split()) <= 1:
        return True
    return _PAYMENT.search(" ".join(folded.split()[:_FIRST_WORDS])) is not None


def is_conditional(text: str, language: str | None) -> bool:
    """Whether a sentence says what may be or is not. language: short words count only in theirs."""
    words = fold(text)
    return any(
        pattern.search(words) is not None
        for code, pattern in _CONDITIONAL.items()
        if code in (language, None)
    )


def speaks_of_other_terms(text: str) -> bool:
    """Whether it speaks of arrears, delivery, returns or other terms than those of payment and discount."""
    return _NO_TERMS.search(fold(text)) is not None


def names_last_day(text: str) -> bool:
    """Whether the text has words such as `payable until`, whatever date follows."""
    folded = fold(text)
    return _PAYMENT.search(folded) is not None and _UNTIL_ANYWHERE.search(folded) is not None


def is_payable_by(text: str) -> bool:
    """Whether a text that ends before a date says that it is the last day to pay, and for no discount."""
    clause = _CLAUSE.split(fold(text))[-1]
    return _UNTIL.search(clause) is not None and speaks_of_payment(clause)


def says_settled(text: str) -> bool:
    """Whether it says that nothing is left to pay."""
    return _SETTLED.search(fold(text)) is not None
