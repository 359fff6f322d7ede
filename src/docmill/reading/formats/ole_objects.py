"""Objects of other programs (OLE) inside documents: the files that they hold ([MS-OLEDS])."""

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import olefile

from docmill.errors import CorruptError
from docmill.reading.files.passwords import OLE_START

OBJECT = "an object of another program inside the document; save it from there as a file, and upload that"
DAMAGED = "this file inside the document is damaged; have it sent again"
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
_STORAGE = "MBD"
"""Beginning of the names of storages that hold the objects of an old workbook."""
_PACKAGER = b"Package"
_EMBEDDED = 2
_FAULTS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError, struct.error)

HeldFile = tuple[str, bytes | None]
"""Name and content of the file in an object; no content for a formula, which is shown on the page."""


def held_file(data: bytes, stem: str) -> HeldFile:
    """The file in an object that is a compound file. stem: of the names of files that have none.

    Raises CorruptError for an object that is damaged or of a program without a file of its own.
    """
    if not data.startswith(OLE_START):
        raise CorruptError(OBJECT)
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            found = _find_file(compound, [], stem)  # pyright: ignore[reportUnknownArgumentType] - untyped
    except _FAULTS as error:
        raise CorruptError(DAMAGED) from error
    if isinstance(found, str):
        return f"{stem}{found}", data
    return found


def storages(path: Path) -> list[str]:
    """The storages of objects in an old workbook. Raises CorruptError."""
    try:
        with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            entries: list[list[str]] = compound.listdir()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
    except _FAULTS as error:
        raise CorruptError(DAMAGED) from error
    return sorted({entry[0] for entry in entries if len(entry) > 1 and entry[0].startswith(_STORAGE)})


def stored_file(path: Path, storage: str, stem: str) -> HeldFile:
    """The file in one of the `storages`. Raises as `held_file`."""
    try:
        with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            found = _find_file(compound, [storage], stem)  # pyright: ignore[reportUnknownArgumentType] - untyped
    except _FAULTS as error:
        raise CorruptError(DAMAGED) from error
    if isinstance(found, str):  # a document in pieces, which only the program puts together
        raise CorruptError(OBJECT)
    return found


def old_file(data: bytes, stem: str) -> HeldFile:
    """The file in an object as OLE 1.0 stores it ([MS-OLEDS] 2.2.5), and hence RTF. Raises as `held_file`."""
    try:
        _, form = struct.unpack_from("<II", data)
        if form != _EMBEDDED:
            raise CorruptError(OBJECT)
        at = 8
        names: list[bytes] = []
        for _ in range(3):
            (size,) = struct.unpack_from("<I", data, at)
            names.append(data[at + 4 : at + 4 + size].rstrip(b"\0"))
            at += 4 + size
        (size,) = struct.unpack_from("<I", data, at)
        native = data[at + 4 : at + 4 + size]
        if len(native) < size:
            raise IndexError
        if names[0] == _PACKAGER:
            return _native_file(bytes(4) + native, f"{stem}.bin")
    except _FAULTS as error:
        raise CorruptError(DAMAGED) from error
    return held_file(native, stem)


def _find_file(compound: Any, storage: Sequence[str], stem: str) -> HeldFile | str:  # noqa: ANN401  untyped
    """The file in a storage; the ending of its name if the storage itself is one.

    Raises CorruptError for an object without a file.
    """
    depth = len(storage)
    entries = [entry for entry in compound.listdir() if len(entry) == depth + 1]
    streams = {entry[depth] for entry in entries if entry[:depth] == list(storage)}

    def content(stream: str) -> bytes:
        return compound.openstream([*storage, stream]).read()

    if _NATIVE in streams:
        return _native_file(content(_NATIVE), f"{stem}.bin")
    for stream, ending in _STREAMS.items():
        if stream in streams:
            return f"{stem}{ending}", content(stream)
    if "Equation Native" in streams:
        return stem, None
    for stream, ending in _DOCUMENTS.items():
        if stream in streams:
            return ending
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
