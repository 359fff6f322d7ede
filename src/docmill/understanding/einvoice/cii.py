"""Syntax bindings of UN/CEFACT: the Cross Industry Invoice (D16B, and ZUGFeRD 1) and Order (Order-X)."""

from docmill.understanding.einvoice.terms import (
    BUYER_TERMS,
    SELLER_TERMS,
    BusinessGroup,
    BusinessTerm,
    PartyTerms,
    Section,
    SyntaxBinding,
    amount,
    charge_group,
    day,
    text,
)

_CONTEXT = "ExchangedDocumentContext|SpecifiedExchangedDocumentContext"
_DOCUMENT = "ExchangedDocument|HeaderExchangedDocument"
_DEAL = "SupplyChainTradeTransaction|SpecifiedSupplyChainTradeTransaction"
_AGREEMENT = f"{_DEAL}/ApplicableHeaderTradeAgreement|ApplicableSupplyChainTradeAgreement"
_DELIVERY = f"{_DEAL}/ApplicableHeaderTradeDelivery|ApplicableSupplyChainTradeDelivery"
_SETTLEMENT = f"{_DEAL}/ApplicableHeaderTradeSettlement|ApplicableSupplyChainTradeSettlement"
_SUMS = (
    f"{_SETTLEMENT}/SpecifiedTradeSettlementHeaderMonetarySummation|SpecifiedTradeSettlementMonetarySummation"
)
_MEANS = f"{_SETTLEMENT}/SpecifiedTradeSettlementPaymentMeans"
_LINE_AGREEMENT = "SpecifiedLineTradeAgreement|SpecifiedSupplyChainTradeAgreement"
_LINE_DELIVERY = "SpecifiedLineTradeDelivery|SpecifiedSupplyChainTradeDelivery"
_LINE_SETTLEMENT = "SpecifiedLineTradeSettlement|SpecifiedSupplyChainTradeSettlement"
_LINE_SUM = "SpecifiedTradeSettlementLineMonetarySummation|SpecifiedTradeSettlementMonetarySummation"
_RATE = "RateApplicablePercent|ApplicablePercent"
_VAT = "[TypeCode=VAT]"
_ID = "IssuerAssignedID|ID"


def _dated(number: str, path: str) -> BusinessTerm:
    """A date, which drafts of ZUGFeRD 1 write without the element for its format."""
    return day(number, f"{path}/DateTimeString|DateString", path)


def _party(numbers: PartyTerms) -> tuple[BusinessTerm, ...]:
    name, identifier, vat_id, first, second, third, city, code, subdivision, country = numbers
    return (
        text(name, "Name"),
        text(identifier, "ID", "GlobalID"),
        text(vat_id, "SpecifiedTaxRegistration/ID[@schemeID=VA]"),
        text(first, "PostalTradeAddress/LineOne"),
        text(second, "PostalTradeAddress/LineTwo"),
        text(third, "PostalTradeAddress/LineThree"),
        text(city, "PostalTradeAddress/CityName"),
        text(code, "PostalTradeAddress/PostcodeCode"),
        text(subdivision, "PostalTradeAddress/CountrySubDivisionName"),
        text(country, "PostalTradeAddress/CountryID"),
    )


