"""Values of users' fields that the texts around them contradict are suggested, and not believed."""

from collections.abc import Callable, Mapping
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.user_schemas.extractor import extract_user_schema

Typeset = Callable[..., Document]

FLOOR = 0.8
AMOUNT, COUNT, TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}
DAY = {"type": "string", "format": "date"}


def read(page: Document, fields: Mapping[str, Mapping[str, str]]) -> Extraction:
    return extract_user_schema(
        page, schema_of({"title": "paper", "type": "object", "properties": dict(fields)})
    )


def is_believed(extraction: Extraction, path: str) -> bool:
    proof = extraction.evidence.get(path)
    return proof is not None and proof.confidence >= FLOOR


@pytest.mark.parametrize(
    ("name", "kind", "contradicted", "plain"),
    [
        ("annual_fee", AMOUNT, "Fee   £ 38.50 per month", "Fee   £ 38.50 per year"),
        ("annual_fee", AMOUNT, "Monthly fee   £ 38.50", "Annual fee   £ 38.50"),
        ("deposit_paid", AMOUNT, "Deposit required   £ 200.00", "Deposit paid   £ 200.00"),
        ("actual_cost", AMOUNT, "Estimated cost   £ 38.50", "Actual cost   £ 38.50"),
        ("member_email", {**TEXT, "description": "e-mail address of the member"}, "office@club.example", ""),
        ("employer", TEXT, "Employer   Giappone", "Employer   Kimura Jewels"),
        ("patient_name", TEXT, "Patient name:  Data di", "Patient name:  Rossana Bellini"),
    ],
)
def test_what_the_texts_around_a_value_contradict_is_not_believed(
    typeset: Typeset, name: str, kind: dict[str, str], contradicted: str, plain: str
) -> None:
    def believed(line: str) -> bool:
        page = typeset(f"Ridgeway Club of the valley\n\n{line}\n\nPlease keep this paper until the end")
        return is_believed(read(page, {name: kind}), name)

    assert not believed(contradicted)
    if plain:
        assert believed(plain)


def test_a_part_of_an_amount_is_not_the_amount(typeset: Typeset) -> None:
    page = typeset(
        "Conditions du contrat\n\n"
        "Prime annuelle TTC           dont taxes           Franchise vol\n"
        "612,84 €                     98,02 €              450,00 €"
    )
    wanted = {"annual_premium": {**AMOUNT, "description": "premium for the year including tax"}}

    assert read(page, wanted).data.model_dump()["annual_premium"] == Decimal("612.84")


def test_a_field_whose_label_has_a_dash_takes_nothing_from_elsewhere(typeset: Typeset) -> None:
    def page(value: str) -> Document:
        return typeset(
            f"Vehicle test\n\nTest no      4410\n\nExpiry date      {value}\n\nHistory\n\nDate\n\n02/11/2024"
        )

    assert not is_believed(read(page("-"), {"expiry_date": DAY}), "expiry_date")
    assert is_believed(read(page("13/05/2025"), {"expiry_date": DAY}), "expiry_date")


def test_a_count_in_brackets_behind_another_is_not_the_one_asked_for(typeset: Typeset) -> None:
    page = typeset(
        "Offer of employment\n\nSalary:   £ 54,000 per annum\n\nNotice: 8 weeks (1 week during probation)"
    )
    wanted = {"notice_period_weeks": {**COUNT, "description": "notice in weeks"}}

    assert not is_believed(read(page, wanted), "notice_period_weeks")


def test_the_date_of_another_paper_is_not_believed(typeset: Typeset) -> None:
    page = typeset("Certificate\n\nRemarks     Letter of credit LC-55120 dated 02/05/2025")

    assert not is_believed(read(page, {"invoice_date": DAY}), "invoice_date")


def test_a_firm_is_named_without_its_town(typeset: Typeset) -> None:
    page = typeset("Certificate of origin\n\nConsignee:    Kimura Jewels Ltd, Osaka, Japan")

    assert read(page, {"consignee": {**TEXT, "description": "name of the consignee"}}).data.model_dump() == {
        "consignee": "Kimura Jewels Ltd"
    }


def test_a_word_of_another_field_s_description_is_a_label(typeset: Typeset) -> None:
    page = typeset("Biglietto\n\nPartenza            Arrivo\n\nAncona              Lecce")
    wanted = {
        "departure_station": {**TEXT, "description": "stazione di partenza"},
        "arrival_station": {**TEXT, "description": "stazione di arrivo"},
    }

    assert "Arrivo" not in read(page, wanted).data.model_dump().values()


def test_a_name_that_may_go_on_is_not_believed(typeset: Typeset) -> None:
    told = {"type": "string", "description": "name of the advertiser"}

    assert is_believed(
        read(typeset("Order form\n\nAdvertiser: Ridgeway Club"), {"advertiser": told}), "advertiser"
    )
    assert not is_believed(
        read(typeset("Order form\n\nAdvertiser: Ridgeway Club,\n\nInc"), {"advertiser": told}), "advertiser"
    )
