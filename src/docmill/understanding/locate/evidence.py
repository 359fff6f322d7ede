"""Places of given values on the pages of a document, as evidence.

A value is searched for in every form that it can be printed in. Among several places the one is taken that
stands where the field's labels are, and beside the other values of the same object or row. A value that is
nowhere, or in too many places to tell, has the match `none`, and the gate shows it to a person.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any

from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Schema
from docmill.understanding.locate.dates import find_date, find_time
from docmill.understanding.locate.labels import LabelScorer
from docmill.understanding.locate.numbers import find_number
from docmill.understanding.locate.occurrences import Occurrence, SearchedPages
from docmill.understanding.locate.rows import place_items
from docmill.understanding.locate.texts import find_text

NOWHERE = Evidence(page=None, box=None, text=None, match="none", confidence=0.0)
COMPUTED = Evidence(page=None, box=None, text=None, match="computed", confidence=0.9)
CENT = Decimal("0.01")
AMONG_SEVERAL = 0.95
"""What a place counts that was chosen from several without a label to say so."""
LEAST_LABEL = 0.7
"""The least label score by which a short value is believed."""
_NEAR = 1.5
"""What it counts to stand close to the other values of the same object."""
_ORDER = 0.3
"""What it counts to stand first, or last for amounts: totals are below what they are made of."""
_AMOUNTS = ("gross_total", "amount_due", "net_total", "closing_balance", "amount")
_INDEX = re.compile(r"\[\d+\]")
_LINE = re.compile(r"(?P<item>.*\[\d+\])\.(?P<leaf>\w+)$")
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

    place: Occurrence
    share: float

    @property
    def evidence(self) -> Evidence:
        place = self.place
        return Evidence(
            page=place.sheet.page.number,
            box=place.box,
            text=place.text,
            match=place.match,
            confidence=round(place.trust * place.recognition * self.share, 4),
        )


class _Search:
    """The search for the places of one document's values."""

    def __init__(self, document: Document, schema: Schema) -> None:
        self._pages = SearchedPages(document)
        self._labels = LabelScorer(schema)
        self._occurrences: dict[object, list[Occurrence]] = {}

    def evidence(self, values: Mapping[str, object]) -> dict[str, Evidence]:
        places = {
            path: [place for place in self._find(value) if _suits(path, place)]
            for path, value in values.items()
        }
        chosen = self._place_rows(places)
        self._place_single_values(places, values, chosen)
        self._place_repeated_values(places, chosen)
        evidence = {path: choice.evidence for path, choice in chosen.items()}
        computed = computed_paths(values, frozenset(evidence))
        return {path: evidence.get(path, COMPUTED if path in computed else NOWHERE) for path in values}

    def _find(self, value: object) -> list[Occurrence]:
        if isinstance(value, Enum):
            return self._find(value.value)
        key = (type(value), str(value))
        if key not in self._occurrences:
            self._occurrences[key] = self._find_anew(value)
        return self._occurrences[key]

    def _find_anew(self, value: object) -> list[Occurrence]:
        match value:
            case bool():
                return []  # nothing that is printed is true or false
            case date():
                return find_date(self._pages, value.date() if isinstance(value, datetime) else value)
            case time():
                return find_time(self._pages, value)
            case Decimal() | int() | float():
                return find_number(self._pages, Decimal(str(value)))
            case _:
                return find_text(self._pages, str(value))

    def _place_rows(self, places: Mapping[str, list[Occurrence]]) -> dict[str, _Choice]:
        """The places of list items' values, by the rows of the items."""
        lists: dict[str, dict[int, dict[str, list[Occurrence]]]] = defaultdict(lambda: defaultdict(dict))
        for path, among in places.items():
            match = _INDEX.search(path)
            if match is not None and among:
                lists[path[: match.start()]][int(match[0][1:-1])][path] = among
        chosen: dict[str, _Choice] = {}
        for items in lists.values():
            if any(len(item) > 1 for item in items.values()):
                rows = place_items([items[index] for index in sorted(items)], self._labels)
                chosen.update({path: _Choice(place, 1.0) for path, place in rows.items()})
        return chosen

    def _place_single_values(
        self,
        places: Mapping[str, list[Occurrence]],
        values: Mapping[str, object],
        chosen: dict[str, _Choice],
    ) -> None:
        """Choose places of values outside lists: the surest first, since the others stand beside them."""
        waiting = [path for path in places if places[path] and not _INDEX.search(path)]
        for path in sorted(waiting, key=lambda path: (len(places[path]) > 1, -len(str(values[path])), path)):
            beside = [other.place for known, other in chosen.items() if _stand_together(known, path)]
            is_amount = isinstance(values[path], Decimal | float | int)
            choice = self._best(path, places[path], beside, last=is_amount)
            if choice is not None:
                chosen[path] = choice

    def _best(
        self, path: str, among: Sequence[Occurrence], beside: Sequence[Occurrence], *, last: bool
    ) -> _Choice | None:
        labels = [self._labels.score(path, place) for place in among]
        count = len(among)
        scores = [
            (
                label
                + _closeness(place, beside)
                + place.trust
                + _ORDER * ((index if last else -index) / count),
                index,
            )
            for index, (place, label) in enumerate(zip(among, labels, strict=True))
        ]
        index = max(scores)[1] if last else max(scores, key=lambda score: (score[0], -score[1]))[1]
        if among[index].is_plain and labels[index] < LEAST_LABEL:
            return None
        return _Choice(among[index], 1.0 if count == 1 or labels[index] > 0 else AMONG_SEVERAL)

    def _place_repeated_values(
        self, places: Mapping[str, list[Occurrence]], chosen: dict[str, _Choice]
    ) -> None:
        """Choose places of items' values printed once for all, such as a currency, and of lists of values."""
        taken = [(path, choice.place) for path, choice in chosen.items() if _INDEX.search(path)]
        for path, among in places.items():
            if path in chosen or not _INDEX.search(path):
                continue
            free = [
                place for place in among if not any(_is_on_row_of(path, place, *other) for other in taken)
            ]
            if path.endswith(".currency"):
                free = free or among
            if free and not free[0].is_plain and (len(free) == 1 or path.endswith(("]", ".currency"))):
                chosen[path] = _Choice(free[0], 1.0 if len(free) == 1 else AMONG_SEVERAL)


