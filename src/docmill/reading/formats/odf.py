"""OpenDocument texts, presentations and spreadsheets (ISO/IEC 26300), as LibreOffice writes them."""

import re
from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError, EncryptedError
from docmill.model.cells import NO_RESULT
from docmill.reading.formats.cells import Budget, SheetContent, TableCell, table
from docmill.reading.formats.cells import blocks as sheet_blocks
from docmill.reading.formats.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    local,
    whole_number,
)
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, HeadingBlock, PageBreak, Paragraph, plain

SKIPPED = frozenset({"annotation", "desc", "event-listeners", "forms", "ruby-text", "tracked-changes"})
"""Elements without visible text."""
ROW_GROUPS = frozenset({"table-header-rows", "table-row-group", "table-rows"})
BOXES = frozenset({"custom-shape", "frame", "g", "rect"})
BULLET = "•"
RASTERS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
LENGTH = re.compile(r"(\d{1,5}(?:\.\d{1,8})?)(cm|mm|in|pt|pc|px)")
POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
MOST_SPACES = 200
COUNT_DIGITS = 7
MOST_REPEATED = 1000
"""Times that the same cell or row is taken. Programs fill whole sheets by repeating empty ones."""


def read(path: Path) -> list[Block]:
    """Read headers, the text with its tables, notes and boxes in order, footers; or the slides."""
    with Package.open(path) as package:
        content = _content(package)
        return _Reader(package, content, package.optional("styles.xml")).blocks()


def read_sheets(path: Path) -> list[Block]:
    """Read every sheet, hidden ones too, with the texts that its program showed last."""
    with Package.open(path) as package:
        budget = Budget()
        album = Album()
        sheets: list[SheetContent] = []
        for element in children(_content(package), "body", "spreadsheet"):
            if local(element) == "table":
                sheet = _sheet(element, budget)
                for frame in element.iter("{*}frame"):
                    sheet.pictures += _pictures(package, frame, album)
                sheets.append(sheet)
        return list(sheet_blocks(sheets, budget))


def _content(package: Package) -> Element:
    manifest = package.optional("META-INF/manifest.xml")
    if manifest is not None and any(local(element) == "encryption-data" for element in manifest.iter()):
        raise EncryptedError("the file is protected by a password; save it without one")
    return package.xml("content.xml")


class _Reader:
    def __init__(self, package: Package, content: Element, styles: Element | None) -> None:
        self._package = package
        self._album = Album()
        self._body = child(content, "body")
        self._margins = children(styles, "master-styles")
        self._used = {attribute(element, "master-page-name") for element in content.iter("{*}*")}
        self._notes: list[str] = []
        self._page_starting: set[str | None] = set()  # styles of paragraphs that start a page
        for style in children(content, "automatic-styles"):
            properties = child(style, "paragraph-properties")
            if properties is not None and attribute(properties, "break-before") == "page":
                self._page_starting.add(attribute(style, "name"))

    def blocks(self) -> list[Block]:
        if self._body is None:
            raise CorruptError("the file is damaged: it has no text; open it and save it again")
        text = self._story(self._body)
        notes = [Paragraph(note) for note in self._notes]
        return [*self._margin("header"), *text, *notes, *self._margin("footer")]

    def _margin(self, kind: str) -> Iterator[Block]:
        """Headers or footers of the page styles in use, each once."""
        seen: set[str] = set()
        for master in self._margins:
            name = attribute(master, "name")
            for margin in children(master) if name in self._used or name == "Standard" else ():
                blocks = self._story(margin) if local(margin) in (kind, f"{kind}-first") else []
                if blocks and plain(blocks) not in seen:
                    seen.add(plain(blocks))
                    yield from blocks

    def _story(self, element: Element) -> list[Block]:
        blocks: list[Block] = []
        for inner in element:
            name = local(inner)
            if name in ("p", "h"):
                blocks += self._paragraph(inner, name)
            elif name == "table":
                blocks += self._table(inner)
            elif name == "list":
                blocks += self._list(inner)
            elif name == "page":
                blocks += [*self._story(inner), PageBreak()]
            elif name == "frame":
                blocks += [*self._story(inner), *_pictures(self._package, inner, self._album)]
            elif name not in SKIPPED:
                blocks += self._story(inner)
        return blocks

    def _paragraph(self, element: Element, name: str) -> Iterator[Block]:
        boxes: list[Element] = []
        if attribute(element, "style-name") in self._page_starting:
            yield PageBreak()
        text = "".join(self._text(element, boxes))
        if name == "h" and text.strip():
            yield HeadingBlock(
                text.strip(), whole_number(attribute(element, "outline-level"), 1, max_digits=1)
            )
        elif text.strip() or not boxes:
            yield Paragraph(text, is_set="\t" in text)
        for box in boxes:
            yield from self._story(box)
            yield from _pictures(self._package, box, self._album)

    def _text(self, element: Element, boxes: list[Element]) -> Iterator[str]:
        """The text of a paragraph; the boxes that hang on it are added to `boxes`."""
        yield element.text or ""
        for inner in element:
            name = local(inner)
            if name == "s":
                count = attribute(inner, "c") or "1"
                yield " " * min(int(count) if count.isdecimal() else 1, MOST_SPACES)
            elif name == "tab":
                yield "\t"
            elif name == "line-break":
                yield "\n"
            elif name == "note":
                number = len(self._notes) + 1
                body = child(inner, "note-body")
                self._notes.append(f"[{number}] {plain(self._story(body)) if body is not None else ''}")
                yield f"[{len(self._notes)}]"
            elif name in BOXES:
                boxes.append(inner)
            elif name not in SKIPPED:
                yield from self._text(inner, boxes)
            yield inner.tail or ""

    def _list(self, element: Element) -> Iterator[Block]:
        for entry in element:
            has_bullet = False
            for block in self._story(entry):
                if isinstance(block, Paragraph) and not has_bullet and not block.text.startswith(BULLET):
                    has_bullet = True
                    yield Paragraph(f"{BULLET} {block.text}", block.is_set)
                else:
                    yield block

    def _table(self, element: Element) -> list[Block]:
        rows: list[list[TableCell]] = []
        header_rows = 0
        for row in _rows(element):
            parent = row.getparent()
            header_rows += parent is not None and local(parent) == "table-header-rows"
            cells = [cell for cell in row if local(cell) == "table-cell"]
            rows.append([TableCell(self._cell(cell), *_spans(cell)) for cell in cells])
        return table(rows, header_rows)

    def _cell(self, cell: Element) -> list[Block]:
        story = self._story(cell)
        return [Paragraph(NO_RESULT)] if not plain(story).strip() and _lacks_result(cell) else story


