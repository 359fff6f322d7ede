"""Element strings in GS1-128, GS1 DataMatrix and GS1 QR Code (GS1 General Specifications, 3 and 7.8)."""

import re
from collections.abc import Iterator
from decimal import Decimal

from docmill.understanding.coded_values.contents import PAYABLE, CodeContent, day, given

_SEPARATOR = "\x1d"
_MOST = 40
"""Elements of one code."""
_FIXED = {"00": 18, "01": 14, "02": 14, "03": 14, "04": 16, "20": 2, "41": 13} | {
    **{str(prefix): 6 for prefix in range(11, 20)},
    **{str(prefix): 6 for prefix in range(31, 37)},
}
"""Characters after the identifier of elements that need no separator, by their first two digits."""
_WIDTHS = {"23": 3, "24": 3, "25": 3, "40": 3, "41": 3, "42": 3, "71": 3} | {
    **{str(prefix): 4 for prefix in range(31, 37)},
    **dict.fromkeys(("39", "43", "70", "72", "80", "81", "82"), 4),
}
"""Digits of an application identifier, by its first two; two for all others."""
_WITH_CHECK_DIGIT = ("00", "01", "02", "415")
_CURRENCIES = {
    "978": "EUR",
    "756": "CHF",
    "826": "GBP",
    "840": "USD",
    "203": "CZK",
    "985": "PLN",
    "752": "SEK",
}
"""Letters of currencies by their numbers in ISO 4217, as far as payment slips have them."""


def parse_gs1(text: str) -> CodeContent:
    """The customer's order (400), and amount (390n, 391n) and due date (12) of a payment slip.

    Raises ValueError for a wrong length or check digit.
    """
    elements = dict(_elements(text))
    for identifier in _WITH_CHECK_DIGIT:
        if identifier in elements and not _has_check_digit(elements[identifier]):
            raise ValueError("a wrong check digit")
    order, due = elements.get("400"), elements.get("12")
    is_slip = "415" in elements and "8020" in elements
    values = given(order_number=order if order and order.isprintable() else None)
    if is_slip:
        values |= given(due_date=day(due, "%y%m%d") if due else None)
        for identifier, value in elements.items():
            if identifier[:3] in ("390", "391") and re.fullmatch("[0-9]{4,18}", value):
                unit, digits = ("", value) if identifier[:3] == "390" else (value[:3], value[3:])
                values |= {PAYABLE: Decimal(digits).scaleb(-int(identifier[3]))}
                values |= given(currency=_CURRENCIES.get(unit))
    references = (elements.get("8020", ""), order or "", elements.get("402", ""))
    return CodeContent("GS1", values, references=references)


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Yield application identifiers with their values. Raises ValueError for what is no element."""
    rest = text.strip(_SEPARATOR)
    for _ in range(_MOST):
        if not rest:
            return
        prefix = rest[:2]
        width = _WIDTHS.get(prefix, 2)
        identifier, rest = rest[:width], rest[width:]
        if not re.fullmatch(f"[0-9]{{{width}}}", identifier) or not rest:
            raise ValueError("no element string")
        if (length := _FIXED.get(prefix)) is not None:
            value, rest = rest[:length], rest[length:].lstrip(_SEPARATOR)
            if not re.fullmatch(f"[0-9]{{{length}}}", value):
                raise ValueError("a wrong length")
        else:
            value, _, rest = rest.partition(_SEPARATOR)
        yield identifier, value
    raise ValueError("too many elements")


def _has_check_digit(digits: str) -> bool:
    """True if the last digit is that of all others (GS1 General Specifications, 7.9.1)."""
    weighted = (int(digit) * (1 if index % 2 == 0 else 3) for index, digit in enumerate(reversed(digits)))
    return sum(weighted) % 10 == 0
