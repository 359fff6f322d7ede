"""Bookings of a bank statement that was read again: what people decided about one must not pass to another.

The id of a booking is its place in the statement, and another reading may have fewer or more rows before it.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping

from docmill.matching.match_record import MatchRecord

_LOST = "#~"
"""Between the id of a statement and the mark of a booking that it has no more."""


def moved_bookings(
    before: Mapping[str, MatchRecord], after: Mapping[str, MatchRecord], lost: frozenset[str] = frozenset()
) -> dict[str, str]:
    """The ids of bookings that have another one in the new reading of their statement, with that one.

    A booking is recognised by day, amount and direction, and by its text where several have these. One that
    is there no more gets an id that no record has; lost: such ids of earlier readings, which are given back.
    """
    free: defaultdict[object, list[MatchRecord]] = defaultdict(list)
    for record in after.values():
        free[_booked(record)].append(record)
    moved: dict[str, str] = {}
    for id_, record in sorted(before.items(), key=lambda each: not _is_same(each[1], after.get(each[0]))):
        if record.kind == "payment":
            now = _take(free[_booked(record)], record) or _lost_id(record)
            if now != id_:
                moved[id_] = now
    found = {_lost_id(record): record.id for records in free.values() for record in records}
    return moved | {id_: found[id_] for id_ in lost if id_ in found}


def is_lost_booking(record_id: str) -> bool:
    """Return whether an id is that of a booking which its statement has no more."""
    return _LOST in record_id


def _take(free: list[MatchRecord], record: MatchRecord) -> str | None:
    """The free booking that is a record's, which is no longer free: by its text, then by its place."""
    if not free:
        return None
    best = min(free, key=lambda other: (other.other_values != record.other_values, other.id != record.id))
    free.remove(best)
    return best.id


def _is_same(record: MatchRecord, other: MatchRecord | None) -> bool:
    return (
        other is not None and _booked(record) == _booked(other) and record.other_values == other.other_values
    )


def _booked(record: MatchRecord) -> tuple[object, ...]:
    return record.issue_date, record.gross_total, record.currency, record.is_incoming


def _lost_id(record: MatchRecord) -> str:
    told = repr((*map(str, _booked(record)), record.other_values.get("text", "")))
    return f"{record.document_id}{_LOST}{hashlib.blake2b(told.encode(), digest_size=8).hexdigest()}"
