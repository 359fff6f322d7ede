"""Vendors that people have confirmed, found again by the numbers printed on their receipts.

Never by a similar name: two shops of similar names are two shops.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz

from docmill.model import Document, letters_and_digits
from docmill.understanding.codes import find_vat_ids
from docmill.understanding.folding import fold
from docmill.understanding.labels import LABELS
from docmill.understanding.vocabulary import Concept

NAME, ADDRESS = "seller.name", "seller.address"
_REGISTRATION = re.compile(r"(?<![\w-])(\d{5,7})\s?-\s?([A-Za-z])(?!\w)")
_TAX = re.compile(r"(?<!\d)\d{12}(?!\d)")
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\-\s()/.]{6,15}\d(?!\d)")
_SHORTEST_PHONE, _LONGEST_PHONE = 8, 13
_SAME_ENDING = 8
"""Digits of a telephone number that count: with or without the country's code it is the same."""
_AGREED = 0.8
"""Share of an identifier's confirmed receipts that must agree on a name."""
_SAME_ADDRESS = 92
"""Likeness, in percent, from which an address read is a remembered one: a vendor may have many shops."""
_HEAD_LINES = 30


def identifiers(document: Document) -> frozenset[str]:
    """The registration, tax and telephone numbers at the head of a document."""
    if not document.pages:
        return frozenset()
    return frozenset(
        identifier for line in document.pages[0].lines[:_HEAD_LINES] for identifier in _identifiers(line.text)
    )


def _identifiers(text: str) -> Iterator[str]:
    for code in find_vat_ids(text):
        yield f"tax {code.value}"
    for match in _TAX.finditer(text):
        yield f"tax {match[0]}"
    for match in _REGISTRATION.finditer(text):
        yield f"registration {match[1]}{match[2].upper()}"
    meanings = {meaning for label in LABELS.find(text) for meaning in label.meanings}
    if Concept.PHONE in meanings or re.search(r"\bhp\b", fold(text)):
        for match in _PHONE.finditer(text):
            digits = re.sub(r"\D", "", match[0])
            if _SHORTEST_PHONE <= len(digits) <= _LONGEST_PHONE:
                yield f"phone {digits[-_SAME_ENDING:]}"


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a vendor: the name, and every address it has given receipts from, with how often."""

    name: str | None
    addresses: Mapping[str, int]

    def address(self, read: str | None) -> str | None:
        """The remembered address that `read` is; the only one where nothing was read."""
        own = letters_and_digits(read or "")
        if not own:
            return next(iter(self.addresses)) if len(self.addresses) == 1 else None
        alike = {
            address: fuzz.ratio(own, letters_and_digits(address), score_cutoff=_SAME_ADDRESS)
            for address in self.addresses
        }
        near = [address for address, likeness in alike.items() if likeness >= _SAME_ADDRESS]
        return max(near, key=lambda address: (self.addresses[address], alike[address]), default=None)


class Memory:
    """Confirmed names and addresses by identifier. Only what a person has confirmed may be added."""

    def __init__(self) -> None:
        self._names: dict[str, Counter[str]] = {}
        self._addresses: dict[str, Counter[str]] = {}
        self._spellings: dict[str, str] = {}

    def add(self, found: frozenset[str], confirmed: Mapping[str, str]) -> None:
        """Remember what a person confirmed of a receipt that bears these identifiers."""
        for path, table in ((NAME, self._names), (ADDRESS, self._addresses)):
            value = confirmed.get(path, "")
            key = letters_and_digits(value)
            if key:
                self._spellings[key] = value
                for identifier in found:
                    table.setdefault(identifier, Counter())[key] += 1

    def lookup(self, found: frozenset[str]) -> Remembered | None:
        """What is remembered of the vendor with these identifiers; None if it was never confirmed."""
        names: Counter[str] = Counter()
        addresses: Counter[str] = Counter()
        for identifier in sorted(found):
            known = self._names.get(identifier)
            if known:
                (key, count), *_ = known.most_common(1)
                if count >= _AGREED * known.total():
                    names[key] += count
            addresses.update(self._addresses.get(identifier, {}))
        if not names and not addresses:
            return None
        name = self._spellings[names.most_common(1)[0][0]] if names else None
        return Remembered(name, {self._spellings[key]: count for key, count in addresses.most_common()})
