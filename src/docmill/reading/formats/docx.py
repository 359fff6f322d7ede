"""Word documents (ISO/IEC 29500-1, chapter 17)."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats.list_numbering import Numbering
from docmill.reading.formats.package import Element, Package, attribute, child, children, emu, local, value
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import (
    Block,
    HeadingBlock,
    PageBreak,
    Paragraph,
    TableBlock,
    beside_text,
    plain,
)

SKIPPED = frozenset({"del", "moveFrom", "pPr", "rPr", "tblPr", "trPr", "tcPr", "sdtPr", "rt", "Fallback"})
"""Elements without text that can be seen: deleted, a reading aid, another form of what stands beside."""
MARKS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
TICKS = {"F0FE": "☒", "F0FD": "☒", "F0A8": "☐", "F06F": "☐", "F0FC": "✓", "F0FB": "✗"}
"""Boxes and ticks of the face Wingdings, as forms use them."""
OFF = frozenset({"0", "false", "off"})
TITLES = {"title": 1, "subtitle": 2}
OUTLINE_LEVELS = ("0", "1", "2", "3", "4", "5", "6", "7", "8")
TABLE_ROWS = frozenset({"sdt", "sdtContent", "ins", "customXml", "moveTo"})
"""What may stand between a table and its rows, and a row and its cells."""
MAX_SPAN = 64
"""Columns of one cell; Word allows 63 columns in a table."""
PAGE = "\f"
DRAWN = frozenset({"drawing", "pict", "object"})
LENGTH = re.compile(r"(?<![-\w])(width|height)\s*:\s*([\d.]{1,8})pt")


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Headers, the body in order, notes, footers. Of tracked changes the text as if they were accepted."""
    del options
    with Package.opened(path) as package:
        return _Reader(package).blocks()


class _Reader:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main_part("word/document.xml")
        self._relations = package.relations(self._main)
        self._levels = _heading_levels(self._related("styles"))
        self._numbering = Numbering(self._related("numbering"), self._related("styles"))
        self._notes: list[tuple[str, str]] = []
        self._album = Album()

    def blocks(self) -> list[Block]:
        root = self._package.xml(self._main)
        body = child(root, "body")
        if body is None:
            raise CorruptError("the file is damaged: it has no text; open it in Word and save it again")
        references = list(body.iter("{*}headerReference", "{*}footerReference"))
        text = self._story(body)
        return [
            *self._margins(references, "headerReference"),
            *text,
            *self._note_texts(),
            *self._margins(references, "footerReference"),
        ]

    def _related(self, kind: str) -> Element | None:
        names = [name for found, name in self._relations.values() if found == kind]
        return self._package.optional(names[0]) if names else None

    def _margins(self, references: Iterable[Element], kind: str) -> list[Block]:
        """Headers or footers, each once."""
        found: dict[str, list[Block]] = {}
        for reference in references:
            _, name = self._relations.get(attribute(reference, "id") or "", ("", ""))
            root = self._package.optional(name) if local(reference) == kind else None
            if root is not None:
                blocks = self._of_margin(root, name)
                found.setdefault(plain(blocks), []).extend(blocks)
        return [block for blocks in found.values() for block in blocks]

    def _of_margin(self, root: Element, name: str) -> list[Block]:
        """A header or footer, whose relations are its own."""
        of_text, self._relations = self._relations, self._package.relations(name)
        blocks: list[Block] = [block for block in self._story(root) if not isinstance(block, PageBreak)]
        self._relations = of_text
        return blocks

    def _note_texts(self) -> Iterator[Block]:
        """The notes that the text refers to, in its order."""
        parts = {kind: self._related(f"{kind}s") for kind in ("footnote", "endnote")}
        for number, (kind, wanted) in enumerate(self._notes, 1):
            root = parts[kind]
            for note in children(root):
                if attribute(note, "id") == wanted:
                    yield Paragraph(f"[{number}] {plain(self._story(note))}")

    def _story(self, element: Element) -> list[Block]:
        """The paragraphs and tables of a body, a cell, a text box, a note."""
        blocks: list[Block] = []
        for found in element:
            name = local(found)
            if name == "p":
                blocks += self._paragraph(found)
            elif name == "tbl":
                blocks += self._table(found)
            elif name not in SKIPPED:
                blocks += self._story(found)
        return blocks

    def _paragraph(self, element: Element) -> Iterator[Block]:
        boxes: list[Element] = []
        text = "".join(self._text(element, boxes))
        properties = child(element, "pPr")
        if _is_on(child(properties, "pageBreakBefore")):
            yield PageBreak()
        label = self._numbering.label(properties) if text.strip() else ""
        level = self._level(properties)
        for index, part in enumerate(text.split(PAGE)):
            if index:
                yield PageBreak()
            shown = f"{label} {part.strip()}" if label and not index else part.strip("\n")
            if level and part.strip():
                yield HeadingBlock(shown.strip(), level)
            elif part.strip() or not text:
                yield Paragraph(shown, is_set="\t" in shown)
        for box in boxes:
            yield from self._story(box)
        yield from self._pictures(element)
        section = child(properties, "sectPr")
        if section is not None and value(section, "type") != "continuous":
            yield PageBreak()

    def _level(self, properties: Element | None) -> int:
        outline = value(properties, "outlineLvl")
        if outline in OUTLINE_LEVELS:
            return OUTLINE_LEVELS.index(outline) + 1
        return self._levels.get(value(properties, "pStyle") or "", 0)

    def _text(self, element: Element, boxes: list[Element]) -> Iterator[str]:
        """The text of a paragraph; the text boxes that hang on it are put aside."""
        for found in element:
            name = local(found)
            if name == "t":
                yield found.text or ""
            elif name in MARKS:
                yield MARKS[name]
            elif name == "br":
                yield PAGE if attribute(found, "type") == "page" else "\n"
            elif name == "lastRenderedPageBreak":
                yield PAGE
            elif name == "sym":
                yield TICKS.get((attribute(found, "char") or "").upper(), "")
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference"), attribute(found, "id") or ""))
                yield f"[{len(self._notes)}]"
            elif name == "txbxContent":
                boxes.append(found)
            elif name not in SKIPPED and not _is_hidden(found):
                yield from self._text(found, boxes)

    def _pictures(self, element: Element) -> Iterator[Block]:
        """The pictures of a paragraph; those in its text boxes come with these."""
        for found in element.iter("{*}blip", "{*}imagedata"):
            name = attribute(found, "embed") or attribute(found, "id") or ""
            kind, part = self._relations.get(name, ("", ""))
            if kind == "image" and not _is_elsewhere(found, element):
                yield from self._album.blocks(partial(self._package.picture, part), _size(found))

    def _table(self, element: Element) -> list[Block]:
        beside: list[Block] = []
        rows: list[list[str]] = []
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        open_cells: dict[int, int] = {}
        header_rows = 0
        for row in _named(element, "tr", within=TABLE_ROWS):
            texts = [""] * _number(value(row, "trPr", "gridBefore"), 0)
            for cell in _named(row, "tc", within=TABLE_ROWS):
                at, width = len(texts), _number(value(cell, "tcPr", "gridSpan"), 1)
                merge = child(cell, "tcPr", "vMerge")
                goes_on = merge is not None and attribute(merge, "val") != "restart" and at in open_cells
                if goes_on:
                    first = open_cells[at]
                    spans[first, at] = (len(rows) - first + 1, spans[first, at][1])
                elif merge is not None or width > 1:
                    spans[len(rows), at] = (1, width)
                    open_cells[at] = len(rows)
                if merge is None:
                    open_cells.pop(at, None)
                story = [] if goes_on else self._story(cell)
                beside += beside_text(story)
                texts += [plain(story), *[""] * (width - 1)]
            header_rows += header_rows == len(rows) and _is_on(child(row, "trPr", "tblHeader"))
            rows.append(texts)
        return [TableBlock(rows, header_rows, spans), *beside]


