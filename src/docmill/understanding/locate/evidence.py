"""Places of given values on the pages of a document, as evidence.

A value is searched for in every form that it can be printed in. Among several places the one is taken that
stands where the field's labels are, and beside the other values of the same object or row. A value that is
nowhere, or in too many places to tell, has the match `none`, and the gate shows it to a person.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple

from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Schema
from docmill.understanding.locate.labels import LabelScorer
from docmill.understanding.locate.rows import place_items
from docmill.understanding.locate.searched_pages import Occurrence, SearchedPages
from docmill.understanding.locate.values import find_value

NOWHERE = Evidence(page=None, box=None, text=None, match="none", confidence=0.0)
COMPUTED = Evidence(page=None, box=None, text=None, match="computed", confidence=0.9)
CENT = Decimal("0.01")
AMONG_SEVERAL = 0.95
"""The share of a place that was chosen from several without a label."""
LEAST_LABEL = 0.7
"""The least label score by which a short value is believed."""
_NEAR = 1.5
"""The score for standing close to the other values of the same object."""
_ORDER = 0.3
"""The score for standing first, or last for amounts: totals are below their parts."""
_AMOUNTS = ("gross_total", "amount_due", "net_total", "closing_balance", "amount")
_INDEX = re.compile(r"\[\d+\]")
_LINE = re.compile(r"(?P<item>.*\[\d+\])\.(?P<leaf>\w+)$")
_LINE_NET = re.compile(r"lines\[\d+\]\.net_amount")
_AMOUNT_WORDS = frozenset(("total", "amount", "sum", "price", "balance", "due", "fee", "tip"))
_DAY_WORDS = frozenset(("date", "day", "issue", "issued", "due", "delivery", "signed", "booked"))
_END_WORDS = frozenset(("start", "from", "since", "end", "to", "until", "till", "through", "month", "period"))


def located(document: Document, data: BaseModel | Mapping[str, Any], schema: Schema) -> dict[str, Evidence]:
    """Evidence for every value of the data that is not null, by path.

    data: of any model, or as JSON with the same names.
    """
    values = dict(leaves(data))
    pages = SearchedPages(document)
    labels = LabelScorer(schema, pages.candidates)
    places_by_value: dict[object, list[Occurrence]] = {}
    places: dict[str, list[Occurrence]] = {}
    for path, value in values.items():
        plain_value: object = value.value if isinstance(value, Enum) else value
        key = (type(plain_value), str(plain_value))
        if key not in places_by_value:
            places_by_value[key] = find_value(pages, plain_value)
        places[path] = [place for place in places_by_value[key] if _suits(path, place)]
    chosen = _place_rows(places, labels)
    chosen |= _place_single_values(places, values, chosen, labels)
    chosen |= _place_repeated_values(places, chosen)
    computed = computed_paths(values, chosen.keys())
    evidence = {
        path: place.evidence(place.trust * place.recognition * share)
        for path, (place, share) in chosen.items()
    }
    return {path: evidence.get(path, COMPUTED if path in computed else NOWHERE) for path in values}


class _Choice(NamedTuple):
    """The place taken for a path. share: how much it is to be believed beside its rivals."""

    place: Occurrence
    share: float


def _place_rows(places: Mapping[str, list[Occurrence]], labels: LabelScorer) -> dict[str, _Choice]:
    """The places of list items' values, by the rows of the items."""
    lists: dict[str, dict[int, dict[str, list[Occurrence]]]] = defaultdict(lambda: defaultdict(dict))
    for path, among in places.items():
        match = _INDEX.search(path)
        if match is not None and among:
            lists[path[: match.start()]][int(match[0][1:-1])][path] = among
    chosen: dict[str, _Choice] = {}
    for items in lists.values():
        if any(len(item) > 1 for item in items.values()):
            rows = place_items([items[index] for index in sorted(items)], labels)
            chosen.update({path: _Choice(place, 1.0) for path, place in rows.items()})
    return chosen


