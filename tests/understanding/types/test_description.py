"""Title, summary, day and tags say what the fields say in the end."""

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic import BaseModel

from docmill.model.document import Document, Embedded, Usage
from docmill.model.result import Classification, Evidence, Extraction
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import BankStatement, Invoice, Party
from docmill.understanding.types.summary import change_type, describe

READ = Classification(
    document_type="invoice",
    title="Invoice 4711, Mu1ler GmbH",
    summary="Invoice 4711 from Mu1ler GmbH.",
    document_date=dt.date(2026, 1, 2),
    tags=("site Nord", "Mu1ler GmbH", "Invoice", "2026"),
    confidence=0.9,
)
PUT_RIGHT = Invoice(
    number="4711",
    issue_date=dt.date(2026, 2, 1),
    seller=Party(name="M\u00fcller GmbH"),
    gross_total=Decimal("12.50"),
    currency="EUR",
)


@pytest.fixture
def paper(make_document: Callable[..., Document]) -> Document:
    """Any page."""
    return make_document("Invoice 4711")


def extraction(data: Invoice | BankStatement, kind: str = "invoice", sure: float = 0.9) -> Extraction:
    seen = Evidence(page=1, box=None, text=None, match="exact", confidence=sure)
    return Extraction(document_type=kind, data=data, evidence={"seller.name": seen})


def test_what_was_put_right_is_said_by_title_summary_day_and_tags(paper: Document) -> None:
    told = describe(paper, READ, extraction(PUT_RIGHT))

    assert told.title == "Invoice 4711, M\u00fcller GmbH"
    assert told.summary == "Invoice 4711 from M\u00fcller GmbH of 2026-02-01 for 12.50 EUR."
    assert told.document_date == dt.date(2026, 2, 1)
    assert told.tags == ("site Nord", "M\u00fcller GmbH", "Invoice", "2026")


def test_a_tag_in_use_is_spelt_as_there(paper: Document) -> None:
    told = describe(paper, READ, extraction(PUT_RIGHT), ("MULLER GMBH",))

    assert told.tags == ("MULLER GMBH", "site Nord", "Invoice", "2026")


def test_a_name_that_nobody_would_believe_is_no_title(paper: Document) -> None:
    told = describe(paper, READ, extraction(PUT_RIGHT, sure=0.1))

    assert told.title == "Invoice 4711"
    assert told.tags == ("site Nord", "Invoice", "2026")


def test_a_name_and_a_day_that_somebody_adds_become_tags(paper: Document) -> None:
    read = READ.model_copy(update={"title": "Invoice 4711", "document_date": None, "tags": ("Invoice",)})

    told = describe(paper, read, extraction(PUT_RIGHT))

    assert told.tags == ("Invoice", "M\u00fcller GmbH", "2026")


def test_a_date_that_is_no_longer_believed_is_not_the_documents_nor_its_year_a_tag(paper: Document) -> None:
    told = describe(paper, READ, extraction(Invoice(number="4711")))

    assert told.document_date is None
    assert str(READ.document_date.year if READ.document_date else "") not in told.tags


@pytest.mark.parametrize(
    "read",
    [
        READ.model_copy(update={"usage": Usage(model="openai:small")}),
        READ.model_copy(update={"title": None}),
        READ.model_copy(update={"document_type": "receipt"}),
    ],
    ids=["told by a model", "without a title", "of another type"],
)
def test_what_the_fields_do_not_tell_stays(paper: Document, read: Classification) -> None:
    assert describe(paper, read, extraction(PUT_RIGHT)) is read


def test_a_statement_is_not_named_by_its_fields(paper: Document) -> None:
    read = READ.model_copy(update={"document_type": "bank_statement", "title": "Bank statement 9/2026"})

    assert describe(paper, read, extraction(BankStatement(), "bank_statement")) is read


def test_an_e_invoice_is_named_by_its_xml(paper: Document) -> None:
    carrying = replace(paper, embedded=(Embedded("factur-x.xml", "text/xml", b"<x/>"),))

    assert describe(carrying, READ, extraction(PUT_RIGHT)) is READ


def test_what_a_schema_of_ones_own_reads_tells_nothing(paper: Document) -> None:
    class Airtime(BaseModel):
        number: str = "7"
        issue_date: dt.date = dt.date(2026, 5, 5)

    own = Extraction(document_type="invoice", data=Airtime(), evidence={})

    assert describe(paper, READ, own) == READ


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - {"bank_statement", "other"}))  # they keep the first
def test_a_summary_speaks_only_of_fields_of_its_type(name: str) -> None:
    # Else the first summary would name a value that the one made after a correction leaves out.
    named = {path for text in DEFINITIONS[name].summary for path in re.findall(r"\{([\w.]+)\}", text)}

    assert named <= {field.path for field in outline(REGISTRY[name])}


def test_a_changed_type_has_no_counterparty_until_its_own_is_read() -> None:
    changed = change_type(READ, "payslip")

    assert changed.title == "Payslip"
    assert changed.tags == ("site Nord", "2026", "Payslip")
