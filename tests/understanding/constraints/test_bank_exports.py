# ruff: noqa: E501 - rows are as long as banks make them
"""Exports of bookings as delimited text, in the shapes of banks of six countries; all names are made up."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from docmill.model.document import Document
from docmill.reading.child import tasks
from docmill.reading.files.options import ReadingOptions
from docmill.understanding.offline import understand

if TYPE_CHECKING:
    from docmill.schemas.types import BankStatement


class Export(NamedTuple):
    text: str
    encoding: str = "utf-8"
    iban: str | None = None
    has_period: bool = False
    opening: str | None = None
    closing: str | None = None


EXPORTS = {
    "account in a column": Export(
        """\
"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";"Glaeubiger ID";"Mandatsreferenz";"Kundenreferenz (End-to-End)";"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";"Waehrung";"Info"
"DE12500105170648489890";"31.01.24";"31.01.24";"FOLGELASTSCHRIFT";"Strom Januar Müller";"DE98ZZZ09999999999";"M-1";"";"Stadtwerke Köln";"DE75512108001245126199";"SOLADEST600";"-45,20";"EUR";"Umsatz gebucht"
"DE12500105170648489890";"30.01.24";"30.01.24";"GUTSCHR. UEBERWEISUNG";"Rechnung 4711";"";"";"";"Max Größe GmbH";"DE02120300000000202051";"BYLADEM1001";"1.250,00";"EUR";"Umsatz gebucht"
"DE12500105170648489890";"15.01.24";"15.01.24";"ENTGELTABSCHLUSS";"Entgelt";"";"";"";"";"";"";"-4,90";"EUR";"Umsatz gebucht"
""",
        encoding="cp1252",
        iban="DE12500105170648489890",
    ),
    "labels and values before": Export(
        """\
"Kontonummer:";"DE12500105170648489890 / Girokonto";

"Von:";"01.01.2024";
"Bis:";"31.01.2024";
"Kontostand vom 31.01.2024:";"2.199,90 EUR";

"Buchungstag";"Wertstellung";"Buchungstext";"Auftraggeber / Begünstigter";"Verwendungszweck";"Kontonummer";"BLZ";"Betrag (EUR)";"Gläubiger-ID";"Mandatsreferenz";"Kundenreferenz";
"31.01.2024";"31.01.2024";"Lastschrift";"STADTWERKE";"Strom Januar";"DE75512108001245126199";"SOLADEST600";"-45,20";"DE98ZZZ09999999999";"M-1";"NOTPROVIDED";
"30.01.2024";"30.01.2024";"Gutschrift";"Max Größe GmbH";"Rechnung 4711";"DE02120300000000202051";"BYLADEM1001";"1.250,00";"";"";"";
"15.01.2024";"15.01.2024";"Abschluss";"";"Abrechnung 31.12.2023 siehe Anlage";"";"";"-4,90";"";"";"";
""",
        encoding="cp1252",
        iban="DE12500105170648489890",
        has_period=True,
        closing="2199.90",
    ),
    "debit and credit apart, ragged lines around": Export(
        """\
Umsätze Girokonto;;;Kundennummer: 100 1234567
01.01.2024 - 31.01.2024
Letzter Kontostand;;;;1.000,00;EUR
Vorgemerkte und noch nicht gebuchte Umsätze sind nicht Bestandteil dieser Übersicht.
Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN / Kontonummer;BIC;Kundenreferenz;Mandatsreferenz ;Gläubiger ID;Fremde Gebühren;Betrag;Abweichender Empfänger;Anzahl der Aufträge;Anzahl der Schecks;Soll;Haben;Währung
15.01.2024;15.01.2024;Entgelt;;Entgelt;;;;;;;;;;;-4,90;;EUR
30.01.2024;30.01.2024;SEPA-Gutschrift;Max Größe GmbH;Rechnung 4711;DE02120300000000202051;BYLADEM1001;;;;;;;;;;1.250,00;EUR
31.01.2024;31.01.2024;SEPA-Lastschrift;Stadtwerke;Strom Januar;DE75512108001245126199;SOLADEST600;;M-1;DE98ZZZ09999999999;;;;;;-45,20;;EUR
Kontostand;31.01.2024;;;2.199,90;EUR
""",
        encoding="cp1252",
        has_period=True,
    ),
    "many lines before, balance of each booking": Export(
        """\
