"""Times of day as printed, on either clock."""

import re
from collections.abc import Iterator

_NOON = 12
_TIME = re.compile(
    r"(?<![\d:.])(?P<hour>[01]?\d|2[0-3])[:h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?(?![\d:])",
    re.IGNORECASE,
)
MISREAD_TIME = re.compile(
    r"(?<![\d.,/])(?<!\d[:;])(?<!\d\s[:;])(?P<hour>[01]?\d|2[0-3])(?:[:.;]|\s:)(?P<minute>[0-5]\d)"
    r"(?:[:;](?P<second>[0-5]\d))?\s*(?P<half>[AaPp]\.?[Mm])?(?![\d%])"
)
"""A time whose colon may be read as a semicolon or a point; what follows hours and a colon is no hour."""


def find_times(text: str) -> Iterator[tuple[str, int, int]]:
    """The times of `text` as HH:MM:SS, with start and stop."""
    for match in _TIME.finditer(text):
        yield clock_time(match, with_seconds=True), match.start(), match.end()


def clock_time(match: re.Match[str], *, with_seconds: bool = False) -> str:
    """A time on the clock of 24 hours, by the groups hour, minute, second and half.

    with_seconds: even where none are printed.
    """
    hour, second, half = int(match["hour"]), match["second"], (match["half"] or "").lower()
    if half.startswith("p") and hour < _NOON:
        hour += _NOON
    if half.startswith("a") and hour == _NOON:
        hour = 0
    seconds = f":{second or '00'}" if second or with_seconds else ""
    return f"{hour:02}:{match['minute']}{seconds}"
