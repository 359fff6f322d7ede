# ruff: noqa: RUF001 - some banks print a real minus
"""Statements as banks of nine countries print them; all names and accounts are made up.

The signs of their bookings are printed as letters, signs before or behind, columns or sections of a list.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from docmill.model.document import Document
from docmill.model.result import Extraction
from docmill.schemas.registry import REGISTRY
from docmill.understanding.constraints.booking_signs import signs_by_balances
from docmill.understanding.constraints.extractor import extract_by_rules
from docmill.understanding.gate import RuleGate

if TYPE_CHECKING:
    from docmill.schemas.types import BankStatement

Typeset = Callable[..., Document]


class Statement(NamedTuple):
    text: str
    opening: str
    bookings: tuple[tuple[str, str], ...]
    closing: str


STATEMENTS = {
    "H and S behind the amounts, no headings": Statement(
        """\
Kontoauszug 7/2026
Volksbank Uckertal eG                    BIC GENODEF1UCK
Konto 4711 009          IBAN DE02 1203 0000 0000 2020 51
Zeitraum 01.07.2026 - 31.07.2026                    Erstellt am 01.08.2026
alter Kontostand vom 30.06.2026                                4.310,08 H
02.07. 02.07.  Dauerauftrag Kita Sonnenkäfer                     214,00 S
06.07. 06.07.  Gutschrift Webdesign Rupp                       1.785,00 H
               Rechnung 2026-88
09.07. 09.07.  Basislastschrift Stadtwerke                        96,41 S
24.07. 24.07.  Kartenzahlung Baumarkt Jahn                       318,77 S
31.07. 31.07.  Entgelt Kontoführung                               12,90 S
neuer Kontostand vom 31.07.2026                                5.453,00 H
""",
        opening="4310.08",
        closing="5453.00",
        bookings=(
            ("2026-07-02", "-214.00"),
            ("2026-07-06", "1785.00"),
            ("2026-07-09", "-96.41"),
            ("2026-07-24", "-318.77"),
            ("2026-07-31", "-12.90"),
        ),
    ),
    "signs behind the amounts": Statement(
        """\
Sparkasse Nordheide                                     Auszug Nr. 5 / 2026
Girokonto  IBAN DE89 3704 0044 0532 0130 00
Kontoauszug vom 01.05.2026 bis 31.05.2026

Datum        Erläuterung                                          Betrag EUR
             Kontostand am 30.04.2026, Auszug Nr. 4                 2.004,15+
04.05.2026   Lastschrift Telekom Festnetz                              49,95-
11.05.2026   Überweisung Miete Hausverwaltung Kern                    890,00-
15.05.2026   Gehalt Brandt Maschinenbau                             2.310,40+
28.05.2026   Bargeldauszahlung                                        150,00-
             Kontostand am 31.05.2026 um 20:15 Uhr                  3.224,60+
""",
        opening="2004.15",
        closing="3224.60",
        bookings=(
            ("2026-05-04", "-49.95"),
            ("2026-05-11", "-890.00"),
            ("2026-05-15", "2310.40"),
            ("2026-05-28", "-150.00"),
        ),
    ),
    "columns of debits and credits, days of value": Statement(
        """\
Postbank Musterland
Kontoauszug Nr. 11                          IBAN DE75 5121 0800 1245 1261 99
01.11.2025 - 30.11.2025

Buchung    Wert       Vorgang/Buchungsinformation                Soll         Haben
01.11.     01.11.     Alter Saldo                                           812,50
03.11.     03.11.     SEPA Überweisung Zahnarzt Dr. Poll       188,20
14.11.     14.11.     SEPA Gutschrift Finanzkasse                           402,00
20.11.     20.11.     SEPA Lastschrift Fitnesswelt              29,90
28.11.     28.11.     Kartenzahlung Rewe                        74,38
30.11.     30.11.     Neuer Saldo                                           922,02
""",
        opening="812.50",
        closing="922.02",
        bookings=(
            ("2025-11-03", "-188.20"),
            ("2025-11-14", "402.00"),
            ("2025-11-20", "-29.90"),
            ("2025-11-28", "-74.38"),
        ),
    ),
    "CR and DR, a balance forward": Statement(
        """\
Moorland Bank plc                                    Account statement
Account: Ms P. Hartley        Sort code 20-11-44      Account no 40817355
IBAN GB29 NWBK 6016 1331 9268 19
Statement period 1 March 2026 to 31 March 2026

