import re

import pytest

from docmill.understanding.text.clock import MISREAD_TIME, clock_time, find_times


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
