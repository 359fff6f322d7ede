"""A receipt's amounts as rows of numbers: what labels say, where they stand, what adds up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page.layout import Segment
from docmill.understanding.vocabulary import Concept

Amount = Candidate[Decimal]
_SAID = (
    Concept.TOTAL, Concept.GRAND, Concept.GROSS, Concept.NET, Concept.TAX, Concept.INCLUDING,
    Concept.EXCLUDING, Concept.SUBTOTAL, Concept.AMOUNT, Concept.DUE, Concept.PAID, Concept.CHANGE,
    Concept.ROUNDING, Concept.DISCOUNT, Concept.QUANTITY, Concept.PRICE, Concept.TIP,
)  # fmt: skip
_GROSS = {
    Concept.GRAND: 1.0, Concept.TOTAL: 1.0, Concept.GROSS: 0.5, Concept.INCLUDING: 0.8, Concept.DUE: 0.8,
    Concept.AMOUNT: 0.3, Concept.ROUNDING: 0.3, Concept.SUBTOTAL: -1.0, Concept.EXCLUDING: -1.0,
    Concept.TAX: -0.7, Concept.NET: -0.2, Concept.DISCOUNT: -1.0, Concept.QUANTITY: -0.8,
    Concept.CHANGE: -1.5, Concept.PAID: 0.2, Concept.PRICE: -0.5, Concept.TIP: -1.0,
}  # fmt: skip
_SURE = 0.5
_SLACK = Decimal("0.05")
_ROUNDED_BY = tuple(Decimal(cents) / 100 for cents in range(-4, 5) if cents)
_PAIRS, _ITEMS = 25, 40
"""The largest values that are added to each other, and the lines of goods."""
_MOST = 60
"""Values looked at: the largest and those with labels come first."""
_LARGEST = Decimal(10) ** 10
"""No receipt costs more: such numbers are identifiers."""
ZERO = Decimal(0)


@dataclass(frozen=True)
class Amounts:
    """Each value with its places and the texts around them, and a row of numbers for each value."""

    values: Sequence[Decimal]
    places: Sequence[Sequence[Amount]]
    contexts: Sequence[Sequence[str]]
    fixed: NDArray[np.float32]

    def rows(self, spelled: NDArray[np.float32]) -> NDArray[np.float32]:
        """The features of every value. spelled: what the letters of its contexts say."""
        behind = spelled - spelled.max(axis=0)
        rank = np.argsort(np.argsort(-spelled[:, 0], kind="stable"), kind="stable")[:, None]
        return np.hstack([self.fixed, spelled, behind, rank]).astype(np.float32)


def amounts(candidates: Candidates, ruled: Mapping[str, Finding]) -> Amounts:
    """All amounts of a receipt. ruled: what the rules chose, which is a sign among others."""
    by_value: dict[Decimal, list[Amount]] = {}
    for amount in candidates.amounts:
        if abs(amount.value) < _LARGEST:
            by_value.setdefault(abs(amount.value), []).append(amount)
    values = sorted(by_value, key=lambda value: (-_label(by_value[value]), -value))[:_MOST]
    till = _Till(candidates.amounts)
    real = [value for value, places in by_value.items() if not all(one.plain for one in places)]
    order = {id(amount): index for index, amount in enumerate(candidates.amounts)}
    beside = Counter(
        (one.segment.page_index, one.segment.line) for one in candidates.amounts if not one.plain
    )
    found = {one.segment.index for one in candidates.amounts if not one.plain}
    contexts = [[context(candidates, amount, found) for amount in by_value[value]] for value in values]
    rows = [
        [
            *_labels(by_value[value]),
            all("%" in text for text in texts),
            *_position(candidates, by_value[value], order),
            *_place(by_value[value][0], order, beside),
            *_place(by_value[value][-1], order, beside),
            *_rank(value, real),
            *till.signs(value),
            *_ruled(value, ruled),
        ]
        for value, texts in zip(values, contexts, strict=True)
    ]
    fixed = np.array(rows, np.float32) if rows else np.zeros((0, 0), np.float32)
    return Amounts(values, [by_value[value] for value in values], contexts, fixed)


def _label(places: Sequence[Amount]) -> float:
    return max(sum(_GROSS.get(concept, 0) * said for concept, said in one.clues.items()) for one in places)


def _labels(places: Sequence[Amount]) -> list[float]:
    said = [max(one.clues.get(concept, 0) for one in places) for concept in _SAID]
    alone = max(
        one.clues.get(Concept.TOTAL, 0)
        * (
            not any(
                one.clues.get(other, 0) > _SURE
                for other in (Concept.SUBTOTAL, Concept.TAX, Concept.EXCLUDING)
            )
        )
        for one in places
    )
    grand = max(one.clues.get(Concept.TOTAL, 0) * one.clues.get(Concept.GRAND, 0) for one in places)
    due = max(one.clues.get(Concept.TOTAL, 0) * one.clues.get(Concept.DUE, 0) for one in places)
    unlabelled = sum(not one.clues for one in places)
    totals = sum(one.clues.get(Concept.TOTAL, 0) > _SURE for one in places)
    return [*said, alone, grand, due, unlabelled, totals, _label(places)]


def _position(candidates: Candidates, places: Sequence[Amount], order: Mapping[int, int]) -> list[float]:
    count = max(1, len(order))
    where = [order[id(one)] / count for one in places]
    best = max(places, key=lambda one: _label([one]))
    sheet = candidates.layout.sheet(best.segment)
    last = sheet.segments[-1].line if sheet.segments else 1
    return [
        len(places),
        min(where),
        max(where),
        order[id(best)] / count,
        best.segment.middle,
        best.segment.line / max(1, last),
        best.segment.box.x1,
        best.segment.height / sheet.text_height,
        best.segment.confidence,
        all(one.plain for one in places),
        any(one.value < 0 for one in places),
        len(best.text),
        best.stop == len(best.segment.text),
    ]


def _place(amount: Amount, order: Mapping[int, int], beside: Mapping[tuple[int, int], int]) -> list[float]:
    """The place of one of a value's amounts, and the number of amounts on its line."""
    return [
        order[id(amount)] / max(1, len(order)),
        amount.segment.box.x1,
        beside.get((amount.segment.page_index, amount.segment.line), 0),
        _label([amount]),
        amount.clues.get(Concept.TOTAL, 0),
        amount.clues.get(Concept.PAID, 0),
        amount.clues.get(Concept.ROUNDING, 0),
    ]


