"""Values of any data, found on pages that were set in type."""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.paths import leaves
from docmill.model.result import Evidence, Extraction, Schema
from docmill.schemas.registry import REGISTRY
from docmill.understanding.gate import RuleGate
from docmill.understanding.locate.evidence import located

Typeset = Callable[..., Document]


class Colour(Enum):
    RED = "red"


class Anything(BaseModel):
    """Fields of every kind."""

    value: Any = None
    other: Any = None
    currency: str | None = None


ANYTHING = Schema("anything", Anything)


@pytest.fixture
def found(typeset: Typeset) -> Callable[..., Evidence]:
    """The evidence of one value in a text."""

    def look(text: str, value: object, *, source: str = "text") -> Evidence:
        return located(typeset(text, source=source), Anything(value=value), ANYTHING)["value"]

    return look


Found = Callable[..., Evidence]


@pytest.mark.parametrize(
    "printed",
    [
        "Datum: 05.03.2024  fällig 29.03.2024",
        "Datum 5. März 2024",
        "05 mars 2024",
        "Mar 5, 2024",
        "2024-03-05",
        "20240305 12:10",
        "5 marca 2024",
        "2024 年 3 月 5 日",
        "5/3/24 and 25/3/24",
    ],
)
def test_a_date_is_found_in_every_form(printed: str, found: Found) -> None:
    evidence = found(printed, dt.date(2024, 3, 5))

    assert evidence.match in ("exact", "normalised")
    assert evidence.page == 1
    assert evidence.confidence > 0.9


def test_a_date_is_not_read_against_the_order_of_the_other_dates(found: Found) -> None:
    assert found("04/03/2024  25/03/2024", dt.date(2024, 4, 3)).match == "none"
    assert found("03/25/2024  04/03/2024", dt.date(2024, 4, 3)).match == "normalised"


def test_where_no_date_tells_the_other_order_is_believed_less(found: Found) -> None:
    assert found("04/03/2024", dt.date(2024, 4, 3)).confidence == pytest.approx(0.7)


def test_a_date_without_its_year_is_found_if_the_year_stands_elsewhere(found: Found) -> None:
    assert found("Auszug 2024\n12.03.  Miete", dt.date(2024, 3, 12)).text == "12.03"
    assert found("Auszug\n12.03.  Miete", dt.date(2024, 3, 12)).match == "none"
    assert found("1999\nMar 12  rent", dt.date(1999, 3, 12)).text == "Mar 12"


def test_a_period_is_found_by_its_month(found: Found) -> None:
    assert found("Rent for March 2024", dt.date(2024, 3, 31)).text == "March 2024"
    assert found("Rent for 03/2024", dt.datetime(2024, 3, 1, 9, tzinfo=dt.UTC)).text == "03/2024"
    assert found("Rent for March 2024", dt.date(2024, 3, 5)).match == "none"


def test_a_time_is_found_on_either_clock(found: Found) -> None:
    assert found("19:05:33 Uhr", dt.time(19, 5)).text == "19:05:33"
    assert found("at 7:05 pm", dt.time(19, 5)).text == "7:05 pm"
    assert found("at 7:05", dt.time(19, 5)).match == "none"
    assert found("at 7:05 PM", "19:05").text == "7:05 PM"
    assert found("09.30.15 h", dt.time(9, 30, 15)).match == "normalised"


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("Total 1.234,50 EUR", "1234.50"),
        ("Total 1,234.50", "1234.5"),
        ("Total 1 234,50 €", "1234.50"),
        ("Total CHF 1'234.50", "1234.50"),
        ("Total RM12.50", "12.50"),
        ("Total 1,23,456.00", "123456"),
        ("Total -12.50", "-12.5"),
        ("Total (12.50)", "-12.50"),
        ("Total 12.50-", "-12.50"),
        ("Total 0.50", "0.5"),
        ("Rate 19 %", "0.19"),
        ("2 x4.20", "4.20"),
    ],
)
def test_an_amount_is_found_whatever_parts_its_digits(printed: str, value: str, found: Found) -> None:
    evidence = found(printed, Decimal(value))

    assert evidence.match in ("exact", "normalised")
    assert evidence.confidence == 1


