"""Workbooks of Excel 97 to 2003 and before (BIFF), with the pictures on their sheets ([MS-XLS])."""

import io
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import TypeAlias

import olefile
import xlrd
from xlrd.biffh import XLRDError, error_text_from_code
from xlrd.book import Book
from xlrd.compdoc import CompDocError
from xlrd.sheet import Cell
from xlrd.sheet import Sheet as Worksheet

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.files.passwords import LOCKED
from docmill.reading.formats import number_format
from docmill.reading.formats.cells import Budget, SheetContent, blocks
from docmill.reading.formats.number_format import BUILT_IN, GENERAL
from docmill.reading.formats.pictures import BROKEN, Album
from docmill.reading.layout.typeset import Block, UnreadNote

_STREAMS = ("Workbook", "Book")
_BOF, _EOF, _SHEET, _CONTINUE = 0x0809, 0x000A, 0x0085, 0x003C
_GROUP, _DRAWING = 0x00EB, 0x00EC
_BITMAPS = (0x007F, 0x00E9)
"""A picture of old workbooks, and the background of a sheet."""
_RECORD = struct.Struct("<HH")
_PART = struct.Struct("<HHL")
_CONTAINER = 0xF
_STORED, _OPTIONS = 0xF007, 0xF00B
_PICTURE = 0x0104
"""Property of a shape: the number of the stored picture that it shows, from 1."""
_USES_AT, _NAME_AT, _STORED_HEAD = 24, 33, 36
_DIB = 0xF01F
_PACKED = {0xF01A: b"\x01\0\0\0", 0xF01B: b"\xd7\xcd\xc6\x9a", 0xF01C: b"PICT"}
"""Drawings, which cannot be read: the first bytes of such a file stand for its content."""
_PLAIN = frozenset({0xF01D, 0xF01E, _DIB, 0xF029, 0xF02A})
_DEEPEST = 20
_OLD_BITMAP = 9
_CORE_HEAD, _FULL_HEAD, _BIT_FIELDS = 12, 40, 3
_INDEXED_BITS = 8

SheetPictures: TypeAlias = Mapping[str, list[bytes]]


