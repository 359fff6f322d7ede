"""The kinds of XML that say the same as an invoice, an order or a delivery note, by their root elements."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Syntax = Literal["cii", "cio", "ubl"]
"""UN/CEFACT's invoices, its orders, and OASIS UBL."""
Message = Literal["billing", "ordering", "despatch"]
"""Groups of messages, as Peppol calls them: invoices and credit notes, orders, despatch advices."""


class EInvoiceKind(NamedTuple):
    """name: as a person calls it. type_code: of UNTDID 1001, where the root itself says it."""

    message: Message
    syntax: Syntax
    name: str
    type_code: str = ""


_UBL = "urn:oasis:names:specification:ubl:schema:xsd:"

ROOTS: Mapping[str, EInvoiceKind] = {
    "{urn:un:unece:uncefact:data:standard:CBFBUY:5}Invoice": EInvoiceKind("billing", "cii", "ZUGFeRD draft"),
    "{urn:ferd:CrossIndustryDocument:invoice:1p0}CrossIndustryDocument": EInvoiceKind(
        "billing", "cii", "ZUGFeRD 1"
    ),
    "{urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100}CrossIndustryInvoice": EInvoiceKind(
        "billing", "cii", "UN/CEFACT CII"
    ),
    "{urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100}SCRDMCCBDACIOMessageStructure": (
        EInvoiceKind("ordering", "cio", "Order-X")
    ),
    f"{{{_UBL}Invoice-2}}Invoice": EInvoiceKind("billing", "ubl", "UBL invoice"),
    f"{{{_UBL}CreditNote-2}}CreditNote": EInvoiceKind("billing", "ubl", "UBL credit note", "381"),
    f"{{{_UBL}Order-2}}Order": EInvoiceKind("ordering", "ubl", "UBL order"),
    f"{{{_UBL}OrderChange-2}}OrderChange": EInvoiceKind("ordering", "ubl", "UBL order change"),
    f"{{{_UBL}OrderResponse-2}}OrderResponse": EInvoiceKind("ordering", "ubl", "UBL order response"),
    f"{{{_UBL}DespatchAdvice-2}}DespatchAdvice": EInvoiceKind("despatch", "ubl", "UBL despatch advice"),
}
"""By the root's name with its namespace in braces. The versions of UBL 2 share their namespaces."""

ENVELOPE = "{http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader}StandardBusinessDocument"
"""The root of what Peppol sends: the document stands in it beside a header."""
ATTACHED = re.compile(r"(?:factur-x|zugferd-invoice|xrechnung|order-x)\.xml", re.IGNORECASE)
"""Names by which PDFs attach them: what has such a name should be one, even if it cannot be read."""

STYLESHEET = "http://www.w3.org/1999/XSL/Transform"
_FAMILIES = ("urn:un:unece:uncefact:data:", "urn:ferd:CrossIndustryDocument:", _UBL)
"""Beginnings of the namespaces of UN/CEFACT's messages, of ZUGFeRD 1 and of UBL."""
_NAMES = frozenset(root.rpartition("}")[2] for root in ROOTS)
_OWN_NAMES = frozenset(name for name in _NAMES if name.startswith(("CrossIndustry", "SCRDM")))
"""Names that nothing else has, whatever its namespace."""
_CONTENTS = (
    frozenset({"ExchangedDocument", "SupplyChainTradeTransaction"}),
    frozenset({"HeaderExchangedDocument", "SpecifiedSupplyChainTradeTransaction"}),
    frozenset({"AccountingSupplierParty", "AccountingCustomerParty", "LegalMonetaryTotal"}),
)
"""Names of elements that only invoices and orders have together."""


def is_misnamed(tags: Sequence[str]) -> bool:
    """True if the elements are those of an invoice, order or delivery note, but the root element is not.

    tags: names with their namespaces in braces, the root's first. Another document of UBL or UN/CEFACT, whose
    root has the name of its namespace, is what it says.
    """
    root, names = tags[0], frozenset(tag.rpartition("}")[2] for tag in tags)
    space, _, name = root.removeprefix("{").rpartition("}")
    if root in ROOTS or space == STYLESHEET:
        return False
    if space.startswith(_FAMILIES) and name not in _NAMES:
        message = re.sub(r"[-:][\d.]+$", "", space)
        if message.endswith(f":{name}"):
            return False
    is_of_family = any(tag.removeprefix("{").startswith(_FAMILIES) for tag in tags)
    return is_of_family or name in _OWN_NAMES or any(contents <= names for contents in _CONTENTS)