def _rank(value: Decimal, values: Sequence[Decimal]) -> list[float]:
    larger = sum(other > value for other in values)
    largest = max(values, default=value)
    return [
        larger,
        larger / max(1, len(values)),
        len(values),
        float(value / largest) if largest else 0.0,
        float(np.log1p(min(float(value), 1e9))),
        value == ZERO,
        value % _SLACK == 0,
        value % 1 == 0,
        value % 10 == 0,
    ]


def _ruled(value: Decimal, ruled: Mapping[str, Finding]) -> list[float]:
    found = [ruled.get(path) for path in ("gross_total", "net_total", "tax_total", "amount_due")]
    return [0.0 if one is None or one.value != value else one.probability for one in found]


class _Till:
    """The sums that hold on a receipt."""

    def __init__(self, every: Sequence[Amount]) -> None:
        real = [one for one in every if not one.plain and abs(one.value) < _LARGEST]
        self._values = {abs(one.value) for one in real}
        self._paid = self._said(real, Concept.PAID)
        self._change = self._said(real, Concept.CHANGE)
        self._kept = {paid - back for paid in self._paid for back in self._change if paid > back}
        rounding = self._said(real, Concept.ROUNDING)
        nets = (
            self._said(real, Concept.SUBTOTAL)
            | self._said(real, Concept.EXCLUDING)
            | self._said(real, Concept.NET)
        )
        nets |= self._said(real, Concept.TOTAL)
        taxes = self._said(real, Concept.TAX)
        self._taxed = {net + tax for net in nets for tax in taxes if tax}
        self._rounded = {
            net + sign * by for net in nets for by in rounding for sign in (1, -1) if ZERO < by <= _SLACK
        }
        reduced = self._said(real, Concept.DISCOUNT)
        self._reduced = {net - by for net in nets for by in reduced if by}
        self._items = self._sums(real)
        self._totals = self._said(real, Concept.TOTAL) | self._said(real, Concept.DUE)
        pairs = [pair for pair in combinations(sorted(self._totals, reverse=True)[:_PAIRS], 2) if all(pair)]
        self._added = {sum(pair, ZERO) for pair in pairs}
        self._summands = {part for pair in pairs if sum(pair, ZERO) in self._totals for part in pair}
        meant = (Concept.PAID, Concept.ROUNDING, Concept.AMOUNT)
        said = self._totals.union(*(self._said(real, concept) for concept in meant))
        self._even = {
            value for value in said if value and not value % _SLACK and _beside(value, self._totals)
        }
        self._uneven = {value for value in self._totals if value % _SLACK and _beside(value, self._even)}
        self._labelled = {abs(one.value) for one in real if one.clues}
        largest = sorted(self._values, reverse=True)[:_PAIRS]
        self._whole = Counter(
            one + two for index, one in enumerate(largest) for two in largest[index:] if two
        )
        self._parts = {one for one in largest for two in largest if two and one + two in self._totals}
        self._differences = Counter(
            one - two for index, one in enumerate(largest) for two in largest[index + 1 :]
        )

    @staticmethod
    def _said(real: Sequence[Amount], concept: Concept) -> set[Decimal]:
        return {abs(one.value) for one in real if one.clues.get(concept, 0) > _SURE}

    @staticmethod
    def _sums(real: Sequence[Amount]) -> Counter[Decimal]:
        """Of runs of amounts as printed, the last on each line; more items speak louder."""
        last: dict[tuple[int, int], Decimal] = {}
        for one in real:
            if _label([one]) <= 0:
                last[(one.segment.page_index, one.segment.line)] = one.value
        column = list(last.values())[:_ITEMS]
        sums: Counter[Decimal] = Counter()
        for start in range(len(column)):
            running = column[start]
            for count, value in enumerate(column[start + 1 :], 2):
                running += value
                sums[running] = max(sums[running], count)
        return sums

    def signs(self, value: Decimal) -> list[float]:
        """Features of how far the other amounts agree with `value` being the total."""
        return [
            value in self._kept,
            self._near(value, self._kept),
            value in self._paid,
            value in self._change,
            any(paid >= value for paid in self._paid),
            value in self._taxed,
            self._near(value, self._taxed),
            value in self._rounded,
            value in self._reduced,
            self._items[value],
            bool(self._kept),
            bool(self._paid),
            self._differences[value],
            self._whole[value],
            value in self._parts,
            value in self._added,
            value in self._summands,
            value in self._even,
            value in self._uneven,
            value in self._totals,
            sum(other > value for other in self._totals),
            sum(other < value for other in self._totals),
            sum(other > value for other in self._labelled),
            any(ZERO < abs(other - value) <= _SLACK for other in self._values),
            any(ZERO < value - other <= _SLACK for other in self._values),
        ]

    @staticmethod
    def _near(value: Decimal, others: set[Decimal]) -> bool:
        return any(abs(value - other) <= _SLACK for other in others)


def _beside(value: Decimal, others: set[Decimal]) -> bool:
    """Tell whether one of the others is what a till rounds `value` to, or from."""
    return any(value + by in others for by in _ROUNDED_BY)


def context(candidates: Candidates, amount: Amount, with_amounts: set[int]) -> str:
    """The words that speak of an amount: those before it on its line, or else above it."""
    sheet = candidates.layout.sheet(amount.segment)
    left = sheet.left_of(amount.segment)[::-1]
    before = " ".join([*(other.text for other in left), amount.segment.text[: amount.start]])
    if sum(map(str.isalpha, before)) > 2:  # noqa: PLR2004 - currency signs are no label
        return before
    above = _above(sheet.above(amount.segment.box), with_amounts)
    return f"^ {above.text}" if above else "^"


def _above(others: Sequence[Segment], with_amounts: set[int]) -> Segment | None:
    return next((other for other in others[:6] if other.index not in with_amounts), None)
