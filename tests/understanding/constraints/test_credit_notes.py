"""Credit notes of ten countries: the signs of their amounts, and the invoice that they correct."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import NamedTuple

import pytest

from docmill.model.document import Document
from docmill.understanding.constraints.extractor import with_positive_amounts
from docmill.understanding.fields.findings import Finding
from docmill.understanding.offline import understand

Typeset = Callable[..., Document]


class CreditNote(NamedTuple):
    text: str
    number: str
    invoice: str
    days: tuple[str, str]
    """Of the credit note and of the invoice."""
    totals: tuple[str, str, str]
    lines: tuple[str, ...]


CREDIT_NOTES = {
    "a minus before all amounts": CreditNote(
        """\
Weberei Halmstedt GmbH                                      Weberei Halmstedt GmbH
Am Kanal 4                                                  USt-IdNr. DE136695976
26721 Emden

Modehaus Kerner KG
Lange Reihe 8
28195 Bremen

Gutschrift
Gutschrift-Nr.:   GS-2026-0091                     Datum:   14.04.2026
Zu Rechnung Nr.:  RE-2026-0312 vom 02.03.2026

Pos   Artikel                       Menge      Einzelpreis       Betrag
1     Leinenhemd Retoure               5            40,00       -200,00
2     Nachlass Versand                 1            10,00        -10,00
                                    Nettobetrag                 -210,00
                                    19 % USt.                    -39,90
                                    Gutschriftsbetrag       -249,90 EUR
""",
        number="GS-2026-0091",
        invoice="RE-2026-0312",
        days=("2026-04-14", "2026-03-02"),
        totals=("210.00", "39.90", "249.90"),
        lines=("200.00", "10.00"),
    ),
    "a minus behind all amounts": CreditNote(
        """\
Dachbau Severin KG                                       Stornorechnung
Gleisweg 18, 99084 Erfurt

Frau Petra Wolff
Am Anger 3
99084 Erfurt
                                                Belegnummer:      ST-4402
                                                Belegdatum:       07.05.2026
                                                Storno zu:        RG-4377
                                                Rechnungsdatum:   21.04.2026

Bezeichnung                        Anzahl      Preis          Summe
Dachziegel Rot                        120      1,85         222,00-
Anfahrt                                 1     45,00          45,00-
Zwischensumme                                               267,00-
MwSt 19 %                                                    50,73-
Gesamtbetrag EUR                                            317,73-
""",
        number="ST-4402",
        invoice="RG-4377",
        days=("2026-05-07", "2026-04-21"),
        totals=("267.00", "50.73", "317.73"),
        lines=("222.00", "45.00"),
    ),
    "CR behind all amounts": CreditNote(
        """\
Bramble & Finch Ltd                                               CREDIT NOTE
14 Tanner Row, York YO1 6JB
VAT Reg No GB 123 4567 82

Credit To:                                   Credit note no:    CN10087
Harbour Cafe                                 Date:              12 May 2026
2 Quay Street                                Your invoice:      INV-20441
Whitby YO21 1DH                              Invoice date:      28 April 2026

Description                     Qty      Unit price       Amount
Oat milk 1L (damaged)            24            1.45        34.80 CR
Espresso beans 1kg                3           11.20        33.60 CR
                                 Net                       68.40 CR
                                 VAT 20%                   13.68 CR
                                 Total credit             £82.08 CR
""",
        number="CN10087",
        invoice="INV-20441",
        days=("2026-05-12", "2026-04-28"),
        totals=("68.40", "13.68", "82.08"),
        lines=("34.80", "33.60"),
    ),
    "amounts in brackets": CreditNote(
        """\
Lakeshore Office Supply Inc.                                    Credit Memo
880 Wharf Ave, Duluth, MN 55802

Bill to: Pine County Schools
410 Main St, Pine City, MN 55063

Credit Memo #    CM-3310            Date         03/18/2026
Applies to Invoice #  88412         Invoice date 02/27/2026

