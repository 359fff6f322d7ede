"""Receipts: photographed, scanned, or sent by mail."""

import datetime as dt
from decimal import Decimal

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import included_taxes, lines, taxes_of, total
from docmill.schemas.fields import Line, Payment
from docmill.schemas.types import Receipt


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("IMG_2041.HEIC", "photo", "mono-till", "receipt", _stationery()),
        Plan("IMG_2077.HEIC", "photo", "bistro", "receipt", _dinner()),
        Plan("IMG_20260718_101522.jpg", "photo", "bistro", "receipt", _coffee()),
        Plan("Quittung Taxi.jpg", "photo", "slip", "receipt", _taxi()),
        Plan("factura simplificada.png", "scan", "boxed-ticket", "receipt", _tapas()),
        Plan("receipt-bolts.webp", "scan", "mono-till", "receipt", _bolts()),
        Plan("scontrino.jpg", "photo", "boxed-ticket", "receipt", _ice()),
        Plan("e-bon_2026-10-02.pdf", "born-digital", "mono-till", "receipt", _e_bon()),
    ]


def _stationery() -> Letter:
    bought = lines(
        "Notizblock A5 kariert | 3 | x | 1.99",
        "Geschenkpapier Sterne | 2 | x | 2.49",
        "Zeitschrift Wolkenkunde | | | 6.80",
        "Bleistift HB 12er | | | 4.25",
        "Kaugummi Minze | 2 | x | 0.95",
        numbered="",
    )
    taxes = included_taxes(bought, "19", "19", "7", "19", "19")
    fields = Receipt(
        number="0412-7781",
        issue_date=dt.date(2026, 8, 22),
        time="16:47",
        seller=of.ZWIRN.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(method="girocard kontaktlos"),
    )
    closing = ("Vielen Dank für Ihren Einkauf!", "Umtausch innerhalb von 14 Tagen")
    return Letter(
        fields, "receipt", of.ZWIRN, of.ANYBODY, speak.GERMAN, taxes, closing=closing, size=(80, 114)
    )


def _dinner() -> Letter:
    eaten = lines(
        "Blue crab cakes | 2 | | 17.50",
        "Shrimp & grits | 1 | | 24.00",
        "Pelican burger, no onions | 1 | | 16.75",
        "Peach cobbler | 2 | | 8.25",
        "Sweet tea | 3 | | 3.50",
        numbered="",
    )
    taxes = taxes_of(eaten, "7")
    sums = total(taxes)
    fields = Receipt(
        number="10488",
        issue_date=dt.date(2026, 9, 19),
        time="20:31",
        seller=of.PELICAN.party(),
        currency="USD",
        lines=_without_prices(eaten),
        **sums,
        tip=Decimal("21.00"),
        amount_due=sums["gross_total"] + Decimal("21.00"),
        payment=Payment(method="VISA ************4242"),
    )
    closing = ("Thank you! Come back y'all.",)
    opening = "Table 14   Server: Odette   Guests: 3"
    return Letter(
        fields,
        "receipt",
        of.PELICAN,
        of.ANYBODY,
        speak.AMERICAN_LONG,
        taxes,
        opening=opening,
        closing=closing,
        size=(80, 120),
    )


def _coffee() -> Letter:
    eaten = lines(
        "Café crème | 2 | | 3.20",
        "Tartine beurre-confiture | 1 | | 4.50",
        "Jus d'orange pressé | 1 | | 5.10",
        numbered="",
    )
    taxes = included_taxes(eaten, "10")
    fields = Receipt(
        number="004417",
        issue_date=dt.date(2026, 7, 18),
        time="10:12",
        seller=of.CAFE.party(vat=True),
        currency="EUR",
        lines=_without_prices(eaten),
        **total(taxes),
        payment=Payment(method="Carte bancaire"),
    )
    closing = ("Merci de votre visite, à bientôt !",)
    return Letter(
        fields, "receipt", of.CAFE, of.ANYBODY, speak.FRENCH, taxes, closing=closing, size=(80, 101)
    )


