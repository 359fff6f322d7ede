"""The whole text of a paper or a statement, line by line, with the small print that surrounds the values."""

import datetime as dt
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache

from docmill.demo import wording
from docmill.demo.wording import Wording
from docmill.schemas.types import BankStatement, Line, Party
from docmill.training.linked_documents.companies import Company
from docmill.training.linked_documents.deals import Paper

_WORDINGS = {
    "de": wording.GERMAN,
    "en": wording.BRITISH_SHORT,
    "nl": wording.DUTCH,
    "it": wording.ITALIAN,
    "fr": wording.FRENCH,
    "sv": wording.SWEDISH,
    "da": wording.DANISH,
    "no": wording.DANISH,
    "fi": wording.SWEDISH,
}
_TITLES: Mapping[str, Mapping[str, str]] = {
    "de": {
        "purchase_order": "Bestellung",
        "delivery_note": "Lieferschein",
        "invoice": "Rechnung",
        "quote": "Angebot",
        "credit_note": "Gutschrift",
        "receipt": "Quittung",
        "reminder": "Zahlungserinnerung",
        "contract": "Vertrag",
    },
    "fr": {
        "purchase_order": "Bon de commande",
        "delivery_note": "Bon de livraison",
        "invoice": "Facture",
        "quote": "Devis",
        "credit_note": "Avoir",
        "receipt": "Reçu",
        "reminder": "Relance",
        "contract": "Contrat",
    },
    "sv": {
        "purchase_order": "Beställning",
        "delivery_note": "Följesedel",
        "invoice": "Faktura",
        "quote": "Offert",
        "credit_note": "Kreditfaktura",
        "receipt": "Kvitto",
        "reminder": "Påminnelse",
        "contract": "Avtal",
    },
    "da": {
        "purchase_order": "Ordre",
        "delivery_note": "Følgeseddel",
        "invoice": "Faktura",
        "quote": "Tilbud",
        "credit_note": "Kreditnota",
        "receipt": "Kvittering",
        "reminder": "Rykker",
        "contract": "Aftale",
    },
}
_NUMBERS = (
    "order_number",
    "delivery_note_number",
    "contract_number",
    "customer_number",
    "preceding_invoice_number",
)
_DAYS = ("issue_date", "due_date")
_TOTALS = ("net_total", "tax_total", "gross_total", "amount_due")


def paper_text(paper: Paper, sender: Company) -> str:
    """The text of a paper as its sender prints it."""
    return "\n".join(filter(None, _paper_lines(paper, sender, _WORDINGS[sender.language])))


def _paper_lines(paper: Paper, sender: Company, say: Wording) -> Iterator[str]:
    title = (
        _TITLES.get(sender.language, {}).get(paper.document_type)
        or paper.document_type.replace("_", " ").title()
    )
    yield f"{title} {paper.text('number')}".strip()
    for side in ("seller", "buyer"):
        yield from _party_lines(paper.party(side))
    for side in ("first_party", "second_party"):
        party = paper.value(side)
        yield party.name if party else ""
    for name in _DAYS:
        day = paper.value(name)
        yield f"{say.label(name)}: {_day(say, day)}" if day and name != "issue_date" else _day(say, day)
    for name in _NUMBERS:
        if paper.text(name):
            yield f"{say.label(name)}: {paper.text(name)}"
    yield paper.text("invoice_number")
    yield paper.text("subject")
    yield from paper.notes
    for line in paper.lines:
        yield _line_text(line, say)
    currency = paper.text("currency")
    for name in _TOTALS:
        amount = paper.value(name)
        if isinstance(amount, Decimal):
            label = say.label("tax" if name == "tax_total" else name)
            yield f"{label}: {say.number(amount)} {currency}"
    yield paper.payment.terms or ""
    if paper.payment.iban:
        yield f"IBAN: {paper.payment.iban} BIC: {paper.payment.bic or ''}"
    yield f"{sender.short_name} · {sender.address} · {sender.register} · Tel. {sender.phone}"


def _party_lines(party: Party) -> Iterator[str]:
    yield party.name or ""
    yield party.address or ""
    yield f"VAT {party.vat_id}" if party.vat_id else ""


def _line_text(line: Line, say: Wording) -> str:
    numbers = (line.quantity, line.unit_price, line.net_amount)
    cells = [
        say.count(number) if number is line.quantity else say.number(number) for number in numbers if number
    ]
    return " ".join([line.position or "", line.description or "", *cells]).strip()


@lru_cache(maxsize=4096)
def _day(say: Wording, day: dt.date | None) -> str:
    return say.day(day) if day else ""


def statement_text(statement: BankStatement, bank: str, holder: Company) -> str:
    """The text of a bank statement."""
    say = _WORDINGS[holder.language]
    rows = [
        " ".join(
            filter(
                None,
                (
                    _day(say, each.date),
                    each.counterparty,
                    each.iban,
                    each.reference,
                    each.description,
                    say.number(each.amount or Decimal(0)),
                    each.currency,
                ),
            )
        )
        for each in statement.transactions
    ]
    head = [bank, holder.name, f"IBAN {statement.iban}"]
    return "\n".join([*head, *rows, f"{say.label('closing_balance')}: {statement.closing_balance}"])
