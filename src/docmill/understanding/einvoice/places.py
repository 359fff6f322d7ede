"""Where the pages show what an XML says."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from pydantic import BaseModel

from docmill.model import Document, Evidence, Place, letters_and_digits
from docmill.schemas.einvoices import EInvoiceKind
from docmill.understanding.einvoice.printed import Printed
from docmill.understanding.einvoice.rows import rows
from docmill.understanding.extractor import findings
from docmill.understanding.layout import Layout

EMBEDDED = Evidence(page=None, box=None, text=None, match="embedded", confidence=1.0)
_SHORTEST = 4
"""Letters and digits of a text that is looked for: fewer stand everywhere."""


class Places:
    """The places of header fields: where the rules found the same value, else where it stands at all."""

    def __init__(self, document: Document, kind: EInvoiceKind, printed: Printed) -> None:
        self._layout = Layout(document)
        self.shown = findings(self._layout, kind.document_type)
        self._printed = printed

    def lines(self, lines: Sequence[BaseModel]) -> dict[str, Evidence]:
        """Of those values of lines that the pages show beside what is sold, by path."""
        found = rows([line.model_dump() for line in lines], self._printed)
        return {
            f"lines[{index}].{name}": _evidence(place, getattr(lines[index], name))
            for index, name, place in found
        }

    def evidence(self, path: str, value: object) -> Evidence:
        """Of a value; `embedded` for one that the pages do not show, or not so that one can be sure of it."""
        place = self._ruled(path, value) or self._standing(path, value)
        return _evidence(place, value) if place else EMBEDDED

    def _ruled(self, path: str, value: object) -> Place | None:
        finding = self.shown.get(path)
        if finding is None or len(finding.spans) != 1 or not _same(finding.value, value):
            return None
        (span,) = finding.spans
        page = self._layout.sheet(span.segment).page
        return page.place(*span.segment.words(span.start, span.stop))

    def _standing(self, path: str, value: object) -> Place | None:
        if "[" in path:  # a line's values may stand in the rows of others
            return None
        if isinstance(value, Decimal):
            return _last(self._printed.amounts.get(abs(value), ()))
        if isinstance(value, date):
            return _first(self._printed.dates.get(value, ()))
        if not isinstance(value, str) or len(letters_and_digits(value)) < _SHORTEST:
            return None
        return _first(self._printed.texts(value))


def _evidence(place: Place, value: object) -> Evidence:
    match = "exact" if place.text == str(value) else "normalised"
    return Evidence(page=place.page_number, box=place.box, text=place.text, match=match, confidence=1.0)


def _same(one: object, other: object) -> bool:
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return abs(one) == abs(other)
    if isinstance(one, str) and isinstance(other, str):
        return letters_and_digits(one) == letters_and_digits(other)
    return one == other


def _first(places: Sequence[Place]) -> Place | None:
    return places[0] if places else None


def _last(places: Sequence[Place]) -> Place | None:
    """Of amounts, since totals stand below what they are made of."""
    return places[-1] if places else None
