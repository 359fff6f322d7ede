from collections.abc import Callable
from decimal import Decimal
from typing import cast

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.schemas.types import Invoice, Line
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate

Typeset = Callable[..., Document]

GERMAN = """
Muster GmbH                                              Rechnung Nr. 4711
Hauptstr. 1                                              Datum: 01.02.2024
12345 Berlin

Pos  Bezeichnung                        Menge Einheit    E-Preis     Gesamt  MwSt
1    Schrauben M8 verzinkt                 10 Stk           1,50      15,00  19 %
     lange Ausführung
2    Muttern M8                          2,50 kg           20,00      50,00  19 %

                                        Nettobetrag                   65,00
                                        MwSt 19%                      12,35
                                        Gesamtbetrag                  77,35
"""


def extracted(document: Document, kind: str = "invoice") -> Extraction:
    return extract_by_rules(document, REGISTRY[kind])


def lines_of(document: Document, kind: str = "invoice") -> tuple[Line, ...]:
    return cast("Invoice", extracted(document, kind).data).lines


def test_rows_of_a_table_are_the_items_and_its_sums_are_none(typeset: Typeset) -> None:
    lines = lines_of(typeset(GERMAN))

    assert lines == (
        Line(
            position="1",
            description="Schrauben M8 verzinkt lange Ausführung",
            quantity=Decimal(10),
            unit="Stk",
            unit_price=Decimal("1.50"),
            net_amount=Decimal("15.00"),
            tax_rate=Decimal(19),
        ),
        Line(
            position="2",
            description="Muttern M8",
            quantity=Decimal("2.50"),
            unit="kg",
            unit_price=Decimal("20.00"),
            net_amount=Decimal("50.00"),
            tax_rate=Decimal(19),
        ),
    )


def test_every_value_of_an_item_has_its_place(typeset: Typeset) -> None:
    document = typeset(GERMAN)
    extraction = extracted(document)

    verdict = RuleGate().judge(document, extraction, REGISTRY["invoice"])

    assert extraction.evidence["lines[0].description"].text == "Schrauben M8 verzinkt lange Ausführung"
    assert extraction.evidence["lines[1].unit_price"].text == "20,00"
    assert extraction.evidence["lines[1].net_amount"].confidence > 0.9
    assert not any(failure.check == "evidence" for failure in verdict.failures)


@pytest.mark.parametrize(
    "heading",
    [
        "Item  Description                        Qty   Unit     Unit Price   Line Total  VAT %",
        "N°    Désignation                        Qté   Unité    P.U. HT      Montant HT  TVA",
        "Nº    Concepto                           Cant. Unidad   Precio unit. Importe     IVA",
        "N.    Descrizione                        Q.tà  U.M.     Prezzo unit. Importo     IVA",
        "#     Omschrijving                       Aantal Eenheid Stukprijs    Bedrag      Btw",
        "Bil   Keterangan                         Kuantiti Unit  Harga        Jumlah      Cukai",
    ],
)
def test_headings_are_known_in_all_languages(typeset: Typeset, heading: str) -> None:
    rows = """
1     Blue paper A4                      3     box            12.00       36.00    20 %
2     Pencils                            5     box             2.40       12.00    20 %
"""
    lines = lines_of(typeset(heading + rows))

    assert [line.quantity for line in lines] == [3, 5]
    assert [line.unit for line in lines] == ["box", "box"]
    assert [line.unit_price for line in lines] == [Decimal("12.00"), Decimal("2.40")]
    assert [line.net_amount for line in lines] == [Decimal("36.00"), Decimal("12.00")]
    assert [line.tax_rate for line in lines] == [20, 20]
    assert [line.description for line in lines] == ["Blue paper A4", "Pencils"]
    assert [line.position for line in lines] == ["1", "2"]


