"""Sums that hold on a receipt: payment less change, and totals rounded to what can be paid in coins."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from docmill.understanding.fields.candidates import Candidate
from docmill.understanding.vocabulary import Concept

CASH_ROUNDING = Decimal("0.05")
ROUNDED_BY = tuple(Decimal(cents) / 100 for cents in range(-4, 5) if cents)
_SURE = 0.5
"""The clue from which on an amount counts as labelled."""


class TillSums:
    """The labelled amounts of a receipt, without signs. kept: what was handed over less the change.

    totals: of goods or due. roundings: by which a total was rounded, or what it was rounded to.
    """

    def __init__(self, amounts: Sequence[Candidate[Decimal]]) -> None:
        self._marked = [amount for amount in amounts if not amount.plain]
        self.paid = self.labelled(Concept.PAID)
        self.change = self.labelled(Concept.CHANGE)
        self.kept = {paid - back for paid in self.paid for back in self.change if paid > back}
        self.totals = self.labelled(Concept.TOTAL, Concept.DUE)
        self.roundings = self.labelled(Concept.ROUNDING)

    def labelled(self, *concepts: Concept) -> set[Decimal]:
        """The values with a label of one of the concepts."""
        return {
            abs(amount.value)
            for amount in self._marked
            if any(amount.clues.get(concept, 0) > _SURE for concept in concepts)
        }

    def rounded(self, values: Iterable[Decimal]) -> dict[Decimal, Decimal]:
        """The results of rounding values by a printed amount, each with the value."""
        steps = [sign * by for by in self.roundings if 0 < by <= CASH_ROUNDING for sign in (1, -1)]
        return {value + step: value for value in values for step in steps}
