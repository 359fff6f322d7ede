from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules

if TYPE_CHECKING:
    from docmill.schemas.types import Receipt

Typeset = Callable[..., Document]


@pytest.mark.parametrize(
    ("printed", "time"),
    [
        ("19-03-2018 18:08:38", "18:08:38"),
        ("19-03-201818:08:38", "18:08:38"),
        ("19-03-2018 17;21:00", "17:21:00"),
        ("19-03-2018 17 :21:00", "17:21:00"),
        ("19-03-2018 77:21:00", None),
        ("19-03-2018 8:15 PM", "20:15"),
    ],
)
def test_the_hour_is_the_first_number_of_a_time(typeset: Typeset, printed: str, time: str | None) -> None:
    document = typeset(f"Corner Shop\n\nDate: {printed}\n\nTotal     12.50\n", source="ocr")
    extraction = extract_by_rules(document, REGISTRY["receipt"])

    assert cast("Receipt", extraction.data).time == time
