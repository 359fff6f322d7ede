import pytest

from docmill.schemas.outline import FieldOutline, Kind
from docmill.understanding.fields.meaning import FieldMeaning, built_in_meaning, meaning_of
from docmill.understanding.vocabulary import Concept


def test_a_field_is_named_by_its_own_label_and_contradicted_by_others() -> None:
    due = built_in_meaning("due_date")

    assert due.score({Concept.DUE_DATE: 0.5}) == 2
    assert due.score({Concept.DUE_DATE: 0.5, Concept.ORDER_DATE: 1}) == 0
    assert due.score({Concept.TOTAL: 1}) == 0


def test_the_own_number_depends_on_the_type() -> None:
    order = {Concept.ORDER_NUMBER: 1.0}

    assert built_in_meaning("number", "purchase_order").score(order) > 3
    assert built_in_meaning("number", "invoice").score(order) < 0


@pytest.mark.parametrize("path", ["seller.name", "seller.address"])
def test_values_of_a_party_are_named_by_the_partys_labels(path: str) -> None:
    assert built_in_meaning(path).labels[Concept.SELLER] > 0


def test_members_of_any_list_are_named_alike() -> None:
    assert built_in_meaning("lines[0].quantity").labels == built_in_meaning("items[3].quantity").labels != {}


@pytest.mark.parametrize("path", ["seller", "colour", "groups", "lines", "lines[0]"])
def test_other_paths_have_no_labels(path: str) -> None:
    assert built_in_meaning(path).labels == {}


def _own(path: str, kind: Kind, description: str) -> FieldMeaning:
    return meaning_of(FieldOutline(path, kind, description))


@pytest.mark.parametrize("description", ["date of the invoice", "date of this document", "invoice date"])
def test_a_description_names_a_field_by_a_label_written_the_other_way_round(description: str) -> None:
    assert _own("when", "date", description).labels[Concept.INVOICE_DATE] > 0


def test_what_is_to_be_paid_was_not_paid() -> None:
    labels = _own("sum", "decimal", "total to be paid").labels

    assert Concept.DUE in labels
    assert Concept.PAID not in labels


def test_the_number_of_somebody_is_a_number() -> None:
    assert _own("account", "text", "customer number or account number").form == "code"
    assert _own("account", "text", "name of the customer").form == "name"


@pytest.mark.parametrize(
    ("field", "label", "names_it"),
    [
        ("collected_on", "Collection", True),
        ("inspected_on", "Date of inspection", True),
        ("inspector", "Inspection certificate", False),
        ("contractor", "Contract", False),
        ("deposit", "Depcsit", True),  # a letter misread
        ("employer", "Employee", False),
        ("payer", "Payee", False),
        ("lender", "Sender", False),
        ("weight", "Height", False),
        ("insurer", "Insured", False),
        ("tenant_mieter", "Meter", False),
    ],
)
def test_a_word_names_a_field_with_another_ending_but_not_as_another_word(
    field: str, label: str, *, names_it: bool
) -> None:
    assert (_own(field, "text", "").match_strength(label) > 0) is names_it


def test_a_label_of_a_field_is_all_of_a_text() -> None:
    tenant = _own("tenant", "text", "name of the tenant who rents the flat")

    assert tenant.is_label("Tenant")
    assert tenant.is_label("Name of the tenant")
    assert not tenant.is_label("Tenant Samuel Quill")
    assert not tenant.is_label("Name")
    assert not tenant.is_label("Tenant 12")
