"""Bank statements. The German one pays the invoice of the chain in `trade`."""

import datetime as dt
from decimal import Decimal
from typing import NamedTuple

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.documents.bills import workshop
from docmill.demo.documents.trade import bolts_paid
from docmill.demo.issuers import House
from docmill.demo.letter import Statement
from docmill.demo.plan import Plan
from docmill.demo.wording import Wording
from docmill.schemas.fields import Transaction
from docmill.schemas.types import BankStatement


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("Kontoauszug_2026-10.pdf", "born-digital", "running", "bank_statement", _german()),
        Plan("statement-august-2026.pdf", "born-digital", "in-and-out", "bank_statement", _british()),
        Plan("releve_2026-07.pdf", "born-digital", "releve", "bank_statement", _french()),
        Plan("extracto sept 2026.pdf", "scan", "running", "bank_statement", _spanish()),
    ]


class _Month(NamedTuple):
    """An account over a month. currency: as the statement's head shows it."""

    bank: House
    holder: House
    wording: Wording
    account: str
    currency: str
    start: dt.date
    end: dt.date


def _statement(month: _Month, opening: str, *bookings: Transaction) -> Statement:
    balance = Decimal(opening)
    closing = sum((booking.amount or Decimal(0) for booking in bookings), balance)
    fields = BankStatement(
        iban=month.account,
        currency=month.currency,
        period_start=month.start,
        period_end=month.end,
        opening_balance=balance,
        closing_balance=closing,
        transactions=bookings,
    )
    return Statement(fields, month.bank, month.holder, month.wording)


def _booking(
    day: dt.date, amount: str | Decimal, description: str, counterparty: str, reference: str = ""
) -> Transaction:
    return Transaction(
        date=day,
        amount=Decimal(amount),
        description=description,
        counterparty=counterparty or None,
        reference=reference or None,
    )


def _german() -> Statement:
    start, end = dt.date(2026, 10, 1), dt.date(2026, 10, 31)
    month = _Month(of.FANTASIA, of.WOLKE, speak.GERMAN, of.WOLKE.iban or "", "EUR", start, end)
    paid = bolts_paid().model_copy(update={"date": dt.date(2026, 10, 6)})
    return _statement(
        month,
        "48210.55",
        _booking(
            dt.date(2026, 10, 1), "-3850.00", "Dauerauftrag", "Immobilien Luftschloss KG", "Miete Halle 2"
        ),
        _booking(dt.date(2026, 10, 2), "12640.30", "Gutschrift", "Rieselfeld Anlagenbau GmbH", "RE 26-0481"),
        paid,
        _booking(
            dt.date(2026, 10, 9),
            "-214.87",
            "Lastschrift",
            "Phanta Stadtwerke Nebelheim GmbH",
            "VR-7730019022",
        ),
        _booking(
            dt.date(2026, 10, 15), "-21933.18", "Sammelüberweisung", "Löhne und Gehälter", "Oktober 2026"
        ),
        _booking(
            dt.date(2026, 10, 22), "7399.00", "Gutschrift", "Officine Lunari Immaginarie S.r.l.", "RE 26-0502"
        ),
        _booking(dt.date(2026, 10, 30), "-18.90", "Entgelt", "", "Kontoführung 10/2026"),
    )


def _british() -> Statement:
    start, end = dt.date(2026, 8, 1), dt.date(2026, 8, 31)
    month = _Month(of.UMBRA, of.MARMALADE, speak.BRITISH, of.MARMALADE.iban or "", "GBP", start, end)
    return _statement(
        month,
        "15044.20",
        _booking(dt.date(2026, 8, 3), "-1204.66", "Direct debit", "Hollow Hill Laundry Ltd", "HHL-0726"),
        _booking(
            dt.date(2026, 8, 5), "8320.00", "Faster payment", "Quibble & Thimble Interiors Ltd", "MM-5120"
        ),
        _booking(dt.date(2026, 8, 12), "-96.40", "Card payment", "Badger's Nuts & Bolts"),
        _booking(
            dt.date(2026, 8, 19), "-5363.64", "Bill payment", "Quibble & Thimble Interiors Ltd", "INV-10371"
        ),
        _booking(dt.date(2026, 8, 27), "2755.10", "Merchant takings", "Umbra Card Services"),
        _booking(dt.date(2026, 8, 28), "-7410.00", "Standing order", "Staff wages"),
    )


def _french() -> Statement:
    start, end = dt.date(2026, 7, 1), dt.date(2026, 7, 31)
    month = _Month(of.IMAGINAIRE, of.CROUTE, speak.FRENCH, of.CROUTE.iban or "", "EUR", start, end)
    return _statement(
        month,
        "3871.09",
        _booking(
            dt.date(2026, 7, 2), "1648.35", "Virement reçu", "Hôtel de l'Horizon Perdu SAS", "F2026-0079"
        ),
        _booking(dt.date(2026, 7, 6), "-742.18", "Prélèvement", "Minoterie du Vent Debout", "Facture 11820"),
        _booking(dt.date(2026, 7, 15), "-1380.00", "Virement émis", "SCI Château de Sable", "Loyer juillet"),
        _booking(dt.date(2026, 7, 20), "455.60", "Remise de chèques", "", "Bordereau 0031"),
        _booking(dt.date(2026, 7, 31), "-14.50", "Frais bancaires", ""),
    )


def _spanish() -> Statement:
    start, end = dt.date(2026, 9, 1), dt.date(2026, 9, 30)
    month = _Month(of.QUIMERA, of.CIGUENA, speak.SPANISH, of.CIGUENA.iban or "", "EUR", start, end)
    owed = workshop().value("gross_total")
    assert isinstance(owed, Decimal)
    return _statement(
        month,
        "22915.40",
        _booking(dt.date(2026, 9, 3), "-1104.22", "Adeudo", "Aguas del Espejo, S.A.", "Recibo 88-2026"),
        _booking(
            dt.date(2026, 9, 10), "6480.00", "Transferencia recibida", "Vinos Nómada, S.L.", "Fra. 2026/140"
        ),
        _booking(dt.date(2026, 9, 18), -owed, "Transferencia emitida", "Officine Lunari", "77/2026"),
        _booking(dt.date(2026, 9, 30), "-12.00", "Comisión", "", "Mantenimiento"),
    )
