"""Where the values of any data stand on the pages, whoever read them: found empty rather than wrong.

A value is looked for in every form that it can be printed in. Among several places the one is taken that
stands where the field's labels are, and beside the other values of the same thing or row. What is nowhere,
or in too many places to tell, has the match `none`, and the gate shows it to a person.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Schema
from docmill.understanding.locate.computed import computed
from docmill.understanding.locate.dates import dates, times
from docmill.understanding.locate.labels import Labels
from docmill.understanding.locate.numbers import numbers
from docmill.understanding.locate.rows import placed
from docmill.understanding.locate.sheets import Sheets, Sighting
from docmill.understanding.locate.texts import texts

NOWHERE = Evidence(page=None, box=None, text=None, match="none", confidence=0.0)
COMPUTED = Evidence(page=None, box=None, text=None, match="computed", confidence=0.9)
AMONG_SEVERAL = 0.95
"""What a place counts that was chosen from several without a label to say so."""
LEAST_LABEL = 0.7
"""How much must speak for a short value before it is believed to be the one."""
_NEAR = 1.5
"""What it counts to stand close to the other values of the same party."""
_ORDER = 0.3
"""What it counts to stand first, or last for amounts: totals are below what they are made of."""
_AMOUNTS = ("gross_total", "amount_due", "net_total", "closing_balance", "amount")
_INDEX = re.compile(r"\[\d+\]")
_AMOUNT_WORDS = frozenset(("total", "amount", "sum", "price", "balance", "due", "fee", "tip"))
_DAY_WORDS = frozenset(("date", "day", "issue", "issued", "due", "delivery", "signed", "booked"))
_END_WORDS = frozenset(("start", "from", "since", "end", "to", "until", "till", "through", "month", "period"))


def located(document: Document, data: BaseModel | Mapping[str, Any], schema: Schema) -> dict[str, Evidence]:
    """Evidence for every value of the data that is not null, by path.

    data: of any model, or as JSON with the same names.
    """
    return _Search(document, schema).evidence(dict(leaves(data)))


@dataclass(frozen=True, slots=True)
class _Choice:
    """The place taken for a path, and how much it is to be believed beside its rivals."""

    sighting: Sighting
    share: float

    @property
    def evidence(self) -> Evidence:
        one = self.sighting
        return Evidence(
            page=one.sheet.page.number,
            box=one.box,
            text=one.text,
            match=one.match,
            confidence=round(one.trust * one.recognition * self.share, 4),
        )


class _Search:
    """One document's values on their way to their places."""

    def __init__(self, document: Document, schema: Schema) -> None:
        self._sheets = Sheets(document)
        self._labels = Labels(schema)
        self._seen: dict[object, list[Sighting]] = {}

    def evidence(self, values: Mapping[str, object]) -> dict[str, Evidence]:
        places = {
            path: [one for one in self._sightings(value) if _may_be_so(path, one)]
            for path, value in values.items()
        }
        chosen = self._rows(places)
        self._singles(places, values, chosen)
        self._repeated(places, chosen)
        found = {path: choice.evidence for path, choice in chosen.items()}
        sums = computed(values, frozenset(found))
        return {path: found.get(path, COMPUTED if path in sums else NOWHERE) for path in values}

    def _sightings(self, value: object) -> list[Sighting]:
        key = (type(value), str(value))
        if key not in self._seen:
            self._seen[key] = self._looked_for(value)
        return self._seen[key]

    def _looked_for(self, value: object) -> list[Sighting]:
        if isinstance(value, Enum):
            return self._looked_for(value.value)
        found: list[Sighting] = []
        match value:
            case bool():
                pass  # nothing that is printed is true or false
            case date():
                found = dates(self._sheets, value.date() if isinstance(value, datetime) else value)
            case time():
                found = times(self._sheets, value)
            case Decimal() | int() | float():
                found = numbers(self._sheets, Decimal(str(value)))
            case _:
                found = texts(self._sheets, str(value))
        return found

    def _rows(self, places: Mapping[str, list[Sighting]]) -> dict[str, _Choice]:
        """Values of list items, by the rows of the items."""
        lists: dict[str, dict[int, dict[str, list[Sighting]]]] = defaultdict(lambda: defaultdict(dict))
        for path, found in places.items():
            match = _INDEX.search(path)
            if match is not None and found:
                lists[path[: match.start()]][int(match[0][1:-1])][path] = found
        chosen: dict[str, _Choice] = {}
        for items in lists.values():
            if any(len(item) > 1 for item in items.values()):
                rows = placed([items[index] for index in sorted(items)], self._labels)
                chosen.update({path: _Choice(one, 1.0) for path, one in rows.items()})
        return chosen

    def _singles(
        self, places: Mapping[str, list[Sighting]], values: Mapping[str, object], chosen: dict[str, _Choice]
    ) -> None:
        """Values that stand alone: the surest first, so that the others can be looked for beside them."""
        waiting = [path for path in places if places[path] and not _INDEX.search(path)]
        for path in sorted(waiting, key=lambda path: (len(places[path]) > 1, -len(str(values[path])), path)):
            beside = [other.sighting for known, other in chosen.items() if _belongs(known, path)]
            found = self._best(
                path, places[path], beside, last=isinstance(values[path], Decimal | float | int)
            )
            if found is not None:
                chosen[path] = found

    def _best(
        self, path: str, among: Sequence[Sighting], beside: Sequence[Sighting], *, last: bool
    ) -> _Choice | None:
        speaks = [self._labels.score(path, one) for one in among]
        count = len(among)
        scores = [
            (
                said + _closeness(one, beside) + one.trust + _ORDER * ((index if last else -index) / count),
                index,
            )
            for index, (one, said) in enumerate(zip(among, speaks, strict=True))
        ]
        index = max(scores)[1] if last else max(scores, key=lambda score: (score[0], -score[1]))[1]
        one = among[index]
        if one.is_plain and speaks[index] < LEAST_LABEL:
            return None
        is_told = count == 1 or speaks[index] > 0
        return _Choice(one, 1.0 if is_told else AMONG_SEVERAL)

    def _repeated(self, places: Mapping[str, list[Sighting]], chosen: dict[str, _Choice]) -> None:
        """Values of items that stand once for all of them, such as a currency; lists of single values."""
        taken = [(path, choice.sighting) for path, choice in chosen.items() if _INDEX.search(path)]
        for path, among in places.items():
            if path in chosen or not _INDEX.search(path):
                continue
            free = [one for one in among if not any(_is_beside(path, one, *other) for other in taken)]
            if path.endswith(".currency"):
                free = free or among
            if free and not free[0].is_plain and (len(free) == 1 or path.endswith(("]", ".currency"))):
                chosen[path] = _Choice(free[0], 1.0 if len(free) == 1 else AMONG_SEVERAL)


