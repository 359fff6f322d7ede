"""Identification of counterparties by the numbers on their documents, and the values confirmed for them.

A similar name does not identify a counterparty, since two shops may have similar names.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from docmill.model.corrections import Correction
from docmill.model.document import Document, letters_and_digits
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.codes import find_ibans, find_vat_ids
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import Concept

_REGISTRATION = re.compile(r"(?<![\w-])(\d{5,7})\s?-\s?([A-Za-z])(?!\w)")
_TAX = re.compile(r"(?<!\d)\d{12}(?!\d)")
_PHONE = re.compile(r"(?<![\w.])\+?\(?\d[\d\-\s()/.]{6,15}\d(?!\d)")
_SHORTEST_PHONE, _LONGEST_PHONE = 8, 13
_SAME_ENDING = 8
"""Digits of a telephone number that count: with or without the country's code it is the same."""
_AGREED = 0.8
"""Share of an identifier's confirmed documents that must agree on a value."""
_SAME_ADDRESS = 92
"""Likeness, in percent, from which an address read is a confirmed one: a vendor may have many shops."""
_SAME_ON_RECEIPT = 80
"""Likeness, in percent, from which a name on a recognised receipt is a misreading of the confirmed one."""
_SAME_NAME, _SAME_WORD = 90, 75
"""The same on other documents, of the whole and of each word: the numbers there may be the recipient's."""
_HEAD_LINES, _FOOT_LINES = 30, 12
_PARTIES = ("seller.", "buyer.", "payment.")
_ACCOUNT_FIELDS = frozenset(("iban", "bic", "currency"))


def identifiers(document: Document) -> frozenset[str]:
    """Registration, tax, telephone and account numbers at the head and the foot of the first page."""
    lines = document.pages[0].lines if document.pages else []
    ends = [*lines[:_HEAD_LINES], *lines[max(_HEAD_LINES, len(lines) - _FOOT_LINES) :]]
    numbers: set[str] = set()
    for text in (line.text for line in ends):
        numbers.update(f"account {code.value}" for code in find_ibans(text))
        numbers.update(f"tax {code.value}" for code in find_vat_ids(text))
        numbers.update(f"tax {match[0]}" for match in _TAX.finditer(text))
        numbers.update(f"registration {match[1]}{match[2].upper()}" for match in _REGISTRATION.finditer(text))
        phones = [re.sub(r"\D", "", match[0]) for match in _PHONE.finditer(text)]
        phones = [digits for digits in phones if _SHORTEST_PHONE <= len(digits) <= _LONGEST_PHONE]
        if phones:
            meanings = {meaning for label in LABELS.find(text) for meaning in label.meanings}
            if Concept.PHONE in meanings or re.search(r"\bhp\b", fold(text)):
                numbers.update(f"phone {digits[-_SAME_ENDING:]}" for digits in phones)
    return frozenset(numbers)


def belongs_to_counterparty(path: str) -> bool:
    """Return whether a field has the same value on all documents of a counterparty."""
    return path.startswith(_PARTIES) or path in _ACCOUNT_FIELDS


@dataclass(frozen=True, slots=True)
class ConfirmedValue:
    """A value that people confirmed, and how many times.

    source: the latest document on which they did. is_corrected: whether another value had been read there.
    """

    value: str
    times: int
    source: str
    is_corrected: bool


def confirmed_values(
    corrections: Sequence[Correction], numbers: frozenset[str]
) -> dict[str, tuple[ConfirmedValue, ...]]:
    """The values confirmed for the counterparty with these identifiers, by path: all addresses, else one.

    corrections: the latest first. An identifier counts only if its documents agree on the value. Addresses
    may differ from shop to shop and are ordered by how often they were confirmed.
    """
    latest: dict[str, dict[str, ConfirmedValue]] = defaultdict(dict)
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for correction in reversed(corrections):
        for path, given in correction.values.items():
            key = letters_and_digits(given.value or "") if belongs_to_counterparty(path) else ""
            if key and given.value:
                latest[path][key] = ConfirmedValue(given.value, 0, correction.name, given.is_corrected)
                for identifier in correction.identifiers & numbers:
                    counts[path][identifier][key] += 1
    values: dict[str, tuple[ConfirmedValue, ...]] = {}
    for path, by_identifier in counts.items():
        differs = path.endswith("address")
        total: Counter[str] = Counter()
        for _, tally in sorted(by_identifier.items()):
            (key, count), *_ = tally.most_common(1)
            if differs:
                total.update(tally)
            elif count >= _AGREED * tally.total():
                total[key] += count
        ranked = tuple(replace(latest[path][key], times=count) for key, count in total.most_common())
        if ranked:
            values[path] = ranked if differs else ranked[:1]
    return values


def find_misread_value(
    path: str, confirmed: Sequence[ConfirmedValue], value: str, *, is_receipt: bool
) -> ConfirmedValue | None:
    """The confirmed value of which this is a misreading; of several addresses the most often confirmed."""
    wanted = letters_and_digits(value)
    likeness = {candidate: fuzz.ratio(wanted, letters_and_digits(candidate.value)) for candidate in confirmed}
    if path.endswith("address"):
        near = [candidate for candidate in confirmed if likeness[candidate] >= _SAME_ADDRESS]
        return max(near, key=lambda candidate: (candidate.times, likeness[candidate]), default=None)
    best = max(likeness, key=lambda candidate: likeness[candidate])
    if is_receipt:
        return best if likeness[best] >= _SAME_ON_RECEIPT else None
    # `Harbour South` is not `Harbour North`: each word must be the same but for a letter.
    words, confirmed_words = value.split(), best.value.split()
    is_same = len(words) == len(confirmed_words) and all(
        fuzz.ratio(letters_and_digits(word), letters_and_digits(other)) >= _SAME_WORD
        for word, other in zip(words, confirmed_words, strict=True)
    )
    return best if is_same and likeness[best] >= _SAME_NAME else None
