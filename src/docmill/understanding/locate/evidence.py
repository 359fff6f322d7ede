"""Places of given values on the pages of a document, as evidence.

A value is searched for in every form that it can be printed in. Among several places the one is taken that
stands where the field's labels are, and beside the other values of the same object. Items of lists are placed
on the row on which most of their values stand together. A value that is nowhere, or in too many places to
tell, has the match `none`, and the gate shows it to a person.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from statistics import median
from typing import Any, NamedTuple, Self

import numpy as np
from pydantic import BaseModel

from docmill.model.document import Box, Document
from docmill.model.paths import leaves, without_indices
from docmill.model.result import Evidence, Schema
from docmill.schemas.document_types import known_type
from docmill.understanding.derivations import derivations, is_same_result
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.locate.searched_pages import Occurrence, PrintedForm, SearchedPages
from docmill.understanding.locate.values import find_value
from docmill.understanding.page.context import FARTHER, WORD_GAP, Clues, texts_above
from docmill.understanding.text.folding import token_texts

NOWHERE = Evidence(page=None, box=None, text=None, match="none", confidence=0.0)
COMPUTED = Evidence(page=None, box=None, text=None, match="computed", confidence=0.9)
AMONG_SEVERAL = 0.95
"""Factor on the confidence in a place that was chosen among several without a label."""
LEAST_LABEL = 0.7
"""The smallest label score with which the place of a short value is accepted."""
_NEAR = 1.5
"""The score for standing close to the other values of the same object."""
_ORDER = 0.3
"""The score for standing first, or last for amounts: totals are below their parts."""
_AMOUNTS = ("gross_total", "amount_due", "net_total", "closing_balance", "amount")
_INDEX = re.compile(r"\[\d+\]")
_AMOUNT_WORDS = frozenset(("total", "amount", "sum", "price", "balance", "due", "fee", "tip"))
_DAY_WORDS = frozenset(("date", "day", "issue", "issued", "due", "delivery", "signed", "booked"))
_END_WORDS = frozenset(("start", "from", "since", "end", "to", "until", "till", "through", "month", "period"))

SAME_ROW = 0.7
"""Text heights by which the middles of two values on one row may differ."""
FARTHEST = 6.0
"""Text heights from its row at which a value of an item still belongs to it."""
PLAIN = 0.25
"""The weight of a short value in the choice of a row; a longer one weighs its trust, at most 1."""
_COLUMN = 3.0
"""The score for standing in the column of the field's other values."""
_LABEL = 0.2

Item = Mapping[str, Sequence[Occurrence]]
"""The places of each value of a list item, by the value's path."""

GIVEN = 4.0
"""The score of a label that the user gave."""
NAMED = 2.0
"""The score of the field's own name, if all of its words stand there."""
_MOST_ABOVE = 60
_SHORTEST_BEGINNING = 3
"""Letters of a shortened word, as `num` for `number`; with fewer, `no` would be many words."""
_GENERAL_WORDS = frozenset(
    ("name", "value", "text", "field", "of", "the", "data", "item", "number", "no", "date")
)
_NUMBER = re.compile(r"\d[\d.,/:\-]*\d\S*")


def located(document: Document, data: BaseModel | Mapping[str, Any], schema: Schema) -> dict[str, Evidence]:
    """Find the evidence of every value of the data that is not null, by path.

    data: of any model, or as JSON with the same names. A value that is not found has the match `none`, or
    `computed` if it follows from amounts that are found.
    """
    values = dict(leaves(data))
    pages = SearchedPages(document)
    labels = _LabelScorer(schema, pages.candidates)
    places_by_value: dict[object, list[Occurrence]] = {}
    places: dict[str, list[Occurrence]] = {}
    for path, value in values.items():
        plain_value: object = value.value if isinstance(value, Enum) else value
        key = (type(plain_value), str(plain_value))
        if key not in places_by_value:
            places_by_value[key] = find_value(pages, plain_value)
        words = set(re.findall(r"[a-z]+", path.rpartition(".")[2].lower()))
        forms: set[PrintedForm] = {"value"}
        if not words & _AMOUNT_WORDS:
            forms.add("percent")
        if not words & _DAY_WORDS or words & _END_WORDS:
            forms.add("month")
        places[path] = [place for place in places_by_value[key] if place.form in forms]
    chosen = _place_rows(places, labels)
    chosen |= _place_single_values(places, values, chosen, labels)
    chosen |= _place_repeated_values(places, chosen)
    computed = computed_paths(values, chosen.keys())
    evidence = {
        path: place.evidence(place.trust * place.recognition * share)
        for path, (place, share) in chosen.items()
    }
    return {path: evidence.get(path, COMPUTED if path in computed else NOWHERE) for path in values}


