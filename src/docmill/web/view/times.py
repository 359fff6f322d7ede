"""Times for people."""

from datetime import datetime

_MINUTE = 60
_HOUR = 60 * _MINUTE


def moment(when: datetime | None) -> str:
    """A time to the minute, in UTC, or a dash."""
    return f"{when:%Y-%m-%d %H:%M} UTC" if when else "-"


def duration(start: datetime | None, end: datetime | None) -> str:
    """Return the time between the two, or a dash."""
    if start is None or end is None:
        return "-"
    seconds = (end - start).total_seconds()
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h"
