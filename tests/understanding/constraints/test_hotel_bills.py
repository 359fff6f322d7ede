"""A hotel's bill has its own day, not that of arrival; its total are the charges, not the balance."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest

from docmill.model.document import Document
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.header_fields import dates
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.offline import extract

Typeset = Callable[..., Document]

BILL = """
Hotel Seeblick GmbH
Uferweg 3, 78999 Seestadt

{arrival} : 30.11.26
{departure} : 03.12.26
{room} : 306

{issued} : 03.12.26            {title}

{day}        {text}                     EUR
30.11.26     {night}                 110.00
01.12.26     {night}                 110.00
02.12.26     {night}                 110.00
03.12.26     Mastercard             -330.00
                         {total}     330.00
                         {balance}     0.00
"""
WORDS = {
    "en": ("Arrival Date", "Departure Date", "Room", "Date", "INVOICE", "Date", "Description",
           "Accommodation", "Total", "Balance"),
    "de": ("Anreise", "Abreise", "Zimmer", "Datum", "RECHNUNG", "Datum", "Beschreibung",
           "Übernachtung", "Total", "Saldo"),
    "fr": ("Arrivée", "Départ", "Chambre", "Date", "FACTURE", "Date", "Description",
           "Nuitée", "Total", "Solde"),
    "es": ("Llegada", "Salida", "Habitación", "Fecha", "FACTURA", "Fecha", "Descripción",
           "Alojamiento", "Total", "Saldo"),
}  # fmt: skip
NAMES = ("arrival", "departure", "room", "issued", "title", "day", "text", "night", "total", "balance")


def _bill(language: str) -> str:
    return BILL.format(**dict(zip(NAMES, WORDS[language], strict=True)))


@pytest.mark.parametrize("language", WORDS)
@pytest.mark.parametrize("document_type", ["receipt", "invoice"])
def test_the_day_is_that_of_the_bill(typeset: Typeset, language: str, document_type: str) -> None:
    found = dates(candidates_of(typeset(_bill(language))), document_type)

    assert found["issue_date"].value == date(2026, 12, 3)
    assert (found["period_start"].value, found["period_end"].value) == (date(2026, 11, 30), date(2026, 12, 3))


@pytest.mark.parametrize("language", WORDS)
def test_the_total_is_what_was_charged(typeset: Typeset, language: str) -> None:
    data = extract(typeset(_bill(language)), REGISTRY["invoice"]).data.model_dump()

    assert data["gross_total"] == Decimal("330.00")


def test_a_day_without_a_label_is_before_the_days_of_nights(typeset: Typeset) -> None:
    page = """
Arrival 11/30/2026 2:10 PM
Departure 12/03/2026
                12/03/2026

Date        Description    Amount
11/30/2026  Guest room    $110.00
12/01/2026  Guest room    $110.00
12/02/2026  Guest room    $110.00
"""

    found = dates(candidates_of(typeset(page)), "receipt")

    assert found["issue_date"].value == date(2026, 12, 3)
