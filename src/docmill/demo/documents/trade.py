"""Orders and deliveries. Two chains refer to each other: order, delivery note, invoice, and the payment."""

import datetime as dt

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.canvas import LETTER
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import lines, taxes_of, total
from docmill.schemas.fields import Line, Payment, Transaction
from docmill.schemas.types import DeliveryNote, Invoice, PurchaseOrder

_BOLTS = (
    "Sechskantschraube M12 x 80, verzinkt | 1200 | Stk | 0.48",
    "Sicherungsmutter M12, selbsthemmend | 1200 | Stk | 0.17",
    "Federring Ø 12,2 mm | 2500 | Stk | 0.06",
    "Gewindestange M16, 1 m, Güte 8.8 | 80 | Stk | 4.95",
)
_KETTLES = (
    "Copper sheet 0.8 mm, 24 x 36 in | 30 | EA | 41.20",
    "Brass fitting, elbow 90 deg, 1/2 in | 150 | EA | 2.85",
    "Silver solder, low temp, 1 lb coil | 12 | LB | 58.00",
    "Flux paste, jar | 24 | JAR | 6.40",
)
_ORDER, _DELIVERY, _BILL = "B-26-1187", "LS-70233", "R-260955"


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("Bestellung B-26-1187.pdf", "born-digital", "envelope", "purchase_order", _bolts_order()),
        Plan(
            "Lieferschein LS-70233.pdf", "born-digital", "delivery-slip", "delivery_note", _bolts_delivery()
        ),
        Plan("R-260955.pdf", "born-digital", "facture", "invoice", _bolts_invoice()),
        Plan("PO-4500231.pdf", "born-digital", "order-grid", "purchase_order", _kettles_order()),
        Plan("packing-slip-PS88127.png", "scan", "dot-matrix", "delivery_note", _kettles_delivery()),
        Plan("Copper Kettle invoice 6107.pdf", "born-digital", "sidebar", "invoice", _kettles_invoice()),
        Plan("bon de commande 2026-214.pdf", "scan", "order-grid", "purchase_order", _linen_order()),
        Plan("albaran_5512.jpg", "photo", "delivery-slip", "delivery_note", _tools_delivery()),
        Plan("pedido scan.jpg", "scan", "typewriter", "purchase_order", _corks_order()),
    ]


def _without_prices(ordered: tuple[Line, ...]) -> tuple[Line, ...]:
    nothing = {"unit_price": None, "net_amount": None, "tax_rate": None}
    return tuple(line.model_copy(update=nothing) for line in ordered)


def _bolts_order() -> Letter:
    ordered = lines(*_BOLTS, numbered="{}0")
    taxes = taxes_of(ordered, "19")
    fields = PurchaseOrder(
        number=_ORDER,
        issue_date=dt.date(2026, 8, 24),
        delivery_date=dt.date(2026, 9, 4),
        seller=of.SCHRAUBE.party(),
        buyer=of.WOLKE.party(vat=True),
        currency="EUR",
        lines=ordered,
        **total(taxes),
        payment=Payment(terms="30 Tage netto"),
    )
    opening = "Hiermit bestellen wir zu Ihren bekannten Bedingungen:"
    closing = (
        "Bitte bestätigen Sie den Liefertermin und nennen Sie unsere Bestellnummer auf allen Papieren.",
    )
    return Letter(
        fields, "purchase_order", of.WOLKE, of.SCHRAUBE, speak.GERMAN, taxes, opening=opening, closing=closing
    )


def _bolts_delivery() -> Letter:
    fields = DeliveryNote(
        number=_DELIVERY,
        issue_date=dt.date(2026, 9, 3),
        delivery_date=dt.date(2026, 9, 4),
        seller=of.SCHRAUBE.party(vat=True),
        buyer=of.WOLKE.party(),
        order_number=_ORDER,
        customer_number="D-4410",
        lines=_without_prices(lines(*_BOLTS, numbered="{}0")),
    )
    closing = ("Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum. 2 Paletten, 318 kg.",)
    opening = "Wir liefern Ihnen frei Haus:"
    return Letter(
        fields,
        "delivery_note",
        of.SCHRAUBE,
        of.WOLKE,
        speak.GERMAN,
        articles=("10-1280", "10-1212", "14-0122", "22-1610"),
        opening=opening,
        closing=closing,
    )


def bolts_paid() -> Transaction:
    """The booking that pays the German chain."""
    owed = total(taxes_of(lines(*_BOLTS), "19"))["gross_total"]
    return Transaction(
        amount=-owed,
        description="Überweisung",
        counterparty=of.SCHRAUBE.name,
        iban=of.SCHRAUBE.iban,
        reference=f"{_BILL} / {_ORDER}",
    )


def _bolts_invoice() -> Letter:
    bought = lines(*_BOLTS, numbered="{}0")
    taxes = taxes_of(bought, "19")
    fields = Invoice(
        number=_BILL,
        issue_date=dt.date(2026, 9, 7),
        delivery_date=dt.date(2026, 9, 4),
        due_date=dt.date(2026, 10, 7),
        order_number=_ORDER,
        delivery_note_number=_DELIVERY,
        customer_number="D-4410",
        seller=of.SCHRAUBE.party(vat=True),
        buyer=of.WOLKE.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="30 Tage netto", iban=of.SCHRAUBE.iban, bic=of.SCHRAUBE.bic),
    )
    return Letter(fields, "invoice", of.SCHRAUBE, of.WOLKE, speak.GERMAN_LONG, taxes)


