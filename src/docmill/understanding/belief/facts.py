"""Features of a value from which its probability of being right is computed; the model calls them facts."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.model.paths import without_indices
from docmill.understanding.belief.surroundings import surroundings_of
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.log_odds import log_odds
from docmill.understanding.text.cuts import is_cut_otherwise
from docmill.understanding.text.money import CASH_ROUNDING

Kind = Literal["date", "time", "amount", "number", "code", "name", "address", "text"]
"""What a value is, as far as it matters for how easily it is read wrong."""

FACTS = (
    "share",
    "rival",
    "cut",
    "bracket",
    "named",
    "recognised",
    "misread",
    "quality",
    "holds",
    "contradicted",
    "computed",
    "repeated",
    "no language",
    "no currency",
    "long",
    "digits",
    "agreed",
    "disagreed",
    "number right",
    "number below",
    "label above",
    "far label",
    "other layout",
    "in a line",
    "told",
    "product",
    "no product",
    "sums up",
    "gaps",
    "unlike",
    "nameless",
    "wordless",
    "uneven",
    "apart",
    "dated",
    "legal form",
    "mixed",
    "first",
    "large",
    "labelled",
    "priced",
    "sentence",
    "web",
    "other near",
    "contact near",
    "corrected",
    "postcode",
    "postcode below",
    "lines",
    "seen",
    "seen elsewhere",
)
"""The facts in their order, each about 0 to 1 wide; from `told` to `dated` they are of values in lists,
and those behind of names and addresses of receipts, the last two of all their values: whether the page model
gives the words the role of the field, and others, too."""
_CLIP = 0.005
_SURE_WORD = 0.001
_LONG_NAME = 6
_FULL_STRENGTH = 1.6
_MOST_REPEATS = 4
_TOTALS = ("net_total", "tax_total", "gross_total")
_PAY = ("gross_pay", "total_deductions", "net_pay")
_BALANCES = ("opening_balance", "closing_balance")
_BOOKING = "transactions[].amount"

Facts = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """The facts about one value, in the order of `FACTS`."""

    kind: Kind
    facts: Facts


def facts_of(
    findings: Findings, candidates: Candidates, known: Mapping[str, Mapping[str, float]] | None = None
) -> dict[str, ValueFacts]:
    """The facts about every value outside of lists, by path.

    known: further facts that the caller has computed, by path and by their names in `FACTS`.
    """
    sums = _sums(findings)
    conventions = candidates.conventions
    facts: dict[str, ValueFacts] = {}
    for path, finding in findings.items():
        if "[" in path:
            continue
        kind = kind_of(path, finding)
        recognised, misread, quality = legibility(finding, candidates)
        text = str(finding.value)
        values = {
            "share": log_odds(finding.probability, clip=_CLIP) / 4,
            "rival": log_odds(finding.rivals[0].probability if finding.rivals else 0, clip=_CLIP) / 4,
            "cut": float(any(is_cut_otherwise(finding.value, rival.value) for rival in finding.rivals[:1])),
            "bracket": float(any("(" in str(found.value) for found in (finding, *finding.rivals[:1]))),
            "named": min(finding.named, _FULL_STRENGTH) / _FULL_STRENGTH,
            "recognised": float(recognised),
            "misread": misread,
            "quality": quality,
            "holds": float(sums.get(path) is True),
            "contradicted": float(sums.get(path) is False),
            "computed": float(not finding.spans),
            "repeated": _repeated(finding, candidates),
            "no language": float(conventions.language is None),
            "no currency": float(conventions.currency is None),
            "long": float(len(text.split()) > _LONG_NAME),
            "digits": float(any(map(str.isdecimal, text))),
            "agreed": float(finding.agrees is True),
            "disagreed": float(finding.agrees is False),
            **surroundings_of(finding, candidates, is_name=kind == "name"),
        }
        values |= (known or {}).get(path, {})
        facts[path] = ValueFacts(kind, in_order(values))
    return facts


def in_order(values: Mapping[str, float]) -> Facts:
    """The facts as a vector in the order of `FACTS`; a fact that is missing in `values` is 0."""
    return np.array([values.get(name, 0.0) for name in FACTS])


def kind_of(path: str, finding: Finding) -> Kind:
    """The kind of a value, by its type, the name of its field and the form in which it was found."""
    value = finding.value
    if isinstance(value, date):
        return "date"
    if isinstance(value, Decimal):
        return "amount" if value.as_tuple().exponent == -2 else "number"  # noqa: PLR2004 - cents
    name = path.rpartition(".")[2]
    if name in ("name", "address", "time"):
        return name
    if finding.form in ("name", "text"):
        return finding.form
    return "code"


def legibility(finding: Finding, candidates: Candidates) -> tuple[bool, float, float]:
    """Return (was it recognised, doubt in its worst word from 0 to 1, 1 less the quality of its page).

    All three are False or 0 for a value that was computed or comes from a text layer.
    """
    if not finding.spans:
        return False, 0.0, 0.0
    page = candidates.layout.sheet(finding.spans[0].segment).page
    if page.source != "ocr":
        return False, 0.0, 0.0
    least = 1.0
    for span in finding.spans:
        start, stop = span.segment.words(span.start, span.stop)
        least = min(least, float(page.words.confidences[start:stop].min()))
    doubt = 1 + math.log10(max(1 - least, _SURE_WORD)) / 3
    return True, doubt, 1 - page.quality


def _repeated(finding: Finding, candidates: Candidates) -> float:
    """The number of further places where the text of the value is printed, scaled to 0 to 1."""
    key = letters_and_digits(" ".join(span.text for span in finding.spans) or str(finding.value))
    count = _letters(candidates).count(key) if key else 0
    return min(max(count - 1, 0), _MOST_REPEATS) / _MOST_REPEATS


@once
def _letters(candidates: Candidates) -> str:
    return letters_and_digits("".join(segment.text for segment in candidates.layout.segments))


def _sums(findings: Findings) -> dict[str, bool]:
    """Return, by path of a total, True if the sums it is part of add up and False if they do not.

    Totals for which the document prints no sum are left out.
    """
    amounts = {
        path: amount for path in (*_TOTALS, "amount_due") if (amount := _amount(findings, path)) is not None
    }
    held: dict[str, bool] = {}
    if all(path in amounts for path in _TOTALS):
        net, tax, gross = (amounts[path] for path in _TOTALS)
        is_sum = abs(net + tax - gross) <= CASH_ROUNDING
        # A sum with zero, or with a part that was computed from the others, proves nothing.
        if not is_sum or (net and tax and all(findings[path].spans for path in _TOTALS)):
            held |= dict.fromkeys(_TOTALS, is_sum)
    rows = list(_line_amounts(findings))
    if rows:
        total = sum(rows, Decimal(0))
        for path in ("net_total", "gross_total"):
            if path in amounts and abs(amounts[path] - total) <= CASH_ROUNDING:
                held[path] = held.get(path, True)
    return held | _differences(findings)


def _differences(findings: Findings) -> dict[str, bool]:
    """As `_sums`, for gross pay less deductions, and for the opening balance plus all bookings."""
    held: dict[str, bool] = {}
    pay = [_amount(findings, path) for path in _PAY]
    if None not in pay:
        gross, kept, paid = (amount or Decimal(0) for amount in pay)
        held |= dict.fromkeys(_PAY, gross - kept == paid)
    opening, closing = (_amount(findings, path) for path in _BALANCES)
    bookings = [_amount(findings, path) for path in findings if without_indices(path) == _BOOKING]
    if opening is not None and closing is not None and bookings and None not in bookings:
        total = sum((amount or Decimal(0) for amount in bookings), opening)
        held |= dict.fromkeys(_BALANCES, total == closing)
    return held


def _line_amounts(findings: Findings) -> Iterator[Decimal]:
    for path in findings:
        if re.fullmatch(r"lines\[\d+\]\.net_amount", path):
            amount = _amount(findings, path)
            if amount is not None:
                yield amount


def _amount(findings: Mapping[str, Finding], path: str) -> Decimal | None:
    finding = findings.get(path)
    return finding.value if finding is not None and isinstance(finding.value, Decimal) else None
