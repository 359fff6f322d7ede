"""How far a run is, in a few words for a line."""

from docmill.runs.events import Progress

_HOUR_S, _MINUTE_S = 3600, 60
_LEAST_A_SECOND = 1.0


def counts_text(progress: Progress) -> str:
    """The documents that have come to their end, of those listed; with a plus while there may be more."""
    more = "" if progress.is_total_final else "+"
    return f"{progress.completed + progress.failed:,} of {progress.total:,}{more}"


def rate_text(progress: Progress) -> str:
    """Documents a second, or a minute if they are slow; empty if it is not known yet."""
    if progress.rate <= 0:
        return ""
    if progress.rate < _LEAST_A_SECOND:
        return f"{progress.rate * _MINUTE_S:.1f}/min"
    return f"{progress.rate:,.1f}/s"


def duration_text(seconds: float) -> str:
    """Hours, minutes and seconds, as `1:02:03`, or `2:03` below an hour."""
    whole = int(seconds)
    hours, minutes = whole // _HOUR_S, whole % _HOUR_S // _MINUTE_S
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def name_text(path: str | None) -> str:
    """The last part of the path, on one line: what a terminal would obey is replaced."""
    name = (path or "").rstrip("/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
