from collections.abc import Callable

import pytest

from docmill.model.result import Failure
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of

Judge = Callable[..., list[Failure]]


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("500ML", "a measure or quantity"),
        ("1.5KG", "a measure or quantity"),
        ("2X", "a measure or quantity"),
        ("6x330ml", "a measure or quantity"),
        ("12/03/2026", "a date"),
    ],
)
def test_a_measure_or_a_date_is_no_number(judge: Judge, value: str, meaning: str) -> None:
    (failure,) = judge("number_form", f"Number {value}", {"number": (value, value)})

    assert failure.message == f"Number {value!r} seems to be {meaning}."


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("P.O. Box 206270", "a post box"),
        ("Postfach 206270", "a post box"),
        ("Phone: 206270", "a phone number"),
        ("Halden Freight   +49 40 206270", "a phone number"),
        ("Call 0049 (40) 206270", "a phone number"),
        ("VAT No. 206270", "a VAT number"),
    ],
)
def test_what_stands_before_a_number_tells_that_it_is_another(judge: Judge, line: str, meaning: str) -> None:
    (failure,) = judge("number_form", line, {"order_number": ("206270", "206270")})

    assert failure.message == f"Order number '206270' seems to be {meaning}."


@pytest.mark.parametrize(
    "line", ["Invoice No. R-2026-17", "R-2026-17", "Tax Invoice No. R-2026-17", "T +49 40 555, No. R-2026-17"]
)
def test_a_number_beside_its_label_or_alone_passes(judge: Judge, line: str) -> None:
    assert judge("number_form", line, {"number": ("R-2026-17", "R-2026-17")}) == []


def test_a_vat_identifier_without_its_country_is_no_number(judge: Judge) -> None:
    values: dict[str, tuple[object, str]] = {
        "number": ("136695976", ""),
        "seller.vat_id": ("DE136695976", ""),
    }

    (failure,) = judge("number_form", "nothing", values)

    assert failure.message == "Number '136695976' seems to be the seller's VAT number."


def test_an_amount_is_no_number_of_a_users_schema(judge: Judge) -> None:
    schema = schema_of(
        {"title": "spot", "type": "object", "properties": {"contract_num": {"type": "string"}}}
    )

    (failure,) = judge(
        "number_form", "Contract 100.00", {"contract_num": ("100.00", "100.00")}, schema=schema
    )

    assert failure.message == "Contract num '100.00' seems to be an amount."


@pytest.mark.parametrize("page", ["Gion 12, Kyoto 600-8000", "12 Main Street, Springfield 62701"])
def test_a_postal_code_behind_a_town_is_no_number(judge: Judge, page: str) -> None:
    code = page.rsplit(maxsplit=1)[-1]

    (failure,) = judge("number_form", page, {"number": (code, code)})

    assert failure.message.endswith("seems to be a postal code.")


@pytest.mark.parametrize("page", ["Invoice 62701", "Number: 600-8000", "Rechnung Nr. 62701 vom 4.5.2026"])
def test_a_number_of_that_form_behind_a_label_is_one(judge: Judge, page: str) -> None:
    code = next(word for word in page.split() if word[:2] in ("62", "60"))

    assert not judge("number_form", page, {"number": (code, code)})


def test_the_number_of_an_invoice_that_is_one_of_several_is_asked_about(judge: Judge) -> None:
    values = {"invoice_number": ("2026-1188", "2026-1188")}
    several = """
    Invoice      Date         Amount
    2026-1188    2026-03-02   412.00
    2026-1240    2026-04-02   120.00
    """
    single = """
    Invoice      Date         Amount
    2026-1188    2026-03-02   412.00
    Total                     412.00
    """

    (failure,) = judge("several_numbers", several, values, schema=REGISTRY["reminder"])

    assert failure.fields == ("invoice_number",)
    assert "2026-1240" in failure.message
    assert judge("several_numbers", single, values, schema=REGISTRY["reminder"]) == []


def test_a_label_of_an_own_field_is_none_of_another_number(judge: Judge) -> None:
    schema = schema_of(
        {"title": "folio", "type": "object", "properties": {"folio_number": {"type": "string"}}}
    )
    values = {"folio_number": ("220871", "220871")}

    assert judge("number_form", "Folio no: 220871", values, schema=schema) == []
    assert judge("number_form", "Phone: 220871", values, schema=schema) != []
