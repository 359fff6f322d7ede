"""Invoices that were sent as PDF."""

import datetime as dt

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import lines, taxes_of, total
from docmill.schemas.fields import Payment
from docmill.schemas.types import Invoice


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("rechnung-2026-0417.pdf", "born-digital", "envelope", "invoice", _office_supplies()),
        Plan("INV-10392.pdf", "born-digital", "band", "invoice", _curtains()),
        Plan("Invoice 014 Lotte van Vandaag.pdf", "born-digital", "airy", "invoice", _reverse_charge()),
        Plan("factura-A-2026-311.pdf", "born-digital", "sidebar", "invoice", _tools()),
    ]


def _office_supplies() -> Letter:
    bought = lines(
        "Kopierpapier A4, 80 g/m², holzfrei weiß | 40 | Pack | 4.89",
        "Ordner breit, grün, Rückenschild beschriftbar | 25 | Stück | 2.35",
        "Füllfederhalter »Königsblau« mit Gravur | 3 | Stück | 28.90",
        "Tintenpatronen, Großpackung | 12 | Pack | 6.45",
    )
    taxes = taxes_of(bought, "19")
    fields = Invoice(
        number="2026-0417",
        issue_date=dt.date(2026, 7, 14),
        delivery_date=dt.date(2026, 7, 10),
        due_date=dt.date(2026, 8, 13),
        customer_number="K-20811",
        seller=of.ZWIRN.party(vat=True),
        buyer=of.WOLKE.party(),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(
            terms="2 % Skonto bei Zahlung innerhalb von 10 Tagen, 30 Tage netto",
            iban=of.ZWIRN.iban,
            bic=of.ZWIRN.bic,
        ),
    )
    return Letter(
        fields,
        "invoice",
        of.ZWIRN,
        of.WOLKE,
        speak.GERMAN,
        taxes,
        opening="Sehr geehrte Damen und Herren, für unsere Lieferung berechnen wir Ihnen wie vereinbart:",
        closing=(
            "Bitte geben Sie bei Zahlungen stets die Rechnungsnummer an. Vielen Dank für Ihren Auftrag!",
        ),
    )


def _curtains() -> Letter:
    bought = lines(
        "Blackout curtain, midnight velvet, 240 x 210 cm | 18 | pair | 128.50",
        "Brass curtain pole with finials, 2.4 m | 18 | each | 46.75",
        "Tie-back, hand-braided | 36 | each | 9.20",
        "Fitting on site, two fitters | 14.5 | hours | 62.00",
        "Carriage | 1 | | 85.00",
    )
    taxes = taxes_of(bought, "20")
    fields = Invoice(
        number="INV-10392",
        issue_date=dt.date(2026, 9, 2),
        due_date=dt.date(2026, 10, 2),
        order_number="MM/26/0588",
        customer_number="MARMA01",
        seller=of.QUIBBLE.party(vat=True),
        buyer=of.MARMALADE.party(),
        currency="GBP",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="Net 30 days", iban=of.QUIBBLE.iban, bic=of.QUIBBLE.bic),
    )
    return Letter(fields, "invoice", of.QUIBBLE, of.MARMALADE, speak.BRITISH, taxes)


def _reverse_charge() -> Letter:
    bought = lines(
        "Brand workshop, two days on site | 2 | days | 780.00",
        'Illustration set "Lunar garden", 12 motifs | 12 | pcs | 145.00',
        "Type licence passed on at cost | 1 | | 95.00",
        numbered="",
    )
    taxes = taxes_of(bought, "0")
    fields = Invoice(
        number="014",
        issue_date=dt.date(2026, 8, 21),
        due_date=dt.date(2026, 9, 4),
        seller=of.VANDAAG.party(vat=True),
        buyer=of.KREATIV.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="within 14 days", iban=of.VANDAAG.iban, bic=of.VANDAAG.bic),
    )
    return Letter(
        fields,
        "invoice",
        of.VANDAAG,
        of.KREATIV,
        speak.IRISH,
        taxes,
        closing=(
            "Reverse charge: VAT to be accounted for by the recipient, Article 196 of Directive 2006/112/EC.",
        ),
    )


def _tools() -> Letter:
    bought = lines(
        "Taladro percutor 850 W con maletín | 6 | ud | 94.50",
        "Juego de brocas para piedra, 12 piezas | 10 | ud | 17.25",
        "Guantes de protección, talla 9 | 48 | par | 3.10",
        'Cañería flexible de 3/4", rollo de 25 m | 4 | rollo | 41.90',
        numbered="",
    )
    taxes = taxes_of(bought, "21")
    fields = Invoice(
        number="A-2026/311",
        issue_date=dt.date(2026, 10, 5),
        due_date=dt.date(2026, 11, 4),
        order_number="PC-7741",
        seller=of.TORNILLO.party(vat=True),
        buyer=of.CIGUENA.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(method="Transferencia a 30 días", iban=of.TORNILLO.iban),
    )
    return Letter(
        fields,
        "invoice",
        of.TORNILLO,
        of.CIGUENA,
        speak.SPANISH,
        taxes,
        closing=("Gracias por su confianza. Conserve esta factura para cualquier reclamación.",),
    )
