"""Values below their floors are suggestions and no data."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from pydantic import BaseModel

from docmill.model.document import Document
from docmill.model.result import Evidence, Extraction, Schema, Suggestion
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice, Party
from docmill.understanding.gate import RuleGate
from docmill.understanding.withholding import MOST_SUGGESTIONS, withhold

SCHEMA = REGISTRY["invoice"]


@pytest.fixture
def page(make_document: Callable[..., Document]) -> Document:
    return make_document("Harbour Ltd 24.00")


def proof(confidence: float, *, match: str = "exact") -> Evidence:
    return Evidence.model_validate(
        {"page": 1, "box": (0, 0, 1, 1), "text": "24.00", "match": match, "confidence": confidence}
    )


def extraction(name_confidence: float, **more: object) -> Extraction:
    return Extraction(
        document_type="invoice",
        data=Invoice(number="R-1", seller=Party(name="Harbour Ltd"), gross_total=Decimal("24.00")),
        evidence={
            "number": proof(0.99),
            "seller.name": proof(name_confidence),
            "gross_total": proof(0.98),
        },
    ).model_copy(update=more)


def test_a_value_below_its_floor_is_null_and_the_first_suggestion() -> None:
    rivals = tuple(Suggestion(value=f"Quay {number}", evidence=proof(0.1)) for number in range(4))

    withheld = withhold(extraction(0.4, suggestions={"seller.name": rivals}), SCHEMA)

    assert isinstance(withheld.data, Invoice)
    assert withheld.data.seller is None or withheld.data.seller.name is None
    assert "seller.name" not in withheld.evidence
    suggested = withheld.suggestions["seller.name"]
    assert [suggestion.value for suggestion in suggested] == ["Harbour Ltd", "Quay 0", "Quay 1"]
    assert suggested[0].evidence == proof(0.4)
    assert len(suggested) == MOST_SUGGESTIONS


def test_an_address_goes_with_the_name_above_it() -> None:
    party = Party(name="Harbour Ltd", address="Quay 4, 2150 Nordhavn")
    read = extraction(0.4, data=Invoice(number="R-1", seller=party))
    read = read.model_copy(update={"evidence": {**read.evidence, "seller.address": proof(0.95)}})

    withheld = withhold(read, SCHEMA)

    assert isinstance(withheld.data, Invoice)
    assert withheld.data.seller is None or withheld.data.seller.address is None
    assert [one.value for one in withheld.suggestions["seller.address"]] == ["Quay 4, 2150 Nordhavn"]


def test_a_believed_value_stays_and_has_no_suggestions() -> None:
    rivals = (Suggestion(value="Quay", evidence=proof(0.1)),)

    kept = withhold(extraction(0.9, suggestions={"seller.name": rivals}), SCHEMA)

    assert kept.data == extraction(0.9).data
    assert kept.suggestions == {}


def test_suggestions_are_json() -> None:
    low = extraction(0.9).model_copy(update={"evidence": {"gross_total": proof(0.2)}})

    withheld = withhold(low, SCHEMA)

    assert withheld.suggestions_as_json["gross_total"][0]["value"] == "24.00"


def test_values_of_an_xml_have_no_floor() -> None:
    low = extraction(0.9).model_copy(update={"evidence": {"gross_total": proof(0.2, match="embedded")}})

    assert withhold(low, SCHEMA).data == low.data


def test_a_critical_value_that_was_withheld_is_uncertain_and_not_missing(page: Document) -> None:
    verdict = RuleGate().judge(page, withhold(extraction(0.4), SCHEMA), SCHEMA)

    of_name = [failure.check for failure in verdict.failures if failure.fields == ("seller.name",)]
    assert of_name == ["confidence"]


class Ticket(BaseModel):
    """A user's own type, which cannot do without its fields."""

    holder: str
    price: Decimal


def test_a_required_field_of_a_users_schema_is_withheld_too() -> None:
    schema = Schema("ticket", Ticket, critical=("holder",))
    read = Extraction(
        document_type="ticket",
        data=Ticket(holder="Ada", price=Decimal("24.00")),
        evidence={"holder": proof(0.3), "price": proof(0.9)},
    )

    withheld = withhold(read, schema)

    assert withheld.data.model_dump() == {"holder": None, "price": Decimal("24.00")}
    assert withheld.suggestions["holder"][0].value == "Ada"


class Note(BaseModel):
    """A user's own type that says nothing about what matters."""

    holder: str | None = None
    price: Decimal | None = None


@pytest.mark.parametrize(("critical", "doubted"), [((), ["holder"]), (("price",), [])])
def test_a_schema_that_names_nothing_critical_has_every_withheld_value_looked_at(
    page: Document, critical: tuple[str, ...], doubted: list[str]
) -> None:
    schema = Schema("note", Note, critical=critical)
    read = Extraction(
        document_type="note",
        data=Note(holder="Ada", price=Decimal("24.00")),
        evidence={"holder": proof(0.3), "price": proof(0.9)},
    )

    verdict = RuleGate().judge(page, withhold(read, schema), schema)

    assert [failure.fields[0] for failure in verdict.failures if failure.check == "confidence"] == doubted
