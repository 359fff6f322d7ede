"""The kinds of XML that say the same as an invoice, an order or a delivery note, by their root elements."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from docmill.model import DocumentType

Syntax = Literal["cii", "cio", "ubl"]
"""UN/CEFACT's invoices, its orders, and OASIS UBL."""


class EInvoiceKind(NamedTuple):
    """name: as a person calls it."""

    document_type: DocumentType
    syntax: Syntax
    name: str


_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"

ROOTS: Mapping[str, EInvoiceKind] = {
    "{urn:un:unece:uncefact:data:standard:CBFBUY:5}Invoice": EInvoiceKind("invoice", "cii", "ZUGFeRD draft"),
    "{urn:ferd:CrossIndustryDocument:invoice:1p0}CrossIndustryDocument": EInvoiceKind(
        "invoice", "cii", "ZUGFeRD 1"
    ),
    "{urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100}CrossIndustryInvoice": EInvoiceKind(
        "invoice", "cii", "UN/CEFACT CII"
    ),
    "{urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100}SCRDMCCBDACIOMessageStructure": (
        EInvoiceKind("purchase_order", "cio", "Order-X")
    ),
    f"{{{_UBL}Invoice-2}}Invoice": EInvoiceKind("invoice", "ubl", "UBL invoice"),
    f"{{{_UBL}CreditNote-2}}CreditNote": EInvoiceKind("invoice", "ubl", "UBL credit note"),
    f"{{{_UBL}Order-2}}Order": EInvoiceKind("purchase_order", "ubl", "UBL order"),
    f"{{{_UBL}OrderChange-2}}OrderChange": EInvoiceKind("purchase_order", "ubl", "UBL order change"),
    f"{{{_UBL}OrderResponse-2}}OrderResponse": EInvoiceKind("purchase_order", "ubl", "UBL order response"),
    f"{{{_UBL}DespatchAdvice-2}}DespatchAdvice": EInvoiceKind("delivery_note", "ubl", "UBL despatch advice"),
}
"""By the root's name with its namespace in braces. The versions of UBL 2 share their namespaces."""

ENVELOPE = "{http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader}StandardBusinessDocument"
"""What Peppol sends them in: the document stands in it beside a header."""
ATTACHED = re.compile(r"(?:factur-x|zugferd-invoice|xrechnung|order-x)\.xml", re.IGNORECASE)
"""Names by which PDFs attach them: what has such a name should be one, even if it cannot be read."""
