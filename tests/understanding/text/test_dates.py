from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.understanding.text.dates import MISREAD_TIME, clock_time, find_dates, find_times, full_year


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.03.2026", date(2026, 3, 12)),
        ("2026-03-12", date(2026, 3, 12)),
        ("12/03/18", date(2018, 3, 12)),
        ("Date:25/12/20188:13:39", date(2018, 12, 25)),
        ("06/04/1711:43am", date(2017, 4, 6)),
        ("02~05-18", date(2018, 5, 2)),
        ("3 March 2026", date(2026, 3, 3)),
        ("March 3, 2026", date(2026, 3, 3)),
        ("3. März 2026", date(2026, 3, 3)),
        ("15 janvier 2026", date(2026, 1, 15)),
        ("1\u00b0 aprile 2026", date(2026, 4, 1)),
        ("1\u00ba de abril de 2026", date(2026, 4, 1)),
        ("1.\u00ba de abril de 2026", date(2026, 4, 1)),
        ("1er août 2026", date(2026, 8, 1)),
        ("5 de febrero de 2026", date(2026, 2, 5)),
        ("7 maggio 2026", date(2026, 5, 7)),
        ("9 mei 2026", date(2026, 5, 9)),
        ("Feb15/20", date(2020, 2, 15)),
        ("20-JAN-18", date(2018, 1, 20)),
        ("2O/O1/2018", date(2018, 1, 20)),
        ("20180112", date(2018, 1, 12)),
        ("20180112-142233", date(2018, 1, 12)),
        ("20180112/1422", date(2018, 1, 12)),
        ("Jul19'14", date(2014, 7, 19)),
        ("Dec23'14 2:52PM", date(2014, 12, 23)),
        ("Jun17'13 09:35PM", date(2013, 6, 17)),
        ("Ju119'14 12:36PM", date(2014, 7, 19)),
        ("Ju1.30'11(Sat)07:27", date(2011, 7, 30)),
        ("2017-02-12144838", date(2017, 2, 12)),
        ("0ct 5, 2016", date(2016, 10, 5)),
    ],
)
def test_a_date_is_read_as_it_is_written(text: str, expected: date) -> None:
    found = find_dates(text)

    assert [written.value(day_first=True) for written in found] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "32/13/2018",
        "1.234,56",
        "03-7805 7889",
        "12.50",
        "31/02/2018",
        "v1.2.3",
        "T03-18/199913",
        "Dec23 02:52PM",
        "Receipt # 20161223-10019",
        "0912-20161223",
        "23122016-4471",
    ],
)
def test_other_numbers_are_not_dates(text: str) -> None:
    assert not find_dates(text)


def test_the_order_of_day_and_month_is_the_documents() -> None:
    (written,) = find_dates("03/04/2020")

    assert written.value(day_first=True) == date(2020, 4, 3)
    assert written.value(day_first=False) == date(2020, 3, 4)


def test_a_date_that_allows_one_order_says_so() -> None:
    day_first, month_first = find_dates("25/12/2018 and 12/25/2018")

    assert day_first.only_day_first
    assert not day_first.only_month_first
    assert month_first.only_month_first
    assert month_first.value(day_first=True) == date(2018, 12, 25)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("06/08/20-06/13/20", date(2020, 6, 8), date(2020, 6, 13)),
        ("Wednesday, February 12, 2020 to Monday, February 17, 2020", date(2020, 2, 12), date(2020, 2, 17)),
        ("01.06. - 30.06.2026", date(2026, 6, 1), date(2026, 6, 30)),
        ("1 - 30 June 2026", date(2026, 6, 1), date(2026, 6, 30)),
        ("28 May - 3 June 2026", date(2026, 5, 28), date(2026, 6, 3)),
        ("May 28 - June 3, 2026", date(2026, 5, 28), date(2026, 6, 3)),
    ],
)
def test_a_period_has_two_dates_even_if_the_first_lacks_its_year(text: str, start: date, end: date) -> None:
    found = find_dates(text)

    assert [written.value(day_first=False) for written in found] == [start, end]


@given(st.dates(date(1990, 1, 1), date(2069, 12, 31)))
def test_every_date_survives_being_written_in_full(day: date) -> None:
    for text in (
        day.isoformat(),
        day.strftime("%d.%m.%Y"),
        day.strftime("%d/%m/%y"),
        day.strftime("%d %B %Y"),
    ):
        assert [written.value(day_first=True) for written in find_dates(text)] == [day]


def test_two_digits_are_a_year_of_this_century_unless_too_far_ahead() -> None:
    assert [full_year(year) for year in (26, 79, 80, 2031)] == [2026, 2079, 1980, 2031]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("6:53PM)", "18:53:00"),
        ("06:53P", "18:53:00"),
        ("6:53 P M", "18:53:00"),
        ("12:05a", "00:05:00"),
        ("6:53P Table 3", "18:53:00"),
        ("2019-03-04   6:53 P", "06:53:00"),
        ("6:53 \u039c\u039c", "18:53:00"),
        ("6:53:07 \u03bc\u03bc", "18:53:07"),
        ("6:53:07 \u03c0.\u03bc.", "06:53:07"),
        ("12:05 \u03c0\u03bc", "00:05:00"),
        ("6:53 P 4", "06:53:00"),
        ("6:53 Park", "06:53:00"),
        ("6:53 a day", "06:53:00"),
    ],
)
def test_half_days_are_read_as_tills_print_them(text: str, time: str) -> None:
    assert [found for found, _, _ in find_times(text)] == [time]


def test_a_misread_pm_is_one_in_capitals() -> None:
    def clock(text: str) -> str:
        match = MISREAD_TIME.search(text)
        assert match is not None
        return clock_time(match)

    assert clock("5:22PN") == "17:22"
    assert clock("12:22 AH") == "00:22"
    assert clock("10:15 an Tisch 3") == "10:15"
