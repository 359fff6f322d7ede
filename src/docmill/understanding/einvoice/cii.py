"""Table of terms of UN/CEFACT's Cross Industry Invoice: D16B, and ZUGFeRD 1 with its older names."""

from docmill.understanding.einvoice.terms import Group, Section, Table, Term, amount, day, text

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


def _dated(number: str, path: str) -> Term:
    """A date, within the type of its format or, in drafts of ZUGFeRD 1, without."""
    return day(number, f"{path}/DateTimeString|DateString", path)


SELLER = (
    text("BT-27", "Name"),
    text("BT-29", "ID", "GlobalID"),
    text("BT-30", "SpecifiedLegalOrganization/ID"),
    text("BT-31", "SpecifiedTaxRegistration/ID[@schemeID=VA]"),
    text("BT-32", "SpecifiedTaxRegistration/ID[@schemeID=FC]"),
    text("BT-35", "PostalTradeAddress/LineOne"),
    text("BT-36", "PostalTradeAddress/LineTwo"),
    text("BT-162", "PostalTradeAddress/LineThree"),
    text("BT-37", "PostalTradeAddress/CityName"),
    text("BT-38", "PostalTradeAddress/PostcodeCode"),
    text("BT-39", "PostalTradeAddress/CountrySubDivisionName"),
    text("BT-40", "PostalTradeAddress/CountryID"),
)
BUYER = (
    text("BT-44", "Name"),
    text("BT-46", "ID", "GlobalID"),
    text("BT-48", "SpecifiedTaxRegistration/ID[@schemeID=VA]"),
    text("BT-50", "PostalTradeAddress/LineOne"),
    text("BT-51", "PostalTradeAddress/LineTwo"),
    text("BT-163", "PostalTradeAddress/LineThree"),
    text("BT-52", "PostalTradeAddress/CityName"),
    text("BT-53", "PostalTradeAddress/PostcodeCode"),
    text("BT-54", "PostalTradeAddress/CountrySubDivisionName"),
    text("BT-55", "PostalTradeAddress/CountryID"),
)

LINE = (
    text("BT-126", "AssociatedDocumentLineDocument/LineID"),
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
_CHARGED = "SpecifiedTradeAllowanceCharge[ChargeIndicator/Indicator={}]"
_ALLOWANCE, _CHARGE = _CHARGED.format("false"), _CHARGED.format("true")


def charged(path: str, number: str, terms: tuple[str, str, str]) -> Group:
    """Allowances or charges of the document: amount, VAT category and rate."""
    worth, category, rate = terms
    return Group(
        number,
        path,
        (
            amount(worth, "ActualAmount"),
            text(category, "CategoryTradeTax/CategoryCode"),
            amount(rate, f"CategoryTradeTax/{_RATE}"),
        ),
    )


def totals(sums: str) -> tuple[Term, ...]:
    """The totals that invoices and orders have alike. sums: where they stand."""
    return (
        amount("BT-106", f"{sums}/LineTotalAmount"),
        amount("BT-107", f"{sums}/AllowanceTotalAmount"),
        amount("BT-108", f"{sums}/ChargeTotalAmount"),
        amount("BT-109", f"{sums}/TaxBasisTotalAmount"),
        amount(
            "BT-110", f"{sums}/TaxTotalAmount[@currencyID={{BT-5}}]", f"{sums}/TaxTotalAmount[!@currencyID]"
        ),
        amount("BT-112", f"{sums}/GrandTotalAmount"),
    )


INVOICE = Table(
    terms=(
        text(
            "BT-24",
            f"{_CONTEXT}/GuidelineSpecifiedDocumentContextParameter/ID",
        ),
        text("BT-1", f"{_DOCUMENT}/ID"),
        _dated("BT-2", f"{_DOCUMENT}/IssueDateTime"),
        text("BT-3", f"{_DOCUMENT}/TypeCode"),
        text("BT-5", f"{_SETTLEMENT}/InvoiceCurrencyCode"),
        _dated("BT-9", f"{_SETTLEMENT}/SpecifiedTradePaymentTerms/DueDateDateTime"),
        text("BT-12", f"{_AGREEMENT}/ContractReferencedDocument/{_ID}"),
        text("BT-13", f"{_AGREEMENT}/BuyerOrderReferencedDocument/{_ID}"),
        text(
            "BT-16",
            f"{_DELIVERY}/DespatchAdviceReferencedDocument/{_ID}",
            f"{_DELIVERY}/DeliveryNoteReferencedDocument/{_ID}",
        ),
        text("BT-20", f"{_SETTLEMENT}/SpecifiedTradePaymentTerms/Description"),
        _dated("BT-72", f"{_DELIVERY}/ActualDeliverySupplyChainEvent/OccurrenceDateTime"),
        text("BT-80", f"{_DELIVERY}/ShipToTradeParty/PostalTradeAddress/CountryID"),
        _dated("BT-73", f"{_SETTLEMENT}/BillingSpecifiedPeriod/StartDateTime"),
        _dated("BT-74", f"{_SETTLEMENT}/BillingSpecifiedPeriod/EndDateTime"),
        text(
            "BT-63",
            f"{_AGREEMENT}/SellerTaxRepresentativeTradeParty/SpecifiedTaxRegistration/ID[@schemeID=VA]",
        ),
        text("BT-81", f"{_MEANS}/TypeCode"),
        text("BT-84", f"{_MEANS}/PayeePartyCreditorFinancialAccount/IBANID"),
        text("account", f"{_MEANS}/PayeePartyCreditorFinancialAccount/ProprietaryID"),
        text("BT-86", f"{_MEANS}/PayeeSpecifiedCreditorFinancialInstitution/BICID"),
        *totals(_SUMS),
        amount("BT-113", f"{_SUMS}/TotalPrepaidAmount"),
        amount("BT-114", f"{_SUMS}/RoundingAmount"),
        amount("BT-115", f"{_SUMS}/DuePayableAmount"),
    ),
    sections=(
        Section((f"{_AGREEMENT}/SellerTradeParty",), SELLER),
        Section((f"{_AGREEMENT}/BuyerTradeParty",), BUYER),
    ),
    groups=(
        charged(f"{_SETTLEMENT}/{_ALLOWANCE}", "BG-20", ("BT-92", "BT-95", "BT-96")),
        charged(f"{_SETTLEMENT}/{_CHARGE}", "BG-21", ("BT-99", "BT-102", "BT-103")),
        Group(
            "logistics",
            f"{_SETTLEMENT}/SpecifiedLogisticsServiceCharge",
            (
                amount("BT-99", "AppliedAmount"),
                text("BT-102", "AppliedTradeTax/CategoryCode"),
                amount("BT-103", f"AppliedTradeTax/{_RATE}"),
            ),
        ),
        Group(
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
        Group(
            "BG-25",
            f"{_DEAL}/IncludedSupplyChainTradeLineItem",
            LINE,
            (
                Group("BG-27", f"{_LINE_SETTLEMENT}/{_ALLOWANCE}", (amount("BT-136", "ActualAmount"),)),
                Group("BG-28", f"{_LINE_SETTLEMENT}/{_CHARGE}", (amount("BT-141", "ActualAmount"),)),
            ),
        ),
    ),
)
"""An invoice or a credit note."""