class _LabelScorer:
    """Scores places by the labels around them for the fields of a schema."""

    def __init__(self, schema: Schema, candidates: Candidates) -> None:
        self._schema = schema
        self._candidates = candidates
        self._contexts: dict[int, list[tuple[str, float]]] = {}

    def score(self, path: str, place: Occurrence) -> float:
        """The score of the texts around a place for the field; below zero, they speak for another one."""
        contexts = self._contexts.get(id(place))
        if contexts is None:
            contexts = self._contexts[id(place)] = list(_texts_around(place))
        phrases = [token_texts(label) for label in self._schema.labels.get(without_indices(path), ())]
        leaf = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
        names = [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", leaf).casefold().split("_") if word]
        score = max((_name_score(phrases, names, text) * weight for text, weight in contexts), default=0.0)
        meaning = built_in_meaning(path, known_type(self._schema.name))
        if not meaning.labels:
            return score
        clues: Clues = {}
        for text, weight in contexts:
            for label in self._candidates.labels_of(text):
                strength = weight * label.quality * WORD_GAP ** len(text[label.stop :].split())
                for concept in label.meanings:
                    clues[concept] = max(clues.get(concept, 0.0), strength)
        return score + meaning.score(clues)


def _texts_around(place: Occurrence) -> Iterator[tuple[str, float]]:
    """The texts before the place on its line, left of it and above it, with how much each counts."""
    span = place.spans[0]
    before = span.segment.text[: span.start]
    # The text before another number is the label of that.
    before = before[max((match.end() for match in _NUMBER.finditer(before)), default=0) :]
    has_label = bool(before.strip())
    if has_label:
        yield before, 1.0
    strength = FARTHER if has_label else 1.0
    for other in place.sheet.left_of(span.segment):
        yield other.text, strength
        strength *= FARTHER
    box = Box(place.box.x0, place.segment.box.y0, place.box.x1, place.segment.box.y1)
    for other, strength in texts_above(place.sheet, place.segment, box, most=_MOST_ABOVE):
        if not any(map(str.isdecimal, other.text)):
            yield other.text, strength
            break


def _name_score(phrases: Sequence[Sequence[str]], names: Sequence[str], text: str) -> float:
    """The score of a text that holds one of the phrases, or words of the field's name."""
    words = token_texts(text)
    for phrase in phrases:
        count = len(phrase)
        if count and any(words[at : at + count] == phrase for at in range(len(words) - count + 1)):
            return GIVEN
    telling = [name for name in names if name not in _GENERAL_WORDS] or names
    hits = sum(
        any(
            name == word
            or (
                min(len(name), len(word)) >= _SHORTEST_BEGINNING
                and (name.startswith(word) or word.startswith(name))
            )
            for word in words
        )
        for name in telling
    )
    return NAMED * (hits / max(1, len(telling))) ** 2


class _Choice(NamedTuple):
    """The place taken for a path. share: how much it is to be believed beside its rivals."""

    place: Occurrence
    share: float


class _Row(NamedTuple):
    """A printed line."""

    page_index: int
    middle: float
    height: float

    @classmethod
    def of(cls, place: Occurrence) -> Self:
        return cls(place.sheet.page_index, place.middle, max(place.segment.height, place.sheet.text_height))

    def holds(self, place: Occurrence) -> bool:
        is_near = abs(place.middle - self.middle) <= SAME_ROW * self.height
        return is_near and place.sheet.page_index == self.page_index


def _place_rows(places: Mapping[str, list[Occurrence]], labels: _LabelScorer) -> dict[str, _Choice]:
    """The places of list items' values: on their item's row, or between the rows of its neighbours."""
    lists: dict[str, dict[int, dict[str, list[Occurrence]]]] = defaultdict(lambda: defaultdict(dict))
    for path, among in places.items():
        match = _INDEX.search(path)
        if match is not None and among:
            lists[path[: match.start()]][int(match[0][1:-1])][path] = among
    chosen: dict[str, _Choice] = {}
    for item_by_index in lists.values():
        items = [item_by_index[index] for index in sorted(item_by_index)]
        if all(len(item) == 1 for item in items):
            continue
        row_of_item = _align(items)
        options: list[dict[str, list[Occurrence]]] = []
        columns: dict[str, list[float]] = defaultdict(list)
        for index, (item, row) in enumerate(zip(items, row_of_item, strict=True)):
            if row is None:
                continue
            before = next((other for other in reversed(row_of_item[:index]) if other is not None), None)
            after = next((other for other in row_of_item[index + 1 :] if other is not None), None)
            near = {path: among for path, among in _near_row(item, row, before, after).items() if among}
            options.append(near)
            for path, among in near.items():
                if len(among) == 1:
                    columns[path.rpartition(".")[2]].append(among[0].centre)
        centres = {leaf: median(column) for leaf, column in columns.items()}
        for near in options:
            assigned = _assign(near, centres, labels)
            chosen.update({path: _Choice(place, 1.0) for path, place in assigned.items()})
    return chosen


def _align(items: Sequence[Item]) -> list[_Row | None]:
    """One row for each item, the items from top to bottom; those that fit in no such order have none."""
    every = {id(place): place for item in items for among in item.values() for place in among}
    rows: list[_Row] = []
    row_of: dict[int, int] = {}
    for place in sorted(every.values(), key=lambda place: (place.sheet.page_index, place.middle)):
        if not rows or not rows[-1].holds(place):
            rows.append(_Row.of(place))
        row_of[id(place)] = len(rows) - 1
    scores = np.zeros((len(items), len(rows)))  # the number of the item's values on each row
    for index, item in enumerate(items):
        for among in item.values():
            of_value = np.zeros(len(rows))
            for place in among:
                row = row_of[id(place)]
                of_value[row] = max(of_value[row], PLAIN if place.is_plain else place.trust)
            scores[index] += of_value
    bests = [np.zeros(len(rows) + 1)]
    for of_item in scores:
        with_it = np.where(of_item > 0, of_item + bests[-1][:-1], 0.0)
        bests.append(np.maximum(bests[-1], np.concatenate([[0.0], np.maximum.accumulate(with_it)])))
    chosen: list[_Row | None] = [None] * len(items)
    top = len(rows)
    for index in range(len(items) - 1, -1, -1):
        if bests[index + 1][top] > bests[index][top]:
            of_item = scores[index][:top]
            top = int(np.argmax(np.where(of_item > 0, of_item + bests[index][:top], 0.0)))
            chosen[index] = rows[top]
    return chosen


def _near_row(item: Item, row: _Row, before: _Row | None, after: _Row | None) -> dict[str, list[Occurrence]]:
    """The places of an item's values on its row, or on a line near it that shows more of the item.

    before, after: the rows of the items before and after it.
    """
    low = before.middle if before is not None and before.page_index == row.page_index else -math.inf
    high = after.middle if after is not None and after.page_index == row.page_index else math.inf
    places: dict[str, list[Occurrence]] = {}
    lines: list[_Row] = []
    for path, among in item.items():
        places[path] = [place for place in among if row.holds(place)]
        if not places[path]:
            telling = [
                place
                for place in among
                if not place.is_plain
                and place.sheet.page_index == row.page_index
                and abs(place.middle - row.middle) <= FARTHEST * row.height
                and low < place.middle < high
            ]
            places[path] = sorted(telling, key=lambda place: abs(place.middle - row.middle))[:1]
            lines.extend(_Row.of(place) for place in places[path])
    for path, among in item.items():
        places[path] = places[path] or [place for place in among if any(line.holds(place) for line in lines)]
    return places


def _assign(
    places: Mapping[str, list[Occurrence]], centres: Mapping[str, float], labels: _LabelScorer
) -> dict[str, Occurrence]:
    """One place for each value of a row, each place for one value as far as there are enough.

    centres: of the columns, by the name of the field.
    """
    scored: list[tuple[float, int, str, Occurrence]] = []
    for order, (path, among) in enumerate(places.items()):
        centre = centres.get(path.rpartition(".")[2], math.inf)
        for place in among:
            column = _COLUMN * max(0.0, 1 - 20 * abs(place.centre - centre))
            scored.append((column + _LABEL * labels.score(path, place) + place.trust, -order, path, place))
    result: dict[str, Occurrence] = {}
    used: set[tuple[int, int]] = set()
    for _, _, path, place in sorted(scored, key=lambda entry: entry[:2], reverse=True):
        where = (id(place.segment), place.spans[0].start)
        if path not in result and where not in used:
            result[path] = place
            used.add(where)
    for path, among in places.items():  # a number that is printed once and says two things
        if path not in result and not among[0].is_plain:
            result[path] = among[0]
    return result


def _place_single_values(
    places: Mapping[str, list[Occurrence]],
    values: Mapping[str, object],
    placed: Mapping[str, _Choice],
    labels: _LabelScorer,
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
            if (leaf == "currency" and other.endswith(_AMOUNTS))
            or (leaf != "currency" and owner and owner == other.rpartition(".")[0])
        ]
        by_label = [labels.score(path, place) for place in among]
        scores: list[float] = []
        for order, (place, label) in enumerate(zip(among, by_label, strict=True)):
            gaps = [
                abs(place.middle - other.middle) / max(place.segment.height, 1e-6)
                for other in beside
                if other.sheet.page_index == place.sheet.page_index
            ]
            closeness = _NEAR / (1 + min(gaps)) if gaps else 0.0
            in_order = _ORDER * ((order if is_amount else -order) / len(among))
            scores.append(label + closeness + place.trust + in_order)
        best = max(range(len(among)), key=lambda index: (scores[index], index if is_amount else -index))
        if not among[best].is_plain or by_label[best] >= LEAST_LABEL:
            is_sure = len(among) == 1 or by_label[best] > 0
            chosen[path] = _Choice(among[best], 1.0 if is_sure else AMONG_SEVERAL)
    return chosen


def _place_repeated_values(
    places: Mapping[str, list[Occurrence]], placed: Mapping[str, _Choice]
) -> dict[str, _Choice]:
    """The places of items' values printed once for all, such as a currency, and of lists of values."""
    taken = [
        (path.rpartition(".")[0], choice.place) for path, choice in placed.items() if _INDEX.search(path)
    ]
    chosen: dict[str, _Choice] = {}
    for path, among in places.items():
        if path in placed or not _INDEX.search(path):
            continue
        item = path.rpartition(".")[0]
        rivals = [place for other_item, place in taken if item and other_item != item]
        free = [
            place
            for place in among
            if not any(
                place.sheet.page_index == rival.sheet.page_index
                and abs(place.middle - rival.middle) < place.segment.height / 2
                for rival in rivals
            )
        ]
        if path.endswith(".currency"):
            free = free or among
        if free and not free[0].is_plain and (len(free) == 1 or path.endswith(("]", ".currency"))):
            chosen[path] = _Choice(free[0], 1.0 if len(free) == 1 else AMONG_SEVERAL)
    return chosen


def computed_paths(values: Mapping[str, object], placed: AbstractSet[str]) -> frozenset[str]:
    """The paths of amounts that follow by arithmetic from amounts that were found on the pages.

    placed: the paths of all values that were found. An amount that follows from computed ones alone is not
    among the result.
    """
    amounts = {path: value for path, value in values.items() if isinstance(value, Decimal)}
    sources = {path: value for path, value in amounts.items() if path in placed}
    return frozenset(
        path
        for path, value in amounts.items()
        if path not in placed
        and any(is_same_result(derived.value, value) for derived in derivations(path, sources))
    )
