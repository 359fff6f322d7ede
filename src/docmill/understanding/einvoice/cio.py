"""Table of terms of Order-X, UN/CEFACT's Cross Industry Order: those that EN 16931 has for invoices."""

from docmill.understanding.einvoice.cii import BUYER, LINE, SELLER, charged, totals
from docmill.understanding.einvoice.terms import Group, Section, Table, amount, day, text

_DEAL = "SupplyChainTradeTransaction"
_AGREEMENT = f"{_DEAL}/ApplicableHeaderTradeAgreement"
_SETTLEMENT = f"{_DEAL}/ApplicableHeaderTradeSettlement"
_SUMS = f"{_SETTLEMENT}/SpecifiedTradeSettlementHeaderMonetarySummation"
_WANTED = f"{_DEAL}/ApplicableHeaderTradeDelivery/RequestedDeliverySupplyChainEvent"
_AGREED = "SpecifiedLineTradeDelivery/AgreedQuantity"
_REQUESTED = "SpecifiedLineTradeDelivery/RequestedQuantity"
_CHARGED = f"{_SETTLEMENT}/SpecifiedTradeAllowanceCharge"

ORDER = Table(
    terms=(
        text("BT-24", "ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID"),
        text("BT-1", "ExchangedDocument/ID"),
        day("BT-2", "ExchangedDocument/IssueDateTime/DateTimeString"),
        text("BT-3", "ExchangedDocument/TypeCode"),
        text("BT-5", f"{_SETTLEMENT}/OrderCurrencyCode"),
        text("BT-12", f"{_AGREEMENT}/ContractReferencedDocument/IssuerAssignedID"),
        text("BT-13", f"{_AGREEMENT}/BuyerOrderReferencedDocument/IssuerAssignedID"),
        text("BT-20", f"{_SETTLEMENT}/SpecifiedTradePaymentTerms/Description"),
        day("BT-72", f"{_WANTED}/OccurrenceDateTime/DateTimeString"),
        day("BT-73", f"{_WANTED}/OccurrenceSpecifiedPeriod/StartDateTime/DateTimeString"),
        day("BT-74", f"{_WANTED}/OccurrenceSpecifiedPeriod/EndDateTime/DateTimeString"),
        text("BT-81", f"{_SETTLEMENT}/SpecifiedTradeSettlementPaymentMeans/TypeCode"),
        *totals(_SUMS),
    ),
    sections=(
        Section((f"{_AGREEMENT}/SellerTradeParty",), SELLER),
        Section((f"{_AGREEMENT}/BuyerTradeParty",), BUYER),
    ),
    groups=(
        charged(f"{_CHARGED}[ChargeIndicator/Indicator=false]", "BG-20", ("BT-92", "BT-95", "BT-96")),
        charged(f"{_CHARGED}[ChargeIndicator/Indicator=true]", "BG-21", ("BT-99", "BT-102", "BT-103")),
        Group(
            "BG-25",
            f"{_DEAL}/IncludedSupplyChainTradeLineItem",
            (
                *(term for term in LINE if term.number not in {"BT-129", "BT-130"}),
                amount("BT-129", _AGREED, _REQUESTED),
                text("BT-130", f"{_AGREED}/@unitCode", f"{_REQUESTED}/@unitCode"),
            ),
        ),
    ),
)
"""An order, a change of one, or the answer to one: what is agreed stands before what was asked for."""
