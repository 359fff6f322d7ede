"""Excel workbooks (ISO/IEC 29500-1, chapter 18), with or without macros, which are not looked at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import NamedTuple

from docmill.errors import CorruptError
from docmill.model.cells import NO_RESULT
from docmill.reading.formats import number_format
from docmill.reading.formats.cells import Budget, SheetContent, blocks
from docmill.reading.formats.number_format import BUILT_IN, GENERAL
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
from docmill.reading.formats.pictures import Album, Size
from docmill.reading.layout.typeset import Block

REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})")
SHEETS = frozenset({"worksheet", "macrosheet", "xlMacrosheet", "dialogsheet", "chartsheet"})
MOST_MERGED = 5000
MAX_DIGITS = 9
DAMAGED_SHEET = (
    "the sheet {name!r} is damaged, and some of it was not read; open it in Excel and save it again"
)
TRUE = ("1", "true")
BOOLEANS = {"1": "TRUE", "0": "FALSE"}


class _Formatting(NamedTuple):
    """Shared strings and number formats of a workbook.

    formats: by a cell's style. is_uncalculated: whether the program that wrote it leaves all results to the
    next one (`fullCalcOnLoad`).
    """

    strings: Sequence[str]
    formats: Sequence[str]
    from_1904: bool
    is_uncalculated: bool


def read(path: Path) -> list[Block]:
    """Read every sheet, hidden ones too, with numbers and dates as Excel shows them."""
    with Package.open(path) as package:
        main = package.main_part("xl/workbook.xml")
        root = package.xml(main)
        relations = package.relations(main)
        formatting = _formatting(package, root, relations)
        budget = Budget()
        album = Album()
        sheets: list[SheetContent] = []
        for entry in children(root, "sheets"):
            kind, part = relations.get(attribute(entry, "id") or "", ("", ""))
            if kind in SHEETS:
                sheet = _sheet(package, part, attribute(entry, "name") or "", formatting, budget)
                _add_drawings(sheet, package, part, album)
                sheets.append(sheet)
        return list(blocks(sheets, budget))


def _formatting(package: Package, workbook: Element, relations: Mapping[str, tuple[str, str]]) -> _Formatting:
    parts = {kind: name for kind, name in relations.values() if name in package}
    strings: list[str] = []
    if "sharedStrings" in parts:
        strings = [_string(element) for element in package.elements(parts["sharedStrings"], "si")]
    styles = package.optional(parts["styles"]) if "styles" in parts else None
    properties = child(workbook, "workbookPr")
    base = attribute(properties, "date1904") if properties is not None else None
    custom = {
        attribute(element, "numFmtId"): attribute(element, "formatCode") or GENERAL
        for element in children(styles, "numFmts")
    }
    numbers = [attribute(element, "numFmtId") or "0" for element in children(styles, "cellXfs")]
    formats = [
        custom.get(number) or BUILT_IN.get(int(number) if number.isdecimal() else 0, GENERAL)
        for number in numbers
    ]
    calculation = child(workbook, "calcPr")
    on_load = attribute(calculation, "fullCalcOnLoad") if calculation is not None else None
    return _Formatting(strings, formats, base in TRUE, on_load in TRUE)


def _string(element: Element) -> str:
    """The text of a string or an inline string, without its reading aid."""
    if local(element) == "t":
        return element.text or ""
    return "".join(_string(inner) for inner in element if local(inner) not in ("rPh", "phoneticPr"))


def _sheet(package: Package, part: str, name: str, formatting: _Formatting, budget: Budget) -> SheetContent:
    sheet = SheetContent(name, first_row=1, from_1904=formatting.from_1904)
    try:
        for element in package.elements(part, "row", "mergeCell"):
            if local(element) == "row":
                above = max(sheet.rows, default=0)
                row = whole_number(attribute(element, "r"), above + 1, max_digits=MAX_DIGITS)
                column = 0
                for cell in element:
                    reference = REFERENCE.fullmatch(attribute(cell, "r") or "")
                    column = _column(reference[1]) if reference else column + 1
                    text, value = _cell_content(cell, formatting)
                    if text and not budget.spend():
                        break
                    sheet.put(row, column, text, value)
            elif len(sheet.merged) < MOST_MERGED:
                ends = [REFERENCE.fullmatch(end) for end in (attribute(element, "ref") or "").split(":")]
                if len(ends) == 2 and ends[0] and ends[1]:  # noqa: PLR2004 - first and last
                    row, column = int(ends[0][2]), _column(ends[0][1])
                    sheet.merged.append(
                        (row, column, int(ends[1][2]) - row + 1, _column(ends[1][1]) - column + 1)
                    )
            if budget.is_spent:
                break
    except CorruptError:
        sheet.problem = DAMAGED_SHEET.format(name=name)
    return sheet


def _add_drawings(sheet: SheetContent, package: Package, part: str, album: Album) -> None:
    """Add the text boxes and the pictures that lie on a sheet."""
    drawings = [name for kind, name in package.relations(part).values() if kind == "drawing"]
    roots = [(name, root) for name in drawings if (root := package.optional(name)) is not None]
    for name, root in roots:
        sheet.notes += _box_texts(root)
        relations = package.relations(name)
        for blip in root.iter("{*}blip"):
            picture = relations.get(attribute(blip, "embed") or "", ("", ""))[1]
            if picture not in package:
                continue
            extents = (
                extent_size(extent)
                for above in blip.iterancestors()
                for extent in (child(above, "spPr", "xfrm", "ext"), child(above, "ext"))
            )
            size = next((size for size in extents if size.width_pt and size.height_pt), Size())
            sheet.pictures += album.blocks(partial(package.picture, picture), size)


def _cell_content(cell: Element, formatting: _Formatting) -> tuple[str, float | date | None]:
    """The text of a cell, and the number or the day that it stores."""
    kind = attribute(cell, "t") or "n"
    if kind == "inlineStr":
        return "".join(_string(inner) for inner in cell if local(inner) == "is"), None
    content = child(cell, "v")
    text = (content.text or "") if content is not None else ""
    if child(cell, "f") is not None and not _has_result(kind, text, formatting):
        return NO_RESULT, None
    if kind == "s":
        index = whole_number(text, len(formatting.strings), max_digits=MAX_DIGITS)
        text = formatting.strings[index] if index < len(formatting.strings) else ""
    elif kind == "b":
        text = BOOLEANS.get(text, text)
    elif kind == "d":
        text = text.removesuffix("T00:00:00")
    elif kind == "n":
        try:
            number = float(text)
        except ValueError:
            return text, None
        style = whole_number(attribute(cell, "s"), 0, max_digits=MAX_DIGITS)
        code = formatting.formats[style] if style < len(formatting.formats) else GENERAL
        return (
            number_format.format_number(number, code, from_1904=formatting.from_1904),
            number_format.stored_value(number, code, from_1904=formatting.from_1904),
        )
    return text, None


def _has_result(kind: str, text: str, formatting: _Formatting) -> bool:
    """False for a formula that was never calculated: an empty text may be a result, a missing number not.

    Programs that do not calculate write the number 0 in its place.
    """
    if kind != "n":
        return bool(text) or kind == "str"
    return bool(text.strip()) and not (formatting.is_uncalculated and text.strip() == "0")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _box_texts(element: Element) -> Iterator[str]:
    """The texts of boxes that lie on the sheet."""
    for inner in element:
        if local(inner) == "txBody":
            yield "\n".join(_string(paragraph) for paragraph in inner if local(paragraph) == "p").strip()
        elif local(inner) != "Fallback":
            yield from _box_texts(inner)
