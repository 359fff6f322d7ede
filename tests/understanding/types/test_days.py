import datetime as dt
from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.types.summary import plausible_day

Typeset = Callable[..., Document]


@pytest.mark.parametrize(
    ("said", "page", "day"),
    [
        ("2024-05-03", "on 05.03.2024", "2024-03-05"),
        ("2024-05-03", "no date at all", "2024-05-03"),
        ("2024-05-03", "05/03/2024", "2024-05-03"),
        ("2024-05-03", "05/03/2024 and 31/12/2024", "2024-03-05"),
        ("2024-05-03", "05/03/2024 and 12/31/2024", "2024-05-03"),
        ("2024-05-23", "on 05.03.2024", "2024-05-23"),
        ("1899-12-31", "", None),
        ("2080-01-01", "01.01.2080", None),
        ("1931-02-01", "1 February 1931", "1931-02-01"),
    ],
)
def test_a_day_that_a_document_cannot_have_is_dropped_and_one_the_wrong_way_round_is_turned(
    typeset: Typeset, said: str, page: str, day: str | None
) -> None:
    found = plausible_day(dt.date.fromisoformat(said), typeset(page or "x"))

    assert found == (day and dt.date.fromisoformat(day))
