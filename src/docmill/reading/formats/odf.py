"""OpenDocument texts, presentations and spreadsheets (ISO/IEC 26300), as LibreOffice writes them."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats.cells import Budget, SheetContent, TableCell, table
from docmill.reading.formats.cells import blocks as sheet_blocks
from docmill.reading.formats.package import Element, Package, attribute, child, children, local
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, HeadingBlock, PageBreak, Paragraph, plain

SKIPPED = frozenset({"annotation", "desc", "event-listeners", "forms", "ruby-text", "tracked-changes"})
"""Elements without text that can be seen."""
ROW_GROUPS = frozenset({"table-header-rows", "table-row-group", "table-rows"})
BOXES = frozenset({"custom-shape", "frame", "g", "rect"})
BULLET = "•"
RASTERS = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
LENGTH = re.compile(r"(\d{1,5}(?:\.\d{1,8})?)(cm|mm|in|pt|pc|px)")
POINTS = {"cm": 72 / 2.54, "mm": 7.2 / 2.54, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
MOST_SPACES = 200
LONGEST_NUMBER = 8
MOST_REPEATED = 1000
"""Of the same cell or row. Programs fill whole sheets by repeating what is empty."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Headers, the text with its tables, notes and boxes in order, footers; or the slides."""
    del options
    with Package.opened(path) as package:
        content = _content(package)
        styles = package.optional("styles.xml")
        reader = _Reader(package, content, styles)
        return reader.blocks()


def read_sheets(path: Path, options: ReadingOptions) -> list[Block]:
    """Every sheet, hidden ones too, with the texts that its program showed last."""
    del options
    with Package.opened(path) as package:
        body = child(_content(package), "body", "spreadsheet")
        budget = Budget()
        tables = [found for found in children(body) if local(found) == "table"]
        album = Album()
        sheets: list[SheetContent] = []
        for found in tables:
            sheet = _sheet(found, budget)
            frames = found.iter("{*}frame")
            sheet.pictures = [block for frame in frames for block in _pictures(package, frame, album)]
            sheets.append(sheet)
        return list(sheet_blocks(sheets, budget))


def _content(package: Package) -> Element:
    manifest = package.optional("META-INF/manifest.xml")
    if manifest is not None and any(local(found) == "encryption-data" for found in manifest.iter()):
        raise EncryptedError("the file is protected by a password; save it without one")
    return package.xml("content.xml")


class _Reader:
    def __init__(self, package: Package, content: Element, styles: Element | None) -> None:
        self._package = package
        self._album = Album()
        self._body = child(content, "body")
        self._margins = children(styles, "master-styles")
        self._breaking = _breaking(content)
        self._used = {attribute(found, "master-page-name") for found in content.iter("{*}*")}
        self._notes: list[str] = []

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
            for found in children(master) if name in self._used or name == "Standard" else ():
                blocks = self._story(found) if local(found) in (kind, f"{kind}-first") else []
                if blocks and plain(blocks) not in seen:
                    seen.add(plain(blocks))
                    yield from blocks

    def _story(self, element: Element) -> list[Block]:
        blocks: list[Block] = []
        for found in element:
            name = local(found)
            if name in ("p", "h"):
                blocks += self._paragraph(found, name)
            elif name == "table":
                blocks += self._table(found)
            elif name == "list":
                blocks += self._list(found)
            elif name == "page":
                blocks += [*self._story(found), PageBreak()]
            elif name == "frame":
                blocks += [*self._story(found), *_pictures(self._package, found, self._album)]
            elif name not in SKIPPED:
                blocks += self._story(found)
        return blocks

    def _paragraph(self, element: Element, name: str) -> Iterator[Block]:
        boxes: list[Element] = []
        if attribute(element, "style-name") in self._breaking:
            yield PageBreak()
        text = "".join(self._text(element, boxes))
        if name == "h" and text.strip():
            level = attribute(element, "outline-level") or "1"
            yield HeadingBlock(text.strip(), int(level) if level.isdecimal() and len(level) == 1 else 1)
        elif text.strip() or not boxes:
            yield Paragraph(text, is_set="\t" in text)
        for box in boxes:
            yield from self._story(box)
            yield from _pictures(self._package, box, self._album)

    def _text(self, element: Element, boxes: list[Element]) -> Iterator[str]:
        yield element.text or ""
        for found in element:
            name = local(found)
            if name == "s":
                count = attribute(found, "c") or "1"
                yield " " * min(int(count) if count.isdecimal() else 1, MOST_SPACES)
            elif name == "tab":
                yield "\t"
            elif name == "line-break":
                yield "\n"
            elif name == "note":
                self._notes.append(self._note(found))
                yield f"[{len(self._notes)}]"
            elif name in BOXES:
                boxes.append(found)
            elif name not in SKIPPED:
                yield from self._text(found, boxes)
            yield found.tail or ""

    def _note(self, element: Element) -> str:
        number = len(self._notes) + 1
        body = child(element, "note-body")
        return f"[{number}] {plain(self._story(body)) if body is not None else ''}"

    def _list(self, element: Element) -> Iterator[Block]:
        for entry in element:
            marked = False
            for block in self._story(entry):
                if isinstance(block, Paragraph) and not marked and not block.text.startswith(BULLET):
                    marked = True
                    yield Paragraph(f"{BULLET} {block.text}", block.is_set)
                else:
                    yield block

    def _table(self, element: Element) -> list[Block]:
        rows = list(_rows(element))
        headers = sum(1 for row in rows if local(_parent(row)) == "table-header-rows")
        return table([self._row(row) for row in rows], headers)

    def _row(self, row: Element) -> list[TableCell]:
        return [
            TableCell(
                self._story(cell), _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
            )
            for cell in row
            if local(cell) == "table-cell"
        ]


