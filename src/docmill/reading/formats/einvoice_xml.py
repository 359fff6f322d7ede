"""E-invoices that come as XML alone, laid out to be read: names in words, groups under headings."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import text_files
from docmill.reading.formats.package import Element, local, parse_xml
from docmill.reading.layout.typeset import Block, HeadingBlock, TableBlock
from docmill.reading.pdf import attachments
from docmill.schemas.einvoice_kinds import ENVELOPE, ROOTS

LARGE = 12
"""A group with more values than this has headings for the groups within it."""
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_CALENDAR = "102"
"""UN/CEFACT 2379: year, month and day without marks."""
_UNITS = ("currencyID", "unitCode")
"""Attributes without which a number says little."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Read an e-invoice by its elements; any other XML, and one that is not well-formed, as plain text."""
    content = path.read_bytes()
    if len(content) > attachments.MAX_BYTES or attachments.root(content) not in ROOTS:
        return text_files.read(path, options)
    try:
        root = parse_xml(content.lstrip(b"\xef\xbb\xbf \t\r\n"))
    except (CorruptError, LookupError):
        return text_files.read(path, options)
    if root.getroottree().docinfo.internalDTD is not None:  # no e-invoice may declare one
        return text_files.read(path, options)
    if root.tag == ENVELOPE:
        root = next(element for element in root.iter() if element.tag in ROOTS)
    return [HeadingBlock(_name_in_words(root)), *_group_blocks(root, 2)]


def _group_blocks(element: Element, level: int) -> Iterator[Block]:
    """Blocks for the element's content: its own values first, as its schemas have it, then its groups."""
    rows: list[tuple[str, str]] = []
    counts = Counter(child.tag for child in element)
    seen: Counter[object] = Counter()
    for child in element:
        seen[child.tag] += 1
        if not len(child):
            rows.append((_name_in_words(child), _value(child)))
            continue
        if rows:
            yield TableBlock(rows)
            rows = []
        number = f" {seen[child.tag]}" if counts[child.tag] > 1 else ""
        yield HeadingBlock(_name_in_words(child) + number, level)
        leaves = [leaf for leaf in child.iter() if not len(leaf)]
        if len(leaves) > LARGE:
            yield from _group_blocks(child, level + 1)
            continue
        values: list[tuple[str, str]] = []
        for leaf in leaves:
            owner = leaf.getparent()
            prefix = "" if owner is None or owner is child else f"{_name_in_words(owner)}: "
            values.append((prefix + _name_in_words(leaf), _value(leaf)))
        yield TableBlock(values)
    if rows:
        yield TableBlock(rows)


def _name_in_words(element: Element) -> str:
    """The local name in words: `CityName` is "City name", `EndpointID` "Endpoint ID"."""
    first, *rest = _WORDS.split(local(element))
    return " ".join(
        [first[:1].upper() + first[1:], *(word if word.isupper() else word.lower() for word in rest)]
    )


def _value(leaf: Element) -> str:
    value = (leaf.text or "").strip()
    if leaf.get("format") == _CALENDAR:
        value = _DAY.sub(r"\1-\2-\3", value)
    return " ".join([value, *(str(leaf.get(name)) for name in _UNITS if leaf.get(name))]).strip()
