"""Where a date or a time stands."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, time, timedelta

from docmill.understanding.locate.forms import date_pattern, day_pattern, month_pattern, time_pattern
from docmill.understanding.locate.sheets import Sheets, Sighting, sighting
from docmill.understanding.page.layout import Span
from docmill.understanding.text.dates import WrittenDate, find_dates

OTHER_READING = 0.7
"""What a date counts that says the value only if read against the usual habit, when no date tells."""
PARTIAL = 0.8
"""What a date counts that is printed without its year or its day."""


def dates(sheets: Sheets, value: date) -> list[Sighting]:
    """In the document's order of day and month if it has one, else in either."""
    found = list(_whole(sheets, value))
    sure = [one for one in found if one.trust > OTHER_READING]
    return (
        sure or found or list(_named(sheets, value)) or list(_days(sheets, value)) or _months(sheets, value)
    )


def times(sheets: Sheets, value: time) -> list[Sighting]:
    """On either clock."""
    wanted = value.isoformat("minutes" if not value.second else "seconds")
    return [sighting(sheet, (span,), wanted) for sheet, span, _ in sheets.matches(time_pattern(value))]


def _whole(sheets: Sheets, value: date) -> Iterator[Sighting]:
    for sheet, segment in sheets.holding(f"{value.year % 100:02d}"):
        for one in find_dates(segment.text):
            trust = _says(sheets, one, value)
            if trust:
                yield sighting(sheet, (Span(segment, one.start, one.stop),), value.isoformat(), trust)


def _says(sheets: Sheets, written: WrittenDate, value: date) -> float:
    """How far a printed date says the value: not at all against an order that other dates prove."""
    proven = sheets.days_come_first
    usual = sheets.habits.day_first if proven is None else proven
    if written.value(day_first=usual) == value:
        return 1.0
    return OTHER_READING if proven is None and written.value(day_first=not usual) == value else 0.0


def _named(sheets: Sheets, value: date) -> Iterator[Sighting]:
    """With a month's name in a language that the rules do not read."""
    for sheet, span, _ in sheets.matches(date_pattern(value)):
        yield sighting(sheet, (span,), None)


def _days(sheets: Sheets, value: date) -> Iterator[Sighting]:
    """Day and month, if the year stands somewhere."""
    if next(sheets.holding(str(value.year)), None) is None:
        return
    proven = sheets.days_come_first
    days_first = sheets.habits.day_first if proven is None else proven
    for sheet, span, match in sheets.matches(day_pattern(value)):
        if match["mf" if days_first else "df"] is None or value.day == value.month:
            yield sighting(sheet, (span,), None, PARTIAL)


def _months(sheets: Sheets, value: date) -> list[Sighting]:
    """A period's first or last day, from its month."""
    if value.day != 1 and (value + timedelta(days=1)).day != 1:
        return []
    return [
        replace(sighting(sheet, (span,), None, PARTIAL), form="month")
        for sheet, span, _ in sheets.matches(month_pattern(value))
    ]
