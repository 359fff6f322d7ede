"""Which documents are taken for the same, and which are not."""

from collections.abc import Callable
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.understanding.duplicates import DuplicateIndex, Signature, compare, facts_of, signature_of

MakeDocument = Callable[..., Document]

LETTER = """
Dear neighbours of the old mill in Harwich
we repair the roof of the mill from Monday {day} on and ask you to keep the yard free of bicycles
until the work is done which takes about four weeks if the weather is kind to us
With kind regards from the whole house of Miller and daughters
Telephone {phone}
"""
FACTS: dict[str, Any] = {
    "number": "INV-1",
    "issue_date": "2026-11-03",
    "gross_total": "120.00",
    "seller": {"name": "Miller Ltd"},
}
MISREAD: dict[str, Any] = {**FACTS, "number": "lNV 1", "seller": {"name": "MILLER  Ltd."}}
OF_ANOTHER: dict[str, Any] = {**FACTS, "seller": {"name": "Bicycle Hospital"}}


def _signature(document: Document, document_type: str = "invoice", **data: Any) -> Signature:  # noqa: ANN401 - JSON
    signature = signature_of(document, document_type, data)
    assert signature is not None
    return signature


@pytest.fixture
def empty(make_document: MakeDocument) -> Document:
    return make_document("")


@pytest.fixture
def letter(make_document: MakeDocument) -> Document:
    return make_document(LETTER.format(day="2026-11-03", phone="0044 1255 506070"))


def test_party_number_date_and_total_tell_the_same_invoice_also_if_a_name_is_misread(empty: Document) -> None:
    one = _signature(empty, **FACTS)
    other = _signature(empty, **MISREAD)

    assert compare(one, other) == "the same party, number, date and total"
    assert compare(one, _signature(empty, **OF_ANOTHER)) is None


@pytest.mark.parametrize(
    "changed", [{"number": "INV-2"}, {"issue_date": "2026-12-03"}, {"gross_total": "121.00"}]
)
def test_another_number_date_or_total_is_another_document_however_alike_the_text(
    letter: Document, changed: dict[str, str]
) -> None:
    assert compare(_signature(letter, **FACTS), _signature(letter, **FACTS)) is not None
    assert compare(_signature(letter, **FACTS), _signature(letter, **{**FACTS, **changed})) is None


def test_letters_without_values_are_told_by_their_text_and_their_numbers(
    make_document: MakeDocument, letter: Document
) -> None:
    copied = make_document(
        LETTER.format(day="2026-11-03", phone="0044 1255 506070").replace("old mill", "o1d mill")
    )
    next_year = make_document(LETTER.format(day="2027-10-04", phone="0044 1255 506070"))

    assert compare(_signature(letter, "other"), _signature(copied, "other")) == "almost the same text"
    assert compare(_signature(letter, "other"), _signature(next_year, "other")) is None


def test_an_invoice_and_its_receipt_are_two_documents(letter: Document) -> None:
    invoice, receipt = _signature(letter, "invoice", **FACTS), _signature(letter, "receipt", **FACTS)

    assert compare(invoice, receipt) is None


def test_a_document_without_values_and_text_has_no_signature(empty: Document) -> None:
    assert signature_of(empty, "invoice", {"gross_total": None}) is None
    assert signature_of(empty, None, None) is None


def test_what_is_no_date_or_amount_is_no_fact() -> None:
    assert facts_of("invoice", {"issue_date": "soon", "gross_total": "much", "number": "7"}) == {
        "number": "7"
    }


def test_an_index_names_the_earlier_documents_only(letter: Document) -> None:
    index = DuplicateIndex[str]()

    first = index.add("first", _signature(letter, **FACTS))
    second = index.add("second", _signature(letter, **FACTS))

    assert (first, [name for name, _ in second]) == ([], ["first"])
