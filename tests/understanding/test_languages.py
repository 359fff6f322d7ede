"""Papers in the languages that are known by their files alone."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import docmill
from docmill.demo.catalogue import plans
from docmill.demo.plan import Plan
from docmill.demo.writing import make_sample
from docmill.model.paths import leaves
from docmill.understanding.text.dates import find_dates
from docmill.understanding.text.money import currency_code, find_amounts, symbols_of_currency

_POLISH = """\
Bocian i Wnuki Sp. z o.o.
ul. Bociania 8
00-999 Warszawa
NIP: PL5250990814

                              Faktura VAT

Numer faktury: FV/2026/10/031
Data wystawienia: 12 października 2026
Data sprzedaży: 9 października 2026
Termin płatności: 26 października 2026

Nabywca:
Hotel Jantarowy Sp. z o.o.
al. Morska 15
80-999 Gdańsk

Lp.  Nazwa towaru lub usługi     Ilość   J.m.   Cena netto   Wartość netto
1    Pościel lniana                 10   szt.       120,00        1 200,00
2    Ręcznik kąpielowy              20   szt.        45,50          910,00

Razem netto                     2 110,00 zł
VAT 23 %                          485,30 zł
Razem brutto                    2 595,30 zł
Do zapłaty                      2 595,30 zł
Sposób zapłaty: przelew
"""
_PORTUGUESE = """\
Andorinha de Papel, Lda.
Rua das Nuvens, 27
1999-305 Lisboa
Contribuinte n.º PT501990311

                              Fatura

Fatura n.º: 2026/204
Data de emissão: 3 de março de 2026
Data de vencimento: 2 de abril de 2026

Cliente:
Conservas Sardinha Azul, S.A.
Avenida do Cais, 4
8999-102 Portimão

Designação                 Quantidade   Preço unitário      Valor
Agenda de bolso                    50             4,20     210,00
Papel de carta                     30            12,00     360,00

Total sem IVA                     570,00 €
IVA 23 %                          131,10 €
Total a pagar                     701,10 €
"""
_SWEDISH = """\
Norrskenets Glasbruk AB
Drömgatan 12
113 99 Stockholm
Momsreg.nr SE556099011101

                              Faktura

Fakturanummer: 20533
Fakturadatum: 2026-05-04
Förfallodatum: 3 juni 2026

Kund:
Lingonbergets Konditori AB
Sagovägen 3
903 99 Umeå

Benämning                  Antal      À-pris      Belopp
Tillbringare 1 l              10      320,00    3 200,00
Vas Vintergatan                4      950,00    3 800,00

Summa exkl. moms                7 000,00 kr
Moms 25 %                       1 750,00 kr
Att betala                      8 750,00 kr
"""
_DANISH = """\
Havfruens Møbelværksted ApS
Eventyrvej 41
2999 København K
CVR-nr. DK10993145

                              Faktura

Fakturanr.: 5701
Fakturadato: 7. maj 2026
Forfaldsdato: 21. maj 2026

Kunde:
Troldehøj Kro A/S
Mosevej 9
8999 Aarhus C

Beskrivelse                Antal    Stk. pris       Beløb
Skammel med lammeskind         6       890,00    5.340,00
Reol i ask                     2     3.250,00    6.500,00

Beløb ekskl. moms              11.840,00 kr.
Moms 25 %                       2.960,00 kr.
Beløb at betale                14.800,00 kr.
"""


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("pl", _POLISH, ("FV/2026/10/031", (2026, 10, 12), (2026, 10, 26), "2110", "485.3", "2595.3", "PLN")),
        ("pt", _PORTUGUESE, ("2026/204", (2026, 3, 3), (2026, 4, 2), "570", "131.1", "701.1", "EUR")),
        ("sv", _SWEDISH, ("20533", (2026, 5, 4), (2026, 6, 3), "7000", "1750", "8750", "SEK")),
        ("da", _DANISH, ("5701", (2026, 5, 7), (2026, 5, 21), "11840", "2960", "14800", "DKK")),
    ],
)
def test_an_invoice_is_read_in_its_language(
    tmp_path: Path, language: str, text: str, expected: tuple[Any, ...]
) -> None:
    file = tmp_path / "paper.txt"
    file.write_text(text, encoding="utf-8")
    number, issued, due, net, tax, gross, currency = expected

    result = docmill.process_file(file)

    assert result.extraction is not None
    data: Any = result.extraction.data
    assert (result.classification.document_type, result.classification.language) == ("invoice", language)
    assert (data.number, data.issue_date, data.due_date) == (number, dt.date(*issued), dt.date(*due))
    assert (data.net_total, data.tax_total, data.gross_total) == (Decimal(net), Decimal(tax), Decimal(gross))
    assert data.currency == currency
    assert [line.net_amount is not None for line in data.lines] == [True, True]


def _is_new(country: str) -> bool:
    return country in {"PT", "PL", "SE", "DK"}


@pytest.mark.parametrize(
    "plan", [plan for plan in plans() if _is_new(plan.country)], ids=lambda plan: plan.name
)
def test_what_matters_of_a_sample_is_read(tmp_path: Path, plan: Plan) -> None:
    sample = make_sample(plan, tmp_path, seed=2026)

    result = docmill.process_file(sample.path)

    assert result.extraction is not None
    assert result.classification.document_type == sample.document_type
    data, truth = dict(leaves(result.extraction.data)), dict(leaves(sample.truth))
    names = ("number", "issue_date", "due_date", "currency", "net_total", "tax_total", "gross_total")
    assert {name: data.get(name) for name in names} == {name: truth.get(name) for name in names}
    amounts = [name for name in truth if name.startswith("lines[") and name.endswith("net_amount")]
    assert [data.get(name) for name in amounts] == [truth[name] for name in amounts]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("12 października 2026", dt.date(2026, 10, 12)),
        ("1 maja 2026 r.", dt.date(2026, 5, 1)),
        ("3 de março de 2026", dt.date(2026, 3, 3)),
        ("4 juni 2026", dt.date(2026, 6, 4)),
        ("den 7. marts 2026", dt.date(2026, 3, 7)),
    ],
)
def test_a_month_is_known_by_its_name_in_every_language(text: str, day: dt.date) -> None:
    (written,) = find_dates(text)

    assert written.value(day_first=True) == day


@pytest.mark.parametrize(("language", "code"), [("sv", "SEK"), ("da", "DKK")])
def test_a_crown_is_that_of_the_language(language: str, code: str) -> None:
    (amount,) = find_amounts("1 250,00 kr", misread=False)

    assert amount.symbol is not None
    assert currency_code(amount.symbol, language) == code
    assert "kr" in symbols_of_currency(code)
