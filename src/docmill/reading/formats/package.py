"""Office files that are ZIP archives of XML parts, opened with care."""

import posixpath
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - the only name it has

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.files.file_types import ZIP_FAULTS
from docmill.reading.formats.pictures import Size

Element = _Element

MAX_MEMBERS = 20_000
MAX_XML_BYTES = 48 * 1024 * 1024
MAX_TOTAL_BYTES = 192 * 1024 * 1024
"""Limit of all unpacked bytes. Nobody types as much, and a larger workbook would exceed the time limit."""
MAX_PICTURE_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 1 << 20
EMU_PER_PT = 12_700
MAX_EMU_DIGITS = 11


class Package:
    """The parts of an archive. All methods raise CorruptError, EncryptedError or TooLargeError."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {info.filename.lstrip("/"): info for info in archive.infolist()}
        self._left = MAX_TOTAL_BYTES

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Generator[Self]:
        """Open the package in a file."""
        with _archive_errors(), zipfile.ZipFile(path) as archive:
            if len(archive.filelist) > MAX_MEMBERS:
                raise TooLargeError(
                    f"the file holds {len(archive.filelist):,} parts, too many to be a document"
                )
            yield cls(archive)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def names_below(self, folder: str) -> list[str]:
        """The names of the parts that begin so, in the order of the archive."""
        return [name for name in self._names if name.startswith(folder) and not name.endswith("/")]

    def picture(self, name: str) -> bytes:
        """The bytes of a picture, which do not count as text does."""
        left, self._left = self._left, MAX_PICTURE_BYTES
        try:
            return b"".join(self._chunks(name, MAX_PICTURE_BYTES))
        finally:
            self._left = left

    def xml(self, name: str) -> Element:
        """The root of a part."""
        return parse_xml(b"".join(self._chunks(name, MAX_XML_BYTES)))

    def optional(self, name: str) -> Element | None:
        """The root of a part that a document can do without; None if it is absent or damaged."""
        try:
            return self.xml(name) if name in self else None
        except CorruptError:
            return None

    def elements(self, name: str, *tags: str) -> Iterator[Element]:
        """Iterate over the elements with these tags in a large part; each is cleared before the next."""
        wanted = [f"{{*}}{tag}" for tag in tags]
        parser = etree.XMLPullParser(("end",), tag=wanted, resolve_entities=False, no_network=True)
        try:
            for chunk in self._chunks(name, MAX_TOTAL_BYTES):
                parser.feed(chunk)
                for _, element in parser.read_events():
                    yield element
                    element.clear()  # and its earlier siblings, so that no document is held whole
                    parent = element.getparent()
                    while parent is not None and element.getprevious() is not None:
                        del parent[0]
            parser.close()
        except (etree.XMLSyntaxError, ValueError) as error:
            raise CorruptError("the file is damaged: a part of it is no XML; save it again") from error

    def relations(self, name: str) -> dict[str, tuple[str, str]]:
        """Relations of a part: id to the last word of the relation's type and the name of the other part."""
        folder, file = posixpath.split(name)
        root = self.optional(posixpath.join(folder, "_rels", f"{file}.rels"))
        relations: dict[str, tuple[str, str]] = {}
        for relation in children(root):
            target = posixpath.normpath(posixpath.join("/", folder, relation.get("Target", "")))
            if relation.get("TargetMode") != "External":
                kind = relation.get("Type", "").rpartition("/")[2]
                relations[relation.get("Id", "")] = (kind, target.lstrip("/"))
        return relations

    def main_part(self, usual: str) -> str:
        """The part that the package starts with."""
        for kind, target in self.relations("").values():
            if kind == "officeDocument" and target in self:
                return target
        return usual

    def _chunks(self, name: str, limit: int) -> Iterator[bytes]:
        info = self._names.get(name)
        if info is None:
            raise CorruptError("the file is damaged: a part of it is missing; save it again")
        if info.flag_bits & 1:
            raise EncryptedError("the file is protected by a password; save it without one")
        with _archive_errors(), self._archive.open(info) as member:
            size = 0
            while chunk := member.read(CHUNK_BYTES):
                size += len(chunk)
                self._left -= len(chunk)
                if size > limit or self._left < 0:
                    raise TooLargeError(
                        "the file unpacks to more than can be read; split it or save it as a PDF"
                    )
                yield chunk


@contextmanager
def _archive_errors() -> Generator[None]:
    try:
        yield
    except ZIP_FAULTS as error:
        raise CorruptError("the file is damaged; open it in its program and save it again") from error


def parse_xml(data: bytes) -> Element:
    """Parse an XML text. Entities stay unresolved, nothing is fetched. Raises CorruptError."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise CorruptError("the file is damaged: a part of it is no XML; save it again") from error


def local(element: Element) -> str:
    """The element's name without its namespace, since two generations of namespaces are in use."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] - an entity's tag is a function


def attribute(element: Element, name: str) -> str | None:
    """The value of an attribute, whatever its namespace."""
    for key, value in element.attrib.items():
        if str(key).rpartition("}")[2] == name:
            return str(value)
    return None


def child(element: Element | None, *names: str) -> Element | None:
    """The element reached by these names, one below the other."""
    for name in names:
        if element is None:
            return None
        element = next((inner for inner in element if local(inner) == name), None)
    return element


def children(element: Element | None, *names: str) -> list[Element]:
    """Children of the element reached by these names; none if it is missing."""
    parent = child(element, *names)
    return [] if parent is None else list(parent)


def value(element: Element | None, *names: str) -> str | None:
    """The attribute `val` of the element reached by these names."""
    holder = child(element, *names)
    return attribute(holder, "val") if holder is not None else None


def whole_number(text: str | None, default: int, *, max_digits: int) -> int:
    """The number in digits without a sign; the default for anything else, and for more than `max_digits`."""
    return int(text) if text and text.isdecimal() and len(text) <= max_digits else default


def extent_size(extent: Element | None) -> Size:
    """Size that the attributes `cx` and `cy` state in English metric units; 0 for each that is no length."""
    if extent is None:
        return Size()
    lengths = (
        whole_number(attribute(extent, side), 0, max_digits=MAX_EMU_DIGITS) / EMU_PER_PT
        for side in ("cx", "cy")
    )
    return Size(*lengths)
