"""Marks of a page's place in its document: "page 2 of 3", the document's number, the letterhead."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, NamedTuple

from docmill.model.document import Page, letters_and_digits

HEAD = 0.22
"""The share of a page that holds its letterhead."""
LETTERHEAD = 0.35
"""The share that may hold the numbers of whoever wrote it; a slip of a till has a long one."""
FOOT = 0.88
OPENING = 0.5
"""The share of a page in which a document says its own number."""
HEAD_SIGNS = 2
"""Least number of title, date and document number at the head of a document's first page."""
LEAST_COMMON_WORDS = 4
CLEARLY = 3
"""A page is in a language that has this many times as many words on it as the next one."""
LAST_OF_MONTH = 31
CENTURY = 100
LONG_NUMBER = 6
"""Digits of a number that is nobody else's."""

# Processes that only read need little of the languages' files: the vocabulary itself is not imported.
_LANGUAGES: list[dict[str, Any]] = [
    tomllib.loads(file.read_text(encoding="utf-8"))
    for file in (
        *resources.files("docmill.understanding").joinpath("vocabulary").iterdir(),
        resources.files("docmill.sections").joinpath("other_languages.toml"),
    )
    if file.name.endswith(".toml")
]
_PAGES: list[dict[str, Any]] = [language["pages"] for language in _LANGUAGES]


def _any_of(phrases: Iterable[str]) -> str:
    """A regular expression for any of the phrases, the longest first; `*` stands for the rest of a word."""
    longest_first = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    return "|".join(
        re.escape(phrase).replace(r"\ ", r"\s+").replace(r"\*", r"\w*") for phrase in longest_first
    )


def _any_word(key: str) -> str:
    return _any_of(word for pages in _PAGES for word in pages[key])


_OF = rf"{_any_word('of')}|/|\uff0f|\|"
_NAMED = re.compile(
    rf"\b(?:{_any_word('page')})\b\.?\s*:?\s*(\d{{1,4}})(?!\d)(?:\s*(?:{_OF})\s*(\d{{1,4}})(?!\d))?",
    re.IGNORECASE,
)
_HAN = re.compile(r"第\s*(\d{1,4})\s*[页頁](?:\s*[/,\uff0c]?\s*共\s*(\d{1,4})\s*[页頁])?")
_BARE = re.compile(
    rf"^\s*[-\u2013(]?\s*(\d{{1,3}})\s*(?:/|{_any_word('of_alone')})\s*(\d{{1,3}})\s*[-\u2013)]?\s*$",
    re.IGNORECASE,
)

