"""Excel workbooks (ISO/IEC 29500-1, chapter 18), with or without macros, which are not looked at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats import number_format
from docmill.reading.formats.cells import Budget, SheetContent, blocks
from docmill.reading.formats.number_format import BUILT_IN, GENERAL
from docmill.reading.formats.package import Element, Package, attribute, child, children, emu, local
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block

REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
SHEETS = frozenset({"worksheet", "macrosheet", "xlMacrosheet", "dialogsheet", "chartsheet"})
MOST_MERGED = 5000
LONGEST_NUMBER = 10
DAMAGED_SHEET = (
    "the sheet {name!r} is damaged, and some of it was not read; open it in Excel and save it again"
)
BOOLEANS = {"1": "TRUE", "0": "FALSE"}


class _Looks(NamedTuple):
    """Shared strings and number formats of a workbook. formats: by a cell's style."""

    strings: Sequence[str]
    formats: Sequence[str]
    from_1904: bool


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Every sheet, hidden ones too, with numbers and dates as Excel shows them."""
    del options
    with Package.opened(path) as package:
        main = package.main_part("xl/workbook.xml")
        root = package.xml(main)
        relations = package.relations(main)
        looks = _looks(package, root, relations)
        budget = Budget()
        album = Album()
        sheets: list[SheetContent] = []
        for entry in children(root, "sheets"):
            kind, part = relations.get(attribute(entry, "id") or "", ("", ""))
            if kind in SHEETS:
                sheet = _sheet(package, part, attribute(entry, "name") or "", looks, budget)
                sheet.pictures = list(_pictures(package, part, album))
                sheets.append(sheet)
        return list(blocks(sheets, budget))


def _looks(package: Package, workbook: Element, relations: Mapping[str, tuple[str, str]]) -> _Looks:
    parts = {kind: name for kind, name in relations.values() if name in package}
    strings: list[str] = []
    if "sharedStrings" in parts:
        strings = [_string(element) for element in package.elements(parts["sharedStrings"], "si")]
    styles = package.optional(parts["styles"]) if "styles" in parts else None
    properties = child(workbook, "workbookPr")
    base = attribute(properties, "date1904") if properties is not None else None
    own = {
        attribute(found, "numFmtId"): attribute(found, "formatCode") or GENERAL
        for found in children(styles, "numFmts")
    }
    numbers = [attribute(found, "numFmtId") or "0" for found in children(styles, "cellXfs")]
    formats = [
        own.get(number) or BUILT_IN.get(int(number) if number.isdecimal() else 0, GENERAL)
        for number in numbers
    ]
    return _Looks(strings, formats, base in ("1", "true"))


def _string(element: Element) -> str:
    """The text of a string or an inline string, without its reading aid."""
    if local(element) == "t":
        return element.text or ""
    return "".join(_string(found) for found in element if local(found) not in ("rPh", "phoneticPr"))


def _sheet(package: Package, part: str, name: str, looks: _Looks, budget: Budget) -> SheetContent:
    sheet = SheetContent(name)
    try:
        for element in package.elements(part, "row", "mergeCell"):
            if local(element) == "row":
                _fill(sheet, element, looks, budget)
            elif len(sheet.merged) < MOST_MERGED:
                sheet.merged += _merged(attribute(element, "ref") or "")
            if budget.is_spent:
                break
    except CorruptError:
        sheet.problem = DAMAGED_SHEET.format(name=name)
    for kind, drawing in package.relations(part).values():
        if kind == "drawing" and (root := package.optional(drawing)) is not None:
            sheet.notes += _drawn(root)
    return sheet


def _pictures(package: Package, part: str, album: Album) -> Iterator[Block]:
    """The pictures that lie on a sheet."""
    for kind, drawing in package.relations(part).values():
        root = package.optional(drawing) if kind == "drawing" else None
        relations = package.relations(drawing) if root is not None else {}
        for found in root.iter("{*}blip") if root is not None else ():
            name = relations.get(attribute(found, "embed") or "", ("", ""))[1]
            if name in package:
                yield from album.blocks(partial(package.picture, name), _size(found))


def _size(picture: Element) -> Size:
    """Displayed size of a picture, where its drawing says so."""
    for above in picture.iterancestors():
        for extent in (child(above, "spPr", "xfrm", "ext"), child(above, "ext")):
            size = (
                Size(*(emu(attribute(extent, side)) for side in ("cx", "cy")))
                if extent is not None
                else Size()
            )
            if size.width_pt and size.height_pt:
                return size
    return Size()


def _fill(sheet: SheetContent, row: Element, looks: _Looks, budget: Budget) -> None:
    at_row = _digits(attribute(row, "r"), default=max(sheet.rows, default=0) + 1)
    column = 0
    for cell in row:
        found = REFERENCE.fullmatch(attribute(cell, "r") or "")
        column = _column(found[1]) if found else column + 1
        text = _shown(cell, looks)
        if text and not budget.spend():
            return
        sheet.put(at_row, column, text)


def _shown(cell: Element, looks: _Looks) -> str:
    kind = attribute(cell, "t") or "n"
    if kind == "inlineStr":
        return "".join(_string(found) for found in cell if local(found) == "is")
    content = child(cell, "v")
    text = (content.text or "") if content is not None else ""
    if kind == "s":
        index = _digits(text, default=len(looks.strings))
        return looks.strings[index] if index < len(looks.strings) else ""
    if kind == "b":
        return BOOLEANS.get(text, text)
    if kind == "d":
        return text.removesuffix("T00:00:00")
    return _number(text, attribute(cell, "s"), looks) if kind == "n" else text


def _number(text: str, style: str | None, looks: _Looks) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    index = _digits(style, default=0)
    code = looks.formats[index] if index < len(looks.formats) else GENERAL
    return number_format.shown(number, code, from_1904=looks.from_1904)


def _digits(text: str | None, *, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < LONGEST_NUMBER else default


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _merged(reference: str) -> Iterator[tuple[int, int, int, int]]:
    ends = [REFERENCE.fullmatch(part) for part in reference.split(":")]
    if len(ends) == len(("first", "last")) and ends[0] and ends[1]:
        row, column = int(ends[0][2]), _column(ends[0][1])
        yield row, column, int(ends[1][2]) - row + 1, _column(ends[1][1]) - column + 1


def _drawn(element: Element) -> Iterator[str]:
    """The texts of boxes that lie on the sheet."""
    for found in element:
        if local(found) == "txBody":
            paragraphs = [_string(paragraph) for paragraph in found if local(paragraph) == "p"]
            yield "\n".join(paragraphs).strip()
        elif local(found) != "Fallback":
            yield from _drawn(found)
