"""Archive serial numbers: each paper in a cabinet has one, on a label with a code such as `ASN00123`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from docmill.model.document import Document

ASN_PREFIX = "ASN"
LARGEST_ASN = 2**32 - 1
"""The largest one in paperless-ngx, whose labels are read."""
_MOST_DIGITS = 10
_BETWEEN = r"[\s:#.-]*"
_LABELLED = re.compile(rf"(?<![\w-]){ASN_PREFIX}{_BETWEEN}([0-9]+)(?!\w)", re.IGNORECASE)
_WHOLE = re.compile(rf"(?:[^\W\d_]+{_BETWEEN}|#\s*)?([0-9]+)")


class SerialNumber(NamedTuple):
    """A number at `start` to `stop` of a text, with its prefix."""

    number: int
    start: int
    stop: int


def parse_serial_number(text: str, prefix: str = "") -> int | None:
    """The number of a text that is the prefix, maybe spaces, and digits; None for any other text."""
    digits = text.removeprefix(prefix).strip()
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    if not text.startswith(prefix) or not is_number or int(digits) > LARGEST_ASN:
        return None
    return int(digits)


def find_serial_numbers(text: str) -> Iterator[SerialNumber]:
    """The numbers that people type as on labels, in any case: `ASN 12`, `asn:12`, `ASN00012`."""
    for typed in _LABELLED.finditer(text):
        number = parse_serial_number(typed[1])
        if number is not None:
            yield SerialNumber(number, *typed.span())


def typed_serial_number(text: str) -> int | None:
    """The number of a text that is nothing else: as on a label, as `#12`, or bare; else None."""
    match = _WHOLE.fullmatch(text)
    return parse_serial_number(match[1]) if match else None


def serial_numbers(document: Document, prefix: str) -> tuple[int, ...]:
    """The numbers of the labels on a document's pages, each once; none where its sections have them."""
    if document.is_collection or not prefix:
        return ()
    codes = (code.text for page in document.pages for code in page.codes)
    numbers = (parse_serial_number(code, prefix) for code in codes)
    return tuple(dict.fromkeys(number for number in numbers if number is not None))
