"""Real documents that belong together, in ../shared/data/orders, as a matcher gets them, and their truth.

The chain of UBL: order AEG012345, despatch advice, receipt advice, invoice, credit note, remittance advice.
A receipt advice is taken for the buyer's delivery note, a remittance advice for a statement of one payment.
The international order of the same number, parties and goods, in another currency, belongs to none of them.
Order-X: orders with their changes and responses, which are all of the type of orders.
"""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

from bench.data.shared import DATA
from docmill.schemas.types import BankStatement, DeliveryNote, Line, Party, Transaction
from docmill.training.linked_documents.generator import groups_of
from docmill.training.linked_documents.truth import GeneratedDocument, LabelledDocuments, TrueLink, Truth
from docmill.understanding.einvoice.reading import einvoice
from docmill.understanding.einvoice.terms import Element

UBL = DATA / "orders/ubl/raw/xml"
ORDER_X = (
    DATA / "orders/order-x/Order-x_100_EN/05-ORDER-X_EXAMPLES/_ORDER-x_EXAMPLES_BASIC/_XML for direct access"
)
_NAMES = {
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}
_PAID_INVOICE = "cac:RemittanceAdviceLine/cac:BillingReference/cac:InvoiceDocumentReference"
_UBL_FILES = {
    "order": "Order",
    "despatch": "DespatchAdvice",
    "invoice": "Invoice",
    "credit note": "CreditNote",
    "international order": "Order",
}
_UBL_LINKS = (
    TrueLink("order", "despatch", "order_to_delivery"),
    TrueLink("order", "receipt advice", "order_to_delivery"),
    TrueLink("order", "invoice", "order_to_invoice"),
    TrueLink("despatch", "invoice", "delivery_to_invoice"),
    TrueLink("receipt advice", "invoice", "delivery_to_invoice"),
    TrueLink("invoice", "credit note", "invoice_to_credit_note"),
    TrueLink("invoice", "remittance#1", "invoice_to_payment"),
)
_ORDER_X_LINKS = (
    TrueLink("EX01_ORDER_FULL_DATA", "EX02_CHANGE", "order_to_response"),
    TrueLink("EX01_ORDER_FULL_DATA", "EX04_RESPONSE", "order_to_response"),
    TrueLink("EX07_ORDER_DELIVERED", "EX08_RESPONSE_A&R_NO_CHANGE", "order_to_response"),
)
_OTHER_ORDER = "EX11_ORDER_PICK-UP"


def ubl_chain() -> LabelledDocuments:
    """The chain of UBL with the order that does not belong to it. Raises OSError where the data is absent."""
    documents = [
        _document(name, UBL / f"UBL-{kind}-2.0-Example{'-International' * name.startswith('inter')}.xml")
        for name, kind in _UBL_FILES.items()
    ]
    documents += [_receipt_advice(), _remittance_advice()]
    return LabelledDocuments(tuple(documents), Truth(_UBL_LINKS, groups_of(_UBL_LINKS), (), ()))


def order_x_chains() -> LabelledDocuments:
    """Orders, a change and responses of Order-X. Raises OSError where the data is absent."""
    names = {name for link in _ORDER_X_LINKS for name in (link.first_id, link.second_id)} | {_OTHER_ORDER}
    documents = [_document(name, ORDER_X / f"ORDER-X_{name}-BASIC.xml") for name in sorted(names)]
    return LabelledDocuments(tuple(documents), Truth(_ORDER_X_LINKS, groups_of(_ORDER_X_LINKS), (), ()))


def _document(name: str, path: Path) -> GeneratedDocument:
    """A file as docmill reads it."""
    content = path.read_bytes()
    read = einvoice(content)
    data: Any = read.data
    text = _text(etree.fromstring(content))
    return GeneratedDocument(name, read.document_type, data, text, data.seller.name or "")


def _receipt_advice() -> GeneratedDocument:
    root = etree.fromstring((UBL / "UBL-ReceiptAdvice-2.0-Example.xml").read_bytes())
    data = DeliveryNote(
        number=_value(root, "cbc:ID"),
        issue_date=date.fromisoformat(_value(root, "cbc:IssueDate")),
        seller=Party(name=_value(root, "cac:DespatchSupplierParty/cac:Party/cac:PartyName/cbc:Name")),
        buyer=Party(name=_value(root, "cac:DeliveryCustomerParty/cac:Party/cac:PartyName/cbc:Name")),
        order_number=_value(root, "cac:OrderReference/cbc:ID"),
        lines=(
            Line(
                description=_value(root, "cac:ReceiptLine/cac:Item/cbc:Description"),
                quantity=Decimal(_value(root, "cac:ReceiptLine/cbc:ReceivedQuantity")),
            ),
        ),
    )
    return GeneratedDocument("receipt advice", "delivery_note", data, _text(root), data.seller.name or "")


def _remittance_advice() -> GeneratedDocument:
    root = etree.fromstring((UBL / "UBL-RemittanceAdvice-2.0-Example.xml").read_bytes())
    amount = root.find("cbc:TotalPaymentAmount", _NAMES)
    assert amount is not None
    paid = Transaction(
        date=date.fromisoformat(_value(root, "cbc:IssueDate")),
        amount=-Decimal(amount.text or ""),
        currency=amount.get("currencyID"),
        counterparty=_value(root, "cac:AccountingSupplierParty/cac:Party/cac:PartyName/cbc:Name"),
        reference=_value(
            root, "cac:RemittanceAdviceLine/cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID"
        ),
    )
    data = BankStatement(currency=paid.currency, transactions=(paid,))
    return GeneratedDocument("remittance", "bank_statement", data, _text(root), paid.counterparty or "")


def _value(root: Element, path: str) -> str:
    """The text at a path. Raises ValueError if it is not there."""
    text = root.findtext(path, namespaces=_NAMES)
    if not text:
        raise ValueError(f"{path} is not there")
    return text.strip()


def _text(root: Element) -> str:
    """All values of a document, one on each line."""
    lines = (str(text).strip() for text in root.itertext())
    return "\n".join(line for line in lines if line)
