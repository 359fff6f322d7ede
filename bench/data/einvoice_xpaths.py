"""XPaths of the terms of e-invoices, written apart from docmill's own tables to check those.

Each path gives the text of the term in a file of that syntax. Where a syntax has the term in two places, the
first path that finds a text counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lxml import etree

Paths = Mapping[str, Sequence[str]]

_NAMES = {
    "rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
    "ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
    "udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
    "z": "urn:ferd:CrossIndustryDocument:invoice:1p0",
    "a": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:12",
    "u": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:15",
    "o": "urn:un:unece:uncefact:data:SCRDMCCBDACIOMessageStructure:100",
    "r": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:128",
    "t": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:128",
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
    "cbc": "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
}


def _cii_party(path: str, ram: str) -> dict[str, list[str]]:
    return {
        "name": [f"{path}/{ram}:Name"],
        "vat_id": [f"{path}/{ram}:SpecifiedTaxRegistration/{ram}:ID[@schemeID='VA']"],
        "id": [f"{path}/{ram}:ID", f"{path}/{ram}:GlobalID"],
    }


def _under(owner: str, paths: Mapping[str, list[str]], *names: str) -> dict[str, list[str]]:
    return {f"{owner}.{name}": paths[name] for name in names}


_SELLER = _cii_party("//ram:ApplicableHeaderTradeAgreement/ram:SellerTradeParty", "ram")
_BUYER = _cii_party("//ram:ApplicableHeaderTradeAgreement/ram:BuyerTradeParty", "ram")
_SETTLED = "//ram:ApplicableHeaderTradeSettlement"
_SUM = f"{_SETTLED}/ram:SpecifiedTradeSettlementHeaderMonetarySummation"
CII: Paths = {
    "number": ["/*/rsm:ExchangedDocument/ram:ID"],
    "issue_date": ["/*/rsm:ExchangedDocument/ram:IssueDateTime/udt:DateTimeString"],
    "due_date": [f"{_SETTLED}/ram:SpecifiedTradePaymentTerms/ram:DueDateDateTime/udt:DateTimeString"],
    "delivery_date": ["//ram:ActualDeliverySupplyChainEvent/ram:OccurrenceDateTime/udt:DateTimeString"],
    "period_start": [f"{_SETTLED}/ram:BillingSpecifiedPeriod/ram:StartDateTime/udt:DateTimeString"],
    "period_end": [f"{_SETTLED}/ram:BillingSpecifiedPeriod/ram:EndDateTime/udt:DateTimeString"],
    **_under("seller", _SELLER, "name", "vat_id"),
    **_under("buyer", _BUYER, "name", "vat_id"),
    "customer_number": _BUYER["id"],
    "order_number": [
        "//ram:ApplicableHeaderTradeAgreement/ram:BuyerOrderReferencedDocument/ram:IssuerAssignedID"
    ],
    "delivery_note_number": [
        "//ram:ApplicableHeaderTradeDelivery/ram:DespatchAdviceReferencedDocument/ram:IssuerAssignedID",
        "//ram:ApplicableHeaderTradeDelivery/ram:DeliveryNoteReferencedDocument/ram:IssuerAssignedID",
    ],
    "contract_number": [
        "//ram:ApplicableHeaderTradeAgreement/ram:ContractReferencedDocument/ram:IssuerAssignedID"
    ],
    "currency": [f"{_SETTLED}/ram:InvoiceCurrencyCode"],
    "net_total": [f"{_SUM}/ram:TaxBasisTotalAmount"],
    "tax_total": [
        f"{_SUM}/ram:TaxTotalAmount[@currencyID = {_SETTLED}/ram:InvoiceCurrencyCode]",
        f"{_SUM}/ram:TaxTotalAmount[not(@currencyID)]",
    ],
    "gross_total": [f"{_SUM}/ram:GrandTotalAmount"],
    "amount_due": [f"{_SUM}/ram:DuePayableAmount"],
    "payment.iban": ["//ram:PayeePartyCreditorFinancialAccount/ram:IBANID"],
    "payment.bic": ["//ram:PayeeSpecifiedCreditorFinancialInstitution/ram:BICID"],
    "payment.terms": [f"{_SETTLED}/ram:SpecifiedTradePaymentTerms/ram:Description"],
    "payment.method": [f"{_SETTLED}/ram:SpecifiedTradeSettlementPaymentMeans/ram:TypeCode"],
    "lines": ["//ram:IncludedSupplyChainTradeLineItem"],
    "lines.position": ["ram:AssociatedDocumentLineDocument/ram:LineID"],
    "lines.description": ["ram:SpecifiedTradeProduct/ram:Name"],
    "lines.quantity": ["ram:SpecifiedLineTradeDelivery/ram:BilledQuantity"],
    "lines.unit": ["ram:SpecifiedLineTradeDelivery/ram:BilledQuantity/@unitCode"],
    "lines.unit_price": ["ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice/ram:ChargeAmount"],
    "lines.net_amount": [
        "ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount"
    ],
    "lines.tax_rate": ["ram:SpecifiedLineTradeSettlement/ram:ApplicableTradeTax/ram:RateApplicablePercent"],
}

_OLD_SETTLED = "//a:ApplicableSupplyChainTradeSettlement"
_OLD_LINE = "//a:IncludedSupplyChainTradeLineItem"
_OLD_SUM = f"{_OLD_SETTLED}/a:SpecifiedTradeSettlementMonetarySummation"
ZUGFERD_1: Paths = {
    "number": ["/*/z:HeaderExchangedDocument/a:ID"],
    "issue_date": ["/*/z:HeaderExchangedDocument/a:IssueDateTime/u:DateTimeString"],
    "delivery_date": ["//a:ActualDeliverySupplyChainEvent/a:OccurrenceDateTime/u:DateTimeString"],
    **_under(
        "seller",
        _cii_party("//a:ApplicableSupplyChainTradeAgreement/a:SellerTradeParty", "a"),
        "name",
        "vat_id",
    ),
    **_under(
        "buyer",
        _cii_party("//a:ApplicableSupplyChainTradeAgreement/a:BuyerTradeParty", "a"),
        "name",
        "vat_id",
    ),
    "currency": [f"{_OLD_SETTLED}/a:InvoiceCurrencyCode"],
    "net_total": [f"{_OLD_SUM}/a:TaxBasisTotalAmount"],
    "tax_total": [f"{_OLD_SUM}/a:TaxTotalAmount"],
    "gross_total": [f"{_OLD_SUM}/a:GrandTotalAmount"],
    "amount_due": [f"{_OLD_SUM}/a:DuePayableAmount"],
    "payment.iban": ["//a:PayeePartyCreditorFinancialAccount/a:IBANID"],
    "payment.bic": ["//a:PayeeSpecifiedCreditorFinancialInstitution/a:BICID"],
    "payment.terms": [f"{_OLD_SETTLED}/a:SpecifiedTradePaymentTerms/a:Description"],
    "lines": [f"{_OLD_LINE}[a:SpecifiedTradeProduct/a:Name or .//a:LineTotalAmount or .//a:BilledQuantity]"],
    "lines.description": ["a:SpecifiedTradeProduct/a:Name"],
    "lines.quantity": ["a:SpecifiedSupplyChainTradeDelivery/a:BilledQuantity"],
    "lines.unit_price": ["a:SpecifiedSupplyChainTradeAgreement/a:NetPriceProductTradePrice/a:ChargeAmount"],
    "lines.net_amount": [
        "a:SpecifiedSupplyChainTradeSettlement/a:SpecifiedTradeSettlementMonetarySummation/a:LineTotalAmount"
    ],
}

_ORDERED = "//r:ApplicableHeaderTradeSettlement"
_ORDER_SUM = f"{_ORDERED}/r:SpecifiedTradeSettlementHeaderMonetarySummation"
ORDER_X: Paths = {
    "number": ["/*/o:ExchangedDocument/r:ID"],
    "issue_date": ["/*/o:ExchangedDocument/r:IssueDateTime/t:DateTimeString"],
    **_under(
        "seller", _cii_party("//r:ApplicableHeaderTradeAgreement/r:SellerTradeParty", "r"), "name", "vat_id"
    ),
    **_under(
        "buyer", _cii_party("//r:ApplicableHeaderTradeAgreement/r:BuyerTradeParty", "r"), "name", "vat_id"
    ),
    "currency": [f"{_ORDERED}/r:OrderCurrencyCode"],
    "net_total": [f"{_ORDER_SUM}/r:TaxBasisTotalAmount"],
    "tax_total": [f"{_ORDER_SUM}/r:TaxTotalAmount"],
    "gross_total": [f"{_ORDER_SUM}/r:GrandTotalAmount"],
    "payment.terms": [f"{_ORDERED}/r:SpecifiedTradePaymentTerms/r:Description"],
    "lines": ["//r:IncludedSupplyChainTradeLineItem"],
    "lines.position": ["r:AssociatedDocumentLineDocument/r:LineID"],
    "lines.description": ["r:SpecifiedTradeProduct/r:Name"],
    "lines.quantity": [
        "r:SpecifiedLineTradeDelivery/r:AgreedQuantity",
        "r:SpecifiedLineTradeDelivery/r:RequestedQuantity",
    ],
    "lines.unit_price": ["r:SpecifiedLineTradeAgreement/r:NetPriceProductTradePrice/r:ChargeAmount"],
    "lines.net_amount": [".//r:SpecifiedTradeSettlementLineMonetarySummation/r:LineTotalAmount"],
}


def _ubl_party(path: str) -> dict[str, list[str]]:
    return {
        "name": [
            f"{path}/cac:Party/cac:PartyLegalEntity/cbc:RegistrationName",
            f"{path}/cac:Party/cac:PartyName/cbc:Name",
        ],
        "vat_id": [
            f"{path}/cac:Party/cac:PartyTaxScheme[cac:TaxScheme/cbc:ID='VAT']/cbc:CompanyID",
            f"{path}/cac:Party/cac:PartyTaxScheme[cac:TaxScheme/cbc:TaxTypeCode='VAT']/cbc:CompanyID",
        ],
    }


_TOTAL = "/*/cac:LegalMonetaryTotal"
UBL: Paths = {
    "number": ["/*/cbc:ID"],
    "issue_date": ["/*/cbc:IssueDate"],
    "due_date": ["/*/cbc:DueDate", "/*/cac:PaymentMeans/cbc:PaymentDueDate"],
    "delivery_date": ["/*/cac:Delivery/cbc:ActualDeliveryDate"],
    "period_start": ["/*/cac:InvoicePeriod/cbc:StartDate"],
    "period_end": ["/*/cac:InvoicePeriod/cbc:EndDate"],
    **_under("seller", _ubl_party("/*/cac:AccountingSupplierParty"), "name", "vat_id"),
    **_under("buyer", _ubl_party("/*/cac:AccountingCustomerParty"), "name", "vat_id"),
    "order_number": [
        "/*/cac:OrderReference[not(cbc:SalesOrderID)]/cbc:ID",
        "/*/cac:OrderReference[cbc:ID != 'Dummywert' and cbc:ID != 'NA']/cbc:ID",
    ],
    "delivery_note_number": ["/*/cac:DespatchDocumentReference/cbc:ID"],
    "contract_number": ["/*/cac:ContractDocumentReference/cbc:ID"],
    "currency": ["/*/cbc:DocumentCurrencyCode", f"{_TOTAL}/cbc:PayableAmount/@currencyID"],
    "net_total": [f"{_TOTAL}/cbc:TaxExclusiveAmount"],
    "tax_total": [
        "/*/cac:TaxTotal/cbc:TaxAmount[@currencyID = /*/cbc:DocumentCurrencyCode]",
        "/*[not(cbc:DocumentCurrencyCode)]/cac:TaxTotal/cbc:TaxAmount",
    ],
    "amount_due": [f"{_TOTAL}/cbc:PayableAmount"],
    "payment.terms": ["/*/cac:PaymentTerms/cbc:Note"],
    "payment.method": ["/*/cac:PaymentMeans/cbc:PaymentMeansCode"],
    "lines": ["/*/cac:InvoiceLine", "/*/cac:CreditNoteLine"],
    "lines.position": ["cbc:ID"],
    "lines.description": ["cac:Item/cbc:Name"],
    "lines.quantity": ["cbc:InvoicedQuantity", "cbc:CreditedQuantity"],
    "lines.unit": ["cbc:InvoicedQuantity/@unitCode", "cbc:CreditedQuantity/@unitCode"],
    "lines.unit_price": ["cac:Price/cbc:PriceAmount"],
    "lines.net_amount": ["cbc:LineExtensionAmount"],
    "lines.tax_rate": [
        "cac:Item/cac:ClassifiedTaxCategory/cbc:Percent",
        "cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory/cbc:Percent",
    ],
}
EN16931_UBL: Paths = {
    **UBL,
    "gross_total": [f"{_TOTAL}/cbc:TaxInclusiveAmount"],
    "payment.iban": ["/*/cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID"],
    "payment.bic": ["/*/cac:PaymentMeans/cac:PayeeFinancialAccount/cac:FinancialInstitutionBranch/cbc:ID"],
}

UBL_ORDER: Paths = {
    "number": ["/*/cbc:ID"],
    "issue_date": ["/*/cbc:IssueDate"],
    **_under("seller", _ubl_party("/*/cac:SellerSupplierParty"), "name", "vat_id"),
    **_under("buyer", _ubl_party("/*/cac:BuyerCustomerParty"), "name", "vat_id"),
    "lines": ["/*/cac:OrderLine/cac:LineItem"],
    "lines.position": ["cbc:ID"],
    "lines.quantity": ["cbc:Quantity"],
    "lines.unit_price": ["cac:Price/cbc:PriceAmount"],
    "lines.net_amount": ["cbc:LineExtensionAmount"],
}
DESPATCH: Paths = {
    "number": ["/*/cbc:ID"],
    "issue_date": ["/*/cbc:IssueDate"],
    "order_number": ["/*/cac:OrderReference/cbc:ID"],
    **_under("seller", _ubl_party("/*/cac:DespatchSupplierParty"), "name", "vat_id"),
    **_under("buyer", _ubl_party("/*/cac:DeliveryCustomerParty"), "name", "vat_id"),
    "lines": ["/*/cac:DespatchLine"],
    "lines.position": ["cbc:ID"],
    "lines.quantity": ["cbc:DeliveredQuantity"],
}


def paths_of(root: Any) -> Paths | None:
    """Return the table for a file by its root; None for a syntax without one."""
    name = etree.QName(root).localname
    customization = " ".join(root.xpath("/*/cbc:CustomizationID/text()", namespaces=_NAMES))
    if name == "Invoice" and "en16931" in customization:
        return EN16931_UBL
    if name == "Invoice" and "CBFBUY" in root.tag:
        return None
    return {
        "CrossIndustryInvoice": CII,
        "CrossIndustryDocument": ZUGFERD_1,
        "SCRDMCCBDACIOMessageStructure": ORDER_X,
        "Invoice": UBL,
        "CreditNote": UBL,
        "Order": UBL_ORDER,
        "DespatchAdvice": DESPATCH,
    }.get(name)


def expected(content: bytes) -> dict[str, str | None] | None:
    """Return the file's text for each path of its table, lines by index; None without a table."""
    root: Any = etree.fromstring(content.lstrip(b"\xef\xbb\xbf \t\r\n"))
    paths = paths_of(root)
    return None if paths is None else dict(_said(root, paths))


def _said(root: Any, paths: Paths) -> Iterator[tuple[str, str | None]]:
    for path, places in paths.items():
        if not path.startswith("lines"):
            yield path, _text(root, places)
    lines = [line for place in paths["lines"] for line in root.xpath(place, namespaces=_NAMES)]
    for index, line in enumerate(lines):
        for path, places in paths.items():
            if path.startswith("lines."):
                yield f"lines[{index}].{path.removeprefix('lines.')}", _text(line, places)


def _text(element: Any, places: Sequence[str]) -> str | None:
    for place in places:
        for found in element.xpath(place, namespaces=_NAMES):
            text = found if isinstance(found, str) else "".join(found.itertext())
            if text.strip():
                return text.strip()
    return None


def elements(root: Any, path: str) -> list[Any]:
    """Return the elements of a header term."""
    paths = paths_of(root)
    return [
        found
        for place in (paths or {}).get(path, ())
        for found in root.xpath(place, namespaces=_NAMES)
        if not isinstance(found, str)
    ]