def test_a_part_of_an_account_is_nothing_else(found: Found) -> None:
    assert found("IBAN DE89 3704 0044 0532 0130 00", "3704").match == "none"
    assert found("IBAN DE89 3704 0044 0532 0130 00", "DE89370400440532013000").confidence == 1


def test_an_amount_of_the_other_sign_is_believed_less(found: Found) -> None:
    assert found("Total 12.50", Decimal("-12.50")).confidence == pytest.approx(0.9)


def test_the_other_decimal_mark_is_believed_less_and_only_if_nothing_else_fits(found: Found) -> None:
    assert found("1,250  2.50  3.75", Decimal("1.25")).confidence == pytest.approx(0.7)
    assert found("1,250  2.50  3.75", Decimal(1250)).confidence == 1


@pytest.mark.parametrize("printed", ["A4711B", "12-4711", "4711/2024", "No. 34711", "4711.de", "x4711y"])
def test_digits_within_codes_are_no_amounts(printed: str, found: Found) -> None:
    assert found(printed, Decimal(4711)).match == "none"


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("1e99"), True, "", "---", 10**40])
def test_what_cannot_stand_anywhere_is_nowhere(value: object, found: Found) -> None:
    assert found("1e99 true 12", value) == Evidence(
        page=None, box=None, text=None, match="none", confidence=0
    )


def test_a_letter_misread_for_a_digit_is_no_hindrance_on_recognised_pages(found: Found) -> None:
    assert found("Total 1O.5O", Decimal("10.50"), source="ocr").confidence == pytest.approx(0.85)
    assert found("Total 1O.5O", Decimal("10.50")).match == "none"


def test_a_text_is_exact_only_as_it_stands(found: Found) -> None:
    assert found("from ACME Ltd. today", "ACME Ltd.").match == "exact"
    assert found("from ACME Ltd. today", "Acme Ltd").match == "normalised"
    assert found("BBACME LtdXX", "ACME Ltd").match == "none"
    assert found("IBAN DE02 1203 0000 0000 2020 51", "DE02120300000000202051").match == "normalised"


def test_a_text_over_lines_of_a_column_is_found_beside_another_column(found: Found) -> None:
    page = "Harbour Ltd          Ship to\n12 Quay Street       Mill & Sons\nLeeds LS1 4AP        4 Weir Lane"

    evidence = found(page, "12 Quay Street, Leeds LS1 4AP")

    assert evidence.text == "12 Quay Street Leeds LS1 4AP"
    assert evidence.match == "normalised"
    assert evidence.box is not None
    assert evidence.box.x1 < 0.4


def test_pieces_far_apart_are_no_text(found: Found) -> None:
    page = "Harbour" + "\n" * 12 + "Street" + "\n" * 12 + "Leeds"

    assert found(page, "Harbour Street Leeds").match == "none"


def test_letters_misread_are_allowed_on_recognised_pages_only(found: Found) -> None:
    page = "H4RBOUR TRAD1NG LlMITED"

    assert found(page, "H4RBOUR TRADING LIMITED", source="ocr").confidence == pytest.approx(0.85)
    assert found(page, "H4RBOUR TRADING LIMITED").match == "none"
    assert found("HARBUR TRADING LIMITED", "HARBOUR TRADING LIMITED", source="ocr").confidence < 0.7
    assert found("HARBUR TRADING 7 LIMITED", "HARBOUR TRADING 9 LIMITED", source="ocr").match == "none"


