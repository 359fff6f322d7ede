"""Records to be matched, made from the extracted values and the text of a document."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from docmill.matching.match_record import Item, Kind, MatchRecord, PartyIdentity, Reference, ReferenceKind
from docmill.matching.parties import identity
from docmill.matching.references import payment_references, reference_key, references, text_references
from docmill.matching.return_words import return_words
from docmill.understanding.text.folding import fold

KINDS: Mapping[str, Kind] = {
    "quote": "quote",
    "contract": "contract",
    "purchase_order": "purchase_order",
    "delivery_note": "delivery_note",
    "invoice": "invoice",
    "credit_note": "credit_note",
    "reminder": "reminder",
    "receipt": "receipt",
    "ticket": "receipt",
}
"""The kind of the one record of a document, by its type. A card slip has none: its receipt has."""
STATEMENT = "bank_statement"
"""The document type of which each transaction is a record."""

_FIELDS: Sequence[tuple[ReferenceKind, str]] = (
    ("order", "order_number"),
    ("delivery_note", "delivery_note_number"),
    ("contract", "contract_number"),
    ("customer", "customer_number"),
    ("invoice", "preceding_invoice_number"),
    ("invoice", "invoice_number"),
)
_OWN: Mapping[Kind, ReferenceKind] = {
    "purchase_order": "order",
    "delivery_note": "delivery_note",
    "invoice": "invoice",
    "receipt": "invoice",
    "contract": "contract",
}
_PARTIES = {"contract": ("first_party", "second_party")}
_LONGEST_TEXT = 100_000
_MOST_DIGITS = 15
"""Digits of an amount before its point, as bank messages have them at most: a longer number was misread. With
15, products of prices and quantities to the cent still fit the 28 digits that decimals are computed with."""
_BANK_NUMBER = re.compile(r"\b(?:KREF|MREF|CRED|DEBT)\+\s?\S+")
"""Numbers that banks give, in the texts of German statements: they name no document."""


def is_matchable(document_type: str | None) -> bool:
    """Whether documents of a type are matched."""
    return document_type in KINDS or document_type == STATEMENT


def records_of(
    document_id: str, document_type: str | None, data: Mapping[str, Any], text: str = ""
) -> list[MatchRecord]:
    """The records of a document: one, or one for each transaction of a bank statement, or none.

    data: its values as in JSON (numbers may be texts). text: all that it says; numbers in it count as
    references too.
    """
    if document_type == STATEMENT:
        return list(_payments(document_id, data))
    kind = KINDS.get(document_type or "")
    return [] if kind is None else [_record(document_id, kind, data, text[:_LONGEST_TEXT])]


def _record(document_id: str, kind: Kind, data: Mapping[str, Any], text: str) -> MatchRecord:
    seller, buyer = _PARTIES.get(kind, ("seller", "buyer"))
    number = next(references(_OWN.get(kind, "text"), _text(data.get("number"))), None)
    found = [reference for name, path in _FIELDS for reference in references(name, _text(data.get(path)))]
    found.extend(payment_references(text))
    payment = _mapping(data.get("payment"))
    return MatchRecord(
        id=document_id,
        document_id=document_id,
        kind=kind,
        number=number,
        references=tuple(dict.fromkeys(found)),
        seller=_party(data.get(seller), _text(payment.get("iban"))),
        buyer=_party(data.get(buyer)),
        currency=(_text(data.get("currency")) or "").upper(),
        net_total=_amount(data.get("net_total")),
        tax_total=_amount(data.get("tax_total")),
        gross_total=_amount(data.get("gross_total")),
        amount_due=_amount(data.get("amount_due")),
        issue_date=_date(data.get("issue_date")),
        due_date=_date(data.get("due_date")),
        delivery_date=_date(data.get("delivery_date")),
        period_start=_date(data.get("period_start")),
        period_end=_date(data.get("period_end")),
        terms=_text(payment.get("terms")) or "",
        items=tuple(map(_item, _mappings(data.get("lines")))),
        text_keys=text_references(text),
    )


def _payments(document_id: str, data: Mapping[str, Any]) -> Iterator[MatchRecord]:
    """The transactions of a statement. Their numbers begin at 1; one without an amount is none."""
    owner = identity(account=_text(data.get("iban")))
    for number, row in enumerate(_mappings(data.get("transactions")), 1):
        amount = _decimal(row.get("amount"))
        if not amount:
            continue
        other = identity(_text(row.get("counterparty")), account=_text(row.get("iban")))
        reference, description = _text(row.get("reference")) or "", _text(row.get("description")) or ""
        text = f"{reference}\n{description}\n{other.name}"
        is_incoming = amount > 0
        yield MatchRecord(
            id=f"{document_id}#{number}",
            document_id=document_id,
            kind="payment",
            references=tuple(
                dict.fromkeys((*_payment_reference(reference), *payment_references(description)))
            ),
            seller=owner if is_incoming else other,
            buyer=other if is_incoming else owner,
            currency=(_text(row.get("currency")) or _text(data.get("currency")) or "").upper(),
            gross_total=abs(amount),
            issue_date=_date(row.get("date")),
            text_keys=text_references(_BANK_NUMBER.sub(" ", text)),
            is_incoming=is_incoming,
            returned=return_words(f"{reference}\n{description}"),
            other_values={"text": " ".join(text.split())},
        )


def _payment_reference(text: str) -> Iterable[Reference]:
    found = list(payment_references(text))
    if found or not any(map(str.isdigit, text)):
        return found
    return references("payment", text) if reference_key(text) and len(text.split()) == 1 else ()


def _party(value: object, account: str | None = None) -> PartyIdentity:
    values = _mapping(value)
    return identity(_text(values.get("name")), vat_id=_text(values.get("vat_id")), account=account)


def _item(row: Mapping[str, Any]) -> Item:
    description = _text(row.get("description")) or ""
    return Item(
        description=description,
        key=" ".join(fold(description).split()),
        quantity=_decimal(row.get("quantity")),
        unit_price=_decimal(row.get("unit_price")),
        net_amount=_decimal(row.get("net_amount")),
        tax_rate=_decimal(row.get("tax_rate")),
    )


def _text(value: object) -> str | None:
    text = "" if value is None else str(value).strip()
    return text or None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [_mapping(each) for each in cast("list[object]", value)] if isinstance(value, list | tuple) else []


def _decimal(value: object) -> Decimal | None:
    try:
        number = None if value is None else Decimal(str(value))
    except ArithmeticError:
        return None
    if number is None or not number.is_finite():
        return None
    return number if -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS else None


def _amount(value: object) -> Decimal | None:
    number = _decimal(value)
    return None if number is None else abs(number)


def _date(value: object) -> dt.date | None:
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(str(value)[:10]) if value else None
    except ValueError:
        return None
