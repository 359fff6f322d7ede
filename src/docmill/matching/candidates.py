"""Index in memory of the records of one run, by their keys; in the vault a table has the same."""

import datetime as dt
from bisect import bisect_left, insort
from collections import Counter, defaultdict
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
_INDEX_BITS = 32
_INDEX = (1 << _INDEX_BITS) - 1


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
        self._by_key: defaultdict[Kind, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        """By kind and key, the records in order of days, each as a number: see `_entry`."""
        for record in records:
            self.add(record)

    def add(self, record: MatchRecord) -> None:
        """Add a record, which is found from now on."""
        entry = _entry(_ordinal(record.issue_date), len(self._records))
        self._records.append(record)
        of_kind = self._by_key[record.kind]
        for key in stored_keys(record):
            insort(of_kind[key], entry)

    def find(self, record: MatchRecord, *, asked: Mapping[int, KeyKind] | None = None) -> list[MatchRecord]:
        """The records that may be related to one, the likeliest first, without itself.

        asked: the keys to look for, unless its own.
        """
        asked = asked_keys(record) if asked is None else asked
        by_weight: defaultdict[float, list[int]] = defaultdict(list)
        for key, kind_of_key in asked.items():
            by_weight[WEIGHTS[kind_of_key]].append(key)
        ranked: list[tuple[float, int, int]] = []
        for kind in related_kinds(record.kind):
            if of_kind := self._by_key.get(kind):
                day = _ordinal(expected_day(record, kind))
                most = MOST_OF_KIND + (kind == record.kind)  # it may be itself
                ranked += _likeliest(_sums_of(of_kind, by_weight, day), day, most)
        found = (self._records[index] for _, _, index in sorted(ranked))
        return [other for other in found if other.id != record.id][:MOST_CANDIDATES]


def _sums_of(
    of_kind: Mapping[int, list[int]], by_weight: Mapping[float, Iterable[int]], day: int
) -> Mapping[int, float]:
    """The sums of the weights of the keys that entries have. Counted by the library, one weight at a time."""
    sums: defaultdict[int, float] = defaultdict(float)
    for weight, keys in by_weight.items():
        counts: Counter[int] = Counter()
        for key in keys:
            if entries := of_kind.get(key):
                counts.update(_nearest(entries, day))
        for entry, count in counts.items():
            sums[entry] += weight * count
    return sums


def _likeliest(sums: Mapping[int, float], day: int, most: int) -> list[tuple[float, int, int]]:
    """The entries of the highest sums, the nearest first: the sum below zero, the days off, the index."""
    least = sorted(sums.values(), reverse=True)[most - 1] if len(sums) > most else 0.0
    return sorted(
        (-weight, abs((entry >> _INDEX_BITS) - day), entry & _INDEX)
        for entry, weight in sums.items()
        if weight >= least
    )[:most]


def _nearest(entries: list[int], day: int) -> list[int]:
    if len(entries) <= MOST_OF_KEY:
        return entries
    middle = bisect_left(entries, _entry(day, 0))
    start = max(0, min(middle - MOST_OF_KEY // 2, len(entries) - MOST_OF_KEY))
    return entries[start : start + MOST_OF_KEY]


def _entry(day: int, index: int) -> int:
    """A record's day and index as one number, which sorts like both and is counted faster."""
    return day << _INDEX_BITS | index


def _ordinal(day: dt.date | None) -> int:
    return day.toordinal() if day else NO_DAY