_NUMBER = rf"(?:{_any_word('numbers')}|n\b|n[°º]|#|№)"
_VALUE = r"([A-Z0-9][A-Z0-9/._-]*\d[A-Z0-9/._-]*)"
_DOCUMENT_WORDS = {
    name: _any_of(phrase for pages in _PAGES for phrase in pages["documents"].get(name, ()))
    for name in _PAGES[0]["documents"]
}
_NUMBERED = {
    name: re.compile(rf"\b(?:{words})\s*[-.]?\s*{_NUMBER}\.?\s*[:#]?\s{{0,40}}{_VALUE}", re.IGNORECASE)
    for name, words in _DOCUMENT_WORDS.items()
}
_TITLE = re.compile(rf"\b(?:{'|'.join(_DOCUMENT_WORDS.values())})\b", re.IGNORECASE)
_LINKS = (link for language in _LANGUAGES for link in language.get("dates", {}).get("links", ()))
_LINK = rf"(?:(?:{_any_of(_LINKS)})\s+)?"
_DATE = re.compile(
    r"\b\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}\b|\b\d{4}-\d{2}-\d{2}\b"
    rf"|\b\d{{1,2}}\.?\s+{_LINK}[^\W\d_]{{3,10}}\.?\s+{_LINK}\d{{4}}\b"
    r"|\b[^\W\d_]{3,9}\.?\s+\d{1,2},?\s+\d{4}\b"
)
_DAY = re.compile(
    rf"{_DATE.pattern}|\b\d{{1,2}}[./-]\d{{1,2}}[./-](?:19|20)\d\d|\b\d{{1,2}}-[^\W\d_]{{3,9}}-(?:\d\d){{1,2}}\b"
)
"""Dates of tills too, which run into the time."""
_AMOUNT = re.compile(r"^[^\w]*[\d.,'\u2019]*\d[.,]\d{2}[^\w]*$")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?!\w)")
_ACCOUNT = re.compile(
    rf"{_IBAN.pattern}|(?<!\w)(?:"
    r"(?:AT ?U|CHE-?|ES ?[A-Z]?|FR ?[A-Z0-9]{2}|BE|CZ|DE|DK|FI|GB|IT|LU|NL|PL|PT|SE) ?"  # VAT id
    r"\d[\d. ]{6,12}\d(?:B\d\d)?)(?!\w)"
)
_SUM = re.compile(rf"\b(?:{_any_word('sums')})\b", re.IGNORECASE)
_MONEY = re.compile(r"(?<![\d.,])\d{1,3}(?:[.,' ]?\d{3})*[.,]\d{2}(?![\d.,]?\d)")
_WORD = re.compile(r"[^\W\d_]{4,}")
_DOMAIN = re.compile(r"(?:@|www\.)([\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_ON_MANY_HEADS = frozenset(word for pages in _PAGES for word in pages["heads"])
_ON_MANY_PAGES = _ON_MANY_HEADS.union(word for pages in _PAGES for word in pages["names"])


class Day(NamedTuple):
    """A date as it is written. numbers: of day and month; the day alone where the month is a word."""

    year: int
    numbers: frozenset[int]
    is_spelled: bool

    def may_be(self, other: "Day") -> bool:
        """True if both can be the same day, in whatever order and language they are written."""
        if self.is_spelled or other.is_spelled:
            return self.year == other.year and bool(self.numbers & other.numbers)
        return self == other


class PageMark(NamedTuple):
    """Page `number` of `total`, where that is said."""

    number: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one page.

    numbers: of documents, by kind. identities: numbers and addresses that belong to one firm or file. head:
    the words of the letterhead. is_head: the page opens as documents do. issuers: those of the identities
    that name a firm: domain, bank account, VAT id. language: of its commonest words. sums: amounts in lines
    that speak of a total or of payment. has_letterhead: a number of somebody near the top, and no amount, as
    the head of a table that goes on has. names: words that begin with a capital. days: as `dates`, to be
    compared with those of another language.
    """

    page: PageMark | None = None
    numbers: dict[str, str] = field(default_factory=dict[str, str])
    identities: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()
    is_head: bool = False
    issuers: frozenset[str] = frozenset()
    language: str | None = None
    dates: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    has_letterhead: bool = False
    names: frozenset[str] = frozenset()
    days: frozenset[Day] = frozenset()

    @property
    def is_bill(self) -> bool:
        """True for a page with all that a bill without a number has."""
        return bool(self.has_letterhead and self.dates and self.sums)


def marks(page: Page) -> Marks:
    """Find the marks of a page."""
    tops: list[float] = page.words.boxes[:, 1].tolist()
    lines = [(line.text, tops[line.start]) for line in page.lines]
    opening = "\n".join(text for text, top in lines if top < OPENING)
    head = "\n".join(text for text, top in lines if top < HEAD)
    paper = "\n".join(text for text, top in lines if top < LETTERHEAD)
    numbers = {
        name: letters_and_digits(match[1])
        for name, pattern in _NUMBERED.items()
        if (match := pattern.search(opening))
    }
    domains = {match[1].casefold() for match in _DOMAIN.finditer(page.text)}
    issuers = frozenset(domains | {letters_and_digits(match[0]) for match in _ACCOUNT.finditer(page.text)})
    signs = bool(_TITLE.search(opening)), bool(_DATE.search(opening)), bool(numbers)
    sums = [amount for text, _ in lines if _SUM.search(text) for amount in _MONEY.findall(text)]
    words = {word.casefold() for word in _WORD.findall(page.text) if word[0].isupper()}
    return Marks(
        page=page_mark([text for text, top in lines if top < HEAD or top > FOOT]),
        numbers=numbers,
        identities=_identities(page.words.texts) | issuers,
        head=frozenset(re.findall(r"[^\W\d_]{3,}", head.casefold())) - _ON_MANY_HEADS,
        is_head=sum(signs) >= HEAD_SIGNS,
        issuers=issuers,
        language=_language(page.words.texts),
        dates=frozenset(letters_and_digits(match[0]) for text, _ in lines for match in _DAY.finditer(text)),
        sums=frozenset(map(letters_and_digits, sums)),
        has_letterhead=bool(_identities(_IBAN.sub("", paper).split())) and not _MONEY.search(head),
        names=frozenset(words) - _ON_MANY_PAGES,
        days=frozenset(_day(match[0]) for match in _DAY.finditer(page.text)),
    )


def page_mark(lines: Sequence[str]) -> PageMark | None:
    """The first mark such as "page 2 of 3" in lines of a page's head and foot."""
    cells = (cell for line in lines for cell in re.split(r"\s{2,}", line))
    matches = [match for pattern in (_NAMED, _HAN) for line in lines for match in pattern.finditer(line)]
    for match in (*matches, *filter(None, map(_BARE.match, cells))):
        number, total = int(match[1]), int(match[2]) if match[2] else None
        if 0 < number <= (total or number):
            return PageMark(number, total)
    return None


def _identities(words: Sequence[str]) -> frozenset[str]:
    identities: set[str] = set()
    for word in words:
        domain = _DOMAIN.search(word)
        if domain is not None:
            identities.add(domain[1].casefold())
        elif (
            sum(map(str.isdigit, word)) >= LONG_NUMBER and not _AMOUNT.match(word) and not _DATE.search(word)
        ):
            identities.add(letters_and_digits(word))
    return frozenset(identities)


def _language(words: Sequence[str]) -> str | None:
    """The language whose common words stand on the page, several times as many as of any other."""
    folded = Counter(word.casefold() for word in words)
    counts = {
        language["code"]: sum(folded[word] for word in language["pages"]["common"])
        for language in _LANGUAGES
        if "code" in language
    }
    second, most = sorted(counts.values())[-2:]
    if most < LEAST_COMMON_WORDS or most < CLEARLY * second:
        return None
    return max(counts, key=counts.__getitem__)


def _day(text: str) -> Day:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    year = numbers.pop(0 if numbers[0] > LAST_OF_MONTH else -1)
    spelled = any(map(str.isalpha, text))
    return Day(year if year >= CENTURY else year + 20 * CENTURY, frozenset(numbers), spelled)
