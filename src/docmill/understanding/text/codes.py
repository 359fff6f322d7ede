"""Identifiers: document numbers by their shape; IBAN, BIC and VAT identifiers by their checksums."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from stdnum import bic, iban
from stdnum.eu import vat
from stdnum.exceptions import ValidationError

from docmill.understanding.text.money import currency_spans

_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\s?\d{2}(?:[\s\-]?[A-Z0-9]){11,30}", re.IGNORECASE)
_DIGITS_OF_IBAN = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\s?\d{2}(?:\s?\d){10,30}(?![A-Z0-9])")
_BIC = re.compile(r"(?<![A-Z0-9])[A-Z]{4}\s?[A-Z]{2}\s?[A-Z0-9]{2}(?:\s?[A-Z0-9]{3})?(?![A-Z0-9])")
_VAT = re.compile(
    r"(?<![A-Z0-9])(?:AT\s?U|BE|BG|CY|CZ|DE|DK|EE|EL|ES|FI|FR|GB|HR|HU|IE|IT|LT|LU|LV|MT|NL|PL|PT|RO|SE|SI|SK|XI|CHE)"
    r"[\s\-.]?[A-Z0-9](?:[\s.\-]?[A-Z0-9]){6,13}"
)
_VAT_FORM = re.compile(
    r"ATU\d{8}|BE[01]\d{9}|CZ\d{8,10}|DE\d{9}|DK\d{8}|EL\d{9}|ES[A-Z0-9]\d{7}[A-Z0-9]|FI\d{8}|FR[A-Z0-9]{2}\d{9}"
    r"|GB\d{9}(?:\d{3})?|HU\d{8}|IT\d{11}|LU\d{8}|NL\d{9}B\d{2}|PL\d{10}|PT\d{9}|RO\d{2,10}|SE\d{12}|SK\d{10}"
)
_VAT_NUMBER = re.compile(r"(?<![^\s:])[A-Z]?\d(?:[ .\-]?\d){6,11}[A-Z]?(?![^\s,;|)]|[ .\-]?\d)")
_IDENTIFIER = re.compile(
    # A Portuguese document has its code, a space, series and number (SAF-T (PT), element InvoiceNo).
    r"(?<![^\s:])(?:FT|FS|FR|NC|ND|VD|RC|RG|GR|GT|PF) [A-Z0-9](?:[A-Z0-9]|[\-.](?=[A-Z0-9]))*/\d+(?![^\W_])"
    # A series in capitals, a space and the number, behind a mark or alone: `No: SI 2026/77`.
    r"|(?<=[:#.\u00b0\u00ba] )[A-Z]{1,4} (?=(?:\W?\d){3})\d+(?:[/.\-]\d+)*(?: \d{3,4}(?=\W*$))?"
    r"(?!\w|[.,/\-]\w)"
    r"|^[A-Z]{1,4} (?=(?:\W?\d){3})\d+(?:[/.\-]\d+)*$"
    r"|(?<![^\s:])\d{3,4}(?: \d{3,4})+$|[^\W_](?:[^\W_]|[\-/._#](?=[^\W_]))*"
)
_MISREAD = str.maketrans("OQIlSB", "001158")
_SHORTEST_IBAN = 15
_SHORTEST_VAT_ID = 8
_LONGEST_IDENTIFIER = 30


class Code(NamedTuple):
    """A code at `start` to `stop` of a text, in its compact form. valid: its checksum holds."""

    value: str
    start: int
    stop: int
    valid: bool


def find_ibans(text: str) -> Iterator[Code]:
    """Valid IBANs; what follows one without a gap is left aside, and misread digits are mended."""
    for match in _IBAN.finditer(text):
        ends = (at for at in range(len(match[0]), 0, -1) if not match[0][at - 1].isspace())
        beginnings = ((re.sub(r"[\s\-]", "", match[0][:end]).upper(), match.start() + end) for end in ends)
        readings = (
            Code(reading, match.start(), stop, valid=True)
            for compact, stop in beginnings
            if len(compact) >= _SHORTEST_IBAN
            for reading in (compact, compact[:2] + compact[2:].translate(_MISREAD))
            if is_iban(reading)
        )
        yield from islice(readings, 1)


def find_doubtful_ibans(text: str) -> Iterator[Code]:
    """Codes of the form of an IBAN whose checksum does not hold."""
    for match in _DIGITS_OF_IBAN.finditer(text):
        compact = re.sub(r"\s", "", match[0])
        if len(compact) >= _SHORTEST_IBAN and not is_iban(compact):
            yield Code(compact, match.start(), match.end(), valid=False)


def is_iban(text: str) -> bool:
    """True if the checksum holds."""
    return iban.is_valid(text, check_country=False)


def find_bics(text: str) -> Iterator[Code]:
    """Codes of the form of a BIC."""
    for match in _BIC.finditer(text):
        compact = re.sub(r"\s", "", match[0])
        if is_bic(compact):
            yield Code(compact, match.start(), match.end(), valid=True)


def is_bic(text: str) -> bool:
    """True if it has the form of a BIC with a country that exists."""
    return bic.is_valid(text)


def find_vat_ids(text: str) -> Iterator[Code]:
    """European VAT identifiers, Swiss UIDs included; valid where the country's checksum holds."""
    for match in _VAT.finditer(text):
        yield from islice((code for code in _vat_readings(match) if code.valid), 1)


def find_vat_numbers(text: str, country: str) -> Iterator[Code]:
    """VAT identifiers of a country that are printed without its prefix, which the result has."""
    for match in _VAT_NUMBER.finditer(text):
        compact = country + re.sub(r"[\s.\-]", "", match[0])
        if is_vat_id(compact):
            yield Code(compact, match.start(), match.end(), valid=True)


def find_doubtful_vat_ids(text: str) -> Iterator[Code]:
    """Codes of the form of a VAT identifier whose checksum does not hold: misread or made up."""
    for match in _VAT.finditer(text):
        codes = (code for code in _vat_readings(match) if not code.valid and _VAT_FORM.fullmatch(code.value))
        yield from islice(codes, 1)


def _vat_readings(match: re.Match[str]) -> Iterator[Code]:
    """The beginnings of a match that end with a word, the longest first."""
    text = match[0]
    for end in range(len(text), _SHORTEST_VAT_ID - 1, -1):
        if end == len(text) or not (text[end].isalnum() and text[end - 1].isalnum()):
            compact = re.sub(r"[\s.\-]", "", text[:end])
            yield Code(compact, match.start(), match.start() + end, valid=is_vat_id(compact))


def is_vat_id(text: str) -> bool:
    """True if its form and checksum are those of its country, which must be known."""
    if text.startswith("CHE"):
        return re.fullmatch(r"CHE\d{9}(?:MWST|TVA|IVA|TPV)?", text) is not None
    try:
        vat.validate(text)
    except ValidationError:
        return text.startswith(("GB", "XI")) and re.fullmatch(r"[A-Z]{2}\d{9}(?:\d{3})?", text) is not None
    return True


def find_identifiers(text: str) -> Iterator[Code]:
    """Words with a digit in them, without the punctuation around them; a numeral alone from one digit on."""
    for match in _IDENTIFIER.finditer(text):
        series, _, number = match[0].partition(" ")
        start = (
            match.end() - len(number) if number and currency_spans(series) else match.start()
        )  # `EUR 4711`
        if any(map(str.isdecimal, match[0])) and len(match[0]) <= _LONGEST_IDENTIFIER:
            yield Code(text[start : match.end()], start, match.end(), valid=True)
