"""Near duplicates: documents with the same identifying values or almost the same text as an earlier one.

Documents are compared by signatures, which are found by their keys. Two documents whose numbers, dates or
totals are known and differ are never duplicates, however similar their texts are: a vendor's invoices of two
months.
"""

import hashlib
import itertools
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from docmill.model.document import Document
from docmill.model.paths import value_at
from docmill.model.result import Failure
from docmill.schemas.document_types import DEFINITIONS, known_type

CHECK = "duplicate"
"""The check that fails where a document seems to be here already."""
DAYS = ("issue_date", "payment_date", "period_end", "delivery_date")
"""The fields with the day of a document; the first that has a value counts."""
SAME_TEXT = 0.75
"""Least likeness of two texts that are taken for the same, measured: bench/results/duplicates.md."""
SIMILAR_TEXT = 0.3
"""The same where number, date and total agree."""
SAME_NUMBERS = 0.8
"""Least share of figures that two documents with the same text have in common, of which two facts agree."""
SAME_NUMBERS_UNREAD = 0.95
"""The same where fewer of number, date and total of both are known: the others may be what differs."""
SAME_PARTY = 80
"""Likeness of two names of one party, of 100."""
MOST_CANDIDATES = 50
"""Documents that one is compared with, those with the most common keys."""

