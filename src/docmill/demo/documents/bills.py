"""Bills of larger senders, and what came as a scan."""

import datetime as dt

from docmill.demo import companies as of
from docmill.demo import wording as speak
from docmill.demo.canvas import LETTER
from docmill.demo.letter import Letter
from docmill.demo.plan import Plan
from docmill.demo.sums import lines, taxes_of, total
from docmill.schemas.fields import Payment
from docmill.schemas.types import Invoice


def plans() -> list[Plan]:
    """All of them."""
    return [
        Plan("facture_F2026-0098.pdf", "born-digital", "facture", "invoice", _bakery()),
        Plan("Stromrechnung Juli.pdf", "born-digital", "utility", "invoice", _power()),
        Plan("freight-invoice-88213.pdf", "born-digital", "ledger", "invoice", _freight()),
        Plan("factuur-20260815.pdf", "born-digital", "poster", "invoice", _flowers()),
        Plan("fattura_77-2026.pdf", "born-digital", "typewriter", "invoice", workshop()),
        Plan("scan_20260914_083312.pdf", "scan", "envelope", "invoice", _painter()),
        Plan("fax_00231.tif", "scan", "ledger", "invoice", _wedding()),
    ]


def _bakery() -> Letter:
    bought = lines(
        "Croissant au beurre, pur feuilletage | 480 | pièce | 0.92 | 5.5",
        "Brioche à tête | 120 | pièce | 1.15 | 5.5",
        "Tarte aux myrtilles, 8 parts | 14 | pièce | 16.80 | 5.5",
        "Location de présentoir réfrigéré, août | 1 | mois | 145.00 | 20",
        "Livraison avant 6 h | 22 | course | 7.50 | 20",
        numbered="",
    )
    taxes = taxes_of(bought)
    fields = Invoice(
        number="F2026-0098",
        issue_date=dt.date(2026, 8, 31),
        due_date=dt.date(2026, 9, 30),
        customer_number="C0412",
        seller=of.CROUTE.party(vat=True),
        buyer=of.HORIZON.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(
            terms="30 jours fin de mois", method="Virement bancaire", iban=of.CROUTE.iban, bic=of.CROUTE.bic
        ),
    )
    penalty = "En cas de retard : pénalités au taux légal et indemnité forfaitaire de 40 €. Pas d'escompte."
    articles = ("CRB01", "BRT04", "TMY08", "LPR-M", "LIV06")
    return Letter(
        fields, "invoice", of.CROUTE, of.HORIZON, speak.FRENCH, taxes, articles=articles, closing=(penalty,)
    )


def _power() -> Letter:
    bought = lines(
        "Arbeitspreis Ökostrom Haushalt | 287 | kWh | 0.31",
        "Grundpreis | 1 | Monat | 11.90",
        "Messstellenbetrieb | 1 | Monat | 1.65",
        numbered="",
    )
    taxes = taxes_of(bought, "19")
    fields = Invoice(
        number="VR-7730014526",
        issue_date=dt.date(2026, 8, 4),
        due_date=dt.date(2026, 8, 18),
        period_start=dt.date(2026, 7, 1),
        period_end=dt.date(2026, 7, 31),
        contract_number="3000 774 512",
        customer_number="1018827",
        seller=of.PHANTA.party(vat=True),
        buyer=of.FAMILIE.party(),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(method="SEPA-Lastschrift", iban=of.PHANTA.iban),
    )
    return Letter(
        fields,
        "invoice",
        of.PHANTA,
        of.FAMILIE,
        speak.GERMAN_LONG,
        taxes,
        opening="Guten Tag Frau Müßig, das Diagramm zeigt Ihren Verbrauch nach Monaten.",
        closing=("Zählernummer 1ESY9990042, abgelesen durch den Netzbetreiber.",),
    )


def _freight() -> Letter:
    ways = ("Reno - Portland", "Portland - Boise", "Reno - Tucson", "Boise - Reno", "Tucson - El Paso")
    goods = (
        "gearboxes",
        "sensor arms",
        "battery racks",
        "spare treads",
        "paint drums",
        "returns",
        "fixtures",
    )
    trips = [
        f"Bill of lading {41207 + 13 * trip}, {ways[trip % 5]}, {goods[trip % 7]} | {2 + trip * 5 % 9} | plt "
        f"| {38 + trip * 7 % 31}.{trip * 25 % 100:02d}"
        for trip in range(52)
    ]
    taxes = taxes_of(lines(*trips), "0")
    fields = Invoice(
        number="88213",
        issue_date=dt.date(2026, 9, 30),
        due_date=dt.date(2026, 10, 15),
        period_start=dt.date(2026, 9, 1),
        period_end=dt.date(2026, 9, 30),
        customer_number="TUMBLE-04",
        contract_number="FF-2025-119",
        seller=of.FJORDLY.party(),
        buyer=of.TUMBLE.party(),
        currency="USD",
        lines=lines(*trips),
        gross_total=total(taxes)["gross_total"],
        payment=Payment(terms="Net 15. Checks payable to Fjordly Freight & Fable, Inc."),
    )
    return Letter(fields, "invoice", of.FJORDLY, of.TUMBLE, speak.AMERICAN, size=LETTER)


