"""Values that nobody has reviewed follow a person's corrections, or are withheld."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import JsonValue

from docmill.model.document import Document
from docmill.model.paths import leaves, set_value, value_at
from docmill.model.result import Schema
from docmill.schemas.registry import REGISTRY
from docmill.schemas.user_schemas import schema_of
from docmill.service.review.description import describe_reviewed
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
    schema: of the user's own.
    """

    def session(
        given: Mapping[str, JsonValue],
        read: Mapping[str, JsonValue] | None = None,
        *,
        computed: tuple[str, ...] = (),
        suggested: Mapping[str, JsonValue] | None = None,
        document_type: str = "invoice",
        text: str = INVOICE,
        tags: tuple[str, ...] = (),
        schema: Schema | None = None,
    ) -> ReviewSession:
        document = make_document(text)
        machine = deepcopy(READ) if document_type == "invoice" else {}
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
            classification={"document_type": document_type, "title": "Invoice KT-20417", "tags": tags},
            machine=machine,
            data=data,
            evidence=evidence,
            suggestions=suggestions,
            verdict=None,
            read_verdict={"failures": []},
        )
        return ReviewSession(result, current, schema or REGISTRY[document_type], document, RuleGate())

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


def test_the_amount_due_follows_the_corrected_total(review: Review) -> None:
    due = {"amount_due": "150.00"}
    totals = {"net_total": "250.00", "tax_total": "50.00", "gross_total": "300.00"}

    session = review(totals, due, computed=("amount_due",))
    huge = review({"gross_total": "9" * 40}, due, computed=("amount_due",))

    assert value_at(session.data, "amount_due") == "300.00"
    assert value_at(huge.data, "amount_due") == "9" * 40
    assert session.reviewed_extraction.evidence["amount_due"].match == "computed"
    assert "dependent" not in _failed(session)


def test_what_was_paid_is_taken_from_the_corrected_total_too(review: Review) -> None:
    due = {"amount_due": "100.00"}

    more, less = (
        review({"gross_total": total}, due, computed=("amount_due",)) for total in ("190.00", "40.00")
    )

    assert value_at(more.data, "amount_due") == "140.00"
    assert value_at(less.data, "amount_due") is None
    assert _failed(less)["dependent"] == ("amount_due",)


def test_a_computed_value_without_its_source_is_withdrawn_and_suggested(review: Review) -> None:
    session = review({"gross_total": None}, {"amount_due": "150.00"}, computed=("amount_due",))
    (failure,) = (failure for failure in session.judge()[0] if failure.check == "dependent")
    (suggestion,) = session.suggestions["amount_due"]

    assert value_at(session.data, "amount_due") is None
    assert "amount_due" not in session.reviewed_extraction.evidence
    assert failure.message == (
        "Amount due 150.00 was computed before a person corrected the total; please look at it."
    )
    assert (suggestion.value, suggestion.evidence.confidence) == ("150.00", 0.48)


def test_what_a_person_reviewed_follows_nothing(review: Review) -> None:
    given = {"gross_total": "300.00", "amount_due": "150.00"}

    session = review(given, {"amount_due": "150.00"}, computed=("amount_due",))

    assert value_at(session.data, "amount_due") == "150.00"
    assert "dependent" not in _failed(session)


def test_a_printed_value_and_one_that_still_follows_stay(review: Review) -> None:
    due = {"amount_due": "150.00"}

    printed = review({"gross_total": "300.00"}, due)
    followed = review({"lines[0].net_amount": "44.00"}, computed=("net_total",))

    assert value_at(printed.data, "amount_due") == "150.00"
    assert value_at(followed.data, "net_total") == "125.00"


def test_part_of_a_sum_follows_if_all_else_was_reviewed(review: Review) -> None:
    one = review({"gross_total": "300.00"}, {"lines": []}, computed=("net_total",))
    both = review({"gross_total": "300.00", "tax_total": "50.00"}, computed=("net_total",))

    assert value_at(one.data, "net_total") is None
    assert _failed(one)["dependent"] == ("net_total",)
    assert value_at(both.data, "net_total") == "250.00"


def test_all_that_was_computed_in_turn_follows(review: Review) -> None:
    computed = ("tax_total", "gross_total", "amount_due")

    session = review({"net_total": "250.00"}, {"amount_due": "150.00"}, computed=computed)

    assert [value_at(session.data, path) for path in computed] == [None, None, None]
    assert {failure.fields for failure in session.judge()[0] if failure.check == "dependent"} == {
        (path,) for path in computed
    }


def test_the_amount_of_an_item_follows_its_quantity(review: Review) -> None:
    session = review({"lines[0].quantity": "20"}, computed=("lines[0].net_amount",))

    assert value_at(session.data, "lines[0].net_amount") == "90.00"
    assert _failed(session)["lines_sum"][0] == "net_total"


@pytest.mark.parametrize(
    ("due", "terms", "followed"),
    [
        ("2025-06-13", None, "2025-07-31"),
        ("2025-06-13", "30 days net", "2025-07-31"),
        ("2025-06-30", "30 days end of month", "2025-07-31"),
        ("2025-06-30", None, None),
    ],
)
def test_the_due_date_follows_the_date_of_issue(
    review: Review, due: str, terms: str | None, followed: str | None
) -> None:
    read = {"due_date": due, "payment.terms": terms}

    session = review({"issue_date": "2025-07-01"}, read, computed=("due_date",))

    assert value_at(session.data, "due_date") == followed
    assert ("dependent" in _failed(session)) is (followed is None)


