"""Copies of a document are looked through once, and another document anew."""

import pickle
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


def test_a_copy_is_given_the_candidates_of_the_first(invoice: Document) -> None:
    copy = pickle.loads(pickle.dumps(invoice))  # noqa: S301 - our own

    assert copy is not invoice
    assert candidates_of(copy) is candidates_of(invoice)


def test_what_the_next_step_adds_makes_no_difference(invoice: Document) -> None:
    assert candidates_of(replace(invoice, tags_in_use=("new",))) is candidates_of(invoice)


def test_other_words_are_another_document(invoice: Document) -> None:
    (page, *others) = invoice.pages
    words = replace(page.words, texts=["other", *page.words.texts[1:]])
    other = replace(invoice, pages=[replace(page, words=words), *others])

    assert candidates_of(other) is not candidates_of(invoice)
    assert candidates_of(other).layout.document is other


def test_the_same_is_asked_once_for_each_document_and_question(invoice: Document) -> None:
    asked: list[str] = []

    @once
    def found(_: Candidates, name: str) -> str:
        asked.append(name)
        return name.upper()

    candidates = candidates_of(invoice)

    assert [found(candidates, "a"), found(candidates, "a"), found(candidates, "b")] == ["A", "A", "B"]
    assert asked == ["a", "b"]