Item                          Qty     Price        Amount
Copy paper case                 6     38.50      (231.00)
Toner TN-660                    2     54.00      (108.00)
                              Subtotal           (339.00)
                              Sales tax 6.875%    (23.31)
                              Total             ($362.31)
""",
        number="CM-3310",
        invoice="88412",
        days=("2026-03-18", "2026-02-27"),
        totals=("339.00", "23.31", "362.31"),
        lines=("231.00", "108.00"),
    ),
    "the invoice in a sentence": CreditNote(
        """\
Verrerie du Lac SARL
22 quai des Bateliers, 74000 Annecy
TVA FR 40 303265045

Client : Hôtel Beau Site
5 avenue d'Albigny
74000 Annecy

AVOIR N° AV-2026-017                         Date : 03/06/2026
Annule partiellement la facture F-2026-188 du 12/05/2026

Désignation                    Qté      P.U. HT      Montant HT
Carafes 1 L cassées              12        8,50         -102,00
                               Total HT                 -102,00
                               TVA 20 %                  -20,40
                               Net à votre crédit      -122,40 €
""",
        number="AV-2026-017",
        invoice="F-2026-188",
        days=("2026-06-03", "2026-05-12"),
        totals=("102.00", "20.40", "122.40"),
        lines=("102.00",),
    ),
    "the date of the invoice under its label": CreditNote(
        """\
Talleres Oria, S.L.                                   FACTURA RECTIFICATIVA
Calle Mayor 14, 20800 Zarautz
NIF B20345671

Cliente: Panadería Lurra, S.A.
Avenida de Navarra 3, 20800 Zarautz

Número: R-2026/09                                Fecha: 20/05/2026
Factura rectificada: F-2026/144                  Fecha factura: 04/05/2026
Abono por devolución de material

Concepto                      Cantidad     Precio       Importe
Rodamiento 6204                      4      12,30        -49,20
Correa dentada                       1      31,00        -31,00
                              Base imponible             -80,20
                              IVA 21 %                   -16,84
                              Total                    -97,04 €
""",
        number="R-2026/09",
        invoice="F-2026/144",
        days=("2026-05-20", "2026-05-04"),
        totals=("80.20", "16.84", "97.04"),
        lines=("49.20", "31.00"),
    ),
    "positive, the date of the invoice behind it": CreditNote(
        """\
Ceramiche Alba S.r.l.
Via Roma 40, 41049 Sassuolo MO
P.IVA IT 00743110157

Spett.le
Edilcasa Bassi S.p.A.
Via Emilia 112, 42121 Reggio Emilia

NOTA DI CREDITO n. 12/NC del 11/06/2026
Rif. fattura n. 318 del 22/05/2026

Descrizione                       Q.tà     Prezzo      Importe
Piastrelle 30x60 rotte              15      14,20       213,00
                                  Imponibile            213,00
                                  IVA 22%                46,86
                                  Totale a Vs. credito  259,86 EUR
""",
        number="12/NC",
        invoice="318",
        days=("2026-06-11", "2026-05-22"),
        totals=("213.00", "46.86", "259.86"),
        lines=("213.00",),
    ),
    "negative quantities": CreditNote(
        """\
Drukkerij De Zwaluw B.V.                              CREDITNOTA
Havenstraat 9, 3511 AB Utrecht
BTW NL004495445B01

Boekhandel Pluim
Oudegracht 210
3511 NR Utrecht

Creditnummer       C26-0051
Datum              09-04-2026
Betreft factuur    26-0417
Factuurdatum       18-03-2026

Omschrijving                     Aantal     Prijs        Bedrag
Flyers A5 misdruk                  -500      0,12        -60,00
Posters A2                          -10      4,75        -47,50
                                 Subtotaal              -107,50
                                 BTW 21%                 -22,58
                                 Totaal te ontvangen    -130,08
