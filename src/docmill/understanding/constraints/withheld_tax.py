"""Taxes that the buyer withholds, as IRPF in Spain and the ritenuta d'acconto in Italy.

Net and tax are the gross total; what is due is that less the withheld tax.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, Findings, finding_of
from docmill.understanding.text.money import CENT
from docmill.understanding.vocabulary import Concept

_LABELLED = 0.5
"""The clue from which on an amount counts as labelled."""
_PROVED = 0.97
"""Share of belief in totals of which each is printed with its label, and the sum holds."""
_HIGHEST = Decimal("0.5")
"""Share of the net total that is withheld at most."""

_Amount = Candidate[Decimal]


def with_withheld_tax(candidates: Candidates, findings: Findings) -> Findings:
    """The findings with tax, gross total and amount due, if net and tax less a withheld tax are printed.

    Unchanged without a labelled withheld tax, and where several sums hold.
    """
    net = findings.get("net_total")
    withheld = _labelled(candidates, Concept.WITHHELD)
    if not withheld or net is None or not isinstance(net.value, Decimal):
        return findings
    proved = list(_proofs(candidates, net.value, withheld))
    if len({(tax.value, due.value) for tax, due in proved}) != 1:
        return findings
    tax, due = proved[0]
    total = net.value + tax.value
    printed = next((amount for amount in candidates.amounts if amount.value == total), None)
    gross = finding_of(printed, _PROVED) if printed is not None else Finding(total, (), _PROVED)
    return {
        **findings,
        "tax_total": finding_of(tax, _PROVED),
        "gross_total": gross,
        "amount_due": finding_of(due, _PROVED),
    }


def _proofs(
    candidates: Candidates, net: Decimal, withheld: Sequence[_Amount]
) -> Iterator[tuple[_Amount, _Amount]]:
    """Each tax with the amount due that it makes with the net total and a withheld tax."""
    taxes = [amount for amount in _labelled(candidates, Concept.TAX) if 0 < amount.value < net]
    last = {amount.value: amount for amount in candidates.amounts if not amount.plain}
    for part in withheld:
        for tax in taxes:
            due = net + tax.value - abs(part.value)
            is_part = 0 < abs(part.value) <= _HIGHEST * net and part.spans != tax.spans
            if is_part and abs(due - net) > CENT and due in last:
                yield tax, last[due]


def _labelled(candidates: Candidates, concept: Concept) -> list[_Amount]:
    return [
        amount
        for amount in candidates.amounts
        if not amount.plain and amount.value and amount.clues.get(concept, 0) > _LABELLED
    ]
