"""Lines of card payments are told from those of a sale, in the words of many countries."""

from collections.abc import Callable

import pytest

from docmill.model.document import Document
from docmill.understanding.constraints.header_fields import numbers
from docmill.understanding.fields.analysis_cache import candidates_of
from docmill.understanding.page.card_slips import card_slip_lines, is_card_slip
from docmill.understanding.page.layout import Layout

Typeset = Callable[..., Document]

RECEIPT = """
       BLAUE BOHNE
    Hafengasse 7, 20999 Hamburg
Kaffee gemahlen          7,90 A
Filter                   2,10 B
Summe EUR               10,00
"""
TAXES = """
A  7,00 %    7,38   0,52   7,90
B 19,00 %    1,76   0,34   2,10
"""
SLIPS = {
    "de": """
     - K-U-N-D-E-N-B-E-L-E-G -
           Blaue Bohne
        20999 Hamburg
Terminal-ID            61234567
TA-Nr 004711       BNr 0815
       Kontaktlos
PAN          ############4321
Genehmigungs-Nr          654321
Datum 03.04.26        10:12 Uhr
EUR                       10,00
   *** Zahlung erfolgt ***
""",
    "en": """
MERCHANT ID:  700012345
TERMINAL ID:  00412233
CARD: ************4321
ENTRY METHOD: CONTACTLESS
DATE 03/04/2026  TIME 10:12:44
AUTH CODE: 77AB21
AID: A0000000041010
SALE          $10.00
APPROVED
  CUSTOMER COPY
""",
    "es": """
COMERCIO: 327009988
TERMINAL ID: 4
TARJETA ************4321
AUTORIZACION: 445566
FECHA 03/04/26 HORA 10:12
IMPORTE: 10,00 EUR
AID: A0000000041010
 Ejemplar para el cliente
""",
    "fr": """
ID COMMERCANT 1234567
CARTE ************4321
SANS CONTACT
AID A0000000421010
LE 03/04/26 A 10:12
NO AUTORISATION 998877
MONTANT 10,00 EUR
   TICKET CLIENT
""",
    "pl": """
ID AKCEPTANTA: 1002003
ID TERMINALA: 44556677
KARTA ************4321
ZBLIZENIOWO
2026-04-03 10:12
KOD AUTORYZACJI: 335577
KWOTA 10,00 PLN
   KOPIA DLA KLIENTA
""",
}


@pytest.mark.parametrize("language", SLIPS)
def test_a_slip_alone_is_told_in_the_words_of_its_country(typeset: Typeset, language: str) -> None:
    assert is_card_slip(Layout(typeset(SLIPS[language])))


@pytest.mark.parametrize("language", SLIPS)
def test_a_slip_under_a_receipt_is_a_part_of_it(typeset: Typeset, language: str) -> None:
    layout = Layout(typeset(RECEIPT + SLIPS[language] + TAXES))

    lines = card_slip_lines(layout.sheets[0])

    texts = {segment.text for segment in layout.segments if segment.line in lines}
    assert any("10:12" in text for text in texts)
    assert not any("Summe" in text or "%" in text or "Filter" in text for text in texts)
    assert not is_card_slip(layout)


def test_a_number_of_the_terminal_is_none_of_the_receipt(typeset: Typeset) -> None:
    slip = SLIPS["de"].replace("TA-Nr 004711", "Beleg-Nr. 004711")

    under_a_receipt = numbers(candidates_of(typeset(RECEIPT + slip + "Bon-Nr. 8415\n")), "receipt")
    alone = numbers(candidates_of(typeset(slip)), "receipt")

    assert under_a_receipt["number"].value == "8415"
    assert alone["number"].value == "004711"


def test_a_card_on_a_receipt_is_no_slip(typeset: Typeset) -> None:
    layout = Layout(typeset(RECEIPT + "Terminal 3\nMastercard ************4321   10,00\n"))

    assert not card_slip_lines(layout.sheets[0])


def test_suggested_tips_are_no_amounts_of_a_sale(typeset: Typeset) -> None:
    tips = "Suggested gratuity:\n20% Tip = 2.00\n18% Tip = 1.80\n"

    assert is_card_slip(Layout(typeset(SLIPS["en"] + tips)))
    assert not is_card_slip(Layout(typeset(SLIPS["en"] + "VAT 20%   1.67   8.33\n")))
    assert not is_card_slip(Layout(typeset(SLIPS["en"] + "\f" + SLIPS["en"])))


def test_an_amount_of_ten_times_another_is_another_amount(typeset: Typeset) -> None:
    assert not is_card_slip(Layout(typeset(SLIPS["en"] + "Coffee   $1.00\n")))
    assert is_card_slip(Layout(typeset(SLIPS["en"] + "TOTAL   $10.00\nCHANGE   $0.00\n")))
