from collections.abc import Callable
from typing import Any

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.receipts.extractor import extract_built_in

Typeset = Callable[..., Document]

INVOICE = """
Holztechnik Muster GmbH & Co. KG
Werkstr. 14 · 83209 Prien am Chiemsee

Schreinerei Anton Riedl                           Rechnungs-Nr.   RE-26/10417
Dorfplatz 3                                       Rechnungsdatum   03.11.2026
83093 Bad Endorf

Rechnung

Pos  Bezeichnung                        Menge    E-Preis     Gesamt
1    Leimholzplatte Buche                  10      10,00     100,00
                                        Summe netto          100,00
                                        19 % USt.             19,00
                                        Rechnungsbetrag      119,00




"""
CREDIT = """
Papier Muster AG
Hafenstrasse 88, 4051 Basel · CHE-116.281.710 MWST

Druckerei Amsler
Rheingasse 12
4058 Basel

Gutschrift Nr. GS-4471
Datum: 14. Oktober 2026

Gutschriftsbetrag CHF   972.90
"""
REMINDER = """
Elektro Muster e.K.
Ringstr. 5, 94032 Passau

Gasthof Zur Post
Marktplatz 1
94060 Pocking

Passau, 09.11.2026


2. Mahnung

Kunden-Nr. 10233             Mahnung Nr. M-2026-077

Sehr geehrte Frau Lechner,

Gesamtforderung   1.627,66 EUR
"""


def values(document: Document, kind: str) -> Any:  # noqa: ANN401 - the fields of a type
    return extract_built_in(document, REGISTRY[kind]).data


@pytest.mark.parametrize(
    "label", ["Geschäftsführer", "Managing director", "Bestuurder", "Amministratore unico", "Prezes Zarządu"]
)
def test_the_person_who_leads_the_firm_is_no_party_of_the_invoice(typeset: Typeset, label: str) -> None:
    footer = f"{label}: Josef Muster · AG Traunstein HRA 5521 · USt-IdNr. DE136695976 · Tel. 08051 / 77 41-0"

    invoice = values(typeset(INVOICE + footer), "invoice")

    assert invoice.seller.name == "Holztechnik Muster GmbH & Co. KG"
    assert invoice.buyer.name == "Schreinerei Anton Riedl"
    assert invoice.buyer.address == "Dorfplatz 3, 83093 Bad Endorf"


def test_an_address_before_an_identifier_keeps_its_town(typeset: Typeset) -> None:
    note = values(typeset(CREDIT), "credit_note")

    assert note.seller.address == "Hafenstrasse 88, 4051 Basel"
    assert note.seller.vat_id == "CHE116281710MWST"


def test_the_subject_of_a_reminder_is_no_number_and_its_number_has_its_label(typeset: Typeset) -> None:
    reminder = values(typeset(REMINDER), "reminder")

    assert reminder.subject == "2. Mahnung"
    assert reminder.number == "M-2026-077"
    assert reminder.customer_number == "10233"