Date        Details                                   Amount
1 Mar       Balance brought forward                   640.12 CR
3 Mar       Direct debit Severn Water                  38.60 DR
9 Mar       Faster payment J Lowe                     125.00 CR
17 Mar      Card payment Tesco Stores 2210             52.09 DR
26 Mar      Bank giro credit Payroll                1,910.75 CR
31 Mar      Overdraft fee                               6.00 DR
31 Mar      Balance carried forward                 2,579.18 CR
""",
        opening="640.12",
        closing="2579.18",
        bookings=(
            ("2026-03-03", "-38.60"),
            ("2026-03-09", "125.00"),
            ("2026-03-17", "-52.09"),
            ("2026-03-26", "1910.75"),
            ("2026-03-31", "-6.00"),
        ),
    ),
    "sections of deposits and withdrawals": Statement(
        """\
First Prairie Bank
Statement of account                                       Account number 000129984471
Statement period: 04/01/2026 through 04/30/2026

Beginning balance on 04/01/2026                                        $3,204.77
Ending balance on 04/30/2026                                           $2,847.52

Deposits and other credits
Date       Description                                                    Amount
04/03/26   Direct deposit Halloway Inc                                  1,850.00
04/17/26   Mobile check deposit                                           210.25
Total deposits and other credits                                       $2,060.25

Withdrawals and other debits
Date       Description                                                    Amount
04/06/26   ACH debit Prairie Electric                                     144.90
04/15/26   Online transfer to Savings                                     500.00
04/22/26   Check 1181                                                   1,772.60
Total withdrawals and other debits                                     $2,417.50
""",
        opening="3204.77",
        closing="2847.52",
        bookings=(
            ("2026-04-03", "1850.00"),
            ("2026-04-17", "210.25"),
            ("2026-04-06", "-144.90"),
            ("2026-04-15", "-500.00"),
            ("2026-04-22", "-1772.60"),
        ),
    ),
    "columns and a row of their sums": Statement(
        """\
BANQUE DES COTEAUX                              RELEVÉ DE COMPTE N° 8
SARL Menuiserie Aubin            du 01/08/2026 au 31/08/2026
IBAN FR76 3000 6000 0112 3456 7890 189

Date    Valeur      Nature de l'opération                     Débit         Crédit
                    SOLDE AU 31/07/2026                                    5 210,44
03/08   03/08       PRLV SEPA URSSAF                       1 204,00
07/08   07/08       VIR SEPA MAIRIE DE LORMONT                             3 480,00
                    FACT 2026-071
19/08   19/08       PAIEMENT CARTE BRICO SUD                 237,18
31/08   31/08       FRAIS DE TENUE DE COMPTE                  24,50
                    TOTAL DES OPÉRATIONS                   1 465,68        3 480,00
                    SOLDE AU 31/08/2026                                    7 224,76
""",
        opening="5210.44",
        closing="7224.76",
        bookings=(
            ("2026-08-03", "-1204.00"),
            ("2026-08-07", "3480.00"),
            ("2026-08-19", "-237.18"),
            ("2026-08-31", "-24.50"),
        ),
    ),
    "a minus, no headings": Statement(
        """\
CAJA RURAL DEL EBRO                                  EXTRACTO DE CUENTA
Titular: Talleres Oria, S.L.
IBAN ES91 2100 0418 4502 0005 1332
Periodo: 01/02/2026 a 28/02/2026                       Divisa: EUR

Saldo anterior                                              1.908,30
02/02/2026   Adeudo recibo Endesa                            -141,77
10/02/2026   Transferencia recibida Ayto. Haro              2.662,00
16/02/2026   Nómina M. Ruiz                                -1.250,00
27/02/2026   Comisión de mantenimiento                        -15,00
Saldo final                                                 3.163,53
""",
        opening="1908.30",
        closing="3163.53",
        bookings=(
            ("2026-02-02", "-141.77"),
            ("2026-02-10", "2662.00"),
            ("2026-02-16", "-1250.00"),
            ("2026-02-27", "-15.00"),
        ),
    ),
    "dare and avere": Statement(
        """\
BANCA DI CREDITO VALDENSE
ESTRATTO CONTO N. 2/2026                    Conto corrente 000000123456
Coordinate IBAN IT60 X054 2811 1010 0000 0123 456
Periodo dal 01/04/2026 al 30/06/2026

Data        Valuta      Descrizione operazione              Dare         Avere
01/04/2026              Saldo iniziale                                 2.150,00
09/04/2026  09/04/2026  Bonifico a vostro favore Rossi Srl             1.220,00
15/05/2026  15/05/2026  Addebito SDD Enel Energia           187,45
30/05/2026  30/05/2026  Pagamento POS Ferramenta Gallo       64,90
30/06/2026  30/06/2026  Imposta di bollo                      8,55
30/06/2026              Saldo finale                                   3.109,10
""",
        opening="2150.00",
        closing="3109.10",
        bookings=(
            ("2026-04-09", "1220.00"),
            ("2026-05-15", "-187.45"),
            ("2026-05-30", "-64.90"),
            ("2026-06-30", "-8.55"),
        ),
    ),
    "a column of D and C": Statement(
        """\