def test_other_terms_of_payment_change_the_computed_due_date(review: Review) -> None:
    read = {"due_date": "2025-06-13", "payment.terms": "30 days net"}

    longer = review({"payment.terms": "60 days net"}, read, computed=("due_date",))
    none = review({"payment.terms": "soon, please"}, read, computed=("due_date",))

    assert value_at(longer.data, "due_date") == "2025-07-13"
    assert value_at(none.data, "due_date") is None


def test_a_computed_suggestion_follows_as_well(review: Review) -> None:
    suggested = {"gross_total": "150.00", "amount_due": "150.00"}
    read = {"gross_total": None}

    session = review({"gross_total": "300.00"}, read, suggested=suggested, computed=("amount_due",))
    cleared = review({"gross_total": None}, read, suggested=suggested, computed=("amount_due",))

    assert value_at(session.data, "amount_due") is None
    assert [each.value for each in session.suggestions["amount_due"]] == ["300.00"]
    assert [each.value for each in cleared.suggestions["amount_due"]] == ["150.00"]
    assert "dependent" not in _failed(session)


def test_the_opening_balance_follows_the_bookings(review: Review) -> None:
    statement = {"opening_balance": "90.00", "closing_balance": "100.00", "transactions[0].amount": "10.00"}
    text = "Booking                       10.00\nClosing balance              100.00"

    session = review(
        {"transactions[0].amount": "20.00"},
        statement,
        computed=("opening_balance",),
        document_type="bank_statement",
        text=text,
    )

    assert value_at(session.data, "opening_balance") is None
    assert _failed(session)["dependent"] == ("opening_balance",)


def test_what_was_read_with_a_refuted_name_is_withheld_and_suggested(review: Review) -> None:
    session = review({"seller.name": "Wholly Other Traders plc"})

    (failure,) = session.judge()[0]
    seller = value_at(session.data, "seller")
    assert seller == {"name": "Wholly Other Traders plc", "address": None, "vat_id": None}
    assert (failure.check, failure.fields) == ("dependent", ("seller.address", "seller.vat_id"))
    assert failure.message == (
        "Seller's address and seller's VAT number were read with the name 'Kestrel Tools Ltd', "
        "which a person corrected; please look at them."
    )
    assert session.suggestions["seller.vat_id"][0].value == "GB123456782"
    assert value_at(session.data, "buyer.name") == "Marlow Fabrications Ltd"


def test_flat_names_of_a_schema_of_ones_own_are_followed_too(review: Review) -> None:
    names = ("supplier_name", "supplier_address", "supplier_vat_id", "supplier_phone", "customer_address")
    schema = schema_of(
        {"title": "bill", "type": "object", "properties": {name: {"type": "string"} for name in names}}
    )
    read: dict[str, JsonValue] = {
        "supplier_name": "Kestrel Tools Ltd",
        "supplier_address": "8 Forge Lane, Sheffield",
        "supplier_vat_id": "GB123456782",
        "customer_address": "Marlow Fabrications Ltd",
    }

    session = review({"supplier_name": "Wholly Other plc"}, read, document_type="bill", schema=schema)

    assert session.data is not None
    assert session.data["supplier_address"] is session.data["supplier_vat_id"] is None
    assert session.data["customer_address"] == "Marlow Fabrications Ltd"
    assert _failed(session)["dependent"] == ("supplier_address", "supplier_vat_id")


def test_what_a_person_confirmed_of_a_party_stays_with_it(review: Review) -> None:
    both = {"seller.name": "Other plc", "seller.vat_id": "GB123456782", "seller.address": "Elsewhere 1"}

    one = review({"seller.name": None, "seller.vat_id": "GB123456782"})

    assert value_at(one.data, "seller") == {"name": None, "address": None, "vat_id": "GB123456782"}
    assert _failed(one)["dependent"] == ("seller.address",)
    assert _failed(review(both)) == {}


@pytest.mark.parametrize("name", ["KESTREL TOOLS LIMITED", "Kestral Tools", "Kestrel Tools Sheffield Ltd"])
def test_another_spelling_of_a_name_keeps_what_was_read_with_it(review: Review, name: str) -> None:
    session = review({"seller.name": name})

    assert value_at(session.data, "seller.vat_id") == "GB123456782"
    assert session.judge()[0] == []


def test_the_shop_of_a_receipt_keeps_its_address_under_any_name(review: Review) -> None:
    session = review({"seller.name": "Wholly Other"}, READ, document_type="receipt")

    assert value_at(session.data, "seller.vat_id") == "GB123456782"


def test_an_xml_says_whose_the_vat_number_is(review: Review) -> None:
    session = review({"seller.name": "Wholly Other"})
    assert session.result.evidence is not None
    session.result.evidence["seller.vat_id"]["match"] = "embedded"

    assert value_at(session.data, "seller") == {
        "name": "Wholly Other",
        "address": None,
        "vat_id": "GB123456782",
    }


def test_the_tag_of_a_refuted_party_goes_and_comes_back(review: Review) -> None:
    tags = ("Kestrel Tools Ltd", "tools")
    suggested = {"seller.name": "Kestrel Tools Ltd"}
    nobody = {"seller": {"name": None, "address": None, "vat_id": None}}

    refuted, withheld, accepted, doubted, undone = (
        describe_reviewed(session).tags
        for session in (
            review({"seller.name": "Foo Works Ltd"}, tags=tags),
            review({"seller.name": "Foo Works Ltd"}, nobody, suggested=suggested, tags=tags),
            review({"seller.name": "Kestrel Tools Ltd"}, nobody, suggested=suggested, tags=tags),
            review({"number": "KT-1"}, nobody, suggested=suggested, tags=tags),
            review({}, tags=tags),
        )
    )

    assert "Kestrel Tools Ltd" not in {*refuted, *withheld, *doubted}
    assert "tools" in refuted
    assert "Kestrel Tools Ltd" in accepted
    assert undone == tags