def _is_elsewhere(picture: Element, paragraph: Element) -> bool:
    """True for an element that was deleted, is an alternative form, or belongs to a paragraph within this."""
    for above in picture.iterancestors():
        if above is paragraph:
            return False
        if local(above) in SKIPPED or local(above) == "p":
            return True
    return False


def _size(picture: Element) -> Size:
    """Displayed size of a picture: by its own shape, by the drawing, or by the style of an old one."""
    for above in picture.iterancestors():
        extent = child(above, "spPr", "xfrm", "ext") if local(above) == "pic" else child(above, "extent")
        if extent is not None:
            return Size(*(emu(attribute(extent, side)) for side in ("cx", "cy")))
        if local(above) == "shape":
            lengths = dict(LENGTH.findall(attribute(above, "style") or ""))
            return Size(float(lengths.get("width", 0)), float(lengths.get("height", 0)))
        if local(above) in DRAWN:
            break
    return Size()


def _named(element: Element, *names: str, within: frozenset[str] | None = None) -> Iterator[Element]:
    """Elements of these names in order, looked for inside others (`within`: only inside these)."""
    for found in element:
        name = local(found)
        if name in names:
            yield found
        elif name not in SKIPPED and (within is None or name in within):
            yield from _named(found, *names, within=within)


def _number(text: str | None, default: int) -> int:
    return min(int(text), MAX_SPAN) if text and text.isdecimal() and text != "0" else default


def _is_on(element: Element | None) -> bool:
    return element is not None and (attribute(element, "val") or "") not in OFF


def _is_hidden(run: Element) -> bool:
    return local(run) == "r" and _is_on(child(run, "rPr", "vanish"))


def _heading_levels(styles: Element | None) -> dict[str, int]:
    """Style id to heading level: by the style's name, which is English in every Word, or its outline."""
    levels: dict[str, int] = {}
    for style in children(styles):
        name = (value(style, "name") or "").lower()
        outline = value(style, "pPr", "outlineLvl")
        level = TITLES.get(name) or _number(name.removeprefix("heading "), 0)
        if not level and outline in OUTLINE_LEVELS:
            level = OUTLINE_LEVELS.index(outline) + 1
        if level:
            levels[attribute(style, "styleId") or ""] = level
    return levels
