"""Numbers that are not those of documents."""

from collections.abc import Callable
from datetime import date

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.constraints.header_fields import undecided
from docmill.understanding.fields.findings import Finding
from docmill.understanding.withholding import withhold

PAGE = """
Invoice No. R-2026-17
Date: 23/04/2026
Order   P.O. Box 206270, Springfield
Number   500ML
Total   EUR 12.00
"""


def test_a_post_box_is_no_order_number_and_a_measure_no_number(typeset: Callable[..., Document]) -> None:
    data = extract_by_rules(typeset(PAGE), REGISTRY["invoice"]).data

    assert isinstance(data, Invoice)
    assert (data.number, data.order_number) == ("R-2026-17", None)


TWO_NUMBERS = """
Weberei Halmstedt GmbH
Am Kanal 4, 26721 Emden

Invoice
Invoice No.: R-2026-17                    Date: 23/04/2026

Linen shirt        2      20.00      40.00
                         Total   EUR 40.00

Invoice No.: R-2026-11                    Date: 02/03/2026
"""


def test_of_two_numbers_with_the_same_label_a_person_chooses(typeset: Callable[..., Document]) -> None:
    extraction = withhold(extract_by_rules(typeset(TWO_NUMBERS), REGISTRY["invoice"]), REGISTRY["invoice"])

    assert isinstance(extraction.data, Invoice)
    assert extraction.data.number is None
    offered = [suggestion.value for suggestion in extraction.suggestions["number"]]
    assert set(offered[:2]) == {"R-2026-17", "R-2026-11"}


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("Remit to: PO Box 6120, Flagstaff, AZ 86011", None),
        ("113 Sturt Street, Adelaide SA 5000", None),
        ("PO No. 86011", "86011"),
    ],
)
def test_the_numbers_of_an_address_are_no_order_numbers(
    typeset: Callable[..., Document], line: str, number: str | None
) -> None:
    page = f"Red Mesa Waste Inc.\n{line}\n\nInvoice No. R-2026-17      03/23/2026\n\nTotal   USD 12.00\n"
    data = extract_by_rules(typeset(page), REGISTRY["invoice"]).data.model_dump()

    assert data["order_number"] == number


def test_the_rest_of_an_amount_is_no_number(typeset: Callable[..., Document]) -> None:
    page = "Invoice No. R-2026-17    03/23/2026\n\nContract fee\n$40,000\n\nTotal   USD 40,000.00\n"

    assert extract_by_rules(typeset(page), REGISTRY["invoice"]).data.model_dump()["contract_number"] is None


@pytest.mark.parametrize(
    ("before", "iban"),
    [
        ("Bitte überweisen Sie auf unser Konto", "DE89370400440532013000"),
        ("Das Guthaben überweisen wir auf Ihr Konto", None),
        ("We will transfer the credit to your account", None),
    ],
)
def test_the_account_of_the_reader_is_none_to_pay_to(
    typeset: Callable[..., Document], before: str, iban: str | None
) -> None:
    page = f"Rechnung Nr. 17     23.04.2026\n\n{before} DE89 3704 0044 0532 0130 00\n\nSumme EUR 12,00\n"

    assert extract_by_rules(typeset(page), REGISTRY["invoice"]).data.model_dump()["payment"]["iban"] == iban


@pytest.mark.parametrize(("label", "gross"), [("Summa exkl. moms", None), ("Summa inkl. moms", "48720.00")])
def test_a_total_without_tax_is_no_gross_total(
    typeset: Callable[..., Document], label: str, gross: str | None
) -> None:
    page = f"Inköpsorder 4471    2026-05-12\n\nPump    2    24 360,00    48 720,00\n\n{label}    48 720,00\n"
    found = extract_by_rules(typeset(page), REGISTRY["purchase_order"]).data.model_dump()["gross_total"]

    assert (None if found is None else str(found)) == gross


IN_ROWS = """
Hartwell Boone Inc                                  INVOICE
2200 Larimer Street, Denver, CO 80205               Number R-2291

Per our agreement dated 03/15/2026                  Date: 08/01/2026

Order               Previously billed         This order
Paper A4                   100.00               120.00
                           TOTAL               $120.00
Outstanding invoice No. 2240 (07/01/2026) $12,500
On order of: Christine Abel of the practice in the town, Anger 10, 99084 Erfurt
"""


def test_numbers_and_days_in_rows_and_sentences_are_those_of_other_papers(
    typeset: Callable[..., Document],
) -> None:
    data = extract_by_rules(typeset(IN_ROWS), REGISTRY["invoice"]).data

    assert isinstance(data, Invoice)
    assert (data.number, data.order_number) == ("R-2291", None)
    assert data.issue_date == date(2026, 8, 1)


def test_a_number_that_is_unlikely_or_has_an_equal_rival_is_undecided() -> None:
    def finding(share: float, *rivals: float) -> Finding:
        others = tuple(Finding(f"R{index}", (), rival) for index, rival in enumerate(rivals))
        return Finding("3", (), share, rivals=others)

    found = {
        "number": finding(0.2, 0.02),
        "order_number": finding(0.6, 0.5),
        "contract_number": finding(0.6, 0.1),
    }

    assert set(undecided(found)) == {"number", "order_number"}
