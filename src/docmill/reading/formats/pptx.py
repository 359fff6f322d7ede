"""PowerPoint presentations (ISO/IEC 29500-1, chapter 19)."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.formats.cells import TableCell, table
from docmill.reading.formats.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    extent_size,
    local,
    whole_number,
)
from docmill.reading.formats.pictures import Album
from docmill.reading.layout.typeset import Block, HeadingBlock, MissingBlock, PageBreak, Paragraph, plain

TITLES = frozenset({"ctrTitle", "title"})
SILENT = frozenset({"dt", "ftr", "hdr", "sldImg", "sldNum"})
"""Placeholders that hold no text of the slide's or the notes' own."""
MARKS = {"br": "\n", "tab": "\t"}
YES = ("1", "true")
SPAN_DIGITS = 3
DAMAGED_SLIDE = "slide {number} is damaged and was not read; open the file in PowerPoint and save it again"


def read(path: Path) -> list[Block]:
    """Read the slides in order, hidden ones too, each on pages of its own with its notes below."""
    with Package.open(path) as package:
        main = package.main_part("ppt/presentation.xml")
        relations = package.relations(main)
        blocks: list[Block] = []
        album = Album()
        for number, entry in enumerate(children(package.xml(main), "sldIdLst"), 1):
            ids = (str(text) for key, text in entry.attrib.items() if str(key).endswith("}id"))
            _, name = relations.get(next(ids, ""), ("", ""))
            blocks += [*_slide(package, name, number, album), PageBreak()]
        return blocks


def _slide(package: Package, name: str, number: int, album: Album) -> list[Block]:
    """Blocks of a slide, its notes, its pictures, and those of its layout and master not shown before."""
    try:
        root = package.xml(name)
    except CorruptError:
        return [MissingBlock(DAMAGED_SLIDE.format(number=number))]
    relations = package.relations(name)
    blocks = list(_shapes(children(root, "cSld", "spTree")))
    for kind, target in relations.values():
        if kind == "diagramData":
            for point in children(package.optional(target), "ptLst"):
                blocks += _paragraphs(point, "t")
        elif kind == "notesSlide":
            notes = list(_shapes(children(package.optional(target), "cSld", "spTree")))
            blocks += [Paragraph(""), *notes] if plain(notes).strip() else []
    blocks += _pictures(package, root, relations, album)
    for behind in ("slideLayout", "slideMaster"):
        name = next((target for kind, target in relations.values() if kind == behind), "")
        root = package.optional(name) if name else None
        if root is None:
            break
        relations = package.relations(name)
        blocks += _pictures(package, root, relations, album)
    return blocks


def _pictures(
    package: Package, slide: Element, relations: Mapping[str, tuple[str, str]], album: Album
) -> Iterator[Block]:
    """The pictures on a slide, and those that fill its shapes."""
    for blip in slide.iter("{*}blip"):
        kind, part = relations.get(attribute(blip, "embed") or "", ("", ""))
        above = list(blip.iterancestors())
        if kind == "image" and not any(local(element) == "Fallback" for element in above):
            extents = (child(element, "spPr", "xfrm", "ext") for element in above)
            extent = next((extent for extent in extents if extent is not None), None)
            yield from album.blocks(partial(package.picture, part), extent_size(extent))


def _shapes(elements: list[Element]) -> Iterator[Block]:
    """Blocks of the shapes, the title first: it may stand anywhere in the file."""
    placeholders = [_placeholder(element) if local(element) == "sp" else "" for element in elements]
    for element, placeholder in zip(elements, placeholders, strict=True):
        if placeholder in TITLES:
            text = plain(_paragraphs(element, "txBody")).replace("\n", " ")
            if text.strip():
                yield HeadingBlock(text, 1)
    for element, placeholder in zip(elements, placeholders, strict=True):
        name = local(element)
        if name == "sp" and placeholder not in TITLES | SILENT:
            paragraphs = list(_paragraphs(element, "txBody"))
            yield from [*paragraphs, Paragraph("")] if paragraphs else []
        elif name == "graphicFrame":
            for grid in element.iter():
                if local(grid) == "tbl":
                    yield from _table(grid)
        elif name in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(list(element))


def _placeholder(shape: Element) -> str:
    """Type of the placeholder that a shape fills; empty for a shape of its own."""
    placeholder = child(shape, "nvSpPr", "nvPr", "ph")
    return "" if placeholder is None else attribute(placeholder, "type") or "body"


def _table(grid: Element) -> list[Block]:
    rows: list[list[TableCell]] = []
    for row in grid:
        if local(row) != "tr":
            continue
        rows.append([])
        for cell in row:
            merged = attribute(cell, "hMerge") or attribute(cell, "vMerge")
            if local(cell) == "tc" and merged not in YES:
                spans = (
                    whole_number(attribute(cell, name), 1, max_digits=SPAN_DIGITS)
                    for name in ("rowSpan", "gridSpan")
                )
                rows[-1].append(TableCell(list(_paragraphs(cell, "txBody")), *spans))
    properties = child(grid, "tblPr")
    has_header = properties is not None and attribute(properties, "firstRow") in YES
    return table(rows, int(has_header))


def _paragraphs(holder: Element, body: str) -> Iterator[Block]:
    """The paragraphs in the child of this name."""
    for paragraph in children(holder, body):
        if local(paragraph) == "p":
            text = "".join(_runs(paragraph))
            if text.strip():
                yield Paragraph(text.replace("\v", "\n"))


def _runs(element: Element) -> Iterator[str]:
    for inner in element:
        name = local(inner)
        if name == "t":
            yield inner.text or ""
        elif name in MARKS:
            yield MARKS[name]
        elif name not in ("pPr", "rPr", "endParaRPr", "Fallback"):
            yield from _runs(inner)