def _taxi() -> Letter:
    driven = lines("Fahrt Hauptbahnhof \u2013 Messe | | | 38.60", "Gepäckzuschlag | | | 5.00", numbered="")
    taxes = included_taxes(driven, "8.1")
    fields = Receipt(
        number="T-90271",
        issue_date=dt.date(2026, 11, 3),
        time="08:05",
        seller=of.ALPENROSE.party(vat=True),
        currency="CHF",
        lines=driven,
        **total(taxes),
        payment=Payment(method="Bar bezahlt"),
    )
    return Letter(
        fields,
        "receipt",
        of.ALPENROSE,
        of.ANYBODY,
        speak.SWISS,
        taxes,
        closing=("Gute Reise!",),
        size=(90, 102),
    )


def _tapas() -> Letter:
    eaten = lines(
        "Boquerones | 2 | | 6.50",
        "Tortilla | 1 | | 8.00",
        "Ensaladilla | 1 | | 7.20",
        "Caña | 4 | | 1.90",
        "Café con leche | 3 | | 1.60",
        numbered="",
    )
    taxes = included_taxes(eaten, "10")
    fields = Receipt(
        number="T2-018834",
        issue_date=dt.date(2026, 8, 9),
        time="15:20",
        seller=of.SARDINA.party(vat=True),
        currency="EUR",
        lines=eaten,
        **total(taxes),
        payment=Payment(method="Efectivo"),
    )
    return Letter(
        fields,
        "receipt",
        of.SARDINA,
        of.ANYBODY,
        speak.SPANISH,
        taxes,
        opening="FACTURA SIMPLIFICADA",
        closing=("Gracias por su visita", "IVA incluido"),
        size=(80, 107),
    )


def _bolts() -> Letter:
    bought = lines(
        "M8 HEX BOLT ZINC | 24 | @ | 0.35",
        "WING NUT BRASS M6 | 10 | @ | 0.42",
        "WOOD GLUE 500ML | | | 7.95",
        "DUST SHEET 4X5M | 2 | @ | 3.49",
        "TAPE MEASURE 8M | | | 11.20",
        numbered="",
    )
    taxes = included_taxes(bought, "20")
    fields = Receipt(
        number="3/77120",
        issue_date=dt.date(2026, 10, 24),
        time="11:08:42",
        seller=of.BADGER.party(vat=True),
        currency="GBP",
        lines=bought,
        **total(taxes),
        payment=Payment(method="Mastercard debit"),
    )
    closing = ("KEEP THIS RECEIPT FOR RETURNS", "No bolt left behind")
    return Letter(
        fields, "receipt", of.BADGER, of.ANYBODY, speak.BRITISH_SHORT, taxes, closing=closing, size=(80, 105)
    )


def _ice() -> Letter:
    eaten = lines(
        "Cono tre gusti | 3 | | 3.50", "Granita limone | 2 | | 4.20", "Acqua 0,5 l | 2 | | 1.50", numbered=""
    )
    taxes = included_taxes(eaten, "10")
    fields = Receipt(
        number="0087-0023",
        issue_date=dt.date(2026, 7, 5),
        time="17:38",
        seller=of.GELATO.party(vat=True),
        currency="EUR",
        lines=eaten,
        **total(taxes),
        payment=Payment(method="Pagamento elettronico"),
    )
    return Letter(
        fields,
        "receipt",
        of.GELATO,
        of.ANYBODY,
        speak.ITALIAN,
        taxes,
        opening="DOCUMENTO COMMERCIALE",
        closing=("Arrivederci e grazie",),
        size=(80, 88),
    )


def _e_bon() -> Letter:
    bought = lines(
        "Laserdrucker-Toner schwarz | | | 64.90",
        "Kalender 2027 Nebelheim | 4 | x | 8.95",
        "Grußkarten 10er | 2 | x | 5.40",
        numbered="",
    )
    taxes = included_taxes(bought, "19", "7", "19")
    fields = Receipt(
        number="E-0099120",
        issue_date=dt.date(2026, 10, 2),
        time="09:15:03",
        seller=of.ZWIRN.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(method="Kreditkarte"),
    )
    closing = ("Ihr digitaler Kassenbon",)
    return Letter(
        fields, "receipt", of.ZWIRN, of.ANYBODY, speak.GERMAN, taxes, closing=closing, size=(80, 96)
    )


def _without_prices(eaten: tuple[Line, ...]) -> tuple[Line, ...]:
    """Lines as a bistro prints them: what a piece costs is left out."""
    return tuple(line.model_copy(update={"unit_price": None}) for line in eaten)
