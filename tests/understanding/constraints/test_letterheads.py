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


@pytest.mark.parametrize("slogan", ["Sinds 1931", "Since 1931", "Qualidade desde 1970", "Seit 1890"])
def test_the_year_of_founding_is_no_address(typeset: Typeset, slogan: str) -> None:
    page = f"""
Muster Bolt & Tool Ltd
{slogan}

                                                 INVOICE
Billed to:                                       Invoice no.   4471
Kestrel Foods Ltd                                Date          3 May 2026
14 Station Road
Bath BA1 1AA

1    Bolts                                    10      10.00     100.00
                                              Total           100.00




12 Mill Lane, Leeds LS1 4DY
"""

    invoice = values(typeset(page), "invoice")

    assert invoice.seller.name == "Muster Bolt & Tool Ltd"
    assert invoice.seller.address is None


def test_a_town_before_its_postcode_is_no_year(typeset: Typeset) -> None:
    page = INVOICE.replace("83209 Prien am Chiemsee", "Sydney 2000")

    invoice = values(typeset(page), "invoice")

    assert invoice.seller.address == "Werkstr. 14 · Sydney 2000"
