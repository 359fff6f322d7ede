"""Archive serial numbers: each paper in a cabinet has one, on a label with a code such as `ASN00123`."""

from docmill.model.document import Document

ASN_PREFIX = "ASN"
LARGEST_ASN = 2**32 - 1
"""The largest one in paperless-ngx, whose labels are read."""
_MOST_DIGITS = 10


def parse_serial_number(text: str, prefix: str = "") -> int | None:
    """The number of a text that is the prefix, maybe spaces, and digits; None for any other text."""
    digits = text.removeprefix(prefix).strip()
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS
    if not text.startswith(prefix) or not is_number or int(digits) > LARGEST_ASN:
        return None
    return int(digits)


def serial_numbers(document: Document, prefix: str) -> tuple[int, ...]:
    """The numbers of the labels on a document's pages, each once; none where its sections have them."""
    if document.is_collection or not prefix:
        return ()
    codes = (code.text for page in document.pages for code in page.codes)
    numbers = (parse_serial_number(code, prefix) for code in codes)
    return tuple(dict.fromkeys(number for number in numbers if number is not None))
