"""What is to be paid and by when, where the page says it without the amount or the date itself."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import Finding, Findings
from docmill.understanding.page.layout import Segment
from docmill.understanding.page.terms import find_terms, says_settled, speaks_of_payment
from docmill.understanding.vocabulary import Concept

_FOLLOWS = 0.9
"""How far a value is believed that follows from others, beside the one it follows from."""
_SURELY = 0.5
_NEAR_LINES = 2.6


def settlement(candidates: Candidates, known: Findings) -> Iterator[tuple[str, Finding]]:
    """The amount due and the due date of an invoice, computed from what is known of it.

    Without a word of what was paid before, the total is due: EN 16931, BR-CO-16.
    """
    if "amount_due" not in known and "gross_total" in known:
        due = _due(candidates, known["gross_total"])
        if due is not None:
            yield "amount_due", due
    issued = known.get("issue_date")
    if "due_date" not in known and issued is not None and isinstance(issued.value, date):
        day = _last_day(candidates, issued.value)
        if day is not None:
            yield "due_date", Finding(day, (), issued.probability * _FOLLOWS)


def _due(candidates: Candidates, gross: Finding) -> Finding | None:
    total = gross.value
    if not isinstance(total, Decimal) or _is_settled(candidates):
        return None
    paid = {
        abs(amount.value)
        for amount in candidates.amounts
        if amount.clues.get(Concept.PAID, 0) > _SURELY and not amount.plain and amount.value
    }
    if not paid:
        return Finding(total, (), gross.probability * _FOLLOWS)
    before = paid.pop()
    if paid or before >= abs(total):
        return None
    return Finding(total - before, (), gross.probability * _FOLLOWS)


def _is_settled(candidates: Candidates) -> bool:
    return any(says_settled(segment.text) for segment in candidates.layout.segments)


def _last_day(candidates: Candidates, issued: date) -> date | None:
    """The last of the days that the terms give, those for a discount left aside."""
    days = [day for segment in candidates.layout.segments for day in _days(candidates, segment, issued)]
    return max(days, default=None)


def _days(candidates: Candidates, segment: Segment, issued: date) -> Iterator[date]:
    for term in find_terms(segment.text):
        if not term.otherwise and (term.of_payment or _is_labelled(candidates, segment)):
            day = issued + timedelta(days=term.days)
            yield _end_of_month(day) if term.month_end else day


def _is_labelled(candidates: Candidates, segment: Segment) -> bool:
    """Whether the text on its left or right above it speaks of payment."""
    sheet = candidates.layout.sheet(segment)
    above = sheet.above(segment.box)[:1]
    near = [one for one in above if segment.middle - one.middle < _NEAR_LINES * sheet.text_height]
    return any(speaks_of_payment(one.text) for one in [*sheet.left_of(segment)[:1], *near])


def _end_of_month(day: date) -> date:
    return day.replace(day=monthrange(day.year, day.month)[1])
