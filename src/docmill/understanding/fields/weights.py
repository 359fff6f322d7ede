"""How much each label speaks for each field. Scores are sums of these; a learned table can replace them."""

from collections.abc import Mapping

from docmill.model.result import DocumentType
from docmill.understanding.vocabulary.concepts import DATE_CONCEPTS, Concept

Weights = Mapping[Concept, float]

_FOREIGN_NUMBERS: Weights = {
    Concept.OTHER_NUMBER: -3,
    Concept.REGISTRATION_NUMBER: -5,
    Concept.TAX_NUMBER: -5,
    Concept.VAT_NUMBER: -5,
    Concept.PHONE: -5,
    Concept.ACCOUNT: -4,
    Concept.IBAN: -5,
    Concept.BIC: -5,
    Concept.QUANTITY: -2,
    Concept.PRICE: -2,
    Concept.AMOUNT: -2,
    Concept.TIME: -3,
    Concept.TAX: -1.5,
    Concept.CONTACT: -2,
    Concept.BANK: -3,
}


def _number(own: Weights, *others: Concept) -> Weights:
    return {**_FOREIGN_NUMBERS, **dict.fromkeys(others, -2.0), **own}


_NUMBER_FIELDS = {
    "order_number": {Concept.ORDER_NUMBER: 4, Concept.PURCHASE_ORDER_NUMBER: 4.2},
    "contract_number": {Concept.CONTRACT_NUMBER: 4},
    "customer_number": {Concept.CUSTOMER_NUMBER: 4},
    "delivery_note_number": {Concept.DELIVERY_NOTE_NUMBER: 4},
}
_NUMBER_CONCEPTS = (
    Concept.INVOICE_NUMBER,
    Concept.RECEIPT_NUMBER,
    Concept.DOCUMENT_NUMBER,
    Concept.ORDER_NUMBER,
    Concept.PURCHASE_ORDER_NUMBER,
    Concept.DELIVERY_NOTE_NUMBER,
    Concept.CONTRACT_NUMBER,
    Concept.CUSTOMER_NUMBER,
    Concept.STATEMENT_NUMBER,
)

_OWN_NUMBER: Mapping[DocumentType, Weights] = {
    "invoice": _number(
        {Concept.INVOICE_NUMBER: 4, Concept.DOCUMENT_NUMBER: 2.2, Concept.RECEIPT_NUMBER: 2},
        *_NUMBER_CONCEPTS,
    ),
    "receipt": _number(
        {Concept.INVOICE_NUMBER: 3.5, Concept.RECEIPT_NUMBER: 3.5, Concept.DOCUMENT_NUMBER: 3},
        *_NUMBER_CONCEPTS,
    ),
    "purchase_order": _number(
        {
            Concept.ORDER_NUMBER: 3.8,
            Concept.PURCHASE_ORDER_NUMBER: 4,
            Concept.CONFIRMATION_NUMBER: 0.6,
            Concept.DOCUMENT_NUMBER: 2,
            Concept.CONTRACT_NUMBER: 3.4,
        },
        *_NUMBER_CONCEPTS,
    ),
    "delivery_note": _number(
        {Concept.DELIVERY_NOTE_NUMBER: 4, Concept.DOCUMENT_NUMBER: 2.2}, *_NUMBER_CONCEPTS
    ),
    "bank_statement": _number({Concept.STATEMENT_NUMBER: 4, Concept.DOCUMENT_NUMBER: 2}, *_NUMBER_CONCEPTS),
    "other": {},
}

OWN_NUMBER: Mapping[DocumentType, Weights] = {
    kind: {**weights, Concept.REFERRED: -2.5} for kind, weights in _OWN_NUMBER.items()
}
"""The document's own number, by the document's type."""

REFERENCES: Mapping[str, Weights] = {
    field: _number(own, *_NUMBER_CONCEPTS) for field, own in _NUMBER_FIELDS.items()
}
"""Numbers of other documents and of the customer."""

NULL_NUMBER = 1.5


def _date(own: Weights) -> Weights:
    return {**dict.fromkeys(DATE_CONCEPTS, -2.0), **own}


_ISSUED: Mapping[DocumentType, Concept] = {
    "invoice": Concept.INVOICE_DATE,
    "receipt": Concept.INVOICE_DATE,
    "purchase_order": Concept.ORDER_DATE,
    "delivery_note": Concept.DELIVERY_DATE,
}


_OTHER_PAPERS = (
    Concept.ORDER_NUMBER,
    Concept.PURCHASE_ORDER_NUMBER,
    Concept.DELIVERY_NOTE_NUMBER,
    Concept.CONTRACT_NUMBER,
)
"""A date beside one of these is that paper's own."""


