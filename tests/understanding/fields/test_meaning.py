import pytest

from docmill.understanding.fields.meaning import built_in_meaning
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