def test_dates_and_amounts_given_as_text_are_found_in_other_forms(found: Found) -> None:
    assert found("5 March 2024", "2024-03-05").text == "5 March 2024"
    assert found("sum 1.234,50 EUR and 3,20", "$1,234.50").text == "1.234,50"
    assert found("sum 12", "12 %").match == "none"


def test_an_enumerations_value_is_looked_for(found: Found) -> None:
    assert found("the red one", Colour.RED).text == "red"


def test_a_currency_is_found_by_its_symbol_beside_an_amount(typeset: Typeset) -> None:
    document = typeset("Deposit € 5.00\n\nTotal € 12.50")
    data = {"gross_total": Decimal("12.50"), "currency": "EUR"}

    found = located(document, data, REGISTRY["invoice"])

    assert found["currency"].text == "€"
    assert found["currency"].box is not None
    assert found["gross_total"].box is not None
    assert found["currency"].box.y0 == found["gross_total"].box.y0


def test_a_short_value_needs_a_label(typeset: Typeset) -> None:
    schema = Schema("anything", Anything, labels={"value": ("Doors",)})
    document = typeset("3 of 5\nDoors: 3\nWindows: 3")

    found = located(document, Anything(value=3, other=5), schema)

    assert found["value"].box is not None
    assert found["value"].box.y0 > 1 / 30
    assert found["other"].match == "none"


def test_among_several_places_labels_choose(typeset: Typeset) -> None:
    document = typeset(
        "Net 100.00\nVAT 19.00\nTotal 119.00\nPaid 119.00\nIssued 05.03.2024\nDue date: 05.03.2024"
    )
    data = {"gross_total": Decimal(119), "due_date": dt.date(2024, 3, 5)}

    found = located(document, data, REGISTRY["invoice"])

    assert found["gross_total"].box is not None
    assert found["gross_total"].box.y0 == pytest.approx(2.1 / 30, abs=0.01)
    assert found["due_date"].box is not None
    assert found["due_date"].box.y0 == pytest.approx(5.1 / 30, abs=0.01)


def test_values_of_a_party_are_found_beside_each_other(typeset: Typeset) -> None:
    document = typeset("Leeds\n\n\nHarbour Ltd\nLeeds\n\n\n\nMill & Sons\nLeeds")
    data = {
        "seller": {"name": "Harbour Ltd", "address": "Leeds"},
        "buyer": {"name": "Mill & Sons", "address": "Leeds"},
    }

    found = located(document, data, REGISTRY["invoice"])

    tops = {path: evidence.box.y0 * 30 for path, evidence in found.items() if evidence.box}
    assert tops["seller.address"] == pytest.approx(4.1, abs=0.1)
    assert tops["buyer.address"] == pytest.approx(9.1, abs=0.1)


LINES = """
Pos  Item           Qty   Price   Amount
1    Paper A4         2    5.00    10.00
     white
2    Pens             5    2.00    10.00
3    Paper A4         2    5.00    10.00
Total                              30.00
"""


def test_values_of_list_items_are_found_on_their_rows(typeset: Typeset) -> None:
    row = {
        "quantity": 2,
        "unit_price": Decimal("5.00"),
        "net_amount": Decimal("10.00"),
        "description": "Paper A4",
    }
    pens = {
        "quantity": 5,
        "unit_price": Decimal("2.00"),
        "net_amount": Decimal("10.00"),
        "description": "Pens",
    }
    lines = [{"position": "1", **row}, {"position": "2", **pens}, {"position": "3", **row}]

    found = located(typeset(LINES), {"lines": lines}, REGISTRY["invoice"])

    for index, line in enumerate((1, 3, 4)):
        boxes = {path: found[f"lines[{index}].{path}"].box for path in lines[index]}
        assert {round(box.y0 * 30) for box in boxes.values() if box} == {line}
        lefts = [boxes[path] for path in ("position", "description", "quantity", "unit_price", "net_amount")]
        assert sorted(box.x0 for box in lefts if box) == [box.x0 for box in lefts if box]


