"""Parses values that people type or programs send into those of a schema's field."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, datetime, time

from babel.numbers import list_currencies
from pydantic import JsonValue

from docmill.schemas.outline import FieldOutline, Kind
from docmill.understanding.text.codes import is_bic, is_iban, is_vat_id
from docmill.understanding.text.dates import MISREAD_TIME, clock_time, find_dates
from docmill.understanding.text.money import currency_code, find_amounts, number

LONGEST = 5000
"""Letters of a value."""

_CURRENCIES = frozenset(list_currencies())
_LINE_BREAK = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
"""Unicode categories of characters that show nothing and may turn or hide the text beside them."""
_KEPT = frozenset("\n\u200c\u200d")
"""Line breaks, and the joiners that some scripts are spelt with."""
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LIKE_A_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{2}|\d{4})", re.ASCII)
_PLAIN = re.compile(r"-?\d{1,18}(\.\d{1,12})?")
_NO_CENTS = re.compile(r"\.0+$")
_GROUPED = re.compile(r"\d{1,3}[.,]\d{3}")
_YES, _NO = frozenset({"yes", "true", "1"}), frozenset({"no", "false", "0"})


def parse_typed(outline: FieldOutline, text: str) -> JsonValue:
    """Parse typed text as the value of a field. Raises ValueError with a sentence for the person."""
    text = _without_invisible(text)
    if len(text) > LONGEST:
        raise ValueError(f"This is too long: a value has {LONGEST} letters at most.")
    if outline.choices:
        for choice in outline.choices:
            if choice.casefold() == text.casefold():
                return choice
        raise ValueError(f"This must be one of: {', '.join(outline.choices)}.")
    if outline.kind == "text":
        return _parse_clock(text) if outline.is_clock else _parse_text(outline.name, text)
    return _PARSERS[outline.kind](text)


def parse_sent(outline: FieldOutline, value: JsonValue) -> JsonValue:
    """Parse a value that a program sends: numbers with a point are taken as they are."""
    match outline.kind, value:
        case "decimal", (int() | float() | str()) if _PLAIN.fullmatch(str(value)):
            return str(value)
        case "integer", int() if not isinstance(value, bool):
            return value
        case "boolean", bool():
            return value
        case _, str():
            return parse_typed(outline, value)
        case _:
            raise ValueError("A value of this kind is sent as a string.")


def converted(outline: FieldOutline, value: JsonValue) -> JsonValue:
    """A value that a person gave to a field, as one of this field's kind, which it may be already.

    Raises ValueError where it can be none of this kind.
    """
    is_text = outline.kind == "text" and not outline.choices
    if value is None or (is_text and isinstance(value, str)):
        return value
    if isinstance(value, bool):
        return value if outline.kind == "boolean" else parse_sent(outline, "yes" if value else "no")
    text = str(value)
    return parse_sent(outline, _NO_CENTS.sub("", text) if outline.kind == "integer" else text)


def _without_invisible(text: str) -> str:
    """The text without control characters, marks of writing direction and other invisible characters."""
    spaced = _LINE_BREAK.sub("\n", text).replace("\t", " ")
    visible = (
        character
        for character in spaced
        if character in _KEPT or unicodedata.category(character) not in _INVISIBLE
    )
    return "".join(visible).strip()


def _parse_date(text: str) -> str:
    try:
        if _ISO_DATE.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("There is no such day in the calendar.") from None
    written = next(iter(find_dates(text)), None)
    either = None if written is None else {written.value(day_first=first) for first in (True, False)}
    if not either and _LIKE_A_DATE.fullmatch(text):
        raise ValueError("There is no such day in the calendar.")
    if not either or None in either:
        raise ValueError("This is not a date. Write it as year-month-day, such as 2026-11-03.")
    if len(either) > 1:
        raise ValueError("Day or month first? Write the date as year-month-day, such as 2026-11-03.")
    (only,) = either
    assert only is not None  # said above
    return only.isoformat()


def _parse_time(text: str) -> str:
    try:
        return time.fromisoformat(text).isoformat()  # it may have a time zone or fractions of a second
    except ValueError:
        return time.fromisoformat(_parse_clock(text)).isoformat()


def _parse_clock(text: str) -> str:
    """A time of day as a receipt has it: HH:MM, or HH:MM:SS if it has seconds."""
    written = MISREAD_TIME.fullmatch(text)
    if not written:
        raise ValueError("This is not a time. Write it as hours and minutes, such as 14:32.")
    return clock_time(written)


def _parse_datetime(text: str) -> str:
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError("This is not a date with a time. Write it as 2026-11-03 14:32.") from None


def _parse_amount(text: str) -> str:
    amounts = find_amounts(text, misread=False)
    amount = amounts[0] if len(amounts) == 1 else None
    # Nothing may stand beside the amount and its currency.
    if amount is None or re.search(r"\w", text[: amount.start] + text[amount.stop :]):
        raise ValueError("This is not an amount. Write digits and a point, such as 1234.50.")
    if _GROUPED.fullmatch(amount.digits.strip()):
        plain = amount.digits.strip().replace(",", ".")
        raise ValueError(
            f"Thousands or decimals? Write {plain.replace('.', '')} for thousands, {plain}0 for decimals."
        )
    value = number(amount.digits, ".")
    return str(-value if amount.negative else value)


def _parse_integer(text: str) -> int:
    if not re.fullmatch(r"[-+]?\d{1,18}", text):
        raise ValueError("This is not a whole number.")
    return int(text)


def _parse_boolean(text: str) -> bool:
    if text.casefold() not in _YES | _NO:
        raise ValueError("Write yes or no.")
    return text.casefold() in _YES


def _parse_text(name: str, text: str) -> str:
    """A text as it is; a code in its compact form, if its checksum holds."""
    if name == "currency":
        code = currency_code(text)
        if code not in _CURRENCIES:
            raise ValueError("This is no currency. Write its three letters, such as EUR.")
        return code
    if name in _CODES:
        is_valid, title = _CODES[name]
        compact = re.sub(r"[\s.\-]", "", text).upper()
        if not is_valid(compact):
            raise ValueError(f"This is no valid {title}: a character is wrong or missing.")
        return compact
    if not any(map(str.isalnum, text)):
        raise ValueError("This has no letter or digit. Leave the field empty to delete the value.")
    return text


_CODES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "iban": (is_iban, "IBAN"),
    "bic": (is_bic, "BIC"),
    "vat_id": (is_vat_id, "VAT number"),
}

_PARSERS: Mapping[Kind, Callable[[str], JsonValue]] = {
    "date": _parse_date,
    "time": _parse_time,
    "datetime": _parse_datetime,
    "decimal": _parse_amount,
    "integer": _parse_integer,
    "boolean": _parse_boolean,
}
