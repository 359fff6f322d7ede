"""Word documents (ISO/IEC 29500-1, chapter 17)."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError
from docmill.model.cells import NO_RESULT
from docmill.reading.formats.list_numbering import Numbering
from docmill.reading.formats.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    extent_size,
    local,
    value,
)
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
"""Elements without visible text: deleted, a reading aid, another form of a neighbour."""
MARKS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}
TICKS = {"F0FE": "☒", "F0FD": "☒", "F0A8": "☐", "F06F": "☐", "F0FC": "✓", "F0FB": "✗"}
"""Boxes and ticks of the typeface Wingdings, as forms use them."""
OFF = frozenset({"0", "false", "off"})
TITLES = {"title": 1, "subtitle": 2}
OUTLINE_LEVELS = ("0", "1", "2", "3", "4", "5", "6", "7", "8")
TABLE_ROWS = frozenset({"sdt", "sdtContent", "ins", "customXml", "moveTo"})
"""Elements that may stand between a table and its rows, and a row and its cells."""
MAX_SPAN = 64
"""Columns of one cell; Word allows 63 columns in a table."""
PAGE = "\f"
DRAWN = frozenset({"drawing", "pict", "object"})
LENGTH = re.compile(r"(?<![-\w])(width|height)\s*:\s*([\d.]{1,8})pt")


def read(path: Path) -> list[Block]:
    """Read headers, the body in order, notes, footers; tracked changes count as accepted."""
    with Package.open(path) as package:
        return _Reader(package).blocks()


class _Reader:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._main = package.main_part("word/document.xml")
        self._relations = package.relations(self._main)
        styles = self._related("styles")
        self._numbering = Numbering(self._related("numbering"), styles)
        # Heading levels by style: by its name, which is English in every Word, or its outline.
        self._heading_levels: dict[str, int] = {}
        for style in children(styles):
            name = (value(style, "name") or "").lower()
            outline = value(style, "pPr", "outlineLvl")
            level = TITLES.get(name) or _span(name.removeprefix("heading "), 0)
            if not level and outline in OUTLINE_LEVELS:
                level = OUTLINE_LEVELS.index(outline) + 1
            if level:
                self._heading_levels[attribute(style, "styleId") or ""] = level
        self._notes: list[tuple[str, str]] = []
        self._album = Album()

    def blocks(self) -> list[Block]:
        body = child(self._package.xml(self._main), "body")
        if body is None:
            raise CorruptError("the file is damaged: it has no text; open it in Word and save it again")
        references = list(body.iter("{*}headerReference", "{*}footerReference"))
        blocks = self._story(body)
        headers = self._margins(references, "headerReference")
        parts = {kind: self._related(f"{kind}s") for kind in ("footnote", "endnote")}
        for number, (kind, wanted) in enumerate(self._notes, 1):
            for note in children(parts[kind]):
                if attribute(note, "id") == wanted:
                    blocks.append(Paragraph(f"[{number}] {plain(self._story(note))}"))
        return [*headers, *blocks, *self._margins(references, "footerReference")]

    def _related(self, kind: str) -> Element | None:
        names = [name for relation, name in self._relations.values() if relation == kind]
        return self._package.optional(names[0]) if names else None

    def _margins(self, references: Iterable[Element], kind: str) -> list[Block]:
        """Headers or footers, those with the same text together."""
        margins: dict[str, list[Block]] = {}
        relations = self._relations
        for reference in references:
            _, name = relations.get(attribute(reference, "id") or "", ("", ""))
            root = self._package.optional(name) if local(reference) == kind else None
            if root is not None:
                self._relations = self._package.relations(name)  # a header has relations of its own
                blocks = [block for block in self._story(root) if not isinstance(block, PageBreak)]
                self._relations = relations
                margins.setdefault(plain(blocks), []).extend(blocks)
        return [block for blocks in margins.values() for block in blocks]

    def _story(self, element: Element) -> list[Block]:
        """The paragraphs and tables of a body, a cell, a text box, a note."""
        blocks: list[Block] = []
        for inner in element:
            name = local(inner)
            if name == "p":
                blocks += self._paragraph(inner)
            elif name == "tbl":
                blocks += self._table(inner)
            elif name not in SKIPPED:
                blocks += self._story(inner)
        return blocks

    def _paragraph(self, element: Element) -> Iterator[Block]:
        boxes: list[Element] = []
        text = "".join(self._text(element, boxes))
        properties = child(element, "pPr")
        if _is_on(child(properties, "pageBreakBefore")):
            yield PageBreak()
        label = self._numbering.label(properties) if text.strip() else ""
        outline = value(properties, "outlineLvl")
        if outline in OUTLINE_LEVELS:
            level = OUTLINE_LEVELS.index(outline) + 1
        else:
            level = self._heading_levels.get(value(properties, "pStyle") or "", 0)
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

    def _text(self, element: Element, boxes: list[Element]) -> Iterator[str]:
        """The text of a paragraph; the text boxes that hang on it are added to `boxes`."""
        for inner in element:
            name = local(inner)
            if name == "t":
                yield inner.text or ""
            elif name in MARKS:
                yield MARKS[name]
            elif name in ("br", "lastRenderedPageBreak"):
                yield "\n" if name == "br" and attribute(inner, "type") != "page" else PAGE
            elif name == "sym":
                yield TICKS.get((attribute(inner, "char") or "").upper(), "")
            elif _is_formula_without_result(inner):
                yield NO_RESULT
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference"), attribute(inner, "id") or ""))
                yield f"[{len(self._notes)}]"
            elif name == "txbxContent":
                boxes.append(inner)
            elif name not in SKIPPED and not (name == "r" and _is_on(child(inner, "rPr", "vanish"))):
                yield from self._text(inner, boxes)

    def _pictures(self, paragraph: Element) -> Iterator[Block]:
        """The pictures of a paragraph; those in its text boxes come with these."""
        for picture in paragraph.iter("{*}blip", "{*}imagedata"):
            name = attribute(picture, "embed") or attribute(picture, "id") or ""
            kind, part = self._relations.get(name, ("", ""))
            if kind != "image":
                continue
            for above in picture.iterancestors():
                if above is paragraph:
                    yield from self._album.blocks(partial(self._package.picture, part), _size(picture))
                    break
                if local(above) in SKIPPED or local(above) == "p":
                    break  # deleted, another form of a neighbour, or of a paragraph within this one

    def _table(self, element: Element) -> list[Block]:
        beside: list[Block] = []
        rows: list[list[str]] = []
        spans: dict[tuple[int, int], tuple[int, int]] = {}
        open_cells: dict[int, int] = {}
        header_rows = 0
        for row in _inside_table(element, "tr"):
            texts = [""] * _span(value(row, "trPr", "gridBefore"), 0)
            for cell in _inside_table(row, "tc"):
                at, width = len(texts), _span(value(cell, "tcPr", "gridSpan"), 1)
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


def _size(picture: Element) -> Size:
    """Displayed size of a picture: by its own shape, by the drawing, or by the style of an old one."""
    for above in picture.iterancestors():
        extent = child(above, "spPr", "xfrm", "ext") if local(above) == "pic" else child(above, "extent")
        if extent is not None:
            return extent_size(extent)
        if local(above) == "shape":
            lengths = dict(LENGTH.findall(attribute(above, "style") or ""))
            return Size(float(lengths.get("width", 0)), float(lengths.get("height", 0)))
        if local(above) in DRAWN:
            break
    return Size()


def _inside_table(element: Element, name: str) -> Iterator[Element]:
    """The rows of a table or the cells of a row, which other elements may enclose."""
    for inner in element:
        if local(inner) == name:
            yield inner
        elif local(inner) in TABLE_ROWS:
            yield from _inside_table(inner, name)


def _span(text: str | None, default: int) -> int:
    return min(int(text), MAX_SPAN) if text and text.isdecimal() and text != "0" else default


def _is_formula(instruction: str | None) -> bool:
    """True for the instruction of a field that calculates, such as `=SUM(ABOVE)`."""
    return (instruction or "").strip().startswith("=")


def _is_formula_without_result(element: Element) -> bool:
    """True for a field that calculates and has no text as its result: a simple one, or the end of another."""
    name = local(element)
    if name == "fldSimple":
        texts = (text.text or "" for text in element.iter("{*}t"))
        return _is_formula(attribute(element, "instr")) and not "".join(texts).strip()
    is_end = name == "fldChar" and attribute(element, "fldCharType") == "end"
    return is_end and _ends_formula_without_result(element)


def _ends_formula_without_result(end: Element) -> bool:
    """True for the end of a formula's field (ISO/IEC 29500-1, 17.16.18) with no text as its result."""
    fields: list[list[str]] = []  # of each open field, the instruction and the result
    paragraph = next((above for above in end.iterancestors() if local(above) == "p"), end)
    for element in paragraph.iter():
        if element is end:
            break
        name, kind = local(element), attribute(element, "fldCharType")
        if name == "fldChar" and kind == "begin":
            fields.append(["", ""])
        elif name == "fldChar" and kind == "end" and fields:
            fields.pop()
        elif name in ("instrText", "t") and fields:
            fields[-1][name == "t"] += element.text or ""
    return bool(fields) and _is_formula(fields[-1][0]) and not fields[-1][1].strip()


def _is_on(element: Element | None) -> bool:
    return element is not None and (attribute(element, "val") or "") not in OFF
