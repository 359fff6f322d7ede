"""Bookings in the DATEV format: category 21 (Buchungsstapel), header version 700, format version 13.

Source: https://developer.datev.de/datev/platform/de/dtvf/formate, header and Buchungsstapel.
"""

import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import UTC, date, datetime
from decimal import Decimal

from docmill.errors import MisconfiguredError, ValidationError
from docmill.schemas.tax_categories import INTRA_COMMUNITY, TAX_CATEGORIES
from docmill.service.config.bookkeeping import Bookkeeping
from docmill.service.exports.bookings import Bill, BookingReport, LeftOut, Period
from docmill.service.exports.tax import TaxShare

ENCODING = "windows-1252"
_CURRENCY = "EUR"
_MOST_ROWS = 99_999
_LONGEST_TEXT = 60
_LONGEST_NUMBER = 36
_NO_NUMBER = re.compile(r"[^A-Za-z0-9$&%*+\-/]")

_EXTRA = [f"Beleginfo - {what} {number}" for number in range(1, 9) for what in ("Art", "Inhalt")]
_MORE = [
    name
    for number in range(1, 21)
    for name in (f"Zusatzinformation - Art {number}", f"Zusatzinformation- Inhalt {number}")
]
COLUMNS = (
    "Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "WKZ Umsatz", "Kurs", "Basis-Umsatz",
    "WKZ Basis-Umsatz", "Konto", "Gegenkonto (ohne BU-Schlüssel)", "BU-Schlüssel", "Belegdatum",
    "Belegfeld 1", "Belegfeld 2", "Skonto", "Buchungstext", "Postensperre", "Diverse Adressnummer",
    "Geschäftspartnerbank", "Sachverhalt", "Zinssperre", "Beleglink", *_EXTRA, "KOST1 - Kostenstelle",
    "KOST2 - Kostenstelle", "Kost-Menge", "EU-Land u. UStID (Bestimmung)", "EU-Steuersatz (Bestimmung)",
    "Abw. Versteuerungsart", "Sachverhalt L+L", "Funktionsergänzung L+L", "BU 49 Hauptfunktionstyp",
    "BU 49 Hauptfunktionsnummer", "BU 49 Funktionsergänzung", *_MORE, "Stück", "Gewicht", "Zahlweise",
    "Forderungsart", "Veranlagungsjahr", "Zugeordnete Fälligkeit", "Skontotyp", "Auftragsnummer",
    "Buchungstyp", "USt-Schlüssel (Anzahlungen)", "EU-Land (Anzahlungen)", "Sachverhalt L+L (Anzahlungen)",
    "EU-Steuersatz (Anzahlungen)", "Erlöskonto (Anzahlungen)", "Herkunft-Kz", "Buchungs GUID", "KOST-Datum",
    "SEPA-Mandatsreferenz", "Skontosperre", "Gesellschaftername", "Beteiligtennummer",
    "Identifikationsnummer", "Zeichnernummer", "Postensperre bis", "Bezeichnung SoBil-Sachverhalt",
    "Kennzeichen SoBil-Buchung", "Festschreibung", "Leistungsdatum", "Datum Zuord. Steuerperiode",
    "Fälligkeit", "Generalumkehr (GU)", "Steuersatz", "Land", "Abrechnungsreferenz", "BVV-Position",
    "EU-Land u. UStID (Ursprung)", "EU-Steuersatz (Ursprung)", "Abw. Skontokonto",
)  # fmt: skip
"""The columns in the words of the format."""

