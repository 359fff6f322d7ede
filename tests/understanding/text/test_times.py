import re
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.text.dates import MISREAD_TIME, clock_time, find_times

if TYPE_CHECKING:
    from docmill.schemas.types import Receipt

Typeset = Callable[..., Document]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("at 9:05", "09:05:00"),
        ("6:00 pm", "18:00:00"),
        ("12:30 a.m.", "00:30:00"),
        ("12:30 PM", "12:30:00"),
        ("18h45", "18:45:00"),
        ("08:15:30", "08:15:30"),
    ],
)
def test_times_of_either_clock_are_found(text: str, time: str) -> None:
    assert [found for found, _, _ in find_times(text)] == [time]


@pytest.mark.parametrize("text", ["24:00", "1:234", "10.30", "12:3"])
def test_other_numbers_are_no_times(text: str) -> None:
    assert list(find_times(text)) == []


def test_a_colon_may_be_misread() -> None:
    match = MISREAD_TIME.search("18;08;38")

    assert isinstance(match, re.Match)
    assert clock_time(match) == "18:08:38"


@pytest.mark.parametrize(
    ("printed", "time"),
    [
        ("19-03-2018 18:08:38", "18:08:38"),
        ("19-03-201818:08:38", "18:08:38"),
        ("19-03-2018 17;21:00", "17:21:00"),
        ("19-03-2018 17 :21:00", "17:21:00"),
        ("19-03-2018 77:21:00", None),
        ("19-03-2018 8:15 PM", "20:15"),
        ("19-03-2018 8 : 15 PM", "20:15"),
        ("19-03-2018 18h08", "18:08"),
        ("8:15 PM 19-03-2018", "20:15"),
    ],
)
def test_the_hour_is_the_first_number_of_a_time(typeset: Typeset, printed: str, time: str | None) -> None:
    document = typeset(f"Corner Shop\n\nDate: {printed}\n\nTotal     12.50\n", source="ocr")
    extraction = extract_by_rules(document, REGISTRY["receipt"])

    assert cast("Receipt", extraction.data).time == time


@pytest.mark.parametrize(
    ("printed", "time"),
    [
        ("Table 4\n\n8:15 PM", "20:15"),
        ("Table 4\n\n11.39AM", "11:39"),
        ("Open 8:00AM to 9:00PM daily\n\nTable 4\n\n17:05", "17:05"),
        ("Open 8:00AM to 9:00PM daily", None),
        ("Mon-Fri 9:00 - 18:00", None),
    ],
)
def test_a_time_is_found_without_a_date_and_is_not_that_of_opening(
    typeset: Typeset, printed: str, time: str | None
) -> None:
    document = typeset(f"Corner Shop\n\n{printed}\n\nTotal     12.50\n", source="ocr")
    extraction = extract_by_rules(document, REGISTRY["receipt"])

    assert cast("Receipt", extraction.data).time == time