def by_sheet(path: Path) -> SheetPictures:
    """The pictures of each sheet by its name, as files; under "" those whose sheet is unknown.

    Raises what `olefile` and `struct` raise on what is damaged.
    """
    if not olefile.isOleFile(str(path)):  # pyright: ignore[reportUnknownMemberType] - untyped
        return {}
    data = b""
    with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
        name = next(filter(compound.exists, _STREAMS), None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - untyped
        if name:
            with compound.openstream(name) as stream:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
                data = bytes(stream.read())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - untyped
    drawings = _drawings(data)
    stored = list(_stored(bytes(drawings.group), 0))
    pictures: defaultdict[str, list[bytes]] = defaultdict(list)
    shown: set[int] = set()
    for start, shapes in drawings.shapes.items():
        for number in _shown_numbers(bytes(shapes)):
            if 0 < number <= len(stored):
                shown.add(number)
                pictures[drawings.names.get(start, "")].append(stored[number - 1][1])
    pictures[""] += [content for at, (uses, content) in enumerate(stored, 1) if uses and at not in shown]
    for start, bitmap in drawings.bitmaps:
        kind, _, size = struct.unpack_from("<HHL", bitmap)
        content = bytes(bitmap[8 : 8 + size])
        picture = _as_file(content) if kind == _OLD_BITMAP else _PACKED[0xF01B]
        pictures[drawings.names.get(start, "")].append(picture)
    return pictures


@dataclass(slots=True)
class _Drawings:
    """Drawing records of one stream. names: of the sheets, by where each begins; shapes likewise."""

    names: dict[int, str] = field(default_factory=dict[int, str])
    group: bytearray = field(default_factory=bytearray)
    shapes: defaultdict[int, bytearray] = field(
        default_factory=lambda: defaultdict[int, bytearray](bytearray)
    )
    bitmaps: list[tuple[int, bytearray]] = field(default_factory=list[tuple[int, bytearray]])


def _drawings(data: bytes) -> _Drawings:
    drawings = _Drawings()
    at = depth = start = 0
    buffer: bytearray | None = None  # of the record that continuations belong to, if it is of a drawing
    while at + _RECORD.size <= len(data):
        kind, size = _RECORD.unpack_from(data, at)
        begin, at = at, at + _RECORD.size + size
        if kind == _CONTINUE and buffer is not None:
            buffer += data[begin + _RECORD.size : at]
            continue
        buffer = None
        if kind == _BOF:
            depth += 1
            start = begin if depth == 1 else start
        elif kind == _EOF:
            depth -= 1
        elif kind == _SHEET:
            record = data[begin + _RECORD.size : at]
            (position,) = struct.unpack_from("<L", record)
            is_marked = len(record) != 7 + record[6]  # the encoding; old workbooks do not mark it
            codec = "utf-16-le" if is_marked and record[7] & 1 else "latin-1"
            drawings.names[position] = record[7 + is_marked :].decode(codec, "replace")
        elif kind == _GROUP:
            buffer = drawings.group
        elif kind == _DRAWING:
            buffer = drawings.shapes[start]
        elif kind in _BITMAPS:
            buffer = bytearray()
            drawings.bitmaps.append((start, buffer))
        if buffer is not None:
            buffer += data[begin + _RECORD.size : at]
    return drawings


def _parts(data: bytes, depth: int) -> Iterator[tuple[int, int, bytes]]:
    """The records of a drawing that are no containers: instance, type, content."""
    at = 0
    while at + _PART.size <= len(data) and depth <= _DEEPEST:
        head, kind, size = _PART.unpack_from(data, at)
        content = data[at + _PART.size : at + _PART.size + size]
        if head & 0xF == _CONTAINER:
            yield from _parts(content, depth + 1)
        else:
            yield head >> 4, kind, content
        at += _PART.size + size


def _stored(data: bytes, depth: int) -> Iterator[tuple[int, bytes]]:
    """The pictures of the workbook in their order, and how often each is used."""
    for instance, kind, content in _parts(data, depth):
        if kind == _STORED:
            (uses,) = struct.unpack_from("<L", content, _USES_AT)
            inner = content[_STORED_HEAD + content[_NAME_AT] :]
            yield uses, next((blip for _, blip in _stored(inner, depth + 1)), b"")
        elif kind in _PACKED:
            yield 1, _PACKED[kind]
        elif kind in _PLAIN:
            blip = content[17 + 16 * (instance & 1) :]  # behind one checksum or two, and a mark
            yield 1, _as_file(blip) if kind == _DIB else blip


def _shown_numbers(data: bytes) -> Iterator[int]:
    """The numbers of the pictures that the shapes of a sheet show."""
    for count, kind, content in _parts(data, 0):
        if kind == _OPTIONS:
            for at in range(0, min(6 * count, len(content) - 5), 6):
                name, number = struct.unpack_from("<HL", content, at)
                if name & 0x3FFF == _PICTURE:
                    yield number


def _as_file(bitmap: bytes) -> bytes:
    """A device-independent bitmap (DIB) as a BMP file."""
    (head,) = struct.unpack_from("<L", bitmap)
    colours, entry = 0, 4
    if head == _CORE_HEAD:
        (bits,) = struct.unpack_from("<H", bitmap, 10)
        entry = 3
    else:
        bits, packing = struct.unpack_from("<HL", bitmap, 14)
        (colours,) = struct.unpack_from("<L", bitmap, 32)
        if head == _FULL_HEAD and packing == _BIT_FIELDS:
            head += 12
    if bits <= _INDEXED_BITS and not colours:
        colours = 1 << bits
    start = 14 + head + colours * entry
    return b"BM" + struct.pack("<LHHL", 14 + len(bitmap), 0, 0, start) + bitmap


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
"""Errors that xlrd raises on malformed files."""


def read(path: Path) -> list[Block]:
    """Read every sheet, hidden ones too, with numbers and dates as Excel shows them."""
    try:
        book = xlrd.open_workbook(
            file_contents=path.read_bytes(), formatting_info=True, ragged_rows=True, logfile=io.StringIO()
        )
        budget = Budget()
        sheets = [_sheet(book, sheet, budget) for sheet in book.sheets()]
        if sheets:
            _add_pictures(sheets, path)
        return list(blocks(sheets, budget))
    except DAMAGED as error:
        if isinstance(error, XLRDError) and "encrypted" in str(error):
            raise EncryptedError(LOCKED) from error
        raise CorruptError("the workbook is damaged; open it in Excel and save it as .xlsx") from error


def _add_pictures(sheets: list[SheetContent], path: Path) -> None:
    """Put the pictures on their sheets, those of unknown place on the last."""
    try:
        pictures = by_sheet(path)
    except DAMAGED:
        sheets[-1].pictures.append(UnreadNote(BROKEN))
        return
    album = Album()
    by_name = {sheet.name: sheet for sheet in sheets}
    for name, contents in pictures.items():
        for content in contents:
            by_name.get(name, sheets[-1]).pictures += album.blocks(partial(bytes, content))


def _sheet(book: Book, worksheet: Worksheet, budget: Budget) -> SheetContent:
    sheet = SheetContent(worksheet.name, from_1904=bool(book.datemode))
    for row in range(worksheet.nrows):
        for column, cell in enumerate(worksheet.row(row)):
            text, value = _cell_content(book, cell)
            if text and not budget.spend():
                return sheet
            sheet.put(row, column, text, value)
    sheet.merged = [
        (top, left, bottom - top, right - left) for top, bottom, left, right in worksheet.merged_cells
    ]
    return sheet


def _cell_content(book: Book, cell: Cell) -> tuple[str, float | date | None]:
    """The text of a cell, and the number or the day that it stores."""
    if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
        key: int = book.xf_list[cell.xf_index or 0].format_key  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
        custom = book.format_map.get(key)
        code = BUILT_IN.get(key) or (custom.format_str if custom else GENERAL)
        number, from_1904 = float(cell.value), bool(book.datemode)
        return (
            number_format.format_number(number, code, from_1904=from_1904),
            number_format.stored_value(number, code, from_1904=from_1904),
        )
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return ("TRUE" if cell.value else "FALSE"), None
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return error_text_from_code.get(int(cell.value), ""), None
    return str(cell.value), None
