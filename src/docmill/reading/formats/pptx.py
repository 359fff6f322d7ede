"""PowerPoint presentations (ISO/IEC 29500-1, chapter 19)."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats.cells import TableCell, table
from docmill.reading.formats.package import Element, Package, attribute, child, children, emu, local
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block, HeadingBlock, MissingBlock, PageBreak, Paragraph, plain

TITLES = frozenset({"ctrTitle", "title"})
SILENT = frozenset({"dt", "ftr", "hdr", "sldImg", "sldNum"})
"""Placeholders that hold no text of the slide's or the notes' own."""
MARKS = {"br": "\n", "tab": "\t"}
DAMAGED_SLIDE = "slide {number} is damaged and was not read; open the file in PowerPoint and save it again"


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """The slides in order, hidden ones too, each on pages of its own with its notes below."""
    del options
    with Package.opened(path) as package:
        main = package.main_part("ppt/presentation.xml")
        relations = package.relations(main)
        entries = children(package.xml(main), "sldIdLst")
        names = [
            relations.get(
                next((str(text) for key, text in entry.attrib.items() if str(key).endswith("}id")), ""),
                ("", ""),
            )[1]
            for entry in entries
        ]
        found: list[Block] = []
        album = Album()
        for number, name in enumerate(names, 1):
            found += [*_slide(package, name, number, album), PageBreak()]
        return found


def _slide(package: Package, name: str, number: int, album: Album) -> list[Block]:
    try:
        root = package.xml(name)
    except CorruptError:
        return [MissingBlock(DAMAGED_SLIDE.format(number=number))]
    relations = package.relations(name)
    blocks = list(_shapes(children(root, "cSld", "spTree")))
    for kind, target in relations.values():
        if kind == "diagramData":
            blocks += _diagram(package.optional(target))
        elif kind == "notesSlide":
            blocks += _notes(package.optional(target))
    blocks += _pictures(package, root, relations, album)
    return [*blocks, *_pictures_behind(package, relations, album)]


def _pictures_behind(
    package: Package, relations: Mapping[str, tuple[str, str]], album: Album
) -> Iterator[Block]:
    """Those of the slide's layout and of its master, on the first slide that shows them."""
    for behind in ("slideLayout", "slideMaster"):
        name = next((target for kind, target in relations.values() if kind == behind), None)
        root = package.optional(name) if name else None
        if name is None or root is None:
            return
        relations = package.relations(name)
        yield from _pictures(package, root, relations, album)


def _pictures(
    package: Package, slide: Element, relations: Mapping[str, tuple[str, str]], album: Album
) -> Iterator[Block]:
    """The pictures on a slide, and those that fill its shapes."""
    for found in slide.iter("{*}blip"):
        kind, part = relations.get(attribute(found, "embed") or "", ("", ""))
        above = list(found.iterancestors())
        if kind == "image" and not any(local(other) == "Fallback" for other in above):
            extents = (child(other, "spPr", "xfrm", "ext") for other in above)
            extent = next((extent for extent in extents if extent is not None), found)
            size = Size(*(emu(attribute(extent, side)) for side in ("cx", "cy")))
            yield from album.blocks(partial(package.picture, part), size)


def _notes(root: Element | None) -> list[Block]:
    blocks = list(_shapes(children(root, "cSld", "spTree")))
    return [Paragraph(""), *blocks] if plain(blocks).strip() else []


def _diagram(root: Element | None) -> list[Block]:
    points = [child(point, "t") for point in children(root, "ptLst")]
    return [block for text in points if text is not None for block in _paragraphs(text)]


def _shapes(elements: list[Element]) -> Iterator[Block]:
    """The title first: it may stand anywhere in the file."""
    yield from _of_titles(elements)
    for element in elements:
        name = local(element)
        if name == "sp" and _placeholder(element) not in TITLES | SILENT:
            yield from _text(element)
        elif name == "graphicFrame":
            for found in element.iter():
                if local(found) == "tbl":
                    rows = [
                        [_cell(cell) for cell in row if _is_cell(cell)] for row in found if local(row) == "tr"
                    ]
                    properties = child(found, "tblPr")
                    has_head = properties is not None and attribute(properties, "firstRow") in ("1", "true")
                    yield from table(rows, int(has_head))
        elif name in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(list(element))


def _of_titles(elements: list[Element]) -> Iterator[Block]:
    for element in elements:
        if local(element) == "sp" and _placeholder(element) in TITLES:
            text = plain(_text(element)).replace("\n", " ")
            if text.strip():
                yield HeadingBlock(text, 1)


def _placeholder(shape: Element) -> str:
    """Type of the placeholder that a shape fills; empty for a shape of its own."""
    found = child(shape, "nvSpPr", "nvPr", "ph")
    return "" if found is None else attribute(found, "type") or "body"


def _text(shape: Element) -> list[Block]:
    body = child(shape, "txBody")
    blocks = list(_paragraphs(body)) if body is not None else []
    return [*blocks, Paragraph("")] if blocks else []


def _paragraphs(body: Element) -> Iterator[Block]:
    for paragraph in body:
        if local(paragraph) == "p":
            text = "".join(_runs(paragraph))
            if text.strip():
                yield Paragraph(text.replace("\v", "\n"))


def _runs(element: Element) -> Iterator[str]:
    for found in element:
        name = local(found)
        if name == "t":
            yield found.text or ""
        elif name in MARKS:
            yield MARKS[name]
        elif name not in ("pPr", "rPr", "endParaRPr", "Fallback"):
            yield from _runs(found)


def _is_cell(cell: Element) -> bool:
    merged = attribute(cell, "hMerge") or attribute(cell, "vMerge")
    return local(cell) == "tc" and merged not in ("1", "true")


def _cell(cell: Element) -> TableCell:
    body = child(cell, "txBody")
    blocks = list(_paragraphs(body)) if body is not None else []
    return TableCell(blocks, _span(cell, "rowSpan"), _span(cell, "gridSpan"))


def _span(cell: Element, name: str) -> int:
    text = attribute(cell, name) or ""
    return int(text) if text.isdecimal() and len(text) < len("1000") else 1
