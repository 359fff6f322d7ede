"""Files embedded in documents of Word, Excel and PowerPoint (Open XML): OLE objects and packages."""

import io
import posixpath
import struct
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import olefile

from docmill.errors import CorruptError, DocumentError
from docmill.reading.files.containers import TOO_MUCH, Member
from docmill.reading.files.file_types import OPEN_XML
from docmill.reading.files.options import ReadingOptions
from docmill.reading.files.passwords import OLE_START, open_unlocked
from docmill.reading.formats.package import Package

MEDIA_TYPES = tuple(
    f"{OPEN_XML}.{name}"
    for name in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
OBJECT = "an object of another program inside the document; save it from there as a file, and upload that"
DAMAGED = "this file inside the document is damaged; have it sent again"
MOST_OBJECTS = 1000
"""Embedded objects of a document that are looked at."""
MOST_BYTES = 100_000_000
"""Of all OLE objects of a document, which are opened to be named."""
_FOLDERS = ("word", "xl", "ppt")
_NATIVE = "\x01Ole10Native"
_STREAMS = {"CONTENTS": ".pdf", "Package": "", "EmbeddedOdf": ".odt"}
"""Streams that are a file as it is, with the ending of its name; that of Acrobat is the first."""
_DOCUMENTS = {
    "WordDocument": ".doc",
    "Workbook": ".xls",
    "Book": ".xls",
    "PowerPoint Document": ".ppt",
    "__properties_version1.0": ".msg",
}
"""Streams of compound files that are documents themselves."""
_FAULTS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, struct.error)


@contextmanager
def open_embedded(path: Path, options: ReadingOptions) -> Generator[Sequence[Member]]:
    """Open the files embedded in a document. Raises EncryptedError, CorruptError, TooLargeError."""
    with open_unlocked(path, options.passwords) as readable, Package.open(readable) as package:
        yield list(_members(package))


def _members(package: Package) -> Iterator[Member]:
    names = [name for folder in _FOLDERS for name in package.names_below(f"{folder}/embeddings/")]
    if not names:
        return
    charts = [name for folder in _FOLDERS for name in package.names_below(f"{folder}/charts/")]
    shown = {target for chart in charts for _, target in package.relations(chart).values()}
    room = MOST_BYTES
    for name in names[:MOST_OBJECTS]:
        if name in shown:  # the numbers of a chart, which the chart shows
            continue
        file_name = posixpath.basename(name)
        if not file_name.lower().endswith(".bin"):
            yield Member(file_name, "attachment", partial(package.picture, name))
            continue
        if room <= 0:
            yield Member(file_name, "attachment", bytes, TOO_MUCH)
            continue
        try:
            data = package.picture(name)
            room -= len(data)
            held_name, content = _held_file(data, file_name)
        except DocumentError as error:
            yield Member(file_name, "attachment", bytes, error.message)
        else:
            if content is not None:
                yield Member(held_name, "attachment", partial(_read_object, package, name))


def _read_object(package: Package, name: str) -> bytes:
    _, content = _held_file(package.picture(name), name)
    return content or b""


def _held_file(data: bytes, name: str) -> tuple[str, bytes | None]:
    """Name and content of the file in an OLE object; no content for a formula, which is shown on the page.

    Raises CorruptError for an object that is damaged or of a program without a file of its own.
    """
    stem = posixpath.basename(name).rpartition(".")[0]
    if not data.startswith(OLE_START):
        raise CorruptError(OBJECT)
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            file: Any = compound  # pyright: ignore[reportUnknownVariableType] - untyped
            streams = {entry[0] for entry in file.listdir() if len(entry) == 1}
            if _NATIVE in streams:
                return _native_file(file.openstream(_NATIVE).read(), f"{stem}.bin")
            for stream, ending in _STREAMS.items():
                if stream in streams:
                    return f"{stem}{ending}", file.openstream(stream).read()
            if "Equation Native" in streams:
                return stem, None
    except _FAULTS as error:
        raise CorruptError(DAMAGED) from error
    for stream, ending in _DOCUMENTS.items():
        if stream in streams:
            return f"{stem}{ending}", data
    raise CorruptError(OBJECT)


def _native_file(data: bytes, unnamed: str) -> tuple[str, bytes]:
    """Name and content of a packaged file (MS-OLEDS 2.3.6, as the packager writes it).

    A size, flags, the name, a path, four bytes, a path with its size, and the file with its size.
    Raises LookupError, struct.error for other contents.
    """
    at = 6
    name, at = _text(data, at)
    _, at = _text(data, at)
    (path_size,) = struct.unpack_from("<I", data, at + 4)
    at += 8 + path_size
    (size,) = struct.unpack_from("<I", data, at)
    content = data[at + 4 : at + 4 + size]
    if len(content) < size:
        raise IndexError
    return name.decode("cp1252", "replace") or unnamed, content


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    """A text that ends with a zero, and where the next one begins. Raises ValueError without a zero."""
    stop = data.index(b"\0", at)
    return data[at:stop], stop + 1
