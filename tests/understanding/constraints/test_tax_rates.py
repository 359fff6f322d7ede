"""Net, tax and gross total of papers with several rates of tax."""

import pytest
from tests.understanding.conftest import Typeset

from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.extractor import extract_by_rules

TAXES_IN_SENTENCES_BETWEEN_NET_AND_GROSS = """
Rechnung Nr. 4711                Datum: 10.01.2024

Pos  Bezeichnung       Menge  Einzelpreis  MwSt   Betrag
1    Kaffee 500 g        10         8,00   7 %     80,00
2    Kaffeemaschine       1       100,00  19 %    100,00

Nettobetrag                                       180,00 EUR
zzgl. 7 % MwSt auf 80,00                            5,60 EUR
zzgl. 19 % MwSt auf 100,00                         19,00 EUR
Gesamtbetrag                                      204,60 EUR
"""
A_TABLE_WITHOUT_SUMS = """
Invoice No. 4711        Date: 10 January 2024

Description        Qty   Unit price   VAT   Amount
Books               10         8.00   5%     80.00
Chair                1       100.00  20%    100.00

VAT rate     Net        VAT      Gross
5%         80.00       4.00      84.00
20%       100.00      20.00     120.00

Total due                       GBP 204.00
"""
A_TABLE_BESIDE_TOTALS = """
Facture n° 4711     Date de facture : 10/01/2024

Désignation       Qté   PU HT   TVA    Total HT
Pain               10    8,00   5,5 %    80,00
Four                1  100,00  20 %     100,00

Taux TVA    Base HT    Montant TVA
5,5 %         80,00         4,40
20 %         100,00        20,00

Total HT                  180,00 €
Total TTC                 204,40 €
Net à payer               204,40 €
"""
SUMS_AS_THE_LAST_ROW_WITHOUT_LABELS = """
Rechnung Nr. 4711                Datum: 10.01.2024

Warenwert   Nettobetrag   MwSt-Betrag  MwSt-%   Endbetrag
 326,50        321,40        61,07      19,0      382,47
 130,70        127,59         8,93       7,0      136,52
 457,20        448,99        70,00       EUR      518,99
"""
A_TABLE_WITH_A_LABELLED_LAST_ROW = """
Fattura n. 4711     Data: 10/01/2024

Descrizione        Qtà   Prezzo    IVA    Importo
Pane               10      8,00   4%       80,00
Forno               1    100,00  22%      100,00

Aliquota   Imponibile    Imposta
4%              80,00       3,20
22%            100,00      22,00
Totale         180,00      25,20

Totale documento         205,20 EUR
"""
TAXES_BESIDE_A_SUBTOTAL = """
Factuur nr. 4711      Factuurdatum: 10-01-2024
Subtotaal        180,00
BTW 9% over 80,00     7,20
BTW 21% over 100,00   21,00
Totaal te betalen EUR  208,20
"""
A_TABLE_WITH_GROSS_AMOUNTS = """
Faktura VAT nr 4711   Data wystawienia: 10.01.2024
Stawka VAT   Wartość netto   Kwota VAT   Wartość brutto
23%          100,00    23,00    123,00
8%           50,00     4,00     54,00
Razem        150,00    27,00    177,00
Do zapłaty: 177,00 PLN
"""


def read(typeset: Typeset, text: str) -> Extraction:
    return extract_by_rules(typeset(text), REGISTRY["invoice"])


def totals(extraction: Extraction) -> tuple[str, str, str]:
    data = extraction.data.model_dump()
    return str(data["net_total"]), str(data["tax_total"]), str(data["gross_total"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TAXES_IN_SENTENCES_BETWEEN_NET_AND_GROSS, ("180.00", "24.60", "204.60")),
        (A_TABLE_WITHOUT_SUMS, ("180.00", "24.00", "204.00")),
        (A_TABLE_BESIDE_TOTALS, ("180.00", "24.40", "204.40")),
        (SUMS_AS_THE_LAST_ROW_WITHOUT_LABELS, ("448.99", "70.00", "518.99")),
        (A_TABLE_WITH_A_LABELLED_LAST_ROW, ("180.00", "25.20", "205.20")),
        (TAXES_BESIDE_A_SUBTOTAL, ("180.00", "28.20", "208.20")),
        (A_TABLE_WITH_GROSS_AMOUNTS, ("150.00", "27.00", "177.00")),
    ],
)
def test_the_taxes_of_all_rates_make_the_tax_total(
    typeset: Typeset, text: str, expected: tuple[str, str, str]
) -> None:
    assert totals(read(typeset, text)) == expected


def test_a_sum_of_taxes_that_is_not_printed_is_computed(typeset: Typeset) -> None:
    evidence = read(typeset, TAXES_IN_SENTENCES_BETWEEN_NET_AND_GROSS).evidence

    assert evidence["tax_total"].match == "computed"
    assert evidence["net_total"].match != "computed"
    assert evidence["tax_total"].confidence < evidence["gross_total"].confidence


def test_rates_that_do_not_lead_to_the_printed_total_say_nothing(typeset: Typeset) -> None:
    text = TAXES_IN_SENTENCES_BETWEEN_NET_AND_GROSS.replace("5,60 EUR", "4,60 EUR")

    assert read(typeset, text).data.model_dump()["tax_total"] is None


def test_the_rows_of_rates_are_no_items(typeset: Typeset) -> None:
    assert not read(typeset, A_TABLE_WITH_GROSS_AMOUNTS).data.model_dump()["lines"]


def test_the_rate_of_each_item_is_read(typeset: Typeset) -> None:
    lines = read(typeset, TAXES_IN_SENTENCES_BETWEEN_NET_AND_GROSS).data.model_dump()["lines"]

    assert [str(line["tax_rate"]) for line in lines] == ["7", "19"]
