"""Copies of a document are looked through once, and another document anew."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from docmill.model.document import Document
from docmill.understanding.fields.analysis_cache import candidates_of, once
from docmill.understanding.fields.candidates import Candidates

MakeDocument = Callable[..., Document]


@pytest.fixture
def invoice(make_document: MakeDocument) -> Document:
    """One page."""
    return make_document("Invoice 4711\n\nTotal  12.50 EUR")


def test_all_that_ask_of_a_document_are_given_the_same_candidates(invoice: Document) -> None:
    copy = replace(invoice)

    assert candidates_of(invoice) is candidates_of(invoice)
    assert candidates_of(copy) is not candidates_of(invoice)
    assert candidates_of(copy).layout.document is copy


def test_the_same_is_asked_once_for_each_document_and_question(invoice: Document) -> None:
    asked: list[str] = []

    @once
    def found(_: Candidates, name: str) -> str:
        asked.append(name)
        return name.upper()

    candidates = candidates_of(invoice)

    assert [found(candidates, "a"), found(candidates, "a"), found(candidates, "b")] == ["A", "A", "B"]
    assert asked == ["a", "b"]
