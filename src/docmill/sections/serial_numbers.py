"""Archive serial numbers: each paper in a cabinet has one, on a label with a code such as `ASN00123`."""

from docmill.model.document import Document

ASN_PREFIX = "ASN"
LARGEST_ASN = 2**32 - 1
"""The largest one in paperless-ngx, whose labels are read."""
_MOST_DIGITS = 10


def parse_serial_number(code: str, prefix: str) -> int | None:
    """The number of a code that is the prefix, maybe spaces, and digits; None for any other code."""
    digits = code.removeprefix(prefix).strip()
    if not prefix or not code.startswith(prefix) or len(digits) > _MOST_DIGITS:
        return None
    number = int(digits) if digits.isascii() and digits.isdecimal() else -1
    return number if 0 <= number <= LARGEST_ASN else None


def serial_numbers(document: Document, prefix: str) -> tuple[int, ...]:
    """The numbers of the labels on a document's pages, each once; none where its sections have them."""
    if document.is_collection:
        return ()
    codes = (code.text for page in document.pages for code in page.codes)
    numbers = (parse_serial_number(code, prefix) for code in codes)
    return tuple(dict.fromkeys(number for number in numbers if number is not None))