""",
        number="C26-0051",
        invoice="26-0417",
        days=("2026-04-09", "2026-03-18"),
        totals=("107.50", "22.58", "130.08"),
        lines=("60.00", "47.50"),
    ),
    "to be paid back": CreditNote(
        """\
Faktura korygująca nr FK/7/2026
Data wystawienia: 15.06.2026
do faktury nr FV/212/2026 z dnia 29.05.2026

Sprzedawca: Meblarnia Dąb sp. z o.o.          Nabywca: Hotel Pod Lipą
ul. Leśna 3, 60-101 Poznań                    ul. Rynek 8, 50-101 Wrocław
NIP 7811767696                                NIP 8971655454

Przyczyna korekty: zwrot towaru

Lp.  Nazwa                  Ilość     Cena netto    Wartość netto
1    Krzesło bukowe            -4         180,00          -720,00
                              Razem netto                 -720,00
                              VAT 23%                     -165,60
                              Do zwrotu                   -885,60 PLN
""",
        number="FK/7/2026",
        invoice="FV/212/2026",
        days=("2026-06-15", "2026-05-29"),
        totals=("720.00", "165.60", "885.60"),
        lines=("720.00",),
    ),
    "number with its series": CreditNote(
        """\
Cortiças do Sado, Lda.
Rua do Porto 77, 2900-001 Setúbal
NIF 501964843

Exmo(s) Sr(s)
Adega Velha, S.A.
Estrada Nacional 10, 2950-402 Palmela

Nota de Crédito NC 2026/31                  Data: 02-06-2026
Referente à Fatura FT 2026/502 de 14-05-2026

Descrição                        Qtd      Preço       Valor
Rolhas naturais 44mm             400       0,21       84,00
                                 Total líquido        84,00
                                 IVA 23%              19,32
                                 Total              103,32 €
""",
        number="NC 2026/31",
        invoice="FT 2026/502",
        days=("2026-06-02", "2026-05-14"),
        totals=("84.00", "19.32", "103.32"),
        lines=("84.00",),
    ),
    "two numbers and dates with one label": CreditNote(
        """\
Norrsken Plåt AB                                       KREDITFAKTURA
Industrivägen 6, 931 37 Skellefteå
Org.nr 556036-0793

Bygg & Tak i Umeå AB
Storgatan 40, 903 26 Umeå

Fakturanummer       70215
Fakturadatum        2026-05-19
Avser faktura       70188
Fakturadatum        2026-04-30

Benämning                   Antal      À-pris       Belopp
Hängränna 4 m                  -6      189,00    -1 134,00
                            Netto                -1 134,00
                            Moms 25 %              -283,50
                            Summa SEK            -1 417,50
""",
        number="70215",
        invoice="70188",
        days=("2026-05-19", "2026-04-30"),
        totals=("1134.00", "283.50", "1417.50"),
        lines=("1134.00",),
    ),
    "lines positive, totals negative": CreditNote(
        """\
Autohaus Nestler e.K.                             Rechnungskorrektur
Zwickauer Str. 200, 09116 Chemnitz

Spedition Uhlmann GmbH
Leipziger Platz 1
09113 Chemnitz

Korrekturbeleg Nr. K-889            Datum 22.06.2026
Bezug: Ihre Rechnung 2026-5571 vom 09.06.2026

Leistung                      Menge     Preis      Gesamt
Bremsscheibe vorn                 2     84,00      168,00
                              Netto               -168,00
                              USt 19 %             -31,92
                              Erstattungsbetrag   -199,92
""",
        number="K-889",
        invoice="2026-5571",
        days=("2026-06-22", "2026-06-09"),
        totals=("168.00", "31.92", "199.92"),
        lines=("168.00",),
    ),
    "a sentence that credits": CreditNote(
        """\
Gartencenter Ilmtal GmbH
Weimarer Landstr. 7, 99510 Apolda

Herrn Jens Roth
Bachgasse 2
99423 Weimar