_TEXTS = frozenset(
    {
        "Soll/Haben-Kennzeichen", "WKZ Umsatz", "WKZ Basis-Umsatz", "BU-Schlüssel", "Belegfeld 1",
        "Belegfeld 2", "Buchungstext", "Diverse Adressnummer", "Beleglink", *_EXTRA, "KOST1 - Kostenstelle",
        "KOST2 - Kostenstelle", "EU-Land u. UStID (Bestimmung)", "Abw. Versteuerungsart", *_MORE,
        "Forderungsart", "Auftragsnummer", "Buchungstyp", "EU-Land (Anzahlungen)", "Herkunft-Kz",
        "Buchungs GUID", "SEPA-Mandatsreferenz", "Gesellschaftername", "Identifikationsnummer",
        "Zeichnernummer", "Bezeichnung SoBil-Sachverhalt", "Generalumkehr (GU)", "Land",
        "Abrechnungsreferenz", "EU-Land u. UStID (Ursprung)",
    }
)  # fmt: skip
"""The columns of text, which stand in quotation marks also when they are empty."""


def check_period(period: Period, bookkeeping: Bookkeeping) -> tuple[date, date]:
    """The first and last day. Raises ValidationError unless they are given, and lie in one fiscal year."""
    if period.first is None or period.last is None:
        raise ValidationError("a file for DATEV is for a period: give its first and its last day")
    if period.last < period.first:
        raise ValidationError("the last day is before the first one")
    year = bookkeeping.fiscal_year(period.first)
    if bookkeeping.fiscal_year(period.last) != year:
        raise ValidationError(
            f"the period is in more than one fiscal year, which begins on {bookkeeping.fiscal_year_start};"
            " export each year by itself"
        )
    return period.first, period.last


def file_name(first: date, last: date) -> str:
    """The name of the file, which must begin so."""
    return f"EXTF_Buchungsstapel_{first:%Y%m%d}_{last:%Y%m%d}.csv"


async def datev_file(
    batches: AsyncIterator[list[Bill]],
    bookkeeping: Bookkeeping,
    period: Period,
    report: BookingReport,
    *,
    has_links: bool = False,
) -> AsyncGenerator[bytes]:
    """The file in pieces. report: is told of bills that the format cannot take.

    has_links: each booking has a link to the image of its document, which comes along in an archive.

    Raises ValidationError if there are more bookings than one file takes.
    """
    yield _lines(header(bookkeeping, period, datetime.now(UTC)), ";".join(COLUMNS))
    count = 0
    async for bills in batches:
        rows: list[str] = []
        for bill in bills:
            try:
                rows += _rows(bill, bookkeeping, has_links=has_links)
                report.booked.append(bill.document_id)
            except ValidationError as error:
                report.booked_count -= 1
                report.left_out.append(LeftOut(bill.document_id, bill.file_name, error.message))
        count += len(rows)
        if count > _MOST_ROWS:
            raise ValidationError(
                f"there are more than {_MOST_ROWS:,} bookings; export a shorter period, such as a month"
            )
        yield _lines(*rows)


def header(bookkeeping: Bookkeeping, period: Period, now: datetime) -> str:
    """The first line. Raises MisconfiguredError if the numbers of consultant and client are not set."""
    if bookkeeping.consultant_number is None or bookkeeping.client_number is None:
        raise MisconfiguredError(
            "a file for DATEV names the tax consultant and the client: set bookkeeping.consultant_number and"
            " bookkeeping.client_number"
        )
    first, last = check_period(period, bookkeeping)
    created = f"{now:%Y%m%d%H%M%S}{now.microsecond // 1000:03}"
    fields = (
        *('"EXTF"', "700", "21", '"Buchungsstapel"', "13", created, "", '""', '"docmill"', '""'),
        *(str(bookkeeping.consultant_number), str(bookkeeping.client_number)),
        *(f"{bookkeeping.fiscal_year(first):%Y%m%d}", str(bookkeeping.account_length)),
        *(f"{first:%Y%m%d}", f"{last:%Y%m%d}", f'"docmill {first:%m/%Y}"', '""', "1", "0"),
        *("1" if bookkeeping.finalised else "0", f'"{_CURRENCY}"', "", '""', "", ""),
        *(f'"{bookkeeping.chart.removeprefix("SKR")}"', "", "", '""', '""'),
    )
    return ";".join(fields)