def _pictures(package: Package, frame: Element, album: Album) -> Iterator[Block]:
    """The picture of a frame: of several forms of it the first that is made of pixels."""
    names = [attribute(found, "href") or "" for found in frame if local(found) == "image"]
    if not names or any(local(found) in ("object", "object-ole") for found in frame):
        return
    name = next((name for name in names if name.lower().endswith(RASTERS)), names[0]).removeprefix("./")
    if name in package:
        size = Size(_length(attribute(frame, "width")), _length(attribute(frame, "height")))
        yield from album.blocks(partial(package.picture, name), size)


def _length(text: str | None) -> float:
    """A length in points; 0 for what is none."""
    found = LENGTH.fullmatch(text or "")
    return float(found[1]) * POINTS[found[2]] if found else 0.0


def _breaking(content: Element) -> set[str | None]:
    """The styles of paragraphs that start a page."""
    found: set[str | None] = set()
    for style in children(content, "automatic-styles"):
        properties = child(style, "paragraph-properties")
        if properties is not None and attribute(properties, "break-before") == "page":
            found.add(attribute(style, "name"))
    return found


def _rows(element: Element) -> Iterator[Element]:
    for found in element:
        if local(found) == "table-row":
            yield found
        elif local(found) in ROW_GROUPS:
            yield from _rows(found)


def _parent(element: Element) -> Element:
    parent = element.getparent()
    return element if parent is None else parent


def _count(element: Element, name: str) -> int:
    text = attribute(element, name) or ""
    return int(text) if text.isdecimal() and len(text) < LONGEST_NUMBER else 1


def _sheet(element: Element, budget: Budget) -> SheetContent:
    sheet = SheetContent(attribute(element, "name") or "")
    at = 0
    for row in _rows(element):
        repeated = max(_count(row, "number-rows-repeated"), 1)
        for offset in range(min(repeated, MOST_REPEATED)):
            if not _fill(sheet, at + offset, row, budget):
                break
        at += repeated
    sheet.notes = [text for shapes in element if local(shapes) == "shapes" for text in _drawn(shapes)]
    return sheet


def _fill(sheet: SheetContent, at: int, row: Element, budget: Budget) -> bool:
    """Put the cells of a row; False if it has none."""
    column, filled = 0, False
    for cell in row:
        repeated = max(_count(cell, "number-columns-repeated"), 1)
        text = "\n".join(_shown(found) for found in cell if local(found) == "p").strip()
        if text and local(cell) == "table-cell":
            for offset in range(min(repeated, MOST_REPEATED)):
                if not budget.spend():
                    return False
                sheet.put(at, column + offset, text)
            rows, columns = _count(cell, "number-rows-spanned"), _count(cell, "number-columns-spanned")
            if (rows, columns) != (1, 1):
                sheet.merged.append((at, column, rows, columns))
            filled = True
        column += repeated
    return filled


def _shown(element: Element) -> str:
    """The text of a paragraph in a cell."""
    parts = [element.text or ""]
    for found in element:
        name = local(found)
        if name not in SKIPPED:
            parts.append({"s": " ", "tab": " ", "line-break": "\n"}.get(name) or _shown(found))
        parts.append(found.tail or "")
    return "".join(parts)


def _drawn(element: Element) -> Iterator[str]:
    """The texts of boxes that lie on the sheet."""
    for found in element:
        if local(found) == "p":
            yield _shown(found)
        elif local(found) not in SKIPPED:
            yield from _drawn(found)