_SELLER = (
    *_party(SELLER_TERMS),
    text("BT-30", "SpecifiedLegalOrganization/ID"),
    text("BT-32", "SpecifiedTaxRegistration/ID[@schemeID=FC]"),
)
_LINE = (
    text("BT-126", "AssociatedDocumentLineDocument/LineID"),
    text("parent line", "AssociatedDocumentLineDocument/ParentLineID"),
    text("line role", "AssociatedDocumentLineDocument/LineStatusReasonCode"),
    amount("BT-129", f"{_LINE_DELIVERY}/BilledQuantity"),
    text("BT-130", f"{_LINE_DELIVERY}/BilledQuantity/@unitCode"),
    amount("BT-131", f"{_LINE_SETTLEMENT}/{_LINE_SUM}/LineTotalAmount"),
    amount("BT-146", f"{_LINE_AGREEMENT}/NetPriceProductTradePrice/ChargeAmount"),
    amount("BT-148", f"{_LINE_AGREEMENT}/GrossPriceProductTradePrice/ChargeAmount"),
    amount("BT-149", f"{_LINE_AGREEMENT}/NetPriceProductTradePrice/BasisQuantity"),
    text("BT-151", f"{_LINE_SETTLEMENT}/ApplicableTradeTax{_VAT}/CategoryCode"),
    amount("BT-152", f"{_LINE_SETTLEMENT}/ApplicableTradeTax{_VAT}/{_RATE}"),
    text("BT-153", "SpecifiedTradeProduct/Name"),
    _dated("BT-134", f"{_LINE_SETTLEMENT}/BillingSpecifiedPeriod/StartDateTime"),
    _dated("BT-135", f"{_LINE_SETTLEMENT}/BillingSpecifiedPeriod/EndDateTime"),
)
_CHARGES = "SpecifiedTradeAllowanceCharge[ChargeIndicator/Indicator={}]"
_ALLOWANCE, _CHARGE = _CHARGES.format("false"), _CHARGES.format("true")
_HEADER = (
    text("BT-24", f"{_CONTEXT}/GuidelineSpecifiedDocumentContextParameter/ID"),
    text("BT-1", f"{_DOCUMENT}/ID"),
    _dated("BT-2", f"{_DOCUMENT}/IssueDateTime"),
    text("BT-3", f"{_DOCUMENT}/TypeCode"),
    text("BT-5", f"{_SETTLEMENT}/InvoiceCurrencyCode|OrderCurrencyCode"),
    text("BT-12", f"{_AGREEMENT}/ContractReferencedDocument/{_ID}"),
    text("BT-13", f"{_AGREEMENT}/BuyerOrderReferencedDocument/{_ID}"),
    text("BT-20", f"{_SETTLEMENT}/SpecifiedTradePaymentTerms/Description"),
    text("BT-81", f"{_MEANS}/TypeCode"),
    amount("BT-106", f"{_SUMS}/LineTotalAmount"),
    amount("BT-107", f"{_SUMS}/AllowanceTotalAmount"),
    amount("BT-108", f"{_SUMS}/ChargeTotalAmount"),
    amount("BT-109", f"{_SUMS}/TaxBasisTotalAmount"),
    amount(
        "BT-110", f"{_SUMS}/TaxTotalAmount[@currencyID={{BT-5}}]", f"{_SUMS}/TaxTotalAmount[!@currencyID]"
    ),
    amount("BT-112", f"{_SUMS}/GrandTotalAmount"),
)
_PARTIES = (
    Section((f"{_AGREEMENT}/SellerTradeParty",), _SELLER),
    Section((f"{_AGREEMENT}/BuyerTradeParty",), _party(BUYER_TERMS)),
)
_CHARGE_PATHS = ("ActualAmount", "CategoryTradeTax/CategoryCode", f"CategoryTradeTax/{_RATE}")
_DOCUMENT_CHARGES = (
    charge_group("BG-20", f"{_SETTLEMENT}/{_ALLOWANCE}", ("BT-92", "BT-95", "BT-96"), _CHARGE_PATHS),
    charge_group("BG-21", f"{_SETTLEMENT}/{_CHARGE}", ("BT-99", "BT-102", "BT-103"), _CHARGE_PATHS),
)
_LINES = f"{_DEAL}/IncludedSupplyChainTradeLineItem"

