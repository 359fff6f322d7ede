"""Files as a user has them, from the first byte to the verdict."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, Field

import docmill

BILL = """Harbour Trading
12 High Street

Invoice number: INV-2041
Invoice date: 03/04/2026

Tea                    100.00
Gross total            100.00
Agency commission       15.00
"""


class Bill(BaseModel):
    invoice_number: str
    invoice_date: dt.date = Field(title="Day of the bill")
    gross_total: Decimal
    remark: str | None


def test_an_ambiguous_date_of_a_file_is_named_as_its_owner_calls_it(tmp_path: Path) -> None:
    file = tmp_path / "bill.txt"
    file.write_text(BILL)

    extracted = docmill.extract(file, Bill)

    messages = [failure.message for failure in extracted.verdict.failures]
    assert messages == ["Day of the bill may be 3 April 2026 or 4 March 2026: please say which."]
    suggested = extracted.suggestions["invoice_date"]
    assert [suggestion.value for suggestion in suggested] == ["2026-04-03", "2026-03-04"]
    assert all(suggestion.evidence.confidence <= 0.5 for suggestion in suggested)


def test_a_country_on_the_paper_settles_the_date(tmp_path: Path) -> None:
    file = tmp_path / "bill.txt"
    file.write_text(BILL.replace("12 High Street", "12 High Street, Leeds, United Kingdom"))

    extracted = docmill.extract(file, Bill)

    assert extracted.verdict.passed
    assert extracted.data is not None
    assert extracted.data.invoice_date == dt.date(2026, 4, 3)
