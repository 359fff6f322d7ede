"""Syntax bindings of OASIS UBL: invoices, credit notes, orders and despatch advices."""

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

_MEANS = "PaymentMeans"
_ACCOUNT = f"{_MEANS}/PayeeFinancialAccount"
_SUMS = "LegalMonetaryTotal|AnticipatedMonetaryTotal|RequestedMonetaryTotal"
_VAT_ID = (
    "Party/PartyTaxScheme[TaxScheme/ID=VAT]/CompanyID",
    "Party/PartyTaxScheme[TaxScheme/TaxTypeCode=VAT]/CompanyID",
)
_ADDRESS = "Party/PostalAddress"


def _party(numbers: PartyTerms) -> tuple[BusinessTerm, ...]:
    name, identifier, vat_id, first, second, third, city, code, subdivision, country = numbers
    return (
        text(name, "Party/PartyLegalEntity/RegistrationName", "Party/PartyName/Name"),
        text(identifier, "Party/PartyIdentification/ID[!@schemeID]", "Party/PartyIdentification/ID"),
        text(vat_id, *_VAT_ID),
        text(first, f"{_ADDRESS}/StreetName"),
        text(f"{first} house", f"{_ADDRESS}/BuildingNumber"),
        text(second, f"{_ADDRESS}/AdditionalStreetName"),
        text(third, f"{_ADDRESS}/AddressLine/Line"),
        text(city, f"{_ADDRESS}/CityName"),
        text(code, f"{_ADDRESS}/PostalZone"),
        text(subdivision, f"{_ADDRESS}/CountrySubentity"),
        text(country, f"{_ADDRESS}/Country/IdentificationCode"),
    )


_SELLER = (
    *_party(SELLER_TERMS),
    text("BT-30", "Party/PartyLegalEntity/CompanyID"),
    text("BT-32", "Party/PartyTaxScheme[TaxScheme/ID=FC]/CompanyID"),
)
_BUYER = (text("customer", "SupplierAssignedAccountID"), *_party(BUYER_TERMS))
_IDENTITY = (
    text("BT-24", "CustomizationID"),
    text("BT-1", "ID"),
    day("BT-2", "IssueDate"),
    text("BT-3", "InvoiceTypeCode|CreditNoteTypeCode|OrderTypeCode|DespatchAdviceTypeCode"),
    text("BT-5", "DocumentCurrencyCode"),
    text("currency", f"{_SUMS}/PayableAmount/@currencyID", f"{_SUMS}/LineExtensionAmount/@currencyID"),
)
_TOTALS = (
    amount("BT-106", f"{_SUMS}/LineExtensionAmount"),
    amount("BT-107", f"{_SUMS}/AllowanceTotalAmount"),
    amount("BT-108", f"{_SUMS}/ChargeTotalAmount"),
    amount("BT-109", f"{_SUMS}/TaxExclusiveAmount"),
    amount("BT-110", "TaxTotal/TaxAmount[@currencyID={BT-5}]"),
    amount("BT-112", f"{_SUMS}/TaxInclusiveAmount"),
    amount("BT-113", f"{_SUMS}/PrepaidAmount"),
    amount("BT-114", f"{_SUMS}/PayableRoundingAmount"),
    amount("BT-115", f"{_SUMS}/PayableAmount"),
)
_PAYMENT = (
    text("BT-20", "PaymentTerms/Note"),
    text("BT-81", f"{_MEANS}/PaymentMeansCode"),
    text("BT-84", f"{_ACCOUNT}/ID"),
    text("BT-86", f"{_ACCOUNT}/FinancialInstitutionBranch/ID"),
)
_CHARGE_PATHS = ("Amount", "TaxCategory/ID", "TaxCategory/Percent")
_CHARGES = (
    charge_group(
        "BG-20", "AllowanceCharge[ChargeIndicator=false]", ("BT-92", "BT-95", "BT-96"), _CHARGE_PATHS
    ),
    charge_group(
        "BG-21", "AllowanceCharge[ChargeIndicator=true]", ("BT-99", "BT-102", "BT-103"), _CHARGE_PATHS
    ),
)
_LINE_CHARGES = (
    BusinessGroup("BG-27", "AllowanceCharge[ChargeIndicator=false]", (amount("BT-136", "Amount"),)),
    BusinessGroup("BG-28", "AllowanceCharge[ChargeIndicator=true]", (amount("BT-141", "Amount"),)),
)


