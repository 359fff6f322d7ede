"""E-invoices that come as XML alone, laid out to be read: names in words, groups under headings."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import plain_text
from docmill.reading.formats.package import Element, local, parsed
from docmill.reading.layout.typeset import Block, HeadingBlock, TableBlock
from docmill.reading.pdf import attachments
from docmill.schemas.einvoice_kinds import ENVELOPE, ROOTS

LARGE = 12
"""Values from which on the groups within a group have headings of their own."""
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_CALENDAR = "102"
"""UN/CEFACT 2379: year, month and day without marks."""
_BESIDE = ("currencyID", "unitCode")
"""Attributes without which a number says little."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """An e-invoice by its elements; any other XML, and one that is not well-formed, as the text it is."""
    content = path.read_bytes()
    if len(content) > attachments.MAX_BYTES or attachments.root(content) not in ROOTS:
        return plain_text.read(path, options)
    try:
        root = parsed(content.lstrip(b"\xef\xbb\xbf \t\r\n"))
    except (CorruptError, LookupError):
        return plain_text.read(path, options)
    if root.getroottree().docinfo.internalDTD is not None:  # no e-invoice may declare one
        return plain_text.read(path, options)
    if root.tag == ENVELOPE:
        root = next(element for element in root.iter() if element.tag in ROOTS)
    return [HeadingBlock(_spelled(root)), *_group(root, 2)]


def _group(element: Element, level: int) -> Iterator[Block]:
    """Blocks for the element's content: its own values first, as its schemas have it, then its groups."""
    rows: list[tuple[str, str]] = []
    counts = Counter(child.tag for child in element)
    seen: Counter[object] = Counter()
    for child in element:
        seen[child.tag] += 1
        if not len(child):
            rows.append((_spelled(child), _value(child)))
            continue
        yield from _table(rows)
        rows = []
        number = f" {seen[child.tag]}" if counts[child.tag] > 1 else ""
        yield HeadingBlock(_spelled(child) + number, level)
        if sum(1 for _ in _leaves(child)) > LARGE:
            yield from _group(child, level + 1)
        else:
            yield from _table([(_called(leaf, child), _value(leaf)) for leaf in _leaves(child)])
    yield from _table(rows)


def _table(rows: list[tuple[str, str]]) -> Iterator[Block]:
    if rows:
        yield TableBlock(rows)


def _leaves(element: Element) -> Iterator[Element]:
    return (leaf for leaf in element.iter() if not len(leaf))


def _called(leaf: Element, group: Element) -> str:
    """The value's name, after that of what it belongs to within the group."""
    owner = leaf.getparent()
    own = _spelled(leaf)
    return own if owner is None or owner is group else f"{_spelled(owner)}: {own}"


def _spelled(element: Element) -> str:
    """The local name in words: `CityName` is "City name", `EndpointID` "Endpoint ID"."""
    first, *rest = _WORDS.split(local(element))
    return " ".join(
        [first[:1].upper() + first[1:], *(word if word.isupper() else word.lower() for word in rest)]
    )


def _value(leaf: Element) -> str:
    value = (leaf.text or "").strip()
    if leaf.get("format") == _CALENDAR:
        value = _DAY.sub(r"\1-\2-\3", value)
    return " ".join([value, *(str(leaf.get(name)) for name in _BESIDE if leaf.get(name))]).strip()