def _suits(path: str, place: Occurrence) -> bool:
    """A rate may be printed as per cent, and a period's end as its month, but no other value."""
    if place.form == "value":
        return True
    words = set(re.findall(r"[a-z]+", path.rpartition(".")[2].lower()))
    if place.form == "percent":
        return not words & _AMOUNT_WORDS
    return not words & _DAY_WORDS or bool(words & _END_WORDS)


def _is_on_row_of(path: str, place: Occurrence, known: str, other: Occurrence) -> bool:
    """True if a place is on the row of another item than that of the path."""
    item, owner = (name.rpartition(".")[0] for name in (path, known))
    same_page = place.sheet.page_index == other.sheet.page_index
    return (
        bool(item)
        and item != owner
        and same_page
        and abs(place.middle - other.middle) < place.segment.height / 2
    )


def _stand_together(other: str, path: str) -> bool:
    """True if two values stand together: those of one object, and a currency with an amount."""
    owner, _, leaf = path.rpartition(".")
    if leaf == "currency":
        return other.endswith(_AMOUNTS)
    return bool(owner) and owner == other.rpartition(".")[0]


def _closeness(place: Occurrence, beside: Sequence[Occurrence]) -> float:
    """A score for the distance to the nearest of them, in [0, `_NEAR`]."""
    near = [
        abs(place.middle - other.middle) / max(place.segment.height, 1e-6)
        for other in beside
        if other.sheet.page_index == place.sheet.page_index
    ]
    return _NEAR / (1 + min(near)) if near else 0.0


def computed_paths(values: Mapping[str, object], placed: AbstractSet[str]) -> frozenset[str]:
    """The paths of values that follow from values that were found on the pages.

    placed: the paths of these. A value computed from computed values is not believed.
    """
    missing = ((path, value) for path, value in values.items() if path not in placed)
    return frozenset(
        path
        for path, value in missing
        if isinstance(value, Decimal)
        and any(abs(result - value) <= CENT for result in _computed(path, values, placed))
    )


def _computed(path: str, values: Mapping[str, object], placed: AbstractSet[str]) -> Iterator[Decimal]:
    """The value by each way to compute it."""

    def amount(path: str) -> Decimal | None:
        value = values.get(path)
        return value if path in placed and isinstance(value, Decimal) else None

    line = _LINE.match(path)
    if line is not None:
        item, leaf = line["item"], line["leaf"]
        quantity, price, net = (amount(f"{item}.{name}") for name in ("quantity", "unit_price", "net_amount"))
        yield from _computed_in_line(leaf, quantity, price, net)
        return
    net, tax, gross = amount("net_total"), amount("tax_total"), amount("gross_total")
    if path == "gross_total" and net is not None and tax is not None:
        yield net + tax
    if path == "net_total":
        if gross is not None and tax is not None:
            yield gross - tax
        lines = [amount(other) for other in placed if re.fullmatch(r"lines\[\d+\]\.net_amount", other)]
        amounts = [value for value in lines if value is not None]
        if amounts:
            yield sum(amounts, Decimal(0))
    if path == "tax_total" and gross is not None and net is not None:
        yield gross - net
    if path == "amount_due" and gross is not None:
        yield gross


def _computed_in_line(
    leaf: str, quantity: Decimal | None, price: Decimal | None, net: Decimal | None
) -> Iterator[Decimal]:
    if leaf == "net_amount" and quantity is not None and price is not None:
        yield quantity * price
    if leaf == "unit_price" and quantity and net is not None:
        yield net / quantity
    if leaf == "quantity" and price and net is not None:
        yield net / price
