from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from docmill.model.document import Document, LayerDoubt
from docmill.model.result import Evidence, Extraction, Failure
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Receipt
from docmill.understanding.gate import RuleGate

Judge = Callable[..., list[Failure]]


def test_seller_and_buyer_are_two(judge: Judge) -> None:
    same: dict[str, tuple[object, str]] = {"seller.name": ("Acme Ltd.", ""), "buyer.name": ("ACME LTD", "")}

    (failure,) = judge("same_party", "nothing", same)

    assert failure.message == "Seller and buyer are the same: 'Acme Ltd.'."
    assert not judge("same_party", "nothing", {**same, "buyer.name": ("Acme Trading Ltd", "")})


def test_an_address_that_both_have_is_asked_about_with_the_name(judge: Judge) -> None:
    same: dict[str, tuple[object, str]] = {
        f"{party}.{member}": (text, "")
        for party in ("seller", "buyer")
        for member, text in (("name", "Acme Ltd."), ("address", "Main Street 1, 10115 Berlin"))
    }

    (failure,) = judge("same_party", "nothing", same)

    assert set(failure.fields) == set(same)


def test_a_vat_number_of_both_is_doubted_if_it_is_one(judge: Judge) -> None:
    both: dict[str, tuple[object, str]] = {
        "seller.vat_id": ("DE136695976", ""),
        "buyer.vat_id": ("DE136695976", ""),
    }

    assert judge("same_party", "nothing", both)
    assert not judge("same_party", "nothing", dict.fromkeys(both, ("DE123456789", "")))


@pytest.mark.parametrize(
    "page",
    [
        "Bill to: Acme Ltd",
        "Carrier: Acme Ltd",
        "Agency: Acme Ltd",
        "Ship to:\nAcme Ltd",
        "Kunde: Acme Ltd",
        "Transporteur : Acme Ltd",
    ],
)
def test_a_seller_beside_the_label_of_another_party_is_doubted(judge: Judge, page: str) -> None:
    (failure,) = judge("party_label", page, {"seller.name": ("Acme Ltd", "Acme Ltd")})

    assert failure.message.startswith("Seller 'Acme Ltd' stands beside another label: ")
    assert failure.fields == ("seller.name",)


@pytest.mark.parametrize(
    "page",
    [
        "Seller: Acme Ltd",
        "Acme Ltd\nBill to: Halden Freight",
        "Name: Acme Ltd",
        "Bill to: Halden Freight   Acme Ltd",
        "Ship to:                         Invoice\n                                 Acme Ltd",
    ],
)
def test_a_seller_beside_its_own_label_or_none_passes(judge: Judge, page: str) -> None:
    assert judge("party_label", page, {"seller.name": ("Acme Ltd", "Acme Ltd")}) == []


def test_a_buyer_may_be_the_agency_and_is_not_the_supplier(judge: Judge) -> None:
    buyer = {"buyer.name": ("Acme Ltd", "Acme Ltd")}

    assert judge("party_label", "Supplier: Acme Ltd", buyer)
    assert not judge("party_label", "Agency: Acme Ltd", buyer)


def test_an_amount_at_the_edge_of_a_picture_may_be_cut(judge: Judge) -> None:
    total = {"gross_total": (Decimal("112.00"), "112.00")}
    cut, whole = f"{'Total':<34}112.00", f"{'Total':<30}112.00"

    assert judge("cut_off", cut, total, engine="rapidocr")
    assert not judge("cut_off", whole, total, engine="rapidocr")
    assert not judge("cut_off", cut, total)


def test_a_date_at_an_edge_that_cuts_the_paper_may_be_cut(typeset: Callable[..., Document]) -> None:
    whole = typeset(f"{'Date':<89}03/04/2026\n{'Thank you':>100}", source="ocr")
    box = whole.find("03/04/2026")[0].box
    proof = Evidence(page=1, box=box, text="03/04/2026", match="exact", confidence=1)
    read = Extraction(
        document_type="receipt", data=Receipt(issue_date=date(2026, 4, 3)), evidence={"issue_date": proof}
    )

    def checks(*edges: str) -> set[str]:
        page = replace(whole.pages[0], engine="rapidocr", cut_edges=edges)
        verdict = RuleGate().judge(replace(whole, pages=[page]), read, REGISTRY["receipt"])
        return {failure.check for failure in verdict.failures}

    assert box.x1 < 1
    assert "cut_off" in checks("right")
    assert "cut_off" not in checks("bottom")


