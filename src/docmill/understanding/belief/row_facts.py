"""Features of a value in a list: the sums that prove its row, and its likeness to the other rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from statistics import median
from typing import Literal

from docmill.model.paths import steps_of
from docmill.understanding.belief.facts import Facts, in_order, legibility
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.layout import Segment
from docmill.understanding.text.dates import find_dates

RowKind = Literal["amount", "quantity", "date", "name", "party", "code"]
"""The kinds of values in lists. A reference behind the name of a party is read with it, and of its kind."""

_BOOKINGS = "transactions"
_LISTS = ("lines", _BOOKINGS)
_WORD = re.compile(r"[^\W\d_]{3,}")
_KINDS: Mapping[str, RowKind] = {"description": "name", "counterparty": "party", "reference": "party"}
_NUMBERS = ("quantity", "unit_price", "net_amount", "tax_rate")
_PRODUCTS = ("quantity", "unit_price", "net_amount")
_MULTIPLIED, _SUMMED, _CONTRADICTED = 0.96, 0.93, 0.5
"""Shares of belief from which on quantity times price is the amount, and the amounts make a printed sum; and
below which quantity times price is another amount."""
_FAR = 1.0
"""Gap between two lines of one cell, in heights of them, from which on they are apart."""
_MOST_LINES = 4
_DEPTH = 2
"""Steps below a list: the place of the row, and the name of the field."""

_Row = Mapping[str, Finding]


def row_facts_of(findings: Findings, candidates: Candidates) -> Iterator[tuple[str, str, Facts]]:
    """Yield path, key of the weights and facts of each value in the lists of items and bookings."""
    lists: dict[str, dict[int, dict[str, Finding]]] = {}
    for path, finding in findings.items():
        owner, *place = steps_of(path)
        if owner in _LISTS and len(place) == _DEPTH:
            index, name = place
            lists.setdefault(str(owner), {}).setdefault(int(index), {})[str(name)] = finding
    for owner, by_index in lists.items():
        rows = list(by_index.values())
        for index, row in by_index.items():
            for name, finding in row.items():
                facts = {**_of_reading(finding, candidates), **_of_row(owner, name, row, rows)}
                if isinstance(finding.value, str):
                    facts |= _of_text(finding, [other[name] for other in rows if name in other])
                yield f"{owner}[{index}].{name}", f"{owner} {row_kind(name, finding)}", in_order(facts)


def row_kind(name: str, finding: Finding) -> RowKind:
    """The kind of the value of a field in a list."""
    if isinstance(finding.value, date):
        return "date"
    if isinstance(finding.value, Decimal):
        return "quantity" if name == "quantity" else "amount"
    return _KINDS.get(name, "code")


def _of_reading(finding: Finding, candidates: Candidates) -> dict[str, float]:
    recognised, misread, quality = legibility(finding, candidates)
    return {"recognised": float(recognised), "misread": misread, "quality": quality, "told": finding.named}


def _of_row(owner: str, name: str, row: _Row, rows: Sequence[_Row]) -> dict[str, float]:
    """Facts of a row: whether products and sums prove it, and which values it lacks that other rows have."""
    proofs = [row[each].probability for each in _NUMBERS if each in row]
    is_product = all(each in row for each in _PRODUCTS)
    if owner == _BOOKINGS:
        proofs, is_product = [row["amount"].probability] if "amount" in row else [], False
    proof = max(proofs, default=0.0)
    is_product &= proof >= _MULTIPLIED
    most = max(map(len, rows))
    return {
        "product": float(is_product),
        "no product": float(0 < proof < _CONTRADICTED),
        "sums up": float(not is_product and proof >= _SUMMED),
        "gaps": sum(name not in other for other in rows) / len(rows),
        "unlike": (most - len(row)) / most,
        "nameless": float("description" not in row),
    }


def _of_text(finding: Finding, column: Sequence[Finding]) -> dict[str, float]:
    """Facts of a text: signs that it is no name, or unlike the others of its column.

    column: the values of the column, this one among them.
    """
    text = str(finding.value)
    lines = _lines(finding)
    usual = median(len(_lines(other)) for other in column)
    gaps = [below.box.y0 - above.box.y1 for above, below in pairwise(lines)]
    height = min((line.box.y1 - line.box.y0 for line in lines), default=0.0)
    return {
        "wordless": float(_WORD.search(text) is None),
        "uneven": min(max(len(lines) - usual, 0), _MOST_LINES) / _MOST_LINES,
        "apart": float(max(gaps, default=0.0) > _FAR * height > 0),
        "dated": float(bool(find_dates(text))),
        "digits": float(any(map(str.isdecimal, text))),
    }


def _lines(finding: Finding) -> list[Segment]:
    """One segment of each line that the text is printed on, from top to bottom."""
    by_line = {(span.segment.page_index, span.segment.line): span.segment for span in finding.spans}
    return [by_line[key] for key in sorted(by_line)]
