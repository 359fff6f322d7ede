"""Counterparties that people have confirmed, found again by the numbers printed on their papers.

Never by a similar name: two shops of similar names are two shops.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from rapidfuzz import fuzz

from docmill.model.document import Document, letters_and_digits
from docmill.understanding.text.codes import find_ibans, find_vat_ids
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import Concept
from docmill.understanding.vocabulary.labels import LABELS

NAME, ADDRESS = "seller.name", "seller.address"
_REGISTRATION = re.compile(r"(?<![\w-])(\d{5,7})\s?-\s?([A-Za-z])(?!\w)")
_TAX = re.compile(r"(?<!\d)\d{12}(?!\d)")
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\-\s()/.]{6,15}\d(?!\d)")
_SHORTEST_PHONE, _LONGEST_PHONE = 8, 13
_SAME_ENDING = 8
"""Digits of a telephone number that count: with or without the country's code it is the same."""
_AGREED = 0.8
"""Share of an identifier's confirmed documents that must agree on a value."""
_SAME_ADDRESS = 92
"""Likeness, in percent, from which an address read is a remembered one: a vendor may have many shops."""
_HEAD_LINES, _FOOT_LINES = 30, 12


def identifiers(document: Document) -> frozenset[str]:
    """The registration, tax and telephone numbers at the head of a document."""
    if not document.pages:
        return frozenset()
    lines = document.pages[0].lines[:_HEAD_LINES]
    return frozenset(identifier for line in lines for identifier in _identifiers(line.text))


def marks(document: Document) -> frozenset[str]:
    """The same with those at the foot of the first page, where letters have them, and account numbers."""
    if not document.pages:
        return frozenset()
    lines = document.pages[0].lines
    texts = [
        line.text for line in [*lines[:_HEAD_LINES], *lines[max(_HEAD_LINES, len(lines) - _FOOT_LINES) :]]
    ]
    accounts = (f"account {code.value}" for text in texts for code in find_ibans(text))
    return frozenset([*(one for text in texts for one in _identifiers(text)), *accounts])


def _identifiers(text: str) -> Iterator[str]:
    for code in find_vat_ids(text):
        yield f"tax {code.value}"
    for match in _TAX.finditer(text):
        yield f"tax {match[0]}"
    for match in _REGISTRATION.finditer(text):
        yield f"registration {match[1]}{match[2].upper()}"
    if not any(map(str.isdecimal, text)):
        return
    meanings = {meaning for label in LABELS.find(text) for meaning in label.meanings}
    if Concept.PHONE in meanings or re.search(r"\bhp\b", fold(text)):
        for match in _PHONE.finditer(text):
            digits = re.sub(r"\D", "", match[0])
            if _SHORTEST_PHONE <= len(digits) <= _LONGEST_PHONE:
                yield f"phone {digits[-_SAME_ENDING:]}"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A value that people confirmed so many times.

    source: the latest document on which they did. is_corrected: whether another one had been read there.
    """

    value: str
    times: int
    source: str = ""
    is_corrected: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a counterparty, by path: the value, of addresses each, the commonest first."""

    values: Mapping[str, tuple[Confirmed, ...]]

    @property
    def name(self) -> str | None:
        """The seller's name."""
        known = self.values.get(NAME)
        return known[0].value if known else None

    @property
    def addresses(self) -> dict[str, int]:
        """Every address that the seller has given papers from, and how often."""
        return {one.value: one.times for one in self.values.get(ADDRESS, ())}

    def address(self, read: str | None) -> str | None:
        """The remembered address that `read` is; the only one where nothing was read."""
        found = nearest(self.values.get(ADDRESS, ()), read)
        return found.value if found else None


def nearest(known: tuple[Confirmed, ...], read: str | None) -> Confirmed | None:
    """The known value that `read` is but for letters misread; the only one where nothing was read."""
    own = letters_and_digits(read or "")
    if not own:
        return known[0] if len(known) == 1 else None
    alike = {one: fuzz.ratio(own, letters_and_digits(one.value), score_cutoff=_SAME_ADDRESS) for one in known}
    near = [one for one, likeness in alike.items() if likeness >= _SAME_ADDRESS]
    return max(near, key=lambda one: (one.times, alike[one]), default=None)


@dataclass(slots=True)
class _Table:
    """The values of one path: how often each was confirmed beside which identifier."""

    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    latest: dict[str, Confirmed] = field(default_factory=dict[str, Confirmed])


class Memory:
    """Confirmed values by identifier. Only what a person has confirmed may be added."""

    def __init__(self) -> None:
        self._tables: dict[str, _Table] = {}

    def add(
        self,
        found: Iterable[str],
        confirmed: Mapping[str, str],
        source: str = "",
        corrected: Collection[str] = (),
    ) -> None:
        """Remember what a person confirmed, by path, of a paper that bears these identifiers.

        corrected: the paths where another value had been read.
        """
        for path, value in confirmed.items():
            key = letters_and_digits(value)
            if key:
                table = self._tables.setdefault(path, _Table())
                table.latest[key] = Confirmed(value, 0, source, path in corrected)
                for identifier in found:
                    table.counts.setdefault(identifier, Counter())[key] += 1

    def lookup(self, found: frozenset[str]) -> Remembered | None:
        """What is remembered of whom these identifiers are; None if nothing of theirs was ever confirmed."""
        values: dict[str, tuple[Confirmed, ...]] = {}
        for path, table in self._tables.items():
            several = path.endswith("address")
            counts = _counts(table.counts, found, several=several)
            ranked = [replace(table.latest[key], times=count) for key, count in counts.most_common()]
            if ranked:
                values[path] = tuple(ranked if several else ranked[:1])
        return Remembered(values) if values else None


def _counts(known: Mapping[str, Counter[str]], found: frozenset[str], *, several: bool) -> Counter[str]:
    """How often each was confirmed. several: what differs from shop to shop; else those who agree count."""
    counts: Counter[str] = Counter()
    for identifier in sorted(found & known.keys()):
        own = known[identifier]
        (key, count), *_ = own.most_common(1)
        if several:
            counts.update(own)
        elif count >= _AGREED * own.total():
            counts[key] += count
    return counts