def _kettles_order() -> Letter:
    ordered = lines(*_KETTLES)
    fields = PurchaseOrder(
        number="4500231",
        issue_date=dt.date(2026, 8, 3),
        delivery_date=dt.date(2026, 8, 17),
        customer_number="TR-1180",
        seller=of.COPPER.party(),
        buyer=of.TUMBLE.party(),
        currency="USD",
        lines=ordered,
        gross_total=total(taxes_of(ordered, "0"))["gross_total"],
        payment=Payment(terms="Net 30"),
    )
    closing = (
        "Ship via ground, freight prepaid. The order number must appear on all boxes, slips and invoices.",
    )
    return Letter(
        fields,
        "purchase_order",
        of.TUMBLE,
        of.COPPER,
        speak.AMERICAN,
        articles=("CS-0824", "BF-90-12", "SS-1LB", "FX-JAR"),
        closing=closing,
        size=LETTER,
    )


def _kettles_delivery() -> Letter:
    fields = DeliveryNote(
        number="PS88127",
        issue_date=dt.date(2026, 8, 14),
        seller=of.COPPER.party(),
        buyer=of.TUMBLE.party(),
        order_number="4500231",
        customer_number="TR-1180",
        lines=_without_prices(lines(*_KETTLES)),
    )
    return Letter(
        fields,
        "delivery_note",
        of.COPPER,
        of.TUMBLE,
        speak.AMERICAN,
        articles=("CS-0824", "BF-90-12", "SS-1LB", "FX-JAR"),
        closing=("3 CARTONS, 212 LB. COUNT ON ARRIVAL.",),
        size=(279.4, 152.4),
    )


def _kettles_invoice() -> Letter:
    bought = lines(*_KETTLES, numbered="")
    taxes = taxes_of(bought, "8.265")
    fields = Invoice(
        number="6107",
        issue_date=dt.date(2026, 8, 18),
        due_date=dt.date(2026, 9, 17),
        order_number="4500231",
        delivery_note_number="PS88127",
        seller=of.COPPER.party(),
        buyer=of.TUMBLE.party(),
        currency="USD",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="Net 30"),
    )
    return Letter(fields, "invoice", of.COPPER, of.TUMBLE, speak.AMERICAN_LONG, taxes, size=LETTER)


def _linen_order() -> Letter:
    ordered = lines(
        "Nappe damassée ivoire, 180 x 300 cm | 24 | pièce | 41.00",
        "Serviette de table assortie | 200 | pièce | 4.60",
        "Rideau occultant bleu nuit | 12 | paire | 96.50",
    )
    taxes = taxes_of(ordered, "20")
    fields = PurchaseOrder(
        number="2026-214",
        issue_date=dt.date(2026, 10, 12),
        delivery_date=dt.date(2026, 11, 9),
        seller=of.QUIBBLE.party(),
        buyer=of.HORIZON.party(vat=True),
        currency="EUR",
        lines=ordered,
        **total(taxes),
        payment=Payment(terms="45 jours fin de mois"),
    )
    return Letter(fields, "purchase_order", of.HORIZON, of.QUIBBLE, speak.FRENCH_LONG, taxes)


def _tools_delivery() -> Letter:
    delivered = lines(
        "Taladro percutor 850 W con maletín | 6 | ud",
        "Juego de brocas para piedra, 12 piezas | 10 | ud",
        "Guantes de protección, talla 9 | 48 | par",
        numbered="",
    )
    fields = DeliveryNote(
        number="5512",
        issue_date=dt.date(2026, 10, 1),
        seller=of.TORNILLO.party(vat=True),
        buyer=of.CIGUENA.party(),
        order_number="PC-7741",
        lines=delivered,
    )
    return Letter(
        fields, "delivery_note", of.TORNILLO, of.CIGUENA, speak.SPANISH_LONG, closing=("1 palé, 64 kg.",)
    )


def _corks_order() -> Letter:
    ordered = lines(
        "Tapón de corcho natural 44 x 24 | 12000 | ud | 0.14",
        "Cápsula estaño burdeos | 12000 | ud | 0.09",
        "Caja cartón 6 botellas | 2000 | ud | 0.62",
    )
    taxes = taxes_of(ordered, "21")
    fields = PurchaseOrder(
        number="PC-7790",
        issue_date=dt.date(2026, 9, 28),
        delivery_date=dt.date(2026, 10, 16),
        seller=of.TORNILLO.party(vat=True),
        buyer=of.CIGUENA.party(vat=True),
        currency="EUR",
        lines=ordered,
        **total(taxes),
        payment=Payment(method="Transferencia"),
    )
    return Letter(fields, "purchase_order", of.CIGUENA, of.TORNILLO, speak.SPANISH, taxes)