def test_a_table_goes_on_over_pages_without_what_is_carried(typeset: Typeset) -> None:
    text = """
Pos  Bezeichnung                        Menge            E-Preis     Gesamt
1    Schrauben                             10               1,50      15,00
2    Muttern                                2              20,00      40,00
     Übertrag                                                         55,00
\fSeite 2
Pos  Bezeichnung                        Menge            E-Preis     Gesamt
     Übertrag                                                         55,00
3    Scheiben                               4               1,25       5,00
\f
4    Bolzen                                 1               2,00       2,00
     Summe netto                                                      62,00
"""
    extraction = extracted(typeset(text))

    lines = cast("Invoice", extraction.data).lines
    assert [line.position for line in lines] == ["1", "2", "3", "4"]
    assert [line.net_amount for line in lines] == [15, 40, 5, 2]
    assert extraction.evidence["lines[3].net_amount"].page == 3


def test_a_table_of_taxes_is_no_table_of_items(typeset: Typeset) -> None:
    text = """
MwSt-Satz        Netto        MwSt       Brutto
19 %            100,00       19,00       119,00
7 %             200,00       14,00       214,00
"""
    assert lines_of(typeset(text)) == ()


def test_arithmetic_tells_amount_from_price(typeset: Typeset) -> None:
    text = """
Description                     Price       Qty       Price
Blue paper                      12.00         3       36.00
Pencils                          2.40         5       12.00
"""
    lines = lines_of(typeset(text))

    assert [line.unit_price for line in lines] == [Decimal("12.00"), Decimal("2.40")]
    assert [line.net_amount for line in lines] == [Decimal("36.00"), Decimal("12.00")]


def test_cells_of_one_row_may_stand_at_different_heights(typeset: Typeset) -> None:
    text = """
Pos  Beschreibung                Nettopreis     Menge    Nettobetrag
1    Trennblätter A4                 9,9000    20 Stk
                                                              198,00
     Bruttopreis : 9,9000
2    Joghurt Banane                  5,5000    50 Stk
                                                              275,00
     Positionssumme                                           473,00
"""
    lines = lines_of(typeset(text))

    assert [line.description for line in lines] == ["Trennblätter A4", "Joghurt Banane"]
    assert [line.unit_price for line in lines] == [Decimal("9.9000"), Decimal("5.5000")]
    assert [line.net_amount for line in lines] == [Decimal("198.00"), Decimal("275.00")]


def test_headings_may_take_several_lines(typeset: Typeset) -> None:
    text = """
                                                       Unit
Description                          Quantity                 Disc.     Amount
                                                       price
Nougat 250g                                20 Unit(s)   4.55   10%        81.90
Biscuits 300g                              15 Unit(s)   3.20              48.00
"""
    lines = lines_of(typeset(text))

    assert [line.unit_price for line in lines] == [Decimal("4.55"), Decimal("3.20")]
    assert [line.unit for line in lines] == ["Unit(s)", "Unit(s)"]


def test_headings_at_the_end_of_a_page_are_those_of_the_next(typeset: Typeset) -> None:
    text = """
Invoice 4711   Date: 2024-02-01

Item  Description            Qty    Unit Price    Line Total
\f1     Steak                    4          5.50         22.00
"""
    assert [line.net_amount for line in lines_of(typeset(text))] == [22]


def test_rows_below_the_items_that_repeat_their_sum_are_none(typeset: Typeset) -> None:
    text = """
Omschrijving                    Aantal   Eenheid   Prijs     Bedrag
Onderhoudsset                        1   PCS       49,99      49,99
Flyer                                1   PCS        0,00       0,00
zusammen                                                      49,99
8,68                                    21                    49,99
"""
    assert [line.description for line in lines_of(typeset(text))] == ["Onderhoudsset", "Flyer"]


def test_a_unit_may_stand_in_a_column_without_a_heading(typeset: Typeset) -> None:
    text = """
Description                     Qty            Price      Amount
Blue paper                        3   box      12.00       36.00
Pencils                           5   pcs       2.40       12.00
"""
    assert [line.unit for line in lines_of(typeset(text))] == ["box", "pcs"]


def test_positions_may_begin_the_names(typeset: Typeset) -> None:
    text = """
Description                     Qty            Price      Amount
1 Blue paper                      3            12.00       36.00
2 Pencils                         5             2.40       12.00
"""
    lines = lines_of(typeset(text))

    assert [(line.position, line.description) for line in lines] == [("1", "Blue paper"), ("2", "Pencils")]


