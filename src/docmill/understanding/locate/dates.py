"""Occurrences of a date or a time."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta

from docmill.understanding.locate.forms import date_pattern, day_pattern, month_pattern, time_pattern
from docmill.understanding.locate.occurrences import Occurrence, SearchedPages, occurrence
from docmill.understanding.page.layout import Span
from docmill.understanding.text.dates import find_dates

OTHER_READING = 0.7
"""The trust in a date that is the value only if read against the usual order, when no date tells."""
PARTIAL = 0.8
"""The trust in a date that is printed without its year or its day."""


def find_date(pages: SearchedPages, value: date) -> list[Occurrence]:
    """In the document's order of day and month if it has one, else in either."""
    whole = list(_whole_dates(pages, value))
    sure = [one for one in whole if one.trust > OTHER_READING]
    # A month's name may be of a language that the rules do not read.
    named = (occurrence(sheet, (span,), None) for sheet, span, _ in pages.matches(date_pattern(value)))
    return sure or whole or list(named) or list(_days(pages, value)) or _months(pages, value)


def find_time(pages: SearchedPages, value: time) -> list[Occurrence]:
    """On either clock."""
    wanted = value.isoformat("minutes" if not value.second else "seconds")
    return [occurrence(sheet, (span,), wanted) for sheet, span, _ in pages.matches(time_pattern(value))]


def _whole_dates(pages: SearchedPages, value: date) -> Iterator[Occurrence]:
    """Dates that are the value; none against an order that other dates prove."""
    for sheet, segment in pages.containing(f"{value.year % 100:02d}"):
        for written in find_dates(segment.text):
            usual = pages.usual_day_first
            trust = 1.0 if written.value(day_first=usual) == value else 0.0
            if not trust and pages.is_day_first is None and written.value(day_first=not usual) == value:
                trust = OTHER_READING
            if trust:
                yield occurrence(
                    sheet, (Span(segment, written.start, written.stop),), value.isoformat(), trust
                )


def _days(pages: SearchedPages, value: date) -> Iterator[Occurrence]:
    """Day and month, if the year stands somewhere."""
    if next(pages.containing(str(value.year)), None) is None:
        return
    for sheet, span, match in pages.matches(day_pattern(value)):
        if match["mf" if pages.usual_day_first else "df"] is None or value.day == value.month:
            yield occurrence(sheet, (span,), None, PARTIAL)


def _months(pages: SearchedPages, value: date) -> list[Occurrence]:
    """A period's first or last day, from its month."""
    if value.day != 1 and (value + timedelta(days=1)).day != 1:
        return []
    return [
        replace(occurrence(sheet, (span,), None, PARTIAL), form="month")
        for sheet, span, _ in pages.matches(month_pattern(value))
    ]
