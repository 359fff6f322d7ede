"""Checks of dates: order and distance, labels, and dates whose day and month may be swapped."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from docmill.model.result import Failure
from docmill.schemas.document_types import DEFINITIONS, known_type
from docmill.understanding.gate.countries import DateOrder, countries_of, date_order_of
from docmill.understanding.gate.inputs import GateInput, label_before, meanings_before
from docmill.understanding.page.conventions import language_of
from docmill.understanding.page.labels import LABELS
from docmill.understanding.text.dates import WrittenDate, find_dates
from docmill.understanding.text.weekdays import orders_by_weekday
from docmill.understanding.vocabulary import Concept
from docmill.understanding.vocabulary.concepts import DATE_CONCEPTS

AMBIGUOUS_CHECK = "ambiguous_date"
"""The check of dates that can be read in two ways."""
LONGEST_CREDIT = timedelta(days=366)
LONGEST_PERIOD = timedelta(days=5 * 366)
LONGEST_DELIVERY = timedelta(days=366)
_IN_ORDER = (
    ("issue_date", "due_date", LONGEST_CREDIT),
    ("issue_date", "valid_until", LONGEST_CREDIT),
    ("period_start", "period_end", LONGEST_PERIOD),
    ("preceding_invoice_date", "issue_date", LONGEST_PERIOD),
)
"""Dates of which the first is the earlier, and the longest time between them."""
_REMINDER = "reminder"
_DELIVERY_NOTE = "delivery_note"
_RECEIPT = "receipt"
_VALUED = timedelta(days=7)
"""By which bookings may lie outside a statement's period: weekends, and days from which they count."""
_IN_NUMBERS = re.compile(r"(?<!\d)\d{1,2}\s?[/.\-]\s?\d{1,2}\s?[/.\-]\s?(?:\d{4}|\d\d)(?!\d)")
_LONGEST_SEARCHED = 50_000
_SHORT = re.compile(r"(\d\d)[-/.](\d\d)[-/.](\d\d)")
_YEAR = re.compile(r"(?<!\d)20[0-7]\d(?!\d)")
_OTHER_DATES = DATE_CONCEPTS - {Concept.DATE, Concept.INVOICE_DATE, Concept.ORDER_DATE}


def check_dates(judged: GateInput) -> Iterator[Failure]:
    """Failures of dates that are in the wrong order, or too far apart."""
    for first, second, longest in _IN_ORDER:
        earlier, later = judged.day(first), judged.day(second)
        if earlier is None or later is None:
            continue
        if second == "due_date" and judged.extraction.document_type == _REMINDER:
            continue  # which names the day that has passed
        fields = (judged.path(first), judged.path(second))
        names = f"{judged.name(fields[1])} {later} is {{}} {judged.inner_name(fields[0])} {earlier}."
        if later < earlier:
            yield Failure(check="date_order", message=names.format("before"), fields=fields)
        elif later - earlier > longest:
            yield Failure(check="date_distance", message=names.format("too long after"), fields=fields)
    yield from _check_delivery(judged)
    yield from _check_booking_dates(judged)


def _check_delivery(judged: GateInput) -> Iterator[Failure]:
    """A failure of a delivery before the order, or more than a year away from the document's date."""
    issued, delivered = judged.day("issue_date"), judged.day("delivery_date")
    if issued is None or delivered is None:
        return
    fields = (judged.path("issue_date"), judged.path("delivery_date"))
    if judged.definition.written_by == "buyer" and delivered < issued:
        message = f"The delivery date {delivered} is before the order's date {issued}."
        yield Failure(check="date_order", message=message, fields=fields)
    elif abs(delivered - issued) > LONGEST_DELIVERY:
        message = f"The delivery date {delivered} is more than a year from the date {issued}."
        yield Failure(check="date_distance", message=message, fields=fields)


def _check_booking_dates(judged: GateInput) -> Iterator[Failure]:
    """A failure of bookings of a statement that lie outside its period."""
    first, last = judged.day("period_start"), judged.day("period_end")
    if first is None or last is None or first > last:
        return
    days = {path: day for path, day in judged.days.items() if path.startswith("transactions[")}
    # A difference is within the range of dates, which a week before the first of all days is not.
    outside = [path for path, day in days.items() if first - day > _VALUED or day - last > _VALUED]
    if outside:
        message = f"A booking of {days[outside[0]]} is outside of the period from {first} to {last}."
        fields = (judged.path("period_start"), judged.path("period_end"), *outside)
        yield Failure(check="booking_date", message=message, fields=fields)


