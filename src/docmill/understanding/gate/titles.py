"""Check of the type against the page: an invoice whose title or total is that of a credit note."""

from collections.abc import Iterator
from decimal import Decimal

from docmill.model.result import Failure
from docmill.schemas.document_types import DEFINITIONS
from docmill.understanding.gate.inputs import GateInput
from docmill.understanding.text.folding import token_texts

_CREDIT = "credit_note"
_HEAD = 0.35
"""Fraction of the first page in which titles stand."""
_TITLES = frozenset(
    " ".join(token_texts(title)) for titles in DEFINITIONS[_CREDIT].words.titles.values() for title in titles
)
_LONGEST_REST = 3
"""Words beside a title on its line: a number, a date."""


def check_credit(judged: GateInput) -> Iterator[Failure]:
    """A failure of an invoice under the title of a credit note, or with a negative total."""
    if judged.extraction.document_type != "invoice" or judged.own_fields or judged.document.embedded:
        return
    gross = judged.amount("gross_total")
    title = _credit_title(judged)
    if title:
        message = f"The title {title!r} is that of a credit note: please say of which type the document is."
        yield Failure(check="credit_title", message=message)
    elif gross is not None and gross < Decimal(0):
        message = f"The total {gross} is negative: please say whether this is a credit note."
        yield Failure(check="negative_invoice", message=message, fields=("gross_total",))


def _credit_title(judged: GateInput) -> str:
    """The line at the top of the first page that starts with a title of credit notes; "" if there is none."""
    for page in judged.document.pages[:1]:
        for line in page.lines:
            if float(page.words.boxes[line.start, 1]) > _HEAD:
                continue
            words = token_texts(line.text)
            for count in range(1, min(len(words), 3) + 1):
                if " ".join(words[:count]) in _TITLES and len(words) - count <= _LONGEST_REST:
                    return line.text.strip()
    return ""