def test_a_discount_explains_the_amount(typeset: Typeset) -> None:
    text = """
Description                     Qty      Price   Discount     Amount
Blue paper                        3      12.00       10 %      32.40
"""
    document = typeset(text)
    extraction = extracted(document)

    assert extraction.evidence["lines[0].net_amount"].confidence > 0.9


def test_a_quantity_with_three_decimals_is_no_thousand(typeset: Typeset) -> None:
    text = """
Bezeichnung                     Menge      Einzelpreis     Gesamt
Käse                            1.250            20,00      25,00
Wurst                           2.000            10,00      20,00
"""
    assert [line.quantity for line in lines_of(typeset(text))] == [Decimal("1.250"), Decimal("2.000")]


def test_a_delivery_note_has_quantities_and_no_amounts(typeset: Typeset) -> None:
    text = """
Lieferschein LS-1

Pos.  Art.-Nr.   Bezeichnung              Menge   Einheit
1     A-1        Schrauben                   10   Stk
2     A-2        Muttern                      4   kg
"""
    lines = lines_of(typeset(text), "delivery_note")

    assert [(line.description, line.quantity, line.unit) for line in lines] == [
        ("Schrauben", 10, "Stk"),
        ("Muttern", 4, "kg"),
    ]


def test_a_name_above_its_numbers_belongs_to_them(typeset: Typeset) -> None:
    text = """
Pos  Description                    Qty     Unit Price    Line Total
     Assembly of the frame
1                                     2          10.00         20.00
     Painting
2                                     1           5.00          5.00
"""
    assert [line.description for line in lines_of(typeset(text))] == ["Assembly of the frame", "Painting"]


def texts_and_amounts(document: Document) -> list[tuple[str | None, str | None, str]]:
    return [(line.position, line.description, str(line.net_amount)) for line in lines_of(document)]


def test_a_position_begins_an_item_whose_numbers_stand_on_a_later_line(typeset: Typeset) -> None:
    document = typeset("""\
Invoice No. 4711        Date: 10 January 2024

Pos  Description                 Qty    Unit price     Amount
1    Consulting services for
     the migration                10        100.00   1,000.00
2    Travel expenses
     Berlin - Munich               1        200.00     200.00

Total                                           1,200.00
""")

    assert texts_and_amounts(document) == [
        ("1", "Consulting services for the migration", "1000.00"),
        ("2", "Travel expenses Berlin - Munich", "200.00"),
    ]


def test_the_title_of_a_group_of_items_belongs_to_none_of_them(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711                Datum: 10.01.2024

Pos   Bezeichnung         Menge     Preis     Betrag
1     Wartung
1.1   Inspektion              1     80,00      80,00
1.2   Ölwechsel               2     40,00      80,00
2     Reparatur
2.1   Bremsbelag              4     25,00     100,00

Summe                                         260,00 EUR
""")

    assert texts_and_amounts(document) == [
        ("1.1", "Inspektion", "80.00"),
        ("1.2", "Ölwechsel", "80.00"),
        ("2.1", "Bremsbelag", "100.00"),
    ]


def test_a_description_goes_on_below_the_headings_of_the_next_page(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711                Datum: 10.01.2024

Pos  Bezeichnung            Menge    Einzelpreis     Betrag
1    Kaffee 500 g              10           8,00      80,00
2    Kaffeemaschine             1         100,00     100,00
     mit Mahlwerk und
Übertrag                                             180,00
\f
Rechnung Nr. 4711   Seite 2

Pos  Bezeichnung            Menge    Einzelpreis     Betrag
Übertrag                                             180,00
     Milchschäumer
3    Filterpapier               4           2,50      10,00

Nettobetrag                                         190,00 EUR
""")

    assert texts_and_amounts(document) == [
        ("1", "Kaffee 500 g", "80.00"),
        ("2", "Kaffeemaschine mit Mahlwerk und Milchschäumer", "100.00"),
        ("3", "Filterpapier", "10.00"),
    ]