def _pictures(package: Package, frame: Element, album: Album) -> Iterator[Block]:
    """The picture of a frame: of several forms of it the first that is made of pixels."""
    names = [attribute(image, "href") or "" for image in frame if local(image) == "image"]
    if not names or any(local(inner) in ("object", "object-ole") for inner in frame):
        return
    name = next((name for name in names if name.lower().endswith(RASTERS)), names[0]).removeprefix("./")
    if name in package:
        lengths = (LENGTH.fullmatch(attribute(frame, side) or "") for side in ("width", "height"))
        size = Size(*(float(length[1]) * POINTS[length[2]] if length else 0.0 for length in lengths))
        yield from album.blocks(partial(package.picture, name), size)


def _rows(element: Element) -> Iterator[Element]:
    for inner in element:
        if local(inner) == "table-row":
            yield inner
        elif local(inner) in ROW_GROUPS:
            yield from _rows(inner)


def _count(element: Element, name: str) -> int:
    return whole_number(attribute(element, name), 1, max_digits=COUNT_DIGITS)


def _spans(cell: Element) -> tuple[int, int]:
    """Rows and columns that a cell takes."""
    return _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")


def _sheet(element: Element, budget: Budget) -> SheetContent:
    sheet = SheetContent(attribute(element, "name") or "")
    at = 0
    for row in _rows(element):
        repeated = max(_count(row, "number-rows-repeated"), 1)
        for offset in range(min(repeated, MOST_REPEATED)):
            if not _fill(sheet, at + offset, row, budget):
                break
        at += repeated
    for shapes in element:
        if local(shapes) == "shapes":
            sheet.notes += _box_texts(shapes)
    return sheet


def _fill(sheet: SheetContent, at: int, row: Element, budget: Budget) -> bool:
    """Put the cells of a row; False if it has none, or the budget is spent."""
    column, is_filled = 0, False
    for cell in row:
        repeated = max(_count(cell, "number-columns-repeated"), 1)
        text = "\n".join(_cell_text(inner) for inner in cell if local(inner) == "p").strip()
        if not text and _lacks_result(cell):
            text = NO_RESULT
        if text and local(cell) == "table-cell":
            value = _stored_value(cell)
            for offset in range(min(repeated, MOST_REPEATED)):
                if not budget.spend():
                    return False
                sheet.put(at, column + offset, text, value)
            spans = _spans(cell)
            if spans != (1, 1):
                sheet.merged.append((at, column, *spans))
            is_filled = True
        column += repeated
    return is_filled


def _stored_value(cell: Element) -> float | date | None:
    """The number or the day that a cell stores."""
    kind = attribute(cell, "value-type")
    try:
        if kind == "date":
            return date.fromisoformat((attribute(cell, "date-value") or "")[:10])
        if kind in ("float", "currency"):
            return float(attribute(cell, "value") or "")
    except ValueError:
        return None
    return None


def _lacks_result(cell: Element) -> bool:
    """True for a formula without a value. A text may be empty."""
    values = (f"{name}value" for name in ("", "date-", "time-", "boolean-", "string-"))
    return (
        attribute(cell, "formula") is not None
        and attribute(cell, "value-type") != "string"
        and all(attribute(cell, name) is None for name in values)
    )


def _cell_text(element: Element) -> str:
    """The text of a paragraph in a cell."""
    parts = [element.text or ""]
    for inner in element:
        name = local(inner)
        if name not in SKIPPED:
            parts.append({"s": " ", "tab": " ", "line-break": "\n"}.get(name) or _cell_text(inner))
        parts.append(inner.tail or "")
    return "".join(parts)


def _box_texts(element: Element) -> Iterator[str]:
    """The texts of boxes that lie on the sheet."""
    for inner in element:
        if local(inner) == "p":
            yield _cell_text(inner)
        elif local(inner) not in SKIPPED:
            yield from _box_texts(inner)
