from datetime import UTC, datetime

import pytest

from docmill.retry_after import retry_after_s

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Sat, 21 Nov 2026 08:02:00 GMT", 120),
        ("Saturday, 21-Nov-26 08:02:00 GMT", 120),
        ("Sat Nov 21 08:02:00 2026", 120),
        ("Fri, 20 Nov 2026 08:00:00 GMT", 0),
        (None, None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("soon", None),
        ("Sat, 99 Nov 2026 08:02:00 GMT", None),
        ("1 Jan 2027 00:00:00 +9999999999999999999999", None),
    ],
)
def test_both_forms_of_the_header_are_understood(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value, now=NOW) == seconds
