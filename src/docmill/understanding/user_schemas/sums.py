"""Amounts of a user's schema that the page itself proves: a count times a price, deductions up to the net."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.fields.meaning import FieldMeaning

_GROSS = frozenset(("market_value", "gross_dividend"))
_NET = frozenset(("net_amount",))
_CENT = Decimal("0.01")
_LEAST_DIGITS = Decimal(200)
"""Least product, in times of its tolerance; a smaller one fits by chance."""
_MOST_PARTS = 12
_NAMED = 0.15
"""Least strength of the labels of an amount that is proven: by chance some others fit, too."""


def proven_paths(
    candidates: Candidates, meanings: Mapping[str, FieldMeaning], found: Findings
) -> frozenset[str]:
    """The fields whose amounts fit each other and what is printed, by path.

    A count and a gross amount, if the count times a printed price is the amount; a gross and a net amount, if
    all amounts between them on the page make up the difference.
    """
    counts = _found_amounts(meanings, found, form="number")
    amounts = _found_amounts(meanings, found, form="money")
    gross = {path: value for path, value in amounts.items() if meanings[path].terms.keys() & _GROSS}
    net = {path: amounts[path] for path in amounts.keys() - gross if meanings[path].terms.keys() & _NET}
    proven: set[str] = set()
    for path, amount in gross.items():
        for other, count in counts.items():
            if _is_product(candidates, found[path], found[other], amount, count):
                proven |= {path, other}
        for other, rest in net.items():
            if amount != rest and _is_difference(candidates, found[path], found[other], abs(amount - rest)):
                proven |= {path, other}
    return frozenset(proven)


def without_ambiguity(found: Findings, proven: Collection[str]) -> dict[str, Finding]:
    """The values, of which the proven ones are ambiguous no more.

    A sum says which amount is meant, and nothing of the currency, the period or the state that is asked for.
    """
    return {**found, **{path: replace(found[path], is_ambiguous=False) for path in proven}}


def _found_amounts(meanings: Mapping[str, FieldMeaning], found: Findings, *, form: str) -> dict[str, Decimal]:
    return {
        path: abs(finding.value)
        for path, finding in found.items()
        if meanings[path].form == form
        and isinstance(finding.value, Decimal)
        and finding.spans
        and finding.named >= _NAMED
    }


def _is_product(
    candidates: Candidates, amount: Finding, count: Finding, product: Decimal, factor: Decimal
) -> bool:
    """True if the count times an amount that is printed elsewhere is the amount, to the last digit."""
    if factor in (0, 1) or product == 0:
        return False
    taken = {(span.segment.index, span.start) for span in (*amount.spans, *count.spans)}
    for price in candidates.amounts_and_terms:
        # A whole number without a currency may be of a house, a page, a file: one of them fits by chance.
        is_whole = int(price.value.as_tuple().exponent) >= 0
        is_taken = (price.segment.index, price.start) in taken or (is_whole and price.plain)
        if is_taken or abs(price.value) in (0, 1):
            continue
        tolerance = (0 if is_whole else factor * _last_place(price.value) / 2) + _CENT / 2
        if abs(factor * abs(price.value) - product) <= tolerance and product >= _LEAST_DIGITS * tolerance:
            return True
    return False


def _last_place(value: Decimal) -> Decimal:
    return Decimal(1).scaleb(int(value.as_tuple().exponent))


def _is_difference(candidates: Candidates, amount: Finding, other: Finding, difference: Decimal) -> bool:
    """True if the amounts that are printed between two of them add up to their difference."""
    first, last = sorted((span.segment.index, span.start) for span in (amount.spans[0], other.spans[0]))
    parts = [
        abs(part.value)
        for part in candidates.amounts
        if first < (part.segment.index, part.start) < last and not part.plain
    ]
    return 0 < len(parts) <= _MOST_PARTS and sum(parts, Decimal(0)) == difference
