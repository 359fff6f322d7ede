from collections.abc import Callable
from typing import Any

from docmill.model.document import Document
from docmill.schemas.user_schemas import schema_of
from docmill.understanding.user_schemas.extractor import extract_user_schema
from docmill.understanding.withholding import FLOOR_OF_OWN

Typeset = Callable[..., Document]


def read(document: Document, **properties: Any) -> tuple[dict[str, Any], dict[str, bool]]:  # noqa: ANN401 - JSON Schema
    """The values, and of each whether it is believed."""
    typed = {name: {"type": "string", **node} for name, node in properties.items()}
    schema = schema_of({"title": "paper", "type": "object", "properties": typed})
    extraction = extract_user_schema(document, schema)
    beliefs = {path: proof.confidence >= FLOOR_OF_OWN for path, proof in extraction.evidence.items()}
    return extraction.data.model_dump(), beliefs


def test_a_number_with_a_checksum_needs_no_label(typeset: Typeset) -> None:
    page = """
    Stück 40        Nordlicht Energie AG (US 85571B 1052)
    Account         4711 0815
    """

    data, beliefs = read(typeset(page), isin={})

    assert data == {"isin": "US85571B1052"}
    assert beliefs["isin"]


def test_a_number_whose_checksum_fails_is_never_believed(typeset: Typeset) -> None:
    data, beliefs = read(typeset("ISIN: US85571B1053"), isin={"description": "ISIN of the security"})

    assert data == {"isin": "US85571B1053"}  # suggested to a person
    assert not beliefs["isin"]


def test_of_two_numbers_of_a_format_the_labelled_one_is_taken(typeset: Typeset) -> None:
    page = """
    ISIN                DE0007164600
    Underlying          US0378331005
    """

    data, beliefs = read(typeset(page), isin={})

    assert data == {"isin": "DE0007164600"}
    assert beliefs["isin"]


def test_of_two_numbers_without_labels_neither_is_believed(typeset: Typeset) -> None:
    page = """
    Exchanged           DE0007164600
    For                 US0378331005
    """

    _, beliefs = read(typeset(page), isin={})

    assert not beliefs["isin"]


def test_digits_whose_checksum_holds_by_chance_are_no_number_without_a_label(typeset: Typeset) -> None:
    data, _ = read(typeset("Meter reading  490154203237518  of May"), article={"description": "EAN"})

    assert data == {"article": None}


def test_two_formats_on_one_line_are_told_apart(typeset: Typeset) -> None:
    data, _ = read(typeset("WKN/ISIN 716460 / DE0007164600"), isin={}, wkn={})

    assert data == {"isin": "DE0007164600", "wkn": "716460"}


def test_a_number_of_the_schemas_own_pattern_is_found(typeset: Typeset) -> None:
    page = """
    Policy        A-1          Agent 77-1234
    Reference     KX-12/331
    """

    data, _ = read(typeset(page), reference={"pattern": "^[A-Z]{2}-[0-9]{2}/[0-9]+$"})

    assert data == {"reference": "KX-12/331"}


def test_a_pattern_that_any_text_has_is_no_form_of_a_number(typeset: Typeset) -> None:
    data, _ = read(typeset("Remark:  to be called for"), remark={"pattern": "^.{1,80}$"})

    assert data == {"remark": "to be called for"}


def test_whose_number_it_is_does_not_make_it_a_name(typeset: Typeset) -> None:
    page = "Beneficiary: Example Trading B.V.   LEI 5493001KJTIIGC8Y1R12"

    data, _ = read(typeset(page), lei={"description": "LEI of the ordering party"})

    assert data == {"lei": "5493001KJTIIGC8Y1R12"}
