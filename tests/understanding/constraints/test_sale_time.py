"""The time of a sale is told from other times on the paper; a doubtful one is only suggested."""

from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.header_fields import dates
from docmill.understanding.constraints.sale_time import sale_time
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.withholding import floor_of

Typeset = Callable[..., Document]

FLOOR = floor_of(REGISTRY["receipt"], "time")
SLIP = """
Terminal-ID            61234567
PAN          ############4321
Genehmigungs-Nr          654321
Datum 03.04.2026        10:10 Uhr
   *** Zahlung erfolgt ***
Summe EUR               10,00
"""


def _time(document: Document) -> Finding | None:
    candidates = candidates_of(document)
    return dict(sale_time(candidates, dates(candidates, "receipt").get("issue_date"))).get("time")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("Summe 10,00\n03.04.2026   10:12", "10:12"),
        ("Date: 04/03/2026 6:53 PM\nTotal 10.00", "18:53"),
        ("Fecha 03/04/2026\nHora: 10:12\nTotal 10,00", "10:12"),
        ("Summe 10,00\n03.04.2026/10:12", "10:12"),
        (f"{SLIP}Kasse 1   4711   03.04.2026   10:12", "10:12"),
        (SLIP, "10:10"),
        ("Mo - Sa 08:00 - 20:00\nSumme 10,00\n03.04.2026   10:12", "10:12"),
        ("03.04.2026   10:12\ngedruckt am 03.04.2026 11:45:02", "10:12"),
        ("Erste Bestellung: 03.04.2026 18:05\nSumme 10,00\nKasse 2   20:37\nDatum 03.04.2026", "20:37"),
        ("Ankunft 02.04.2026 14:00\nDatum 03.04.2026 10:12", "10:12"),
    ],
)
def test_the_time_of_the_sale_is_found(typeset: Typeset, page: str, expected: str) -> None:
    found = _time(typeset(page))

    assert found is not None
    assert found.value == expected


def test_the_only_time_beside_the_date_is_believed(typeset: Typeset) -> None:
    found = _time(typeset("Summe 10,00\n03.04.2026   10:12"))

    assert found is not None
    assert found.probability >= FLOOR


@pytest.mark.parametrize(
    "page",
    [
        "Tisch 4   03.04.2026 17:52\nSumme 10,00\n03.04.2026 18:40",  # a bill is opened before it is paid
        "Date 04/03/2026 10:54 P\nTotal 10.00",
        "Start Time : 2026/04/03 :0:35\nTotal 10.00",
        "Valid until 18:00\nDate 04/03/2026\nTotal 10.00",
    ],
)
def test_a_doubtful_time_is_only_suggested(typeset: Typeset, page: str) -> None:
    found = _time(typeset(page))

    assert found is not None
    assert found.probability < FLOOR


def test_the_other_times_are_suggested_too(typeset: Typeset) -> None:
    found = _time(typeset("Tisch 4   03.04.2026 17:52\nSumme 10,00\n03.04.2026 18:40"))

    assert found is not None
    assert [found.value, *(rival.value for rival in found.rivals)] == ["18:40", "17:52"]


@pytest.mark.parametrize("page", ["Summe 10,00\nDatum:15.12.19    Tisch 55", "Brot 15.12\nSumme 15.12", ""])
def test_digits_of_dates_and_amounts_are_no_time(typeset: Typeset, page: str) -> None:
    assert _time(typeset(page)) is None
