"""Workbooks of Excel 97 to 2003 and before (BIFF)."""

import io
import struct
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import xlrd
from xlrd.biffh import XLRDError, error_text_from_code
from xlrd.book import Book
from xlrd.compdoc import CompDocError
from xlrd.sheet import Cell
from xlrd.sheet import Sheet as Worksheet

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.files.passwords import LOCKED
from docmill.reading.formats import number_format, xls_pictures
from docmill.reading.formats.cells import Budget, Sheet, blocks
from docmill.reading.formats.number_format import GENERAL
from docmill.reading.formats.pictures import BROKEN, Album
from docmill.reading.layout.typeset import Block, Unread

DAMAGED = (
    XLRDError,
    CompDocError,
    AssertionError,
    struct.error,
    LookupError,
    ValueError,
    TypeError,
    ArithmeticError,
    AttributeError,
    OSError,
    RecursionError,
    NotImplementedError,
)
"""What xlrd raises on files that are not what they should be."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Every sheet, hidden ones too, with numbers and dates as Excel shows them."""
    del options
    with _translated():
        book = xlrd.open_workbook(
            file_contents=path.read_bytes(), formatting_info=True, ragged_rows=True, logfile=io.StringIO()
        )
        budget = Budget()
        sheets = [_sheet(book, sheet, budget) for sheet in book.sheets()]
        if sheets:
            _add_pictures(sheets, path)
        return list(blocks(sheets, budget))


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except DAMAGED as error:
        if isinstance(error, XLRDError) and "encrypted" in str(error):
            raise EncryptedError(LOCKED) from error
        raise CorruptError("the workbook is damaged; open it in Excel and save it as .xlsx") from error


def _add_pictures(sheets: list[Sheet], path: Path) -> None:
    """Put the pictures on their sheets, those of unknown place on the last."""
    album = Album()
    try:
        found = xls_pictures.by_sheet(path)
    except DAMAGED:
        sheets[-1].pictures.append(Unread(BROKEN))
        return
    by_name = {sheet.name: sheet for sheet in sheets}
    for name, contents in found.items():
        sheet = by_name.get(name, sheets[-1])
        for content in contents:
            sheet.pictures += album.blocks(partial(bytes, content))


def _sheet(book: Book, worksheet: Worksheet, budget: Budget) -> Sheet:
    sheet = Sheet(worksheet.name)
    for row in range(worksheet.nrows):
        for column, cell in enumerate(worksheet.row(row)):
            text = _shown(book, cell)
            if text and not budget.spend():
                return sheet
            sheet.put(row, column, text)
    sheet.merged = [
        (top, left, bottom - top, right - left) for top, bottom, left, right in worksheet.merged_cells
    ]
    return sheet


def _shown(book: Book, cell: Cell) -> str:
    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        return number_format.shown(float(cell.value), _format(book, cell), from_1904=bool(book.datemode))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return error_text_from_code.get(int(cell.value), "")
    return str(cell.value)


def _format(book: Book, cell: Cell) -> str:
    look = book.xf_list[cell.xf_index or 0]
    key: int = look.format_key  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
    if key in number_format.BUILT_IN:
        return number_format.BUILT_IN[key]
    found = book.format_map.get(key)
    return found.format_str if found else GENERAL
