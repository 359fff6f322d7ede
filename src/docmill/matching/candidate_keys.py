"""Keys under which records find each other: a candidate has a key that another record asks for.

In record linkage these are blocking keys. They are whole numbers, so that an index in a database and one in
memory hold the same. A key is made of a kind and of what is compared: a number, a party and an amount, an
amount, a party and an item, a party and a quarter of a year, or a party alone for contracts, which may be
years older than what belongs to them.
"""

import datetime as dt
import hashlib
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from docmill.matching.amounts import discounted, payable_amounts
from docmill.matching.match_record import MatchRecord
from docmill.matching.parties import name_keys
from docmill.matching.references import reference_keys
from docmill.matching.relations import related_kinds

KeyKind = Literal["number", "text", "party_amount", "amount", "party_item", "party_quarter", "party_contract"]

WEIGHTS: dict[KeyKind, float] = {
    "number": 8,
    "text": 5,
    "party_amount": 4,
    "amount": 2,
    "party_item": 2,
    "party_quarter": 1,
    "party_contract": 1,
}
"""How much a key of each kind tells: candidates with the highest sums are compared."""

_MOST_ITEMS = 4
_MOST_TEXT_KEYS = 60
_LEAST_TEXT_KEY = 5
_WORDS_OF_ITEM = 3
_LONG_WORD = 4
_ASKED_DISCOUNTS = (Decimal(2), Decimal(3))


def stored_keys(record: MatchRecord) -> dict[int, KeyKind]:
    """The keys under which a record is found."""
    return _keys(record, is_asking=False)


def asked_keys(record: MatchRecord) -> dict[int, KeyKind]:
    """The keys by which a record looks for others."""
    return _keys(record, is_asking=True)


def _keys(record: MatchRecord, *, is_asking: bool) -> dict[int, KeyKind]:
    keys: dict[int, KeyKind] = {}
    numbers = {key for reference in _numbers(record) for key in reference_keys(reference)}
    texts = [
        key for key in sorted(record.text_keys) if len(key) >= _LEAST_TEXT_KEY or record.kind == "payment"
    ]
    text_keys = {key for text in texts[:_MOST_TEXT_KEYS] for key in reference_keys(text)}
    for key in text_keys:  # numbers in a text are looked for among numbers, and the other way round
        keys[_hash("number" if is_asking else "text", key)] = "text"
    for key in numbers:
        keys[_hash("number", key)] = "number"
        if is_asking:
            keys[_hash("text", key)] = "text"
    for amount in _amounts(record, is_asking=is_asking):
        keys[_hash("amount", amount)] = "amount"
    for party in _parties(record):
        for kind, values in _with_party(record, is_asking=is_asking):
            keys[_hash(kind, party, *values)] = kind
    return keys


def _with_party(record: MatchRecord, *, is_asking: bool) -> Iterator[tuple[KeyKind, tuple[str | int, ...]]]:
    """The kinds and values that make a key together with each of a record's parties."""
    for amount in _amounts(record, is_asking=is_asking):
        yield "party_amount", (amount,)
    for item in _items(record):
        yield "party_item", (item,)
    for quarter in _quarters(record.issue_date, is_asking=is_asking):
        yield "party_quarter", (quarter,)
    if record.kind == "contract" or (is_asking and "contract" in related_kinds(record.kind)):
        yield "party_contract", ()


def _numbers(record: MatchRecord) -> Iterator[str]:
    if record.number is not None:
        yield record.number.key
    yield from (each.key for each in record.references if each.kind not in ("customer", "text"))


def _parties(record: MatchRecord) -> Iterator[str]:
    """A record's parties by VAT identifier, account and the beginnings of their names."""
    for party in (record.seller, record.buyer):
        yield from (f"={identifier}" for identifier in (party.vat_id, party.iban) if identifier)
        yield from name_keys(party.key)


def _amounts(record: MatchRecord, *, is_asking: bool) -> set[str]:
    found = {amount for _, amount in payable_amounts(record)}
    if is_asking and record.kind in ("invoice", "payment") and record.gross_total:
        # Of a payment, the invoice that it would pay less a discount.
        for percent in _ASKED_DISCOUNTS:
            factor = (100 - percent) / 100
            total = record.gross_total
            found.add(discounted(total, percent) if record.kind == "invoice" else round(total / factor, 2))
    return {format(amount.quantize(Decimal("0.01")), "f") for amount in found if amount}


def _items(record: MatchRecord) -> set[str]:
    keys: set[str] = set()
    for item in record.items[:_MOST_ITEMS]:
        words = sorted(
            {word for word in item.key.split() if len(word) >= _LONG_WORD}, key=lambda w: (-len(w), w)
        )
        if words:
            keys.add(" ".join(words[:_WORDS_OF_ITEM]))
    return keys


def _quarters(day: dt.date | None, *, is_asking: bool) -> Iterator[int]:
    """The quarter of a day, with those before and after it if they are asked for."""
    if day is None:
        return
    quarter = day.year * 4 + (day.month - 1) // 3
    yield from (quarter - 1, quarter, quarter + 1) if is_asking else (quarter,)


@lru_cache(maxsize=262144)
def _hash(*parts: str | int) -> int:
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
