"""A receipt's amounts as rows of features: their labels, their places, and the sums that they are part of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.constraints.totals import ROUNDED_BY, TillSums
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding
from docmill.understanding.page_model.seen import value_numbers
from docmill.understanding.text.money import CASH_ROUNDING
from docmill.understanding.vocabulary import Concept

Amount = Candidate[Decimal]
_CONCEPTS = (
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
"""Scores of an amount as the total, by its labels."""
_SURE = 0.5
"""The clue from which on an amount counts as labelled."""
_PAIRS, _ITEMS = 25, 40
"""The largest values that are added to each other, and the lines of goods."""
_MOST = 60
"""Values looked at: those with labels of totals and the largest come first."""
_LARGEST = Decimal(10) ** 10
"""No receipt costs more: such numbers are identifiers."""
_FEWEST_LETTERS = 3
"""Letters of a label: currency signs are none."""
_MOST_ABOVE = 6
"""Segments above an amount among which its label is looked for."""
ZERO = Decimal(0)


@dataclass(frozen=True)
class Amounts:
    """The values of a receipt, with their places and the texts before them.

    fixed: the features that need no letter scores.
    """

    values: Sequence[Decimal]
    places: Sequence[Sequence[Amount]]
    contexts: Sequence[Sequence[str]]
    fixed: NDArray[np.float32]

    def rows(self, context_scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The features of every value. context_scores: those of the letters of its contexts."""
        behind = context_scores - context_scores.max(axis=0)
        rank = np.argsort(np.argsort(-context_scores[:, 0], kind="stable"), kind="stable")[:, None]
        return np.hstack([self.fixed, context_scores, behind, rank]).astype(np.float32)


def amounts(candidates: Candidates, ruled: Mapping[str, Finding]) -> Amounts:
    """All amounts of a receipt. ruled: the findings of the rules, which are used as features."""
    by_value: dict[Decimal, list[Amount]] = {}
    for amount in candidates.amounts:
        if abs(amount.value) < _LARGEST:
            by_value.setdefault(abs(amount.value), []).append(amount)
    values = sorted(by_value, key=lambda value: (-_label_score(by_value[value]), -value))[:_MOST]
    order = {id(amount): index for index, amount in enumerate(candidates.amounts)}
    sums = _Sums(candidates.amounts)
    marked = [amount for amount in candidates.amounts if not amount.plain]
    on_line = Counter((amount.segment.page_index, amount.segment.line) for amount in marked)
    with_amounts = {amount.segment.index for amount in marked}
    contexts = [
        [_text_before(candidates, amount, with_amounts) for amount in by_value[value]] for value in values
    ]
    rows = [
        [
            *_value_features(candidates, by_value[value], texts, order),
            *_amount_features(by_value[value][0], order, on_line),
            *_amount_features(by_value[value][-1], order, on_line),
            *sums.features(value),
        ]
        for value, texts in zip(values, contexts, strict=True)
    ]
    rules = [
        [
            finding.probability if (finding := ruled.get(path)) and finding.value == value else 0.0
            for path in ("gross_total", "net_total", "tax_total", "amount_due")
        ]
        for value in values
    ]
    spans = [[span for amount in by_value[value] for span in amount.spans] for value in values]
    seen = value_numbers(candidates, spans, "gross_total")
    fixed = np.hstack([np.array(rows, np.float32), seen, np.array(rules, np.float32)]) if rows else seen
    return Amounts(values, [by_value[value] for value in values], contexts, fixed)


def _label_score(places: Sequence[Amount]) -> float:
    """The best score, among the places of a value, of its labels for the total."""
    return max(
        sum(_GROSS.get(concept, 0) * strength for concept, strength in amount.clues.items())
        for amount in places
    )


def _value_features(
    candidates: Candidates, places: Sequence[Amount], texts: Sequence[str], order: Mapping[int, int]
) -> list[float]:
    """Features of a value's labels, of all its places, and of the one with the best label.

    texts: before each place. order: of amounts, by id.
    """
    clues = [amount.clues for amount in places]
    highest: dict[Concept, float] = {}
    for clue in clues:
        for concept, strength in clue.items():
            highest[concept] = max(highest.get(concept, 0), strength)
    totals = [clue.get(Concept.TOTAL, 0) for clue in clues]
    of_parts = (Concept.SUBTOTAL, Concept.TAX, Concept.EXCLUDING)
    is_part = [any(clue.get(concept, 0) > _SURE for concept in of_parts) for clue in clues]
    count = max(1, len(order))
    positions = [order[id(amount)] / count for amount in places]
    best = max(places, key=lambda amount: _label_score([amount]))
    sheet = candidates.layout.sheet(best.segment)
    return [
        *(highest.get(concept, 0) for concept in _CONCEPTS),
        max(total * (not part) for total, part in zip(totals, is_part, strict=True)),
        max(total * clue.get(Concept.GRAND, 0) for total, clue in zip(totals, clues, strict=True)),
        max(total * clue.get(Concept.DUE, 0) for total, clue in zip(totals, clues, strict=True)),
        sum(not clue for clue in clues),
        sum(total > _SURE for total in totals),
        _label_score(places),
        all("%" in text for text in texts),
        len(places),
        min(positions),
        max(positions),
        order[id(best)] / count,
        best.segment.middle,
        best.segment.line / max(1, sheet.segments[-1].line),
        best.segment.box.x1,
        best.segment.height / sheet.text_height,
        best.segment.confidence,
        all(amount.plain for amount in places),
        any(amount.value < 0 for amount in places),
        len(best.text),
        best.stop == len(best.segment.text),
    ]