def check_date_label(judged: GateInput) -> Iterator[Failure]:
    """A failure of an issue date that stands beside the label of another date: a due or a printing date."""
    path = judged.path("issue_date")
    line = judged.line_of(path) if path in judged.values else None
    if line is None:
        return
    meanings = meanings_before(line) & DATE_CONCEPTS
    if DEFINITIONS[known_type(judged.extraction.document_type)].words.sentences:
        return  # the day of an agreement is written in a sentence: `made as of 3 May`
    others = _OTHER_DATES
    if judged.extraction.document_type == _DELIVERY_NOTE:
        others -= {Concept.DELIVERY_DATE}  # goods are sent and noted on one day
    elif (
        judged.extraction.document_type == _RECEIPT
        and Concept.PERIOD_END in meanings
        and _began_on(judged, judged.days.get(path))
    ):
        return  # tills record when a sale began and ended
    if meanings and meanings <= others:
        label = label_before(line.before)
        message = f"{judged.name(path)} {judged.values[path]} stands beside another label: {label!r}."
        yield Failure(check="date_label", message=message, fields=(path,))


def _began_on(judged: GateInput, day: date | None) -> bool:
    """True if the paper says of something that it began on this day."""
    for line in judged.document.text[:_LONGEST_SEARCHED].splitlines():
        if any(Concept.PERIOD_START in label.meanings for label in LABELS.find(line)):
            days = {
                written.value(day_first=is_first)
                for written in find_dates(line)
                for is_first in (True, False)
            }
            if day in days:
                return True
    return False


def check_ambiguous_dates(judged: GateInput) -> Iterator[Failure]:
    """Failures of dates that may be two days.

    Day and month may be swapped, and nothing on the document tells their order, or it tells another one than
    they were read in; or the first number may be the year.
    """
    for path, other in other_days(judged).items():
        days = f"{judged.days[path]:%-d %B %Y} or {other:%-d %B %Y}"
        message = f"{judged.name(path)} may be {days}: please say which."
        yield Failure(check=AMBIGUOUS_CHECK, message=message, fields=(path,))


def other_days(judged: GateInput) -> Mapping[str, date]:
    """By path of a date that may be two days, the day that it was not read as."""
    return {**_short_years(judged), **_swapped_days(judged)}


def _swapped_days(judged: GateInput) -> Mapping[str, date]:
    """By path of an ambiguous date, the date with day and month swapped; clear dates are left out."""
    doubtful: list[tuple[str, date, date, WrittenDate]] = []
    for path, day in judged.days.items():
        evidence = judged.evidence(path)
        written = find_dates(evidence.text) if evidence is not None and evidence.text else ()
        if len(written) == 1 and (other := _other_reading(written[0], day)):
            doubtful.append((path, day, other, written[0]))
    order = _date_order(judged) if doubtful else None
    return {
        path: other
        for path, day, other, written in doubtful
        if order is None or written.value(day_first=order == "day first") != day
    }


def _short_years(judged: GateInput) -> Mapping[str, date]:
    """By path, the day if the first number is the year: `15-03-13` on a page that says 2015, not 2013."""
    days: dict[str, date] = {}
    for path, day in judged.days.items():
        evidence = judged.evidence(path)
        match = _SHORT.fullmatch(evidence.text or "") if evidence is not None else None
        if match is None:
            continue
        try:
            other = date(2000 + int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            continue
        years = set(_YEAR.findall(judged.document.text[:_LONGEST_SEARCHED]))
        if str(day.year) not in years and str(other.year) in years:
            days[path] = other
    return days


def _other_reading(written: WrittenDate, day: date) -> date | None:
    """The date with day and month swapped; None if both are the same, or if the order is known."""
    if written.order != "open" or written.only_day_first or written.only_month_first:
        return None
    readings = {written.value(day_first=True), written.value(day_first=False)} - {day, None}
    return readings.pop() if len(readings) == 1 else None


def _date_order(judged: GateInput) -> DateOrder | None:
    """The order of day and month by other dates, the country or the language; None if these do not decide."""
    text = judged.document.text[:_LONGEST_SEARCHED]
    dates = [written for match in _IN_NUMBERS.finditer(text) for written in find_dates(match[0])]
    day_first = sum(each.only_day_first or each.order == "day first" for each in dates)
    month_first = sum(each.only_month_first for each in dates)
    by_weekday = list(orders_by_weekday(text))
    day_first += by_weekday.count("day first")
    month_first += by_weekday.count("month first")
    if day_first != month_first:
        return "day first" if day_first > month_first else "month first"
    orders: set[DateOrder] = {country.date_order for country in countries_of(judged).values()}
    order = orders.pop() if len(orders) == 1 else date_order_of(text)
    if order is None and language_of(text.splitlines()) not in (None, "en"):
        return "day first"
    return None if order == "either" else order
