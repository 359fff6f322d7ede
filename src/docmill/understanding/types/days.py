"""The day of a whole document: of its making, not of anything else that it tells."""

from datetime import date

from docmill.model.document import Document
from docmill.understanding.fields.analysis_cache import candidates_of

_YEARS = range(1900, 2080)
"""Papers of an archive may be old; what is older or later is misread or made up."""


def plausible(day: date, document: Document) -> date | None:
    """`day` if a document can have it; turned round if the pages show day and month that way."""
    if day.year not in _YEARS:
        return None
    other = _turned(day)
    if other is None:
        return day
    shown = _shown(document)
    return other if other in shown and day not in shown else day


def _turned(day: date) -> date | None:
    """With day and month taken for each other; None where that is no date."""
    try:
        return date(day.year, day.day, day.month)
    except ValueError:
        return None


def _shown(document: Document) -> set[date]:
    """The dates on the pages, in both orders unless the document proves one."""
    dates = [written for of_segment in candidates_of(document).written_dates for written in of_segment]
    day_first = sum(written.only_day_first or written.order == "day first" for written in dates)
    month_first = sum(written.only_month_first for written in dates)
    orders = [True, False] if day_first == month_first else [day_first > month_first]
    return {day for written in dates for order in orders if (day := written.value(day_first=order))}
