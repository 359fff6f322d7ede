"""Files embedded in documents: in Open XML, in OpenDocument, in RTF and in old workbooks."""

import posixpath
import re
from binascii import unhexlify
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from docmill.errors import DocumentError
from docmill.reading.files.containers import TOO_MUCH, Member
from docmill.reading.files.file_types import OPEN_DOCUMENT, OPEN_XML, RTF
from docmill.reading.files.options import ReadingOptions
from docmill.reading.files.passwords import open_unlocked
from docmill.reading.formats.ole_objects import OBJECT, HeldFile, held_file, old_file, storages, stored_file
from docmill.reading.formats.package import Package, attribute

MOST_OBJECTS = 1000
"""Embedded objects of a document that are looked at."""
MOST_BYTES = 100_000_000
"""Of all OLE objects of a package, which are unpacked to be named."""
_FOLDERS = ("word", "xl", "ppt")
_OLE_OBJECT = "application/vnd.sun.star.oleobject"
_FILES = (_OLE_OBJECT, OPEN_XML, "application/vnd.ms-", "application/msword", "application/pdf")
"""Beginnings of the media types of objects and files in the package of an OpenDocument."""
_SHOWN = (f"{OPEN_DOCUMENT}.chart", f"{OPEN_DOCUMENT}.formula")
"""Documents inside an OpenDocument that are shown whole."""
_OBJECT_DATA = re.compile(rb"(?<!\\)\\objdata(?![a-z0-9])([0-9A-Fa-f\s]*)")

Find = Callable[[], HeldFile]
"""Finds the file in an object. Raises a DocumentError with the reason why there is none."""
FindMembers = Callable[[Path, ExitStack], Iterator[Member]]
"""The files in a document. What must be open to read them is closed with the stack."""


@contextmanager
def open_embedded(path: Path, options: ReadingOptions, *, media_type: str) -> Generator[Sequence[Member]]:
    """Open the files embedded in a document. Raises EncryptedError, CorruptError, TooLargeError."""
    with open_unlocked(path, options.passwords) as readable, ExitStack() as stack:
        yield list(FINDERS[media_type](readable, stack))


def _open_xml_members(path: Path, stack: ExitStack) -> Iterator[Member]:
    package = stack.enter_context(Package.open(path))
    names = [name for folder in _FOLDERS for name in package.names_below(f"{folder}/embeddings/")]
    if not names:
        return
    charts = [name for folder in _FOLDERS for name in package.names_below(f"{folder}/charts/")]
    shown = {target for chart in charts for _, target in package.relations(chart).values()}
    # The numbers of a chart are shown by it.
    yield from _package_members(package, [name for name in names[:MOST_OBJECTS] if name not in shown])


def _odf_members(path: Path, stack: ExitStack) -> Iterator[Member]:
    package = stack.enter_context(Package.open(path))
    manifest = package.optional("META-INF/manifest.xml")
    entries = [] if manifest is None else list(manifest.iter("{*}file-entry"))
    kinds = {attribute(entry, "full-path") or "": attribute(entry, "media-type") or "" for entry in entries}
    files = [name for name, kind in kinds.items() if kind.startswith(_FILES) and name in package]
    yield from _package_members(package, files[:MOST_OBJECTS])
    for name, kind in kinds.items():
        is_within = name.endswith("/") and name != "/" and kind.startswith(OPEN_DOCUMENT)
        if is_within and not kind.startswith(_SHOWN):
            yield Member(name.rstrip("/"), "attachment", bytes, OBJECT)


def _package_members(package: Package, names: Sequence[str]) -> Iterator[Member]:
    room = MOST_BYTES
    for name in names:
        file_name = posixpath.basename(name)
        stem, ending = posixpath.splitext(file_name)
        if ending.lower() not in ("", ".bin"):
            yield Member(file_name, "attachment", partial(package.picture, name))
            continue
        if room <= 0:
            yield Member(file_name, "attachment", bytes, TOO_MUCH)
            continue
        try:
            room -= len(package.picture(name))
        except DocumentError as error:
            yield Member(file_name, "attachment", bytes, error.message)
        else:
            yield from _member(file_name, lambda name=name, stem=stem: held_file(package.picture(name), stem))


def _rtf_members(path: Path, stack: ExitStack) -> Iterator[Member]:
    del stack
    for number, match in enumerate(islice(_OBJECT_DATA.finditer(path.read_bytes()), MOST_OBJECTS), 1):
        digits = b"".join(match[1].split())
        data = unhexlify(digits[: len(digits) // 2 * 2])
        yield from _member(f"object{number}", partial(old_file, data, f"object{number}"))


def _workbook_members(path: Path, stack: ExitStack) -> Iterator[Member]:
    del stack
    for number, storage in enumerate(storages(path)[:MOST_OBJECTS], 1):
        yield from _member(f"object{number}", partial(stored_file, path, storage, f"object{number}"))


def _member(name: str, find: Find) -> Iterator[Member]:
    """The file in an object, or the reason why there is none; nothing for a formula."""
    try:
        held_name, content = find()
    except DocumentError as error:
        yield Member(name, "attachment", bytes, error.message)
    else:
        if content is not None:
            yield Member(held_name, "attachment", partial(_content, find))


def _content(find: Find) -> bytes:
    _, content = find()
    return content or b""


FINDERS: Mapping[str, FindMembers] = {
    **{
        f"{OPEN_XML}.{name}": _open_xml_members
        for name in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
    },
    **{f"{OPEN_DOCUMENT}.{name}": _odf_members for name in ("text", "spreadsheet", "presentation")},
    RTF.media_type: _rtf_members,
    "application/vnd.ms-excel": _workbook_members,
}
"""By media type."""