def test_headings_of_several_lines_may_list_what_a_column_consists_of(typeset: Typeset) -> None:
    document = typeset("""\
Purchase order PO-4711        Date: 10 January 2024

     Name, description, brand, batch number
#    characteristics, serial or batch number        Base    Net price    Quantity    Line total
1    Books                                      1,00        8,00           10    80,00
2    Chair                                      1,00      100,00            1   100,00

Total net                                                                       180,00 EUR
""")

    assert [
        (line.description, str(line.quantity), str(line.unit_price), str(line.net_amount))
        for line in lines_of(document, "purchase_order")
    ] == [("Books", "10", "8.00", "80.00"), ("Chair", "1", "100.00", "100.00")]


def test_the_number_of_an_item_above_its_name_is_no_part_of_it(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711          Datum: 10.01.2024

Art-Nr               Menge    Einzelpreis     Betrag
Bezeichnung
ZS997                   10           8,00      80,00
Zitronensäure 100 ml
2031                     1         100,00     100,00
Großpackung mit langem Namen über die Menge
GZ250                    2           2,50       5,00
Gelierzucker

Nettobetrag                                   185,00 EUR
""")

    assert [line.description for line in lines_of(document)] == [
        "Zitronensäure 100 ml",
        "Großpackung mit langem Namen über die Menge",
        "Gelierzucker",
    ]


def test_lines_of_details_between_items_do_not_end_the_table(typeset: Typeset) -> None:
    document = typeset("""\
Purchase order PO-4711        Date: 10 January 2024

Pos  Description                       Qty    Unit price    Discount      Amount
1    Books                              10          8.00        0.00       80.00
     Batch: 4711                     Origin: FR
     Delivery: 15/04/2024            Partial: yes
     Catalogue line 7                                         10.00       6.00 %
     Reason: 64                                                     64 - SPECIAL
     Reference: Q-17                 Line: 3
2    Chair                               1        100.00        0.00      100.00

Total net                                                              180.00 EUR
""")

    assert [(line.description, str(line.net_amount)) for line in lines_of(document, "purchase_order")] == [
        ("Books", "80.00"),
        ("Chair", "100.00"),
    ]


def test_of_two_quantities_one_above_the_other_that_counts_which_makes_the_amount(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711          Datum: 10.01.2024

Pos  Bezeichnung            Menge    Einzelpreis     Betrag
1    Kaffee 500 g               5           8,00      32,00
                                4
2    Filterpapier               2           2,50       5,00
                                2

Nettobetrag                                          37,00 EUR
""")
    extraction = extracted(document)

    assert [str(line.quantity) for line in cast("Invoice", extraction.data).lines] == ["4", "2"]
    assert extraction.evidence["lines[0].quantity"].text == "4"


def test_a_price_may_be_that_of_a_hundred(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711          Datum: 10.01.2024

Pos  Bezeichnung            Menge    Einzelpreis   Preiseinheit     Betrag
1    Schrauben M8             400           8,00            100      32,00
2    Muttern M8                 2           2,50              1       5,00

Nettobetrag                                                          37,00 EUR
""")
    extraction = extracted(document)

    assert [str(line.unit_price) for line in cast("Invoice", extraction.data).lines] == ["8.00", "2.50"]
    assert extraction.evidence["lines[0].quantity"].confidence > 0.9


def test_a_column_headed_as_positions_may_hold_quantities(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711          Datum: 10.01.2024

#        Produkt            USt    Einzelpreis     Summe
400,00   Luftballon         19%           0,80    320,00
200,00   Heiße Luft         19%           0,10     20,00

Nettobetrag                                       340,00 EUR
""")

    assert [str(line.quantity) for line in lines_of(document)] == ["400.00", "200.00"]


def test_a_description_keeps_the_word_beyond_the_edge_of_its_column(typeset: Typeset) -> None:
    document = typeset("""\
Rechnung Nr. 4711          Datum: 10.01.2024

Pos  Bezeichnung            Menge    Einzelpreis     Betrag
1    Wartung der Anlage        10           8,00      80,00
     im Zeitraum von KW 36
2    Filterpapier          100000           2,50  250000,00

Nettobetrag                                       250080,00 EUR
""")

    assert lines_of(document)[0].description == "Wartung der Anlage im Zeitraum von KW 36"