def _amount_features(
    amount: Amount, order: Mapping[int, int], on_line: Mapping[tuple[int, int], int]
) -> list[float]:
    """Features of one place of a value. on_line: the number of amounts on each line of each page."""
    segment = amount.segment
    return [
        order[id(amount)] / max(1, len(order)),
        segment.box.x1,
        on_line.get((segment.page_index, segment.line), 0),
        _label_score([amount]),
        *(amount.clues.get(concept, 0) for concept in (Concept.TOTAL, Concept.PAID, Concept.ROUNDING)),
    ]


class _Sums:
    """The amounts of a receipt, and sums and differences of them that may equal its total."""

    def __init__(self, every: Sequence[Amount]) -> None:
        marked = [amount for amount in every if not amount.plain and abs(amount.value) < _LARGEST]
        self._values = {abs(amount.value) for amount in marked}
        self._labelled = {abs(amount.value) for amount in marked if amount.clues}
        till = self._till = TillSums(marked)
        totals = till.totals
        nets = till.labelled(Concept.SUBTOTAL, Concept.EXCLUDING, Concept.NET, Concept.TOTAL)
        taxes, reductions = till.labelled(Concept.TAX), till.labelled(Concept.DISCOUNT)
        self._taxed = {net + tax for net in nets for tax in taxes if tax}
        self._reduced = {net - by for net in nets for by in reductions if by}
        self._rounded = till.rounded(nets)
        pairs = [pair for pair in combinations(sorted(totals, reverse=True)[:_PAIRS], 2) if all(pair)]
        self._added = {sum(pair, ZERO) for pair in pairs}
        self._summands = {part for pair in pairs if sum(pair, ZERO) in totals for part in pair}
        printed = totals | till.labelled(Concept.PAID, Concept.ROUNDING, Concept.AMOUNT)
        even = (value for value in printed if value and not value % CASH_ROUNDING)
        self._even = {value for value in even if any(value + by in totals for by in ROUNDED_BY)}
        uneven = (value for value in totals if value % CASH_ROUNDING)
        self._uneven = {value for value in uneven if any(value + by in self._even for by in ROUNDED_BY)}
        largest = sorted(self._values, reverse=True)[:_PAIRS]
        self._parts = {value for value in largest for other in largest if other and value + other in totals}
        self._whole = Counter(
            value + other for index, value in enumerate(largest) for other in largest[index:] if other
        )
        self._differences = Counter(
            value - other for index, value in enumerate(largest) for other in largest[index + 1 :]
        )
        self._item_sums = _item_sums(marked)

    def features(self, value: Decimal) -> list[float]:
        """Features of the size of `value`, and of the amounts and sums that support it as the total."""
        till, count = self._till, len(self._values)
        larger, largest = sum(other > value for other in self._values), max(self._values, default=value)
        return [
            larger,
            larger / max(1, count),
            count,
            float(value / largest) if largest else 0.0,
            float(np.log1p(min(float(value), 1e9))),
            value == ZERO,
            *(value % step == 0 for step in (CASH_ROUNDING, 1, 10)),
            value in till.kept,
            any(abs(value - kept) <= CASH_ROUNDING for kept in till.kept),
            value in till.paid,
            value in till.change,
            any(paid >= value for paid in till.paid),
            value in self._taxed,
            any(abs(value - taxed) <= CASH_ROUNDING for taxed in self._taxed),
            value in self._rounded,
            value in self._reduced,
            self._item_sums[value],
            bool(till.kept),
            bool(till.paid),
            self._differences[value],
            self._whole[value],
            value in self._parts,
            value in self._added,
            value in self._summands,
            value in self._even,
            value in self._uneven,
            value in till.totals,
            sum(other > value for other in till.totals),
            sum(other < value for other in till.totals),
            sum(other > value for other in self._labelled),
            any(ZERO < abs(other - value) <= CASH_ROUNDING for other in self._values),
            any(ZERO < value - other <= CASH_ROUNDING for other in self._values),
        ]


def _item_sums(marked: Sequence[Amount]) -> Counter[Decimal]:
    """The sums of runs of item amounts, the last on each line, with the largest number of items of each."""
    last: dict[tuple[int, int], Decimal] = {}
    for amount in marked:
        if _label_score([amount]) <= 0:
            last[(amount.segment.page_index, amount.segment.line)] = amount.value
    column = list(last.values())[:_ITEMS]
    sums: Counter[Decimal] = Counter()
    for start, first in enumerate(column):
        running = first
        for count, value in enumerate(column[start + 1 :], 2):
            running += value
            sums[running] = max(sums[running], count)
    return sums


def _text_before(candidates: Candidates, amount: Amount, with_amounts: set[int]) -> str:
    """The text before an amount on its line, or else the nearest above it without an amount."""
    sheet = candidates.layout.sheet(amount.segment)
    left = sheet.left_of(amount.segment)[::-1]
    before = " ".join([*(other.text for other in left), amount.segment.text[: amount.start]])
    if sum(map(str.isalpha, before)) >= _FEWEST_LETTERS:
        return before
    above = sheet.above(amount.segment.box)[:_MOST_ABOVE]
    return next((f"^ {other.text}" for other in above if other.index not in with_amounts), "^")
