"""Index in memory of the records of one run, by their keys; in the vault a table has the same."""

import datetime as dt
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping

from docmill.matching.candidate_keys import WEIGHTS, KeyKind, asked_keys, stored_keys
from docmill.matching.match_record import Kind, MatchRecord
from docmill.matching.relations import expected_days_between, related_kinds

MOST_CANDIDATES = 80
"""Records that one record is compared with, those with the highest sums of key weights."""
MOST_OF_KIND = 16
"""Of these, records of one kind."""
MOST_OF_KEY = 24
"""Records of one key and kind that are looked at: those nearest to the day on which they are expected."""
NO_DAY = 0


def expected_day(record: MatchRecord, kind: Kind) -> dt.date | None:
    """The day around which records of a kind are looked for that may belong to a record."""
    if record.issue_date is None:
        return None
    if kind == "payment" and record.due_date is not None:
        return record.due_date
    try:
        return record.issue_date + dt.timedelta(days=expected_days_between(record.kind, kind))
    except OverflowError:
        return record.issue_date


class CandidateIndex:
    """Records by their keys; `find` gives those that may be related to one."""

    def __init__(self, records: Iterable[MatchRecord] = ()) -> None:
        self._records: list[MatchRecord] = []
        self._days: list[int] = []
        self._by_key: defaultdict[tuple[Kind, int], list[tuple[int, int]]] = defaultdict(list)
        """By kind and key, the day of each record and its index, in order of days."""
        for record in records:
            self.add(record)

    def add(self, record: MatchRecord) -> None:
        """Add a record, which is found from now on."""
        entry = (_ordinal(record.issue_date), len(self._records))
        self._records.append(record)
        self._days.append(entry[0])
        for key in stored_keys(record):
            insort(self._by_key[record.kind, key], entry)

    def find(self, record: MatchRecord, *, asked: Mapping[int, KeyKind] | None = None) -> list[MatchRecord]:
        """The records that may be related to one, the likeliest first, without itself.

        asked: the keys to look for, unless its own.
        """
        asked = asked_keys(record) if asked is None else asked
        keys = [(key, WEIGHTS[kind_of_key]) for key, kind_of_key in asked.items()]
        days, by_key = self._days, self._by_key
        ranked: list[tuple[float, int, int]] = []
        for kind in related_kinds(record.kind):
            sums: defaultdict[int, float] = defaultdict(float)
            day = _ordinal(expected_day(record, kind))
            for key, weight in keys:
                if entries := by_key.get((kind, key)):
                    for _, index in _nearest(entries, day):
                        sums[index] += weight
            of_kind = sorted((-weight, abs(days[index] - day), index) for index, weight in sums.items())
            ranked += of_kind[: MOST_OF_KIND + (kind == record.kind)]  # it may be itself
        found = (self._records[index] for _, _, index in sorted(ranked))
        return [other for other in found if other.id != record.id][:MOST_CANDIDATES]


def _nearest(entries: list[tuple[int, int]], day: int) -> list[tuple[int, int]]:
    if len(entries) <= MOST_OF_KEY:
        return entries
    middle = bisect_left(entries, (day, -1))
    start = max(0, min(middle - MOST_OF_KEY // 2, len(entries) - MOST_OF_KEY))
    return entries[start : start + MOST_OF_KEY]


def _ordinal(day: dt.date | None) -> int:
    return day.toordinal() if day else NO_DAY