def _may_be_so(path: str, one: Sighting) -> bool:
    """Whether a value of this name may be printed in this form."""
    if one.form == "value":
        return True
    words = set(re.findall(r"[a-z]+", path.rpartition(".")[2].lower()))
    if one.form == "percent":
        return not words & _AMOUNT_WORDS
    return not words & _DAY_WORDS or bool(words & _END_WORDS)


def _is_beside(path: str, one: Sighting, known: str, other: Sighting) -> bool:
    """Whether a place is on the row of another item than the one that the path is of."""
    item, owner = (name.rpartition(".")[0] for name in (path, known))
    same_page = one.sheet.page_index == other.sheet.page_index
    return (
        bool(item) and item != owner and same_page and abs(one.middle - other.middle) < one.segment.height / 2
    )


def _belongs(other: str, path: str) -> bool:
    """Whether two values stand together: those of one party, and a currency with an amount."""
    owner, _, leaf = path.rpartition(".")
    if leaf == "currency":
        return other.endswith(_AMOUNTS)
    return bool(owner) and owner == other.rpartition(".")[0]


def _closeness(one: Sighting, beside: Sequence[Sighting]) -> float:
    """How near it is to the nearest of them, in [0, `_NEAR`]."""
    near = [
        abs(one.middle - other.middle) / max(one.segment.height, 1e-6)
        for other in beside
        if other.sheet.page_index == one.sheet.page_index
    ]
    return _NEAR / (1 + min(near)) if near else 0.0