_FORMAT = 1
"""Part of every key, so that signatures of another making are not compared."""
_PERMUTATIONS = 128
_BANDS, _ROWS = 16, 4
_MOST_NUMBERS = 256
_MOST_CHARACTERS = 200_000
_FEWEST_SHINGLES = 12
"""Documents with less text are told by their values alone."""
_FEWEST_DIGITS = 3
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d(?:[\d.,:/'-]*\d)?")
_ALIKE = str.maketrans("oilsbz", "011582")
"""Letters that recognition takes for digits: no two documents differ in them alone."""
_DISTINCT = ("number", "day", "time", "total", "account")
"""Facts in which two files of one document cannot differ."""


def _constants(name: str) -> NDArray[np.uint64]:
    digests = (hashlib.blake2b(f"{name}{index}".encode(), digest_size=8) for index in range(_PERMUTATIONS))
    return np.array([int.from_bytes(digest.digest(), "big") | 1 for digest in digests], np.uint64)


_FACTORS, _OFFSETS = _constants("factor"), _constants("offset")


@dataclass(frozen=True, slots=True)
class Signature:
    """The features by which a document is compared with others.

    facts: its identifying values, normalised, without unknown ones. words: MinHash of its pairs of words,
    uint32, shape (128,), or empty for too little text. numbers: hashes of its numbers, uint32, sorted.
    """

    document_type: str
    facts: Mapping[str, str]
    words: NDArray[np.uint32]
    numbers: NDArray[np.uint32]

    @property
    def keys(self) -> list[int]:
        """Hashes, as signed 64-bit integers, of which two files of one document share at least one."""
        bands = self.words[: _BANDS * _ROWS].reshape(-1, _ROWS)
        return [*self.exact_keys, *(_key("band", index, *band) for index, band in enumerate(bands.tolist()))]

    @property
    def exact_keys(self) -> list[int]:
        """Those keys that few other documents have."""
        keys: list[int] = []
        if self.facts.keys() >= {"number", "day", "total"}:
            keys.append(_key("facts", *(self.facts[name] for name in ("number", "day", "total"))))
        if len(self.numbers) >= _FEWEST_DIGITS:
            keys.append(_key("numbers", *self.numbers.tolist()))
        return keys


def signature_of(
    document: Document, document_type: str | None, data: Mapping[str, Any] | None
) -> Signature | None:
    """The signature of a document; None if it has too little to be compared by. data: its values as JSON."""
    text = _folded(document.text[:_MOST_CHARACTERS])
    words = _WORD.findall(text)
    numbers = {re.sub(r"\D", "", number) for number in _NUMBER.findall(text)}
    facts = facts_of(document_type, data)
    words_hash = _min_hash(
        {zlib.crc32(f"{one} {next_}".encode()) for one, next_ in itertools.pairwise(words)}
    )
    if not facts and not len(words_hash):
        return None
    hashes = sorted(zlib.crc32(number.encode()) for number in numbers if len(number) >= _FEWEST_DIGITS)
    return Signature(document_type or "other", facts, words_hash, np.array(hashes[:_MOST_NUMBERS], np.uint32))


def facts_of(document_type: str | None, data: Mapping[str, Any] | None) -> dict[str, str]:
    """The identifying values of a document, normalised, without unknown ones. data: as JSON."""
    data = data or {}
    definition = DEFINITIONS[known_type(document_type or "other")]
    day = next((value for path in DAYS if isinstance(value := data.get(path), str)), None)
    facts = {
        "number": _letters_and_digits(value_at(data, "number")),
        "day": _date_text(day),
        "time": str(value_at(data, "time") or ""),
        "total": _amount_text(value_at(data, definition.amount or "gross_total")),
        "account": _letters_and_digits(value_at(data, "iban")),
        "party": _folded(str(value_at(data, definition.counterparty) or "")).strip(),
    }
    return {name: fact for name, fact in facts.items() if fact}


def compare(one: Signature, other: Signature) -> str | None:
    """The reason why two files seem to be the same document, to follow a colon; None if they do not."""
    if one.document_type != other.document_type and "other" not in (one.document_type, other.document_type):
        return None
    common = one.facts.keys() & other.facts.keys()
    if any(one.facts[name] != other.facts[name] for name in common.intersection(_DISTINCT)):
        return None
    likeness = _share_of_same(one.words, other.words)
    if common >= {"number", "day", "total"}:
        is_same_party = "party" in common and (
            fuzz.token_set_ratio(one.facts["party"], other.facts["party"]) >= SAME_PARTY
        )
        if is_same_party:
            return "the same party, number, date and total"
        if likeness >= SIMILAR_TEXT:
            return "the same number, date and total"
    known = common & {"number", "day", "total"}
    least = SAME_NUMBERS if len(known) > 1 else SAME_NUMBERS_UNREAD
    if likeness >= SAME_TEXT and _jaccard(one.numbers, other.numbers) >= least:
        return "almost the same text"
    return None


def duplicate_failure(name: str, why: str) -> Failure:
    """The failed check of a document that seems to be a duplicate of the one with this title or source."""
    return Failure(check=CHECK, message=f"This seems to be the same document as “{name}”: {why}.")


Name = TypeVar("Name", bound=Hashable)


class DuplicateIndex(Generic[Name]):
    """Index in memory of the signatures of one run, by their keys."""

    def __init__(self) -> None:
        self._signatures: dict[Name, Signature] = {}
        self._names: defaultdict[int, list[Name]] = defaultdict(list)

    def add(self, name: Name, signature: Signature) -> list[tuple[Name, str]]:
        """Add a document. Returns the earlier documents that seem to be the same, each with the reason."""
        shared = Counter(other for key in signature.keys for other in self._names[key])
        found = [
            (other, why)
            for other, _ in shared.most_common(MOST_CANDIDATES)
            if (why := compare(signature, self._signatures[other]))
        ]
        self._signatures[name] = signature
        for key in signature.keys:
            self._names[key].append(name)
        return found


def _folded(text: str) -> str:
    """The text in small letters without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _letters_and_digits(value: object) -> str:
    return "".join(filter(str.isalnum, _folded(str(value or "")))).translate(_ALIKE).lstrip("0")


def _date_text(value: str | None) -> str:
    try:
        return date.fromisoformat(value or "").isoformat()
    except ValueError:
        return ""


def _amount_text(value: object) -> str:
    try:
        return "" if value is None else format(abs(Decimal(str(value))).quantize(Decimal("0.01")), "f")
    except ArithmeticError:
        return ""


def _min_hash(shingles: set[int]) -> NDArray[np.uint32]:
    """The least hash under each permutation; empty for too few shingles."""
    if len(shingles) < _FEWEST_SHINGLES:
        return np.zeros(0, np.uint32)
    hashes = np.fromiter(shingles, np.uint64, len(shingles))
    least = [
        int((hashes * factor + offset).min() >> np.uint64(32))
        for factor, offset in zip(_FACTORS, _OFFSETS, strict=True)
    ]
    return np.array(least, np.uint32)


def _share_of_same(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    return float((one == other).mean()) if len(one) and len(one) == len(other) else 0.0


def _jaccard(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> float:
    union = len(np.union1d(one, other))
    return len(np.intersect1d(one, other)) / union if union else 1.0


def _key(*parts: Hashable) -> int:
    text = " ".join(map(str, (_FORMAT, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)
