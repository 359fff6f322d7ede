"""How values are shown."""

import pytest
from pydantic import BaseModel

from docmill.model.result import Failure, Schema
from docmill.schemas.field_names import FIELD_NAMES, TABLES
from docmill.schemas.registry import REGISTRY
from docmill.web.view.fields import FieldReviewView, build_values_view


def paths_of(fields: type[BaseModel], prefix: str = "") -> list[str]:
    """Every path of a schema; a table's by the name of the table."""
    paths: list[str] = []
    for name, value in fields().model_dump().items():
        nested = fields.model_fields[name].annotation
        if isinstance(value, dict) and isinstance(nested, type) and issubclass(nested, BaseModel):
            paths += paths_of(nested, f"{name}.")
        else:
            paths.append(prefix + name)
    return paths


@pytest.mark.parametrize("document_type", REGISTRY)
def test_every_field_of_every_type_has_a_name(document_type: str) -> None:
    schema = next(schema for name, schema in REGISTRY.items() if name == document_type)

    assert [path for path in paths_of(schema.fields) if path not in FIELD_NAMES and path not in TABLES] == []


def test_what_matters_and_is_missing_shows_as_not_found() -> None:
    shown = build_values_view("receipt", {"seller": {"name": None}}, {}, [])

    assert [(field.path, field.confidence_text, field.certainty) for field in shown.fields] == [
        ("seller.name", "Not found", "low"),
        ("issue_date", "Not found", "low"),
        ("gross_total", "Not found", "low"),
    ]
    assert (shown.to_check_count, shown.trusted_percent) == (3, 0)


def test_a_document_of_no_known_type_shows_what_it_has() -> None:
    shown = build_values_view("poem", {"rhyme_scheme": "abab", "author": {"pen_name": "A"}}, None, [])

    assert [(field.name, field.value) for field in shown.fields] == [
        ("Rhyme scheme", "abab"),
        ("Author pen name", "A"),
    ]


def test_values_of_an_own_schema_stand_in_its_order() -> None:
    class Airtime(BaseModel):
        advertiser: str | None = None
        gross_total: str | None = None
        contract: str | None = None
        number: str | None = None

    schema = Schema("airtime", Airtime, critical=("contract",))
    data = {"number": "7", "gross_total": "1.00", "advertiser": "A", "more": "B"}

    shown = build_values_view("invoice", data, None, [], schema=schema)

    assert [field.path for field in shown.fields] == [
        "advertiser",
        "gross_total",
        "contract",
        "number",
        "more",
    ]


def test_nothing_read_is_nothing_to_check() -> None:
    shown = build_values_view(None, None, None, [])

    assert (shown.all_fields, shown.to_check_count, shown.trusted_percent) == ([], 0, 100)


def test_a_failed_check_of_a_cell_marks_the_cell() -> None:
    evidence = {
        "lines[1].net_amount": {
            "page": 1,
            "box": [0, 0, 1, 1],
            "text": "1",
            "match": "exact",
            "confidence": 1,
        }
    }
    data = {"lines": [{"net_amount": None}, {"net_amount": "1"}]}
    failure = Failure(check="sums", message="It differs.", fields=("lines[1].net_amount", "lines"))

    shown = build_values_view("other", data, evidence, [failure])

    ((first,), (second,)) = shown.tables[0].rows
    assert first is None
    assert second is not None
    assert (second.name, second.certainty, second.problems) == (
        "Net amount, row 2",
        "invalid",
        ("It differs.",),
    )
    assert second.element_id == "field-lines-1-net_amount"
    assert [field.path for field in shown.fields] == []


def test_a_value_from_an_xml_says_so_instead_of_how_sure_it_is() -> None:
    embedded = {"page": None, "box": None, "text": None, "match": "embedded", "confidence": 1.0}

    shown = build_values_view("invoice", {"number": "7"}, {"number": embedded}, [])

    assert [field.confidence_text for field in shown.fields if field.path == "number"] == ["From the XML"]


def test_a_value_that_people_confirmed_before_says_on_which_document() -> None:
    taught = {
        "page": 1,
        "box": [0, 0, 1, 1],
        "text": "Bakery",
        "match": "exact",
        "confidence": 0.99,
        "reason": "as you confirmed on first.pdf",
    }

    shown = build_values_view("receipt", {"seller": {"name": "Bakery"}}, {"seller.name": taught}, [])
    said = build_values_view(
        "receipt",
        {"seller": {"name": "Bakery"}},
        {"seller.name": taught},
        [],
        {"seller.name": FieldReviewView("Confirmed", "", [])},
    )

    assert [field.reason for field in shown.fields if field.reason] == ["as you confirmed on first.pdf"]
    assert [field.reason for field in said.fields if field.reason] == []


def test_a_means_of_payment_is_chosen_by_its_words() -> None:
    named, unknown = (
        next(
            field
            for field in build_values_view("invoice", {"payment": {"method": code}}, {}, []).fields
            if field.value
        )
        for code in ("59", "ZZZ")
    )

    assert (named.name, named.value) == ("Payment method", "59")
    assert ("59", "SEPA direct debit") in named.options
    assert ("ZZZ", "ZZZ") in unknown.options
    assert ("", "Not known") in unknown.options
    assert (named.words_for("48"), unknown.words_for("ZZZ")) == ("Bank card", "ZZZ")