def test_a_second_line_belongs_to_its_item_and_to_no_other(typeset: Typeset) -> None:
    lines = [
        {"description": "Paper A4 white", "net_amount": Decimal("10.00"), "quantity": 2},
        {"description": "Pens", "unit": "white", "net_amount": Decimal("10.00")},
    ]

    found = located(typeset(LINES), {"lines": lines}, REGISTRY["invoice"])

    assert found["lines[0].description"].text == "Paper A4 white"
    assert found["lines[1].description"].text == "Pens"


def test_what_a_till_prints_under_a_name_belongs_to_it(typeset: Typeset) -> None:
    document = typeset("Milk                2.58\n 2 x 1.29\nBread               3.10\n 1 x 3.10")
    lines = [
        {
            "description": "Milk",
            "quantity": 2,
            "unit": "x",
            "unit_price": Decimal("1.29"),
            "net_amount": Decimal("2.58"),
        },
        {"description": "Bread", "quantity": 1, "net_amount": Decimal("3.10")},
    ]

    found = located(document, {"lines": lines}, REGISTRY["receipt"])

    assert found["lines[0].quantity"].text == "2"
    assert found["lines[0].unit"].text == "x"


def test_what_stands_once_for_all_items_is_found_there(typeset: Typeset) -> None:
    document = typeset("all in EUR\nRent 2024-03-05  700.00\nGas 2024-03-06  80.00")
    data = {
        "transactions": [
            {"description": "Rent", "amount": Decimal(700), "currency": "EUR"},
            {"description": "Gas", "amount": Decimal(80), "currency": "EUR"},
        ]
    }

    found = located(document, data, REGISTRY["bank_statement"])

    assert found["transactions[0].currency"].text == found["transactions[1].currency"].text == "EUR"


def test_lists_of_plain_texts_are_found_each_by_itself(typeset: Typeset) -> None:
    found = located(typeset("red green blue"), {"value": ["red", "blue", "7", "black"]}, ANYTHING)

    assert [evidence.match for evidence in found.values()] == ["exact", "exact", "none", "none"]


def test_sums_of_found_values_are_computed_and_sums_of_missing_ones_are_not(typeset: Typeset) -> None:
    document = typeset("Net 100.00\nTax 19.00")
    data = {
        "net_total": Decimal(100),
        "tax_total": Decimal(19),
        "gross_total": Decimal(119),
        "amount_due": Decimal(119),
    }

    found = located(document, data, REGISTRY["invoice"])

    assert (found["gross_total"].match, found["gross_total"].page) == ("computed", None)
    assert found["amount_due"].match == "none"


@pytest.mark.parametrize(
    ("page", "data", "path"),
    [
        (
            "Tax 19.00\nTotal 119.00",
            {"tax_total": "19", "gross_total": "119", "net_total": "100"},
            "net_total",
        ),
        (
            "Net 100.00\nTotal 119.00",
            {"net_total": "100", "gross_total": "119", "tax_total": "19"},
            "tax_total",
        ),
        ("Total 119.00", {"gross_total": "119", "amount_due": "119.00"}, "amount_due"),
        (
            "Pens 20.00 5.00",
            {"lines": [{"net_amount": "20", "unit_price": "5", "quantity": "4"}]},
            "lines[0].quantity",
        ),
        (
            "Pens 4 5.00",
            {"lines": [{"net_amount": "20", "unit_price": "5", "quantity": "4"}]},
            "lines[0].net_amount",
        ),
        (
            "Pens 4 20.00",
            {"lines": [{"net_amount": "20", "unit_price": "5", "quantity": "4"}]},
            "lines[0].unit_price",
        ),
        (
            "Pens 12.00\nInk 8.00",
            {"lines": [{"net_amount": "12"}, {"net_amount": "8"}], "net_total": "20"},
            "net_total",
        ),
    ],
)
def test_arithmetic_tells_what_was_not_printed(
    page: str, data: dict[str, Any], path: str, typeset: Typeset
) -> None:
    model = REGISTRY["invoice"].fields.model_validate(data)

    assert located(typeset(page), model, REGISTRY["invoice"])[path].match in (
        "computed",
        "exact",
        "normalised",
    )


