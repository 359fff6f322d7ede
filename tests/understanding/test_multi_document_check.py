"""A file of several documents is told, as its values may be of different ones."""

from collections.abc import Callable
from dataclasses import replace

from docmill.model.document import Document, Embedded, Part
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.offline import check_for_several

Typeset = Callable[..., Document]

PAGE = """
{seller}
12 Quay Street
London

INVOICE                      Invoice number: {number}
                             Invoice date: 05.03.2024

Total   {total} EUR
"""
ONE = PAGE.format(seller="Harbour Ltd", number="R-17", total="5.00")
OTHER = PAGE.format(seller="Miller and Sons Ltd", number="K/4711", total="7.00")
INVOICE = REGISTRY["invoice"]


def checked(document: Document) -> Extraction:
    return check_for_several(document, extract_by_rules(document, INVOICE))


async def checks(document: Document) -> list[str]:
    """The checks that fail by what the extractor itself saw."""
    found = checked(document)
    return [failure.check for failure in found.failures]


async def test_two_invoices_in_one_file_are_told(typeset: Typeset) -> None:
    found = checked(typeset(f"{ONE}\f{OTHER}"))

    (failure,) = found.failures
    assert failure.check == "several_documents"
    assert "2 documents, which begin on pages 1, 2" in failure.message


async def test_one_document_is_not(typeset: Typeset) -> None:
    assert await checks(typeset(ONE)) == []
    assert await checks(typeset(f"{ONE}\fPage 2 of 2\n\nthe terms of payment")) == []


async def test_what_was_split_or_carries_its_data_is_not(typeset: Typeset) -> None:
    both = typeset(f"{ONE}\f{OTHER}")

    assert await checks(replace(both, parts=(Part("page 1.pdf", "section", 1, 1),))) == []
    assert await checks(replace(both, embedded=(Embedded("factur-x.xml", "text/xml", b"<x/>"),))) == []


async def test_a_very_long_file_is_not_looked_through(typeset: Typeset) -> None:
    assert await checks(typeset("\f".join([ONE, OTHER] * 51))) == []