def _flowers() -> Letter:
    bought = lines(
        "Boeket \u00abWolkenlicht\u00bb, wekelijks | 4 | st | 38.50",
        "Tulpenbollen, gemengd, zak van 50 | 6 | zak | 14.75",
        "Bezorging Amsterdam-Utrecht | 4 | rit | 12.00",
        "Kaartje met handgeschreven groet | | | 2.00",
        numbered="",
    )
    taxes = taxes_of(bought, "21")
    fields = Invoice(
        number="20260815",
        issue_date=dt.date(2026, 8, 15),
        due_date=dt.date(2026, 8, 29),
        customer_number="K307",
        seller=of.TULP.party(vat=True),
        buyer=of.VANDAAG.party(),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(iban=of.TULP.iban),
    )
    closing = ("Vermeld bij betaling het factuurnummer.",)
    return Letter(fields, "invoice", of.TULP, of.VANDAAG, speak.DUTCH, taxes, closing=closing)


def workshop() -> Letter:
    """The bills that the Spanish bank statement pays."""
    bought = lines(
        "Revisione pompa idraulica | 1 | pz | 480.00 | 22",
        "Guarnizioni in viton, serie completa | 3 | kit | 64.20 | 22",
        "Manodopera specializzata | 11.5 | ore | 44.00 | 22",
        "Manuale tecnico stampato | 2 | pz | 35.00 | 4",
    )
    taxes = taxes_of(bought)
    fields = Invoice(
        number="77/2026",
        issue_date=dt.date(2026, 7, 27),
        due_date=dt.date(2026, 9, 30),
        order_number="OA-5531",
        delivery_note_number="418/A",
        seller=of.LUNARE.party(vat=True),
        buyer=of.CIGUENA.party(vat=True),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(
            terms="60 gg data fattura fine mese", method="Bonifico bancario", iban=of.LUNARE.iban
        ),
    )
    return Letter(fields, "invoice", of.LUNARE, of.CIGUENA, speak.ITALIAN, taxes)


def _painter() -> Letter:
    bought = lines(
        "Wände und Decke streichen, zweimalig, weiß | 86 | m² | 9.80",
        "Heizkörper schleifen und lackieren | 4 | Stk | 55.00",
        "Tapete entfernen, Untergrund spachteln | 31.5 | m² | 12.40",
        "Anfahrt und Gerüst | 1 | psch | 120.00",
    )
    taxes = taxes_of(bought, "19")
    fields = Invoice(
        number="2026/63",
        issue_date=dt.date(2026, 9, 11),
        delivery_date=dt.date(2026, 9, 9),
        seller=of.PINSEL.party(vat=True),
        buyer=of.FAMILIE.party(),
        currency="EUR",
        lines=bought,
        **total(taxes),
        payment=Payment(terms="Zahlbar sofort ohne Abzug", iban=of.PINSEL.iban),
    )
    opening = "Für die Malerarbeiten in Ihrem Haus erlaube ich mir zu berechnen:"
    return Letter(fields, "invoice", of.PINSEL, of.FAMILIE, speak.AUSTRIAN, taxes, opening=opening)


def _wedding() -> Letter:
    rooms = [
        f"Room {101 + room}, {('sea', 'garden', 'tower')[room % 3]} view, bed and breakfast | {1 + room % 3} "
        f"| night | {95 + room * 5 % 40}.00"
        for room in range(28)
    ]
    hired = lines(
        *rooms,
        "Ballroom, Saturday 18:00 to 01:00 | 1 | flat | 1450.00",
        "Swan, stuffed, on loan | 2 | each | 12.50",
    )
    taxes = taxes_of(hired, "20")
    fields = Invoice(
        number="MM-5120",
        issue_date=dt.date(2026, 6, 30),
        due_date=dt.date(2026, 7, 14),
        seller=of.MARMALADE.party(vat=True),
        buyer=of.QUIBBLE.party(),
        currency="GBP",
        lines=hired,
        **total(taxes),
        payment=Payment(terms="14 days", iban=of.MARMALADE.iban),
    )
    return Letter(fields, "invoice", of.MARMALADE, of.QUIBBLE, speak.BRITISH_SHORT, taxes)
