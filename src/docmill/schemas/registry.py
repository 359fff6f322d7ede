"""Which schema belongs to which document type, and what it cannot do without."""

from dataclasses import dataclass

from docmill.model import DocumentType
from docmill.schemas.fields import Fields
from docmill.schemas.types import BankStatement, DeliveryNote, Invoice, Other, PurchaseOrder, Receipt


@dataclass(frozen=True, slots=True)
class Schema:
    """The fields of a document type. critical: paths without which the data is of no use to its owner."""

    fields: type[Fields]
    critical: tuple[str, ...]


REGISTRY: dict[DocumentType, Schema] = {
    "invoice": Schema(Invoice, ("number", "issue_date", "seller.name", "gross_total")),
    "receipt": Schema(Receipt, ("issue_date", "seller.name", "gross_total")),
    "purchase_order": Schema(PurchaseOrder, ("number", "issue_date")),
    "delivery_note": Schema(DeliveryNote, ("number",)),
    "bank_statement": Schema(BankStatement, ("iban", "period_end")),
    "other": Schema(Other, ()),
}
