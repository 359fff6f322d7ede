"""The day of a whole document: of its making, not of anything else that it tells."""

from datetime import date

from docmill.model.document import Document
from docmill.understanding.page.layout import Layout
from docmill.understanding.text.dates import find_dates

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
    texts = [segment.text for segment in Layout(document).segments]
    dates = [written for text in texts if any(map(str.isdecimal, text)) for written in find_dates(text)]
    day_first = sum(one.only_day_first or one.order == "day first" for one in dates)
    month_first = sum(one.only_month_first for one in dates)
    orders = [True, False] if day_first == month_first else [day_first > month_first]
    return {found for one in dates for order in orders if (found := one.value(day_first=order))}
