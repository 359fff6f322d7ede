"""Meanings of labels and of the headings of tables, in any language."""

from enum import StrEnum, auto


class Concept(StrEnum):
    """The meaning of a label. A field has a weight for each concept; see `FieldMeaning`."""

    # identifiers
    INVOICE_NUMBER = auto()
    RECEIPT_NUMBER = auto()
    DOCUMENT_NUMBER = auto()
    ORDER_NUMBER = auto()
    CONFIRMATION_NUMBER = auto()
    PURCHASE_ORDER_NUMBER = auto()
    DELIVERY_NOTE_NUMBER = auto()
    CONTRACT_NUMBER = auto()
    CUSTOMER_NUMBER = auto()
    STATEMENT_NUMBER = auto()
    OTHER_NUMBER = auto()
    REGISTRATION_NUMBER = auto()
    TAX_NUMBER = auto()
    VAT_NUMBER = auto()
    PHONE = auto()
    ACCOUNT = auto()
    IBAN = auto()
    BIC = auto()
    # dates
    DATE = auto()
    INVOICE_DATE = auto()
    ORDER_DATE = auto()
    DELIVERY_DATE = auto()
    DUE_DATE = auto()
    OTHER_DATE = auto()
    REFERRED = auto()
    PERIOD = auto()
    SERVICE_PERIOD = auto()
    PERIOD_START = auto()
    PERIOD_END = auto()
    TIME = auto()
    # money
    TOTAL = auto()
    GRAND = auto()
    GROSS = auto()
    NET = auto()
    TAX = auto()
    WITHHELD = auto()
    INCLUDING = auto()
    EXCLUDING = auto()
    SUBTOTAL = auto()
    AMOUNT = auto()
    DUE = auto()
    PAID = auto()
    CHANGE = auto()
    ROUNDING = auto()
    DISCOUNT = auto()
    QUANTITY = auto()
    PRICE = auto()
    COMMISSION = auto()
    TIP = auto()
    OPENING_BALANCE = auto()
    CLOSING_BALANCE = auto()
    # parties
    SELLER = auto()
    BUYER = auto()
    ADVERTISER = auto()
    SHIP_TO = auto()
    SHIP_FROM = auto()
    ADDRESS = auto()
    CONTACT = auto()
    BANK = auto()
    COURTESY = auto()


DATE_CONCEPTS = frozenset(
    (
        Concept.DATE,
        Concept.INVOICE_DATE,
        Concept.ORDER_DATE,
        Concept.DELIVERY_DATE,
        Concept.DUE_DATE,
        Concept.OTHER_DATE,
        Concept.PERIOD,
        Concept.SERVICE_PERIOD,
        Concept.PERIOD_START,
        Concept.PERIOD_END,
    )
)
"""The concepts of labels that stand beside dates."""


class Column(StrEnum):
    """The meaning of a column of a table."""

    POSITION = auto()
    ARTICLE = auto()
    DESCRIPTION = auto()
    QUANTITY = auto()
    # Words for quantities ordered and delivered have the meaning of a quantity, too.
    ORDERED = auto()
    DELIVERED = auto()
    PREVIOUSLY_DELIVERED = auto()
    OUTSTANDING = auto()
    UNIT = auto()
    UNIT_PRICE = auto()
    PRICE_BASE = auto()
    DISCOUNT = auto()
    TAX_RATE = auto()
    TAX_AMOUNT = auto()
    NET_AMOUNT = auto()
    GROSS_AMOUNT = auto()
    # bookings
    DATE = auto()
    VALUE_DATE = auto()
    DEBIT = auto()
    CREDIT = auto()
    BALANCE = auto()
    COUNTERPARTY = auto()
    REFERENCE = auto()
    OTHER = auto()