def _place_single_values(
    places: Mapping[str, list[Occurrence]],
    values: Mapping[str, object],
    placed: Mapping[str, _Choice],
    labels: LabelScorer,
) -> dict[str, _Choice]:
    """The places of values outside lists: the surest first, since the others stand beside them."""
    chosen: dict[str, _Choice] = dict(placed)
    waiting = [path for path in places if places[path] and not _INDEX.search(path)]
    for path in sorted(waiting, key=lambda path: (len(places[path]) > 1, -len(str(values[path])), path)):
        among, is_amount = places[path], isinstance(values[path], Decimal | float | int)
        owner, _, leaf = path.rpartition(".")
        beside = [
            choice.place
            for other, choice in chosen.items()
            if (
                other.endswith(_AMOUNTS)
                if leaf == "currency"
                else bool(owner) and owner == other.rpartition(".")[0]
            )
        ]
        by_label = [labels.score(path, place) for place in among]
        scores = [
            label
            + _closeness(place, beside)
            + place.trust
            + _ORDER * ((order if is_amount else -order) / len(among))
            for order, (place, label) in enumerate(zip(among, by_label, strict=True))
        ]
        best = max(range(len(among)), key=lambda index: (scores[index], index if is_amount else -index))
        if not among[best].is_plain or by_label[best] >= LEAST_LABEL:
            is_sure = len(among) == 1 or by_label[best] > 0
            chosen[path] = _Choice(among[best], 1.0 if is_sure else AMONG_SEVERAL)
    return chosen


def _closeness(place: Occurrence, beside: Sequence[Occurrence]) -> float:
    """A score for the distance to the nearest of them, in [0, `_NEAR`]."""
    near = [
        abs(place.middle - other.middle) / max(place.segment.height, 1e-6)
        for other in beside
        if other.sheet.page_index == place.sheet.page_index
    ]
    return _NEAR / (1 + min(near)) if near else 0.0


def _place_repeated_values(
    places: Mapping[str, list[Occurrence]], placed: Mapping[str, _Choice]
) -> dict[str, _Choice]:
    """The places of items' values printed once for all, such as a currency, and of lists of values."""
    taken = [(path, choice.place) for path, choice in placed.items() if _INDEX.search(path)]
    chosen: dict[str, _Choice] = {}
    for path, among in places.items():
        if path in placed or not _INDEX.search(path):
            continue
        free = [place for place in among if not any(_is_on_row_of(path, place, *other) for other in taken)]
        if path.endswith(".currency"):
            free = free or among
        if free and not free[0].is_plain and (len(free) == 1 or path.endswith(("]", ".currency"))):
            chosen[path] = _Choice(free[0], 1.0 if len(free) == 1 else AMONG_SEVERAL)
    return chosen


def _suits(path: str, place: Occurrence) -> bool:
    """True if the field may be printed so: a rate as per cent, a period's end as its month, else as it is."""
    if place.form == "value":
        return True
    words = set(re.findall(r"[a-z]+", path.rpartition(".")[2].lower()))
    if place.form == "percent":
        return not words & _AMOUNT_WORDS
    return not words & _DAY_WORDS or bool(words & _END_WORDS)


def _is_on_row_of(path: str, place: Occurrence, other_path: str, other: Occurrence) -> bool:
    """True if a place is on the row of another item than that of the path."""
    item, owner = (name.rpartition(".")[0] for name in (path, other_path))
    return (
        item not in ("", owner)
        and place.sheet.page_index == other.sheet.page_index
        and abs(place.middle - other.middle) < place.segment.height / 2
    )


def computed_paths(values: Mapping[str, object], placed: AbstractSet[str]) -> frozenset[str]:
    """The paths of values that follow from values that were found on the pages.

    placed: the paths of these. A value computed from computed values is not believed.
    """
    amounts = {path: value for path, value in values.items() if isinstance(value, Decimal)}
    sources = {path: value for path, value in amounts.items() if path in placed}
    return frozenset(
        path
        for path, value in amounts.items()
        if path not in placed and any(abs(result - value) <= CENT for result in _computed(path, sources))
    )


def _computed(path: str, amounts: Mapping[str, Decimal]) -> Iterator[Decimal]:
    """The value of a path by each way to compute it from these amounts."""
    line = _LINE.match(path)
    if line is not None:
        quantity, price, net = (
            amounts.get(f"{line['item']}.{name}") for name in ("quantity", "unit_price", "net_amount")
        )
        if line["leaf"] == "net_amount" and quantity is not None and price is not None:
            yield quantity * price
        if line["leaf"] == "unit_price" and quantity and net is not None:
            yield net / quantity
        if line["leaf"] == "quantity" and price and net is not None:
            yield net / price
        return
    net, tax, gross = (amounts.get(name) for name in ("net_total", "tax_total", "gross_total"))
    if path == "gross_total" and net is not None and tax is not None:
        yield net + tax
    if path == "net_total" and gross is not None and tax is not None:
        yield gross - tax
    lines = [value for other, value in amounts.items() if _LINE_NET.fullmatch(other)]
    if path == "net_total" and lines:
        yield sum(lines, Decimal(0))
    if path == "tax_total" and gross is not None and net is not None:
        yield gross - net
    if path == "amount_due" and gross is not None:
        yield gross
