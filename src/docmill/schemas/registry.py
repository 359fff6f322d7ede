"""Which schema belongs to which document type, and what it cannot do without."""

from docmill.model.result import Schema
from docmill.schemas.types import BankStatement, DeliveryNote, Invoice, Other, PurchaseOrder, Receipt

REGISTRY: dict[str, Schema] = {
    schema.name: schema
    for schema in (
        Schema("invoice", Invoice, ("number", "issue_date", "seller.name", "gross_total")),
        Schema("receipt", Receipt, ("issue_date", "seller.name", "gross_total")),
        Schema("purchase_order", PurchaseOrder, ("number", "issue_date")),
        Schema("delivery_note", DeliveryNote, ("number",)),
        Schema("bank_statement", BankStatement, ("iban", "period_end")),
        Schema("other", Other),
    )
}
"""The schemas that come with docmill, by document type."""
