"""Fields of a user's schema that are built-in ones under another name are read by their rules, too."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.model.result import Schema
from docmill.schemas.outline import outline
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.built_in_fields import built_in_paths
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.fields.findings import Finding
from docmill.understanding.offline import extract
from docmill.understanding.user_schemas.extractor import believed_others, meanings_of
from docmill.understanding.withholding import FLOOR, FLOOR_OF_OWN

PAGE = """
Harbour Ltd                                   Invoice R-104
12 Quay Street, London SW1A 1AA
                                              Date: 05.03.2024
Bill to:
Lantern Books Ltd
4 Mill Lane, Leeds LS1 4AB

Description            Quantity   Unit price    Amount
Pens                        4        1.00         4.00
Ink                         2        8.00        16.00

                                  Net total      20.00
                                  VAT 20 %        4.00
                                  Total          24.00 GBP
"""


def own_schema(**fields: str) -> Schema:
    forms: dict[str, dict[str, Any]] = {
        "date": {"type": "string", "format": "date"},
        "amount": {"type": "number"},
        "text": {"type": "string"},
    }
    properties = {name: forms[kind] for name, kind in fields.items()}
    return schema_of({"title": "bill", "type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("name", "kind", "path"),
    [
        ("supplier", "text", "seller.name"),
        ("lieferant", "text", "seller.name"),
        ("client_name", "text", "buyer.name"),
        ("supplier_address", "text", "seller.address"),
        ("invoice_no", "text", "number"),
        ("kundennummer", "text", "customer_number"),
        ("po_number", "text", "order_number"),
        ("rechnungsdatum", "date", "issue_date"),
        ("faellig_am", "date", "due_date"),
        ("netto", "amount", "net_total"),
        ("vat_amount", "amount", "tax_total"),
        ("grand_total", "amount", "gross_total"),
        ("iban", "text", "payment.iban"),
    ],
)
def test_a_field_is_known_by_the_words_of_its_name(name: str, kind: str, path: str) -> None:
    meanings = meanings_of(outline(own_schema(**{name: kind})))

    assert built_in_paths(meanings, "invoice") == {name: path}


@pytest.mark.parametrize(("name", "kind"), [("colour", "text"), ("advertiser", "text"), ("weight", "amount")])
def test_another_field_is_none_of_ours(name: str, kind: str) -> None:
    assert built_in_paths(meanings_of(outline(own_schema(**{name: kind}))), "invoice") == {}


def test_of_two_fields_that_may_be_the_same_the_better_one_is() -> None:
    meanings = meanings_of(outline(own_schema(total="amount", grand_total="amount")))

    assert built_in_paths(meanings, "invoice") == {"grand_total": "gross_total"}


def test_values_without_a_label_are_read(typeset: Callable[..., Document]) -> None:
    schema = own_schema(supplier="text", customer="text", netto="amount", vat_amount="amount")

    data = extract(typeset(PAGE), schema).data.model_dump(mode="json")

    assert (data["supplier"], data["customer"]) == ("Harbour Ltd", "Lantern Books Ltd")
    assert (float(data["netto"]), float(data["vat_amount"])) == (20, 4)


def test_what_both_readers_found_is_believed(typeset: Callable[..., Document]) -> None:
    extraction = extract(typeset(PAGE), own_schema(invoice_date="date"))

    assert extraction.evidence["invoice_date"].confidence >= FLOOR


NUMBER_OF_SEVERAL = schema_of(
    {
        "title": "booking",
        "type": "object",
        "properties": {
            "contract_no": {"type": "string", "description": "number of the contract, order or invoice"}
        },
    }
)


def test_a_number_may_be_that_of_any_paper_which_its_description_names(
    typeset: Callable[..., Document],
) -> None:
    extraction = extract(typeset(PAGE.replace("Invoice R-104", "Invoice No. R-104")), NUMBER_OF_SEVERAL)

    assert extraction.data.model_dump() == {"contract_no": "R-104"}
    assert extraction.evidence["contract_no"].confidence >= FLOOR_OF_OWN


@pytest.mark.parametrize("other", ["Contract No. 88123", "Your order no. 88123"])
def test_of_two_numbers_that_a_description_names_neither_is_believed(
    typeset: Callable[..., Document], other: str
) -> None:
    page = PAGE.replace("Invoice R-104", "Invoice No. R-104").replace(
        "Date: 05.03.2024", f"Date: 05.03.2024\n\n                                        {other}"
    )
    extraction = extract(typeset(page), NUMBER_OF_SEVERAL)

    assert extraction.evidence["contract_no"].confidence < FLOOR_OF_OWN
    seen = [suggestion.value for suggestion in extraction.suggestions["contract_no"]]
    assert {"R-104", "88123"} <= {extraction.data.model_dump()["contract_no"], *map(str, seen)}


COMMISSION = """
Harbour Ltd                                   Invoice R-104
12 Quay Street, London SW1A 1AA               Date: 05.03.2024

Spots in March                                        1,640.00

                              Gross Total            $1,640.00
                              Commission Agency       -$246.00
                              NET TOTAL              $1,394.00
"""


def test_what_another_reader_sees_otherwise_is_believed_less(typeset: Callable[..., Document]) -> None:
    candidates = candidates_of(typeset(COMMISSION))
    paid, printed = (
        Finding(Decimal(amount), (), 0.8, calibrated=True, form="money") for amount in ("1394.00", "1640.00")
    )

    def belief(own: Finding) -> float:
        return believed_others(candidates, {"gross_amount": own}, {"gross_amount": [paid]})["gross_amount"][
            0
        ].probability

    assert belief(printed) < FLOOR_OF_OWN < belief(paid)


def described(name: str, kind: str, description: str, form: str | None = None) -> Schema:
    field = {"type": kind, "description": description, **({"format": form} if form else {})}
    return schema_of({"title": "bill", "type": "object", "properties": {name: field}})


CREDIT = """
Brightline Broadband Ltd                      CREDIT NOTE
Unit 8 Mill Lane, Leeds LS9 8AG
Original invoice date: 02/01/2026             Credit note date: 27/02/2026
Original invoice: 331880                      Credit note no: C-20117

Loss of service, 14 days                      18.00
VAT 20 %                                       3.60
Credit total                             GBP  21.60
"""


def test_the_date_of_a_credit_note_is_not_that_of_its_invoice(typeset: Callable[..., Document]) -> None:
    extraction = extract(typeset(CREDIT), described("when", "string", "date of this document", "date"))

    assert str(extraction.data.model_dump()["when"]) == "2026-02-27"


WITHHELD = """
Kaveri Consulting LLP                          Tax Invoice KC/26-27/041
14 MG Road, Bengaluru 560001                   Invoice date: 12 May 2026
Bill to: Horizon Textiles Pvt Ltd

Advisory services, April 2026                      100,000.00
IGST 18%                                            18,000.00
Invoice total                                      118,000.00
Less TDS u/s 194J 10%                               10,000.00
Net payable                                    INR 108,000.00
"""


def test_a_total_to_be_paid_asks_where_a_tax_is_withheld(typeset: Callable[..., Document]) -> None:
    extraction = extract(typeset(WITHHELD), described("total", "number", "total to be paid"))

    assert extraction.evidence["total"].confidence < FLOOR_OF_OWN
    values = [extraction.data.model_dump()["total"], *(s.value for s in extraction.suggestions["total"])]
    assert {"118000.00", "108000.00"} <= {f"{float(str(value)):.2f}" for value in values}