Gutschrift                                      Apolda, den 30.06.2026
Nr. 2026-G-14

Ihre Rechnung Nr. 2026-R-733 vom 12.06.2026 schreiben wir Ihnen wie folgt gut:

Pos.  Bezeichnung              Menge   E-Preis     G-Preis
1     Rasenmäher Defekt            1    289,00      289,00
2     Blumenerde 40 l              3      6,90       20,70
                               Summe netto          309,70
                               MwSt. 19 %            58,84
                               Gutschrift gesamt    368,54 EUR
""",
        number="2026-G-14",
        invoice="2026-R-733",
        days=("2026-06-30", "2026-06-12"),
        totals=("309.70", "58.84", "368.54"),
        lines=("289.00", "20.70"),
    ),
}
_NOT_NAMED = {"R-2026/09"}
"""Numbers that have a label for numbers of anything, so that a person is asked."""


@pytest.mark.parametrize("paper", CREDIT_NOTES.values(), ids=CREDIT_NOTES)
def test_a_credit_note_has_positive_amounts_and_refers_to_its_invoice(
    paper: CreditNote, typeset: Typeset
) -> None:
    classification, extraction = understand(typeset(paper.text))

    data = extraction.data.model_dump()
    assert classification.document_type == "credit_note"
    assert data["number"] == (None if paper.number in _NOT_NAMED else paper.number)
    assert data["preceding_invoice_number"] == paper.invoice
    assert (str(data["issue_date"]), str(data["preceding_invoice_date"])) == paper.days
    assert tuple(str(data[name]) for name in ("net_total", "tax_total", "gross_total")) == paper.totals
    assert tuple(str(line["net_amount"]) for line in data["lines"]) == paper.lines


def test_the_number_of_an_invoice_is_its_own_beside_that_of_the_credit_note(typeset: Typeset) -> None:
    text = CREDIT_NOTES["CR behind all amounts"].text
    text = text.replace("Your invoice:", "Invoice no:  ")

    data = understand(typeset(text)).extraction.data.model_dump()

    assert (data["number"], data["preceding_invoice_number"]) == ("CN10087", "INV-20441")


def amounts(**values: str) -> dict[str, Finding]:
    return {path.replace("__", "."): Finding(Decimal(value), (), 0.9) for path, value in values.items()}


def signs(findings: dict[str, Finding]) -> list[str]:
    return [str(finding.value) for finding in with_positive_amounts(findings).values()]


def test_totals_that_add_up_without_signs_are_positive() -> None:
    assert signs(amounts(net_total="-100.00", tax_total="-19.00", gross_total="119.00")) == [
        "100.00",
        "19.00",
        "119.00",
    ]


def test_totals_that_do_not_add_up_without_signs_stay_as_printed() -> None:
    assert signs(amounts(net_total="-100.00", tax_total="19.00", gross_total="-81.00")) == [
        "-100.00",
        "19.00",
        "-81.00",
    ]


def test_lines_are_turned_by_their_own_sum() -> None:
    findings = amounts(net_total="-80.00") | {
        "lines[0].net_amount": Finding(Decimal("100.00"), (), 0.9),
        "lines[1].net_amount": Finding(Decimal("-20.00"), (), 0.9),
    }

    assert signs(findings) == ["80.00", "100.00", "-20.00"]


def test_a_document_number_is_the_credit_notes_own(typeset: Typeset) -> None:
    text = """\
CREDIT NOTE

Document No.    SCN-004418
Invoice No.     SIN-118842
Invoice Date    11/02/2026
Document Date   05/03/2026

Total Credit    GBP 224.40
"""
    classification, extraction = understand(typeset(text))
    data = extraction.data.model_dump()

    assert classification.document_type == "credit_note"

    assert (data["number"], data["preceding_invoice_number"]) == ("SCN-004418", "SIN-118842")
    assert data["issue_date"] == date(2026, 3, 5)