def _rows(bill: Bill, bookkeeping: Bookkeeping, *, has_links: bool) -> list[str]:
    """A line for each tax rate. Raises ValidationError if the format cannot take the bill."""
    if bill.currency != _CURRENCY:
        raise ValidationError(f"its currency is {bill.currency}, and no exchange rate is known")
    return [_row(bill, share, bookkeeping, has_links=has_links) for share in bill.shares]


def _row(bill: Bill, share: TaxShare, bookkeeping: Bookkeeping, *, has_links: bool) -> str:
    key = _tax_key(bill, share, bookkeeping)
    is_debit = bill.is_outgoing == (share.gross > 0)
    is_supply_within_eu = bill.is_outgoing and share.category == INTRA_COMMUNITY
    values = {
        "Umsatz (ohne Soll/Haben-Kz)": _amount(abs(share.gross)),
        "Soll/Haben-Kennzeichen": "S" if is_debit else "H",
        "WKZ Umsatz": bill.currency,
        "Konto": str(bill.party_account),
        "Gegenkonto (ohne BU-Schlüssel)": str(bill.result_account),
        "BU-Schlüssel": key,
        "Belegdatum": f"{bill.issued_on:%d%m}",
        "Belegfeld 1": _NO_NUMBER.sub("", bill.number).lstrip("+-")[:_LONGEST_NUMBER],
        "Belegfeld 2": f"{bill.due_on:%d%m%y}" if bill.due_on else "",
        "Buchungstext": bill.text[:_LONGEST_TEXT],
        "Beleglink": f'BEDI "{bill.document_id}"' if has_links else "",
        "Beleginfo - Art 1": "docmill",
        "Beleginfo - Inhalt 1": str(bill.document_id),
        "EU-Land u. UStID (Bestimmung)": bill.party_vat_id if is_supply_within_eu else "",
        "Festschreibung": "1" if bookkeeping.finalised else "0",
    }
    return ";".join(
        f'"{_text(values.get(name, ""))}"' if name in _TEXTS else values.get(name, "") for name in COLUMNS
    )


def _tax_key(bill: Bill, share: TaxShare, bookkeeping: Bookkeeping) -> str:
    """The tax key of a part of a bill. Raises ValidationError if the settings have none for it."""
    side = "output" if bill.is_outgoing else "input"
    if not share.category:
        key = bookkeeping.tax_key(share.rate, is_outgoing=bill.is_outgoing)
        if key is None:
            rate = f"{share.rate.normalize():f} %"
            raise ValidationError(f"there is no tax key for {rate}: set bookkeeping.{side}_tax_keys")
        return key
    keys = {
        category: bookkeeping.category_key(category, is_outgoing=bill.is_outgoing, is_reduced=bill.is_reduced)
        for category in share.category.split()
    }
    missing = [category for category, key in keys.items() if key is None]
    if missing:
        words = TAX_CATEGORIES.get(missing[0], missing[0])
        group = "reduced" if bill.is_reduced and not bill.is_outgoing else side
        raise ValidationError(
            f"{words} ({missing[0]}): no tax key is set; set bookkeeping.{group}_category_keys"
        )
    chosen = {key for key in keys.values() if key is not None}
    if len(chosen) > 1:
        raise ValidationError(
            f"it has several VAT categories without VAT ({', '.join(keys)}); book it by hand"
        )
    return chosen.pop()


def _amount(amount: Decimal) -> str:
    return f"{amount:.2f}".replace(".", ",")


def _text(text: str) -> str:
    """Text in the letters of the encoding, on one line; without a sign that makes a spreadsheet compute."""
    text = "".join(" " if unicodedata.category(letter).startswith("C") else letter for letter in text)
    text = " ".join(text.split()).lstrip("=+-@ ")
    return "".join(map(_letter, text)).replace('"', '""')


def _letter(letter: str) -> str:
    """A letter of the encoding: the same, or without its accent."""
    for candidate in (letter, unicodedata.normalize("NFKD", letter)[0]):
        try:
            candidate.encode(ENCODING)
        except UnicodeEncodeError:
            continue
        return candidate
    return "?"


def _lines(*lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in lines).encode(ENCODING, "replace")
