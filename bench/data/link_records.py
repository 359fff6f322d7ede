"""Records of generated documents for the compared matchers: names, numbers, amounts and days, as read."""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from docmill.matching.match_record import Kind
from docmill.matching.outcome import Matching, Relation
from docmill.schemas.types import BankStatement
from docmill.training.linked_documents.truth import GeneratedDocument

Matcher = Callable[[Sequence[GeneratedDocument]], Matching]
"""A matcher to be compared: from all documents of a tenant to its links, clusters and discrepancies."""

RELATIONS: dict[tuple[Kind, Kind], Relation] = {
    ("quote", "purchase_order"): "quote_to_order",
    ("contract", "purchase_order"): "contract_to_order",
    ("contract", "invoice"): "contract_to_invoice",
    ("purchase_order", "delivery_note"): "order_to_delivery",
    ("purchase_order", "invoice"): "order_to_invoice",
    ("delivery_note", "invoice"): "delivery_to_invoice",
    ("invoice", "credit_note"): "invoice_to_credit_note",
    ("invoice", "reminder"): "invoice_to_reminder",
    ("invoice", "receipt"): "invoice_to_receipt",
    ("invoice", "payment"): "invoice_to_payment",
    ("receipt", "payment"): "receipt_to_payment",
    ("credit_note", "payment"): "credit_note_to_payment",
}
REFERRING: dict[str, tuple[Kind, ...]] = {
    "order_number": ("purchase_order",),
    "delivery_note_number": ("delivery_note",),
    "contract_number": ("contract",),
    "preceding_invoice_number": ("invoice",),
    "invoice_number": ("invoice",),
}
"""The kinds of documents whose numbers the fields hold."""
_WORDS = re.compile(r"[^\s,;]+")


@dataclass(frozen=True, slots=True)
class PlainRecord:
    """A document or a payment. references: kinds of documents and a number. words: of a payment's text."""

    id: str
    kind: Kind
    number: str = ""
    references: tuple[tuple[tuple[Kind, ...], str], ...] = ()
    seller: str = ""
    buyer: str = ""
    amount: Decimal | None = None
    currency: str = ""
    day: dt.date | None = None
    words: tuple[str, ...] = ()
    text: str = ""


def plain_records(documents: Sequence[GeneratedDocument]) -> list[PlainRecord]:
    """The records of documents of the kinds that can be linked, and of the payments of bank statements."""
    kinds = {kind for pair in RELATIONS for kind in pair}
    records: list[PlainRecord] = []
    for document in documents:
        if isinstance(document.data, BankStatement):
            records.extend(_payments(document.id, document.data))
        elif document.document_type in kinds:
            records.append(_paper(document))
    return records


def key_of(number: str) -> str:
    """A number's letters and digits, in capitals."""
    return "".join(character for character in number.upper() if character.isalnum())


def _payments(document_id: str, statement: BankStatement) -> Iterator[PlainRecord]:
    for number, each in enumerate(statement.transactions, 1):
        text = " ".join(filter(None, (each.reference, each.description)))
        yield PlainRecord(
            f"{document_id}#{number}",
            "payment",
            seller=each.counterparty or "",
            buyer=each.counterparty or "",
            amount=abs(each.amount) if each.amount is not None else None,
            currency=each.currency or "",
            day=each.date,
            words=tuple(_WORDS.findall(text)),
            text=text,
        )


def _paper(document: GeneratedDocument) -> PlainRecord:
    data: Any = document.data
    numbers = ((kinds, getattr(data, field, None)) for field, kinds in REFERRING.items())
    parties = [getattr(getattr(data, side, None), "name", None) or "" for side in ("seller", "buyer")]
    if document.document_type == "contract":
        parties = [data.first_party.name or "", data.second_party.name or ""]
    amount = getattr(data, "gross_total", None)
    return PlainRecord(
        document.id,
        document.document_type,  # type: ignore[arg-type]
        number=getattr(data, "number", None) or "",
        references=tuple((kinds, number) for kinds, number in numbers if number),
        seller=parties[0],
        buyer=parties[1],
        amount=amount if amount is not None else getattr(data, "amount_due", None),
        currency=getattr(data, "currency", None) or "",
        day=getattr(data, "issue_date", None),
        text=document.text,
    )
