"""What follows from a person's corrections for the values that nobody has reviewed."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import JsonValue

from docmill.model.document import Document
from docmill.model.paths import leaves, set_value, value_at
from docmill.schemas.registry import REGISTRY
from docmill.service.review.review import ReviewSession
from docmill.service.store.reviews import CurrentReview, ReviewableResult
from docmill.understanding.gate import RuleGate

INVOICE = """
Kestrel Tools Ltd                INVOICE KT-20417 2025-05-14
8 Forge Lane, Sheffield          VAT No GB123456782
Bill to: Marlow Fabrications Ltd
Bits                10     4.50     45.00
Vice                 1    80.00     80.00
Net total                          125.00
VAT 20 %                            25.00
Total                              150.00 GBP
"""
READ: dict[str, Any] = {
    "number": "KT-20417",
    "issue_date": "2025-05-14",
    "seller": {"name": "Kestrel Tools Ltd", "address": "8 Forge Lane, Sheffield", "vat_id": "GB123456782"},
    "buyer": {"name": "Marlow Fabrications Ltd", "address": None, "vat_id": None},
    "currency": "GBP",
    "net_total": "125.00",
    "tax_total": "25.00",
    "gross_total": "150.00",
    "lines": [
        {"description": "Bits", "quantity": "10", "unit_price": "4.50", "net_amount": "45.00"},
        {"description": "Vice", "quantity": "1", "unit_price": "80.00", "net_amount": "80.00"},
    ],
}
ID = UUID(int=1)

Review = Callable[..., ReviewSession]


@pytest.fixture
def review(make_document: Callable[..., Document]) -> Review:
    """A session of the invoice with values that a person gave, by path.

    read: values beside those of `READ`. computed: paths of which no place is known.
    """

    def session(
        given: Mapping[str, JsonValue],
        read: Mapping[str, JsonValue] | None = None,
        *,
        computed: tuple[str, ...] = (),
        suggested: Mapping[str, JsonValue] | None = None,
        document_type: str = "invoice",
        text: str = INVOICE,
    ) -> ReviewSession:
        document = make_document(text)
        machine = deepcopy(READ)
        for path, value in (read or {}).items():
            set_value(machine, path, value)
        evidence = {
            path: _proof(document, str(value), is_computed=path in computed)
            for path, value in leaves(machine)
        }
        suggestions = {
            path: [{"value": value, "evidence": _proof(document, str(value), is_computed=path in computed)}]
            for path, value in (suggested or {}).items()
        }
        data = deepcopy(machine)
        current: dict[str, CurrentReview] = {}
        for path, value in given.items():
            set_value(data, path, value)
            current[path] = _review_of(path, value, value_at(machine, path))
        result = ReviewableResult(
            document_type=document_type,
            file_name="invoice.pdf",
            ingestion_id=ID,
            transcription_file_path=None,
            classification={"document_type": document_type, "title": "Invoice, Kestrel Tools Ltd"},
            machine=machine,
            data=data,
            evidence=evidence,
            suggestions=suggestions,
            verdict=None,
            read_verdict={"failures": []},
        )
        return ReviewSession(result, current, REGISTRY[document_type], document, RuleGate())

    return session


def _proof(document: Document, printed: str, *, is_computed: bool) -> dict[str, Any]:
    found = [] if is_computed else document.find(printed)
    if not found:
        return {"page": None, "box": None, "text": None, "match": "computed", "confidence": 0.96}
    box = [float(edge) for edge in found[-1].box]
    return {"page": 1, "box": box, "text": printed, "match": "exact", "confidence": 0.97}


def _review_of(path: str, value: JsonValue, machine: JsonValue) -> CurrentReview:
    action = "confirm" if value == machine else "clear" if value is None else "correct"
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return CurrentReview(ID, ID, path, action, value, machine, machine, None, machine, ID, at)


def _failed(session: ReviewSession) -> dict[str, tuple[str, ...]]:
    return {failure.check: failure.fields for failure in session.judge()[0]}


def test_items_that_fit_the_refuted_total_alone_are_asked_about(review: Review) -> None:
    assert _failed(review({})) == {}

    totals = {"net_total": "250.00", "tax_total": "50.00", "gross_total": "300.00"}

    assert _failed(review(totals)) == {
        "lines_sum": ("net_total", "lines[0].net_amount", "lines[1].net_amount")
    }


def test_the_refuted_total_is_no_payment(review: Review) -> None:
    printed = f"{INVOICE}Amount due                        100.00 GBP"
    totals = {"net_total": None, "tax_total": None, "gross_total": "250.00"}

    session = review(totals, {"amount_due": "100.00"}, text=printed)

    assert _failed(session)["payments"] == ("amount_due", "gross_total")