Umsatzanzeige;Datei erstellt am: 01.02.2024 08:15

IBAN;DE12 5001 0517 0648 4898 90
Kontoname;Girokonto
Bank;ING
Kunde;Erika Müller
Zeitraum;01.01.2024 - 31.01.2024
Saldo;2.199,90;EUR

Sortierung;Datum absteigend

In der CSV-Datei finden Sie alle bereits gebuchten Umsätze. Die vorgemerkten Umsätze werden nicht aufgenommen, auch wenn sie in Ihrem Internetbanking angezeigt werden.

Buchung;Valuta;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;Währung;Betrag;Währung
31.01.2024;31.01.2024;Stadtwerke;Lastschrift;Strom Januar;2.199,90;EUR;-45,20;EUR
30.01.2024;30.01.2024;Max Größe GmbH;Gutschrift;Rechnung 4711;2.245,10;EUR;1.250,00;EUR
15.01.2024;15.01.2024;;Entgelt;Kontoführung;995,10;EUR;-4,90;EUR
""",
        encoding="cp1252",
        iban="DE12500105170648489890",
        has_period=True,
        opening="1000.00",
        closing="2199.90",
    ),
    "cells of several lines, lines after": Export(
        """\
;
"Umsätze Girokonto";"Zeitraum: 01.01.2024 - 31.01.2024";
"Neuer Kontostand";"2.199,90 EUR";

"Buchungstag";"Wertstellung (Valuta)";"Vorgang";"Buchungstext";"Umsatz in EUR";
"31.01.2024";"31.01.2024";"Lastschrift / Belastung";"Auftraggeber: Stadtwerke
Buchungstext: Strom Januar
Ref. ABC123";"-45,20";
"30.01.2024";"30.01.2024";"Übertrag / Überweisung";"Auftraggeber: Max Größe GmbH
Buchungstext: Rechnung 4711";"1.250,00";
"15.01.2024";"15.01.2024";"Entgelt";"Kontoführung";"-4,90";
"Alter Kontostand";"1.000,00 EUR";
""",
        encoding="cp1252",
        has_period=True,
        opening="1000.00",
        closing="2199.90",
    ),
    "comma, debit and credit apart": Export(
        """\
Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description,Debit Amount,Credit Amount,Balance
31/01/2024,DD,'11-22-33,12345678,CITY POWER LTD,45.20,,2199.90
30/01/2024,FPI,'11-22-33,12345678,"SMITH & SONS, INV 4711",,1250.00,2245.10
15/01/2024,PAY,'11-22-33,12345678,ACCOUNT FEE,4.90,,995.10
""",
        opening="1000.00",
        closing="2199.90",
    ),
    "summary table before": Export(
        """\
Description,,Summary Amt.
Beginning balance as of 01/01/2024,,"1,000.00"
Total credits,,"1,250.00"
Total debits,,"-50.10"
Ending balance as of 01/31/2024,,"2,199.90"

Date,Description,Amount,Running Bal.
01/01/2024,Beginning balance as of 01/01/2024,,"1,000.00"
01/15/2024,"MONTHLY FEE","-4.90","995.10"
01/30/2024,"Zelle payment from SMITH; INV 4711","1,250.00","2,245.10"
01/31/2024,"CITY POWER DES:ELEC ID:99","-45.20","2,199.90"
""",
        opening="1000.00",
        closing="2199.90",
    ),
    "lines that end with the delimiter": Export(
        """\
Téléchargement du 01/02/2024;

Mme ERIKA DUPONT;
Compte de Dépôt carte n° 12345678901;
IBAN FR76 3000 6000 0112 3456 7890 189;
Solde au 31/01/2024 2 199,90 €;

Liste des opérations du compte entre le 01/01/2024 et le 31/01/2024;

Date;Libellé;Débit euros;Crédit euros;
31/01/2024;"PRELEVEMENT
EDF électricité
janvier";45,20;;
30/01/2024;"VIREMENT EN VOTRE FAVEUR
Max Grand SARL facture 4711";;1 250,00;
15/01/2024;"COTISATION";4,90;;
""",
        encoding="cp1252",
        iban="FR7630006000011234567890189",
        has_period=True,
        closing="2199.90",
    ),
    "debit or credit in a column": Export(
        """\