def _line(quantity: str) -> tuple[BusinessTerm, ...]:
    return (
        text("BT-126", "ID"),
        amount("BT-129", quantity),
        text("BT-130", f"{quantity}/@unitCode"),
        amount("BT-131", "LineExtensionAmount"),
        amount("BT-146", "Price/PriceAmount"),
        amount("BT-148", "Price/AllowanceCharge/BaseAmount"),
        amount("BT-149", "Price/BaseQuantity"),
        text("BT-151", "Item/ClassifiedTaxCategory/ID", "TaxTotal/TaxSubtotal/TaxCategory/ID"),
        amount("BT-152", "Item/ClassifiedTaxCategory/Percent", "TaxTotal/TaxSubtotal/TaxCategory/Percent"),
        text("BT-153", "Item/Name", "Item/Description"),
        day("BT-134", "InvoicePeriod/StartDate"),
        day("BT-135", "InvoicePeriod/EndDate"),
    )


INVOICE = SyntaxBinding(
    terms=(
        *_IDENTITY,
        *_TOTALS,
        *_PAYMENT,
        text("BT-63", "TaxRepresentativeParty/PartyTaxScheme[TaxScheme/ID=VAT]/CompanyID"),
        day("BT-9", "DueDate", f"{_MEANS}/PaymentDueDate"),
        text("BT-12", "ContractDocumentReference/ID"),
        text("BT-13", "OrderReference/ID"),
        text("BT-14", "OrderReference/SalesOrderID"),
        text("BT-16", "DespatchDocumentReference/ID"),
        text("BT-25", "BillingReference/InvoiceDocumentReference/ID"),
        day("BT-26", "BillingReference/InvoiceDocumentReference/IssueDate"),
        day("BT-72", "Delivery/ActualDeliveryDate"),
        day("BT-73", "InvoicePeriod/StartDate"),
        day("BT-74", "InvoicePeriod/EndDate"),
        text("BT-80", "Delivery/DeliveryLocation/Address/Country/IdentificationCode"),
    ),
    sections=(Section(("AccountingSupplierParty",), _SELLER), Section(("AccountingCustomerParty",), _BUYER)),
    groups=(
        *_CHARGES,
        BusinessGroup(
            "BG-23",
            "TaxTotal/TaxSubtotal",
            (
                amount("BT-116", "TaxableAmount"),
                amount("BT-117", "TaxAmount"),
                text("BT-118", "TaxCategory/ID"),
                amount("BT-119", "TaxCategory/Percent"),
                text("BT-120", "TaxCategory/TaxExemptionReason"),
                text("BT-121", "TaxCategory/TaxExemptionReasonCode"),
            ),
        ),
        BusinessGroup(
            "BG-25", "InvoiceLine|CreditNoteLine", _line("InvoicedQuantity|CreditedQuantity"), _LINE_CHARGES
        ),
    ),
)
"""An invoice or a credit note, also of UBL 2.0, which has some terms in other places than EN 16931."""

ORDER = SyntaxBinding(
    terms=(
        *_IDENTITY,
        *_TOTALS,
        *_PAYMENT,
        text("BT-12", "Contract/ID"),
        text("BT-13", "OrderReference/ID"),
        day("BT-73", "Delivery/RequestedDeliveryPeriod/StartDate"),
        day("BT-74", "Delivery/RequestedDeliveryPeriod/EndDate"),
    ),
    sections=(Section(("SellerSupplierParty",), _SELLER), Section(("BuyerCustomerParty",), _BUYER)),
    groups=(*_CHARGES, BusinessGroup("BG-25", "OrderLine/LineItem", _line("Quantity"), _LINE_CHARGES)),
)
"""An order, a change of one, or the answer to one."""

DESPATCH = SyntaxBinding(
    terms=(
        *_IDENTITY,
        text("BT-12", "ContractDocumentReference/ID"),
        text("BT-13", "OrderReference/ID"),
        day("BT-72", "Shipment/Delivery/ActualDeliveryDate"),
    ),
    sections=(
        Section(("SellerSupplierParty", "DespatchSupplierParty"), _SELLER),
        Section(("BuyerCustomerParty", "DeliveryCustomerParty"), _BUYER),
    ),
    groups=(BusinessGroup("BG-25", "DespatchLine", _line("DeliveredQuantity")),),
)
"""A delivery note. Its parties are those of the sale if it names them, else sender and recipient."""