def test_an_invention_is_nowhere_and_goes_to_a_person(typeset: Typeset) -> None:
    document, schema = typeset("Invoice R-1 of 2024-03-05\nHarbour Ltd\nTotal 119.00"), REGISTRY["invoice"]
    data = schema.fields.model_validate(
        {
            "number": "R-1",
            "issue_date": "2024-03-05",
            "seller": {"name": "Harbour Ltd"},
            "gross_total": "1.00",
        }
    )

    evidence = located(document, data, schema)
    verdict = RuleGate().judge(
        document, Extraction(document_type="invoice", data=data, evidence=evidence), schema
    )

    assert evidence["gross_total"].match == "none"
    assert [
        (failure.check, failure.fields) for failure in verdict.failures if failure.check == "evidence"
    ] == [("evidence", ("gross_total",))]


def test_what_is_found_stands_for_the_gate(typeset: Typeset) -> None:
    document, schema = (
        typeset("Invoice R-1 of 05.03.2024\nHarbour Ltd\nTotal 119,00 EUR"),
        REGISTRY["invoice"],
    )
    data = schema.fields.model_validate(
        {
            "number": "R-1",
            "issue_date": "2024-03-05",
            "seller": {"name": "Harbour Ltd"},
            "gross_total": "119",
            "currency": "EUR",
        }
    )

    extraction = Extraction(document_type="invoice", data=data, evidence=located(document, data, schema))

    assert RuleGate().judge(document, extraction, schema).passed


def test_every_page_is_searched_and_the_page_is_told(typeset: Typeset) -> None:
    document = typeset("\f".join(["nothing"] * 9 + ["Total 119.00"]))

    assert located(document, {"gross_total": Decimal(119)}, REGISTRY["invoice"])["gross_total"].page == 10


def test_null_is_no_value_and_lists_are_counted() -> None:
    assert dict(leaves({"a": None, "b": [{"c": 1}, None, {"c": 2}]})) == {"b[0].c": 1, "b[2].c": 2}


def test_an_empty_document_shows_nothing(typeset: Typeset) -> None:
    assert located(typeset(""), {"value": "x1y2", "other": 5}, ANYTHING)["value"].match == "none"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Total 1 234.00 EUR", Decimal("234.00")),
        ("Total 1 234,00 EUR", Decimal(1)),
        ("Number R-17", "17"),
        ("Number 2024/4711", "4711"),
        ("Number 12.3456.78", "3456"),
    ],
)
def test_a_part_of_a_longer_number_or_code_is_not_believed(text: str, value: object, found: Found) -> None:
    assert found(text, value).confidence < 0.5


def test_a_code_that_also_stands_alone_is_believed_there(found: Found) -> None:
    evidence = found("Batch R-4711\nValue 4711", "4711")

    assert (evidence.confidence, evidence.box is not None and evidence.box.y0 > 0.02) == (1.0, True)


def test_a_rate_is_no_amount_and_a_month_is_no_day(typeset: Typeset) -> None:
    document = typeset("Invoice of March 2024\nVAT 19 %")
    data = {
        "issue_date": dt.date(2024, 3, 1),
        "period_start": dt.date(2024, 3, 1),
        "tax_total": Decimal("0.19"),
    }

    evidence = located(document, data, REGISTRY["invoice"])

    assert {path: one.match for path, one in evidence.items()} == {
        "issue_date": "none",
        "period_start": "normalised",
        "tax_total": "none",
    }


def test_a_text_out_of_order_is_not_exact(found: Found) -> None:
    assert found("Limited Harbour", "Harbour Limited").match == "normalised"