"Datum","Naam / Omschrijving","Rekening","Tegenrekening","Code","Af Bij","Bedrag (EUR)","Mutatiesoort","Mededelingen"
"20240131","Nuon Energie","NL91ABNA0417164300","NL20INGB0001234567","IC","Af","45,20","Incasso","Stroom januari"
"20240130","Groot BV","NL91ABNA0417164300","NL39RABO0300065264","GT","Bij","1250,00","Online bankieren","Factuur 4711"
"20240115","ING kosten","NL91ABNA0417164300","","DV","Af","4,90","Diversen","Kosten"
""",
        iban="NL91ABNA0417164300",
    ),
    "tabs": Export(
        """\
Account statement
IBAN\tDE12500105170648489890
Period\t2024-01-01 - 2024-01-31
Opening balance\t1000.00
Closing balance\t2199.90

Date\tDescription\tAmount\tBalance
2024-01-15\tFee\t-4.90\t995.10
2024-01-30\tSmith Ltd INV 4711\t1250.00\t2245.10
2024-01-31\tCity Power\t-45.20
""",
        iban="DE12500105170648489890",
        has_period=True,
        opening="1000.00",
        closing="2199.90",
    ),
    "ragged lines before": Export(
        """\
Lista movimenti;;;;
Conto;IT60X0542811101000000123456;;;
Periodo;01/01/2024 - 31/01/2024;;;
Saldo iniziale;1.000,00;;;
Saldo finale;2.199,90;;;
Data;Data valuta;Descrizione;Importo;Divisa
15/01/2024;15/01/2024;Canone mensile;-4,90;EUR
30/01/2024;30/01/2024;"Bonifico da Rossi Srl; fattura 4711";1.250,00;EUR
31/01/2024;31/01/2024;Addebito Enel Energia;-45,20;EUR
""",
        iban="IT60X0542811101000000123456",
        has_period=True,
        opening="1000.00",
        closing="2199.90",
    ),
}


def read(path: Path) -> Document:
    opened = tasks.open_original(path, ReadingOptions())
    pages = tasks.read_flow(path, opened.media_type, ReadingOptions()).pages
    return Document("0" * 64, opened.media_type, pages)


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_an_export_of_bookings_is_a_statement(export: Export, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_bytes(export.text.encode(export.encoding))

    understood = understand(read(path))

    assert understood.classification.document_type == "bank_statement"
    statement = cast("BankStatement", understood.extraction.data)
    assert sorted(str(booking.amount) for booking in statement.transactions) == ["-4.90", "-45.20", "1250.00"]
    assert {str(booking.date) for booking in statement.transactions} == {
        "2024-01-15",
        "2024-01-30",
        "2024-01-31",
    }
    period = ("2024-01-01", "2024-01-31") if export.has_period else ("None", "None")
    assert (str(statement.period_start), str(statement.period_end)) == period
    assert statement.iban == export.iban
    assert str(statement.opening_balance) == str(export.opening)
    assert str(statement.closing_balance) == str(export.closing)


def test_balances_that_do_not_lead_to_each_other_prove_nothing(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(EXPORTS["comma, debit and credit apart"].text.replace("2245.10", "2254.10"))

    statement = cast("BankStatement", understand(read(path)).extraction.data)

    assert statement.opening_balance is None


def test_a_table_of_items_is_no_statement(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text(
        "Date,Description,Quantity,Unit price,Amount,Balance\n2024-01-31,Chair,2,10.00,20.00,20.00\n"
        "2024-01-31,Desk,1,90.00,90.00,110.00\n"
    )

    assert understand(read(path)).classification.document_type != "bank_statement"


def test_the_iban_of_a_booking_is_that_of_the_other_side(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text(EXPORTS["debit or credit in a column"].text)

    statement = cast("BankStatement", understand(read(path)).extraction.data)

    assert [booking.iban for booking in statement.transactions] == [
        "NL20INGB0001234567",
        "NL39RABO0300065264",
        None,
    ]