Polderbank N.V.                                        Rekeningafschrift 3
Rekeninghouder  Bakkerij De Korenaar
IBAN NL91 ABNA 0417 1643 00                  Periode 01-03-2026 t/m 31-03-2026

Vorig saldo   EUR  912,40 C                  Nieuw saldo   EUR  1.190,85 C

Datum        Omschrijving                               Bedrag       D/C
02-03-2026   Incasso Eneco Zakelijk                     231,15       D
12-03-2026   Overboeking Café de Zwaan factuur 118      750,00       C
20-03-2026   Betaalautomaat Makro                       228,40       D
31-03-2026   Kosten zakelijk pakket                      12,00       D
""",
        opening="912.40",
        closing="1190.85",
        bookings=(
            ("2026-03-02", "-231.15"),
            ("2026-03-12", "750.00"),
            ("2026-03-20", "-228.40"),
            ("2026-03-31", "-12.00"),
        ),
    ),
    "a true minus": Statement(
        """\
Bank Wiślański S.A.                                     Wyciąg z rachunku nr 6/2026
Posiadacz: Stolarnia Kowal sp. z o.o.
IBAN PL61 1090 1014 0000 0712 1981 2874
Za okres od 01.06.2026 do 30.06.2026

Data operacji   Opis operacji                               Kwota
Saldo początkowe                                         8 120,50 PLN
03.06.2026      Przelew przychodzący Meble Raj           4 305,00
12.06.2026      Zlecenie stałe Czynsz                   −2 100,00
25.06.2026      Płatność kartą Leroy                      −349,99
30.06.2026      Opłata za prowadzenie rachunku             −15,00
Saldo końcowe                                            9 960,51 PLN
""",
        opening="8120.50",
        closing="9960.51",
        bookings=(
            ("2026-06-03", "4305.00"),
            ("2026-06-12", "-2100.00"),
            ("2026-06-25", "-349.99"),
            ("2026-06-30", "-15.00"),
        ),
    ),
    "two pages with carried balances": Statement(
        """\
Alpkantonalbank                                          Kontoauszug 01.01.2026 - 31.01.2026
Privatkonto CHF                                          IBAN CH93 0076 2011 6238 5295 7

Datum       Text                                    Belastung     Gutschrift      Valuta         Saldo
01.01.2026  Saldovortrag                                                                     10'400.00
05.01.2026  Dauerauftrag Wohnbau Genossenschaft      1'650.00                   05.01.2026    8'750.00
12.01.2026  Einkauf Coop-4411 Thun                      83.15                   12.01.2026    8'666.85
                                                                       Übertrag               8'666.85
\f
Alpkantonalbank                                          Kontoauszug 01.01.2026 - 31.01.2026

Datum       Text                                    Belastung     Gutschrift      Valuta         Saldo
                                                                       Übertrag               8'666.85
23.01.2026  Gutschrift Lohn Bühler Bau AG                          6'120.40     23.01.2026   14'787.25
30.01.2026  Steuern Kanton Bern                      2'300.00                   30.01.2026   12'487.25
            Umsatztotal                              4'033.15      6'120.40
            Schlusssaldo                                                                     12'487.25
""",
        opening="10400.00",
        closing="12487.25",
        bookings=(
            ("2026-01-05", "-1650.00"),
            ("2026-01-12", "-83.15"),
            ("2026-01-23", "6120.40"),
            ("2026-01-30", "-2300.00"),
        ),
    ),
    "a balance below nought": Statement(
        """\
Banco do Mondego                                      Extrato de conta n.º 9
IBAN PT50 0002 0123 1234 5678 9015 4
De 2026-09-01 a 2026-09-30

Data mov.    Data valor   Descrição                          Valor        Saldo
                          Saldo inicial                                  310,00
2026-09-02   2026-09-02   Débito direto EDP Comercial       -92,40       217,60
2026-09-10   2026-09-10   Compra Continente Coimbra        -305,10       -87,50
2026-09-25   2026-09-25   Transferência recebida Ramos Lda  640,00       552,50
2026-09-30   2026-09-30   Imposto do selo                    -1,10       551,40
                          Saldo final                                    551,40
""",
        opening="310.00",
        closing="551.40",
        bookings=(
            ("2026-09-02", "-92.40"),
            ("2026-09-10", "-305.10"),
            ("2026-09-25", "640.00"),
            ("2026-09-30", "-1.10"),
        ),
    ),
    "plus and minus before, no headings": Statement(
        """\
