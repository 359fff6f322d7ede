"""Index in memory of the records of one run, by their keys; in the vault a table has the same."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable

from docmill.matching.candidate_keys import WEIGHTS, asked_keys, stored_keys
from docmill.matching.match_record import Kind, MatchRecord
from docmill.matching.relations import related_kinds

MOST_CANDIDATES = 40
"""Records that one record is compared with, those with the highest sums of key weights."""
MOST_OF_KEY = 24
"""Records of one key that are looked at: those nearest in time."""
NO_DAY = 0


class CandidateIndex:
    """Records by their keys; `find` gives those that may be related to one."""

    def __init__(self, records: Iterable[MatchRecord] = ()) -> None:
        self._records: list[MatchRecord] = []
        self._by_key: defaultdict[tuple[Kind, int], list[tuple[int, int]]] = defaultdict(list)
        """By kind and key, the day of each record and its index, in order of days."""
        for record in records:
            self.add(record)

    def add(self, record: MatchRecord) -> None:
        """Add a record, which is found from now on."""
        entry = (_day(record), len(self._records))
        self._records.append(record)
        for key in stored_keys(record):
            insort(self._by_key[record.kind, key], entry)

    def find(self, record: MatchRecord) -> list[MatchRecord]:
        """The records that may be related to one, the likeliest first, without itself."""
        sums: defaultdict[int, float] = defaultdict(float)
        kinds = related_kinds(record.kind)
        day = _day(record)
        for key, kind_of_key in asked_keys(record).items():
            weight = WEIGHTS[kind_of_key]
            for kind in kinds:
                if entries := self._by_key.get((kind, key)):
                    for _, index in _nearest(entries, day):
                        sums[index] += weight
        ranked = sorted(sums, key=lambda index: (-sums[index], abs(_day(self._records[index]) - day), index))
        found = (self._records[index] for index in ranked[: MOST_CANDIDATES + 1])
        return [other for other in found if other.id != record.id][:MOST_CANDIDATES]


def _nearest(entries: list[tuple[int, int]], day: int) -> list[tuple[int, int]]:
    if len(entries) <= MOST_OF_KEY:
        return entries
    middle = bisect_left(entries, (day, -1))
    start = max(0, min(middle - MOST_OF_KEY // 2, len(entries) - MOST_OF_KEY))
    return entries[start : start + MOST_OF_KEY]


def _day(record: MatchRecord) -> int:
    return record.issue_date.toordinal() if record.issue_date else NO_DAY