def issue_date(document_type: DocumentType) -> Weights:
    """The date a document of this type was made out."""
    weights = {
        Concept.DATE: 3,
        Concept.INVOICE_DATE: 3,
        Concept.TIME: 1,
        Concept.INVOICE_NUMBER: 0.8,
        Concept.DOCUMENT_NUMBER: 0.8,
        Concept.RECEIPT_NUMBER: 0.8,
    }
    if document_type == "invoice":
        weights |= dict.fromkeys(_OTHER_PAPERS, -1.5)
        weights[Concept.REFERRED] = -2.5
    own = _ISSUED.get(document_type)
    if own is not None:
        weights[own] = 4 if document_type != "delivery_note" else 0.5
    return _date(weights)


DATES: Mapping[str, Weights] = {
    "due_date": _date({Concept.DUE_DATE: 4}),
    "delivery_date": _date({Concept.DELIVERY_DATE: 4}),
    "period_start": _date(
        {Concept.PERIOD: 2.5, Concept.SERVICE_PERIOD: 3.6, Concept.PERIOD_START: 2.2, Concept.DATE: -0.5}
    ),
    "period_end": _date(
        {Concept.PERIOD: 2.5, Concept.SERVICE_PERIOD: 3.6, Concept.PERIOD_END: 2.2, Concept.DATE: -0.5}
    ),
}
NULL_DATE = 1.5

_NEVER_TOTALS: Weights = {
    Concept.QUANTITY: -3,
    Concept.PRICE: -2.5,
    Concept.CHANGE: -4,
    Concept.DISCOUNT: -3,
    Concept.COMMISSION: -3,
    Concept.PAID: -1.5,
    Concept.TIP: -2,
    Concept.OPENING_BALANCE: -3,
    Concept.CLOSING_BALANCE: -3,
    Concept.PHONE: -4,
    Concept.REGISTRATION_NUMBER: -4,
    Concept.TAX_NUMBER: -4,
    Concept.OTHER_NUMBER: -2,
    Concept.TIME: -3,
}

MONEY: Mapping[str, Weights] = {
    "gross_total": {
        **_NEVER_TOTALS,
        Concept.TOTAL: 2.4,
        Concept.GRAND: 2.6,
        Concept.GROSS: 1.6,
        Concept.DUE: 1.4,
        Concept.INCLUDING: 1.2,
        Concept.AMOUNT: 0.8,
        Concept.SUBTOTAL: -2.6,
        Concept.EXCLUDING: -3,
        Concept.NET: -1.2,
        Concept.TAX: -1.6,
        Concept.ROUNDING: -0.6,
        Concept.PAID: -0.4,
    },
    "net_total": {
        **_NEVER_TOTALS,
        Concept.NET: 2.6,
        Concept.SUBTOTAL: 2,
        Concept.EXCLUDING: 2.2,
        Concept.TOTAL: 1,
        Concept.AMOUNT: 0.4,
        Concept.GROSS: -2.5,
        Concept.INCLUDING: -2,
        Concept.TAX: -1,
        Concept.DUE: -2,
        Concept.GRAND: -1.5,
        Concept.ROUNDING: -3,
    },
    "tax_total": {
        **_NEVER_TOTALS,
        Concept.TAX: 3,
        Concept.TOTAL: 0.4,
        Concept.AMOUNT: 0.2,
        Concept.NET: -1.5,
        Concept.GROSS: -2.5,
        Concept.INCLUDING: -0.8,
        Concept.EXCLUDING: -2,
        Concept.SUBTOTAL: -2.5,
        Concept.DUE: -2.5,
        Concept.GRAND: -2,
        Concept.ROUNDING: -3,
    },
    "amount_due": {
        **_NEVER_TOTALS,
        Concept.DUE: 3.5,
        Concept.TOTAL: 0.3,
        Concept.AMOUNT: 0.3,
        Concept.TAX: -2.5,
        Concept.NET: -0.5,
        Concept.SUBTOTAL: -2.5,
        Concept.DUE_DATE: 0,
    },
    "tip": {Concept.TIP: 3.5, Concept.TOTAL: -1},
    "opening_balance": {Concept.OPENING_BALANCE: 4, Concept.CLOSING_BALANCE: -2},
    "closing_balance": {Concept.CLOSING_BALANCE: 4, Concept.OPENING_BALANCE: -2},
}
NULL_MONEY: Mapping[str, float] = {
    "gross_total": 0.8,
    "net_total": 1.8,
    "tax_total": 1.8,
    "amount_due": 2,
    "tip": 2,
    "opening_balance": 2,
    "closing_balance": 2,
}


def score(clues: Mapping[Concept, float], weights: Weights) -> float:
    """The sum of the labels' weights, each as strong as its label."""
    return sum(strength * weights.get(concept, 0.0) for concept, strength in clues.items())