@pytest.mark.parametrize(
    "heading",
    [
        "Item code  Description                  Ordered      Delivered   To follow",
        "Artikel    Bezeichnung                  Bestellt     Geliefert   Rest",
        "Réf        Désignation              Qté commandée   Qté livrée   Reliquat",
        "Código     Descripción               Cant. pedida  Cant. servida Pendiente",
        "Codice     Descrizione            Q.tà ordinata   Q.tà evasa     Residuo",
        "Artikel    Omschrijving                 Besteld      Geleverd   Nog te leveren",
        "Kod        Nazwa towaru               Zamówiono       Wydano    Pozostało",
        "Código     Designação                Qtd. pedida     Entregue    Em falta",
        "Artikelnr  Benämning                   Beställt    Levererat   Restnoterat",
        "Varenr.    Beskrivelse                  Bestilt      Leveret     Restordre",
    ],
)
def test_the_quantity_is_the_delivered_one_and_no_other_column_is_a_price(
    typeset: Typeset, heading: str
) -> None:
    lines = lines_of(
        typeset(f"""
Delivery note DN 88213

{heading}
M8N-ZP     Hex nut zinc                    2000           1500        500
WSH-8      Washer form A                   4000           4000          0
"""),
        "delivery_note",
    )

    assert [line.quantity for line in lines] == [Decimal(1500), Decimal(4000)]
    assert all(line.unit_price is None and line.net_amount is None for line in lines)


@pytest.mark.parametrize(
    "heading",
    [
        "Description           Ordered    Prev. delivered    This delivery    To follow",
        "Bezeichnung           Bestellt   Bereits geliefert  Diese Lieferung  Rückstand",
        "Désignation           Commandé   Livré antérieurement  Cette livraison  Reste",
    ],
)
def test_what_was_delivered_before_is_not_the_quantity(typeset: Typeset, heading: str) -> None:
    lines = lines_of(
        typeset(f"""
Delivery note DN 88213

{heading}
Sawn softwood                50                 20               30            0
OSB3 sheet                   40                  0               25           15
"""),
        "delivery_note",
    )

    assert [line.quantity for line in lines] == [Decimal(30), Decimal(25)]


def test_prices_and_amounts_tell_which_quantity_is_meant(typeset: Typeset) -> None:
    lines = lines_of(
        typeset("""
Invoice No. 77120

Description                Ordered    Delivered      Price     Amount
Bronze cleat                    20           12      18.50     370.00
Shackle                         40           30       4.25     170.00
""")
    )

    assert [line.quantity for line in lines] == [Decimal(20), Decimal(40)]


def test_where_only_ordered_and_outstanding_are_printed_the_items_have_no_quantity(
    typeset: Typeset,
) -> None:
    lines = lines_of(
        typeset("""
Lieferschein LS-2026-3318

Pos    Bezeichnung                   bestellt     Rückstand
1      Sechskantschraube M12x60           800           200
2      Unterlegscheibe 13               1.600             0
"""),
        "delivery_note",
    )

    assert [(line.description, line.quantity) for line in lines] == [
        ("Sechskantschraube M12x60", None),
        ("Unterlegscheibe 13", None),
    ]


def test_a_heading_of_two_words_with_a_slash_is_one_column(typeset: Typeset) -> None:
    text = """
Line   Part / Description               Qty     Unit price      Amount
1      QO-1550 Laser diode, 1550 nm      12       1,145.00   13,740.00
2      Mounting kit                      12          88.25    1,059.00
3      Freight, prepaid and add           1         240.00      240.00
"""
    names = [line.description for line in lines_of(typeset(text))]

    assert names == ["QO-1550 Laser diode, 1550 nm", "Mounting kit", "Freight, prepaid and add"]


def test_a_column_that_adds_up_to_the_tax_has_no_rates(typeset: Typeset) -> None:
    text = """
Cantidad   Concepto                    Precio      IVA     Importe
2          Servicios de consultoría     30,00     5,00       60,00
3          Precio del documento         10,00     2,00       30,00
10         Tarifa de impresión           1,00     1,00       10,00
                                        Subtotal           100,00
                                        IVA                  8,00
                                        Total              108,00
"""
    lines = lines_of(typeset(text))

    assert [line.net_amount for line in lines] == [Decimal("60.00"), Decimal("30.00"), Decimal("10.00")]
    assert [line.tax_rate for line in lines] == [None, None, None]