INVOICE = SyntaxBinding(
    terms=(
        *_HEADER,
        _dated("BT-9", f"{_SETTLEMENT}/SpecifiedTradePaymentTerms/DueDateDateTime"),
        text(
            "BT-16",
            f"{_DELIVERY}/DespatchAdviceReferencedDocument/{_ID}",
            f"{_DELIVERY}/DeliveryNoteReferencedDocument/{_ID}",
        ),
        _dated("BT-72", f"{_DELIVERY}/ActualDeliverySupplyChainEvent/OccurrenceDateTime"),
        text("BT-80", f"{_DELIVERY}/ShipToTradeParty/PostalTradeAddress/CountryID"),
        text(
            "BT-25",
            f"{_SETTLEMENT}/InvoiceReferencedDocument/IssuerAssignedID",
            f"{_SETTLEMENT}/InvoiceReferencedDocument/ID",
        ),
        _dated("BT-26", f"{_SETTLEMENT}/InvoiceReferencedDocument/FormattedIssueDateTime"),
        _dated("BT-73", f"{_SETTLEMENT}/BillingSpecifiedPeriod/StartDateTime"),
        _dated("BT-74", f"{_SETTLEMENT}/BillingSpecifiedPeriod/EndDateTime"),
        text(
            "BT-63",
            f"{_AGREEMENT}/SellerTaxRepresentativeTradeParty/SpecifiedTaxRegistration/ID[@schemeID=VA]",
        ),
        text("BT-84", f"{_MEANS}/PayeePartyCreditorFinancialAccount/IBANID"),
        text("account", f"{_MEANS}/PayeePartyCreditorFinancialAccount/ProprietaryID"),
        text("BT-86", f"{_MEANS}/PayeeSpecifiedCreditorFinancialInstitution/BICID"),
        amount("BT-113", f"{_SUMS}/TotalPrepaidAmount"),
        amount("BT-114", f"{_SUMS}/RoundingAmount"),
        amount("BT-115", f"{_SUMS}/DuePayableAmount"),
    ),
    sections=_PARTIES,
    groups=(
        *_DOCUMENT_CHARGES,
        charge_group(
            "logistics",
            f"{_SETTLEMENT}/SpecifiedLogisticsServiceCharge",
            ("BT-99", "BT-102", "BT-103"),
            ("AppliedAmount", "AppliedTradeTax/CategoryCode", f"AppliedTradeTax/{_RATE}"),
        ),
        BusinessGroup(
            "BG-23",
            f"{_SETTLEMENT}/ApplicableTradeTax",
            (
                amount("BT-116", "BasisAmount"),
                amount("BT-117", "CalculatedAmount"),
                text("BT-118", "CategoryCode"),
                amount("BT-119", _RATE),
                text("BT-120", "ExemptionReason"),
                text("BT-121", "ExemptionReasonCode"),
            ),
        ),
        BusinessGroup(
            "BG-25",
            _LINES,
            _LINE,
            (
                BusinessGroup(
                    "BG-27", f"{_LINE_SETTLEMENT}/{_ALLOWANCE}", (amount("BT-136", "ActualAmount"),)
                ),
                BusinessGroup("BG-28", f"{_LINE_SETTLEMENT}/{_CHARGE}", (amount("BT-141", "ActualAmount"),)),
            ),
        ),
    ),
)
"""An invoice or a credit note."""

_REQUESTED_DELIVERY = f"{_DELIVERY}/RequestedDeliverySupplyChainEvent"
_AGREED, _REQUESTED = f"{_LINE_DELIVERY}/AgreedQuantity", f"{_LINE_DELIVERY}/RequestedQuantity"

ORDER = SyntaxBinding(
    terms=(
        *_HEADER,
        _dated("BT-72", f"{_REQUESTED_DELIVERY}/OccurrenceDateTime"),
        _dated("BT-73", f"{_REQUESTED_DELIVERY}/OccurrenceSpecifiedPeriod/StartDateTime"),
        _dated("BT-74", f"{_REQUESTED_DELIVERY}/OccurrenceSpecifiedPeriod/EndDateTime"),
    ),
    sections=_PARTIES,
    groups=(
        *_DOCUMENT_CHARGES,
        BusinessGroup(
            "BG-25",
            _LINES,
            (
                *(term for term in _LINE if term.number not in {"BT-129", "BT-130"}),
                amount("BT-129", _AGREED, _REQUESTED),
                text("BT-130", f"{_AGREED}/@unitCode", f"{_REQUESTED}/@unitCode"),
            ),
        ),
    ),
)
"""An order, a change of one, or the answer to one; an agreed quantity comes before a requested one."""
