"""The header with which a server says when to come back."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str | None, *, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, in either of its forms; None if it says nothing usable.

    now: with its time zone. A date that has passed gives 0.
    Source: RFC 9110, 10.2.3: a non-negative decimal integer, or an HTTP date in GMT.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for a time zone of many digits
        return None
    if at.tzinfo is None:  # the form of asctime, which HTTP reads as GMT
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
