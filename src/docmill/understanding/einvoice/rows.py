"""Where the pages show the lines of an XML: each in the row that begins with what is sold."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from docmill.model import Box, Place, letters_and_digits
from docmill.understanding.einvoice.printed import Printed

_SHORTEST = 4
"""Letters and digits of a description that is looked for."""
_NUMBERS = ("net_amount", "unit_price", "quantity", "tax_rate")
"""The amount first: it stands on the right, where others of the same value do not."""


def rows(lines: Sequence[Mapping[str, object]], printed: Printed) -> Iterator[tuple[int, str, Place]]:
    """Index of the line, name of the value, and its place, for every value of which one can be sure.

    Lines stand in the order of the XML. A number belongs to a line if it stands beside its description; if
    there are several of the same value, only the amount, being the last, is known from them.
    """
    before: Place | None = None
    for index, line in enumerate(lines):
        text = line.get("description")
        place = _following(before, printed.texts(text)) if isinstance(text, str) and _is_long(text) else None
        if place is None:
            continue
        before = place
        yield index, "description", place
        for name, number in _numbers(line, place, printed):
            yield index, name, number


def _is_long(text: str) -> bool:
    return len(letters_and_digits(text)) >= _SHORTEST


def _following(before: Place | None, places: Sequence[Place]) -> Place | None:
    return next((place for place in places if before is None or _order(place) > _order(before)), None)


def _order(place: Place) -> tuple[int, int]:
    return place.page_number, place.start


def _numbers(line: Mapping[str, object], row: Place, printed: Printed) -> Iterator[tuple[str, Place]]:
    taken: list[Place] = []
    for name in _NUMBERS:
        value = line.get(name)
        if not isinstance(value, Decimal):
            continue
        beside = [place for place in printed.amounts.get(abs(value), ()) if _beside(row, place)]
        free = sorted({place for place in beside if place not in taken}, key=lambda place: place.box.x0)
        if len(free) == 1 or (free and name == "net_amount"):
            taken.append(free[-1])
            yield name, free[-1]


def _beside(row: Place, place: Place) -> bool:
    """Whether its middle is at the height of the row, and it is no part of the description."""
    if place.page_number != row.page_number:
        return False
    middle = (place.box.y0 + place.box.y1) / 2
    at_its_height = row.box.y0 <= middle <= row.box.y1
    return at_its_height and not _within(place.box, row.box)


def _within(inner: Box, outer: Box) -> bool:
    return inner.x0 < outer.x1 and outer.x0 < inner.x1