Fjällbanken                                           Kontoutdrag
Konto 8327-9 123 456 789
IBAN SE45 5000 0000 0583 9825 7466
Period 2026-10-01 - 2026-10-31

Ingående saldo                                              4 020,00
2026-10-03   Autogiro Vattenfall                             -612,00
2026-10-14   Insättning Norrsken AB                         +9 500,00
2026-10-25   Bankgirobetalning Skatteverket                -3 118,00
2026-10-31   Avgift                                            -45,00
Utgående saldo                                              9 745,00
""",
        opening="4020.00",
        closing="9745.00",
        bookings=(
            ("2026-10-03", "-612.00"),
            ("2026-10-14", "9500.00"),
            ("2026-10-25", "-3118.00"),
            ("2026-10-31", "-45.00"),
        ),
    ),
    "an overdrawn account": Statement(
        """\
Raiffeisenkasse Alpenrand                   Kontoauszug Nr. 002 vom 28.02.2026
IBAN AT61 1904 3002 3457 3201
Wert      Buchungstext                                        Betrag in EUR
          Alter Saldo per 31.01.2026                              150,20 S
02.02.    Zahlungseingang Hof Lechner                             900,00 H
13.02.    Lastschrift Versicherung Alpin                          612,35 S
          Polizze 77-1204
28.02.    Abschluss                                                 9,80 S
          Neuer Saldo per 28.02.2026                              127,65 H
""",
        opening="-150.20",
        closing="127.65",
        bookings=(
            ("2026-02-02", "900.00"),
            ("2026-02-13", "-612.35"),
            ("2026-02-28", "-9.80"),
        ),
    ),
}


def extracted(document: Document) -> Extraction:
    return extract_by_rules(document, REGISTRY["bank_statement"])


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_bookings_have_the_sign_that_the_bank_prints(statement: Statement, typeset: Typeset) -> None:
    read = cast("BankStatement", extracted(typeset(statement.text)).data)

    assert tuple((str(one.date), str(one.amount)) for one in read.transactions) == statement.bookings
    assert (str(read.opening_balance), str(read.closing_balance)) == (statement.opening, statement.closing)


def test_lines_below_a_booking_without_headings_belong_to_it(typeset: Typeset) -> None:
    text = STATEMENTS["H and S behind the amounts, no headings"].text

    read = cast("BankStatement", extracted(typeset(text)).data)

    assert read.transactions[1].description == "Gutschrift"
    assert read.transactions[1].counterparty == "Webdesign Rupp"
    assert read.transactions[1].reference == "Rechnung 2026-88"


def test_the_day_of_the_last_balance_ends_the_period(typeset: Typeset) -> None:
    read = cast("BankStatement", extracted(typeset(STATEMENTS["an overdrawn account"].text)).data)

    assert str(read.period_end) == "2026-02-28"


@pytest.mark.parametrize("lost", ["alter Kontostand", "neuer Kontostand"])
def test_bookings_that_no_balance_proves_ask(lost: str, typeset: Typeset) -> None:
    text = STATEMENTS["H and S behind the amounts, no headings"].text
    without = "\n".join(line for line in text.splitlines() if not line.startswith(lost))
    document = typeset(without)

    verdict = RuleGate().judge(document, extracted(document), REGISTRY["bank_statement"])

    assert "balances_missing" in [failure.check for failure in verdict.failures]


def test_signs_that_are_not_printed_are_those_that_lead_to_the_balance() -> None:
    amounts = [Decimal("650.00"), Decimal("2100.00"), Decimal("54.30")]

    signed = signs_by_balances(amounts, [False, False, True], Decimal("1504.30"))

    assert signed == [Decimal("-650.00"), Decimal("2100.00"), Decimal("54.30")]


def test_signs_are_not_chosen_where_several_lead_to_the_balance() -> None:
    amounts = [Decimal("50.00"), Decimal("50.00")]

    assert signs_by_balances(amounts, [False, False], Decimal(0)) is None


def test_a_sign_that_is_printed_is_not_turned() -> None:
    amounts = [Decimal("50.00"), Decimal("-20.00")]

    assert signs_by_balances(amounts, [True, True], Decimal("70.00")) is None


def test_a_date_under_an_unknown_heading_comes_before_the_value_date(typeset: Typeset) -> None:
    text = """\
Extracto de cuenta
Periodo 01/12/2026 - 31/12/2026
Saldo anterior                                                 100,00
Operación     Valor         Concepto                Importe      Saldo
23/12/2026    22/12/2026    Recibo luz               -10,00      90,00
29/12/2026    28/12/2026    Abono                     50,00     140,00
Saldo final                                                    140,00
"""
    statement = cast("BankStatement", extracted(typeset(text)).data)

    assert [str(booking.date) for booking in statement.transactions] == ["2026-12-23", "2026-12-29"]