@pytest.mark.parametrize(
    ("doubt", "quality", "is_asked"),
    [(None, 0.5, False), ("contradicted", 0.95, False), ("contradicted", 0.5, True)],
)
def test_a_page_whose_text_is_not_believed_and_not_read_well_needs_a_person(
    typeset: Callable[..., Document], doubt: LayerDoubt | None, quality: float, *, is_asked: bool
) -> None:
    whole = typeset("Total   12.00", source="ocr")
    page = replace(whole.pages[0], layer_doubt=doubt, quality=quality)
    read = Extraction(document_type="receipt", data=Receipt(), evidence={})

    verdict = RuleGate().judge(replace(whole, pages=[page]), read, REGISTRY["receipt"])

    assert ("text_layer" in {failure.check for failure in verdict.failures}) is is_asked


def test_a_total_on_the_last_line_of_a_picture_that_cuts_the_paper_is_doubted(
    typeset: Callable[..., Document],
) -> None:
    whole = typeset("Tea   12.00\nCake   100.00\nAmount   112.00", source="ocr")
    whole = replace(whole, pages=[replace(whole.pages[0], engine="rapidocr")])
    page = replace(whole.pages[0], cut_edges=("bottom",))
    place = whole.find("112.00")[0]
    data = Receipt(gross_total=Decimal("112.00"))
    proof = Evidence(page=1, box=place.box, text="112.00", match="exact", confidence=1)
    read = Extraction(document_type="receipt", data=data, evidence={"gross_total": proof})

    def checks(document: Document) -> set[str]:
        verdict = RuleGate().judge(document, read, REGISTRY["receipt"])
        return {failure.check for failure in verdict.failures}

    assert "cut_off" in checks(replace(whole, pages=[page]))
    assert "cut_off" not in checks(whole)


def test_a_subtotal_that_is_the_last_amount_is_no_total(judge: Judge) -> None:
    receipt = REGISTRY["receipt"]
    total = {"gross_total": (Decimal("112.00"), "112.00")}

    assert judge("subtotal", "Tea   112.00\nSubtotal   112.00 \n", total, schema=receipt) == []
    assert judge("subtotal", "Tea   100.00\nCake   12.00\nSubtotal   112.00", total, schema=receipt)
    assert not judge("subtotal", "Tea   100.00\nCake   12.00\nTotal   112.00", total, schema=receipt)


def test_a_subtotal_that_a_payment_or_the_tax_proves_is_the_total(judge: Judge) -> None:
    receipt = REGISTRY["receipt"]
    page = "Tea   100.00\nCake   12.00\nSubtotal   112.00"
    total = {"gross_total": (Decimal("112.00"), "112.00")}
    sums = {"net_total": (Decimal("105.66"), ""), "tax_total": (Decimal("6.34"), "")}

    assert judge("subtotal", f"{page}\nCash   150.00\nChange   30.00", total, schema=receipt)
    assert not judge("subtotal", f"{page}\nCash   150.00\nChange   38.00", total, schema=receipt)
    assert not judge("subtotal", page, {**total, **sums}, schema=receipt)


@pytest.mark.parametrize("title", ["Credit note 17", "AVOIR", "Nota de crédito nº 17"])
def test_an_invoice_under_the_title_of_a_credit_note_is_asked_about(judge: Judge, title: str) -> None:
    page = f"{title}\nAcme Ltd\nTotal   112.00"

    assert judge("credit_title", page, {})
    assert not judge(
        "credit_title", "Invoice\nAcme Ltd\nTotal   112.00\nWe issue a credit note on request", {}
    )
    assert not judge("credit_title", page, {}, schema=REGISTRY["credit_note"])


def test_an_invoice_with_a_negative_total_is_asked_about(judge: Judge) -> None:
    assert judge("negative_invoice", "Invoice", {"gross_total": (Decimal("-8.79"), "")})
