"""Files attached to a PDF: listed in it (as in portfolios), associated with it, or pinned to its pages."""

import base64
import binascii
import contextlib
import mmap
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.pdf.pdf_file import MALFORMED, PdfDocument, open_by_qpdf

MAX_FILES = 1000
"""Attachments of a PDF that are looked at."""
MAX_NAMED = 5000
"""Attachments of a PDF that are named."""
TOO_MANY = f"more than {MAX_FILES} files are attached; save this one from the PDF and upload it by itself"
UNKNOWN_FILTER = (
    "stored in the PDF in a way that cannot be read; save it from the PDF and upload it by itself"
)
DAMAGED = "this attached file is damaged; have it sent again"
_SIGNS = (b"/EmbeddedFile", b"/FileAttachment", b"/Params")
"""Keys and values that PDFs with attached files have outside of compressed objects."""
_SPACE = re.compile(rb"[\0\t\n\f\r ]+")
_EMBEDDED_FILE_KEYS = ("/UF", "/F", "/Unix", "/DOS", "/Mac")


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """An attached file as it is stored. filters: by which it has to be decoded, in this order.

    problem: why it is only named.
    """

    name: str
    stored: bytes
    filters: tuple[str, ...] = ()
    problem: str | None = None

    def read(self, max_bytes: int) -> bytes:
        """At most the first `max_bytes` of the file. Raises CorruptError."""
        content = self.stored
        try:
            for name in self.filters:
                content = _decode(name, content, max_bytes)
        except (zlib.error, ValueError, binascii.Error) as error:
            raise CorruptError(DAMAGED) from error
        return content[:max_bytes]


def attached_files(document: PdfDocument, path: Path, passwords: Sequence[str] = ()) -> list[AttachedFile]:
    """The files attached to a PDF, in its order, each once; those beyond `MAX_FILES` have a problem.

    document, path, passwords: of the same PDF. Files without content are left out. The PDF is parsed anew if
    it may have attachments.
    """
    if not _may_have_files(document, path):
        return []
    with contextlib.suppress(CorruptError, EncryptedError), open_by_qpdf(path, passwords) as file:
        return list(_files(file))
    return []


def _may_have_files(document: PdfDocument, path: Path) -> bool:
    if document.count_attachments() > 0:
        return True
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(sign) >= 0 for sign in _SIGNS)


def _files(file: Any) -> Iterator[AttachedFile]:  # noqa: ANN401 - pikepdf's
    seen: set[tuple[int, int]] = set()
    for key, specification in _specifications(file):
        with contextlib.suppress(AttributeError, *MALFORMED):
            held = specification.get("/EF")
            stream = next((held[name] for name in _EMBEDDED_FILE_KEYS if name in held), None)
            if stream is None or stream.objgen in seen:
                continue
            name = str(specification.get("/UF", specification.get("/F", key)))
            if len(seen) >= MAX_FILES:
                attached = AttachedFile(name, b"", problem=TOO_MANY)
            else:
                attached = AttachedFile(name, stream.read_raw_bytes(), tuple(_filters(stream)))
            seen.add(stream.objgen)
            yield attached
            if len(seen) >= MAX_NAMED:
                return


def _specifications(file: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as above
    """The file specifications (ISO 32000-2, 7.11.3), each with the key under which it stands."""
    root = file.Root
    yield from _of_name_tree(root)
    with contextlib.suppress(AttributeError, *MALFORMED):
        yield from (("", specification) for specification in root.get("/AF", ()))
    for page in file.pages:
        with contextlib.suppress(AttributeError, *MALFORMED):
            yield from (("", specification) for specification in page.obj.get("/AF", ()))
            yield from (("", note["/FS"]) for note in page.obj.get("/Annots", ()) if "/FS" in note)


def _of_name_tree(root: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - as above
    """The entries of the name tree of embedded files (ISO 32000-2, 7.9.6), which may be damaged."""
    pending: list[Any] = []
    seen: set[tuple[int, int]] = set()
    with contextlib.suppress(AttributeError, *MALFORMED):
        pending.append(root["/Names"]["/EmbeddedFiles"])
    while pending:
        node = pending.pop()
        with contextlib.suppress(AttributeError, *MALFORMED):
            if node.is_indirect and node.objgen in seen:  # a circle
                continue
            seen.add(node.objgen)
            entries = list(node.get("/Names", ()))
            yield from ((str(key), value) for key, value in zip(entries[::2], entries[1::2], strict=False))
            pending += reversed(list(node.get("/Kids", ())))


def _filters(stream: Any) -> Iterator[str]:  # noqa: ANN401 - as above
    names = stream.get("/Filter", ())
    names = [str(names)] if not _is_array(names) else [str(name) for name in names]
    parameters = stream.get("/DecodeParms", ())
    parameters = [parameters] if not _is_array(parameters) else list(parameters)
    for index, name in enumerate(names):
        has_predictor = index < len(parameters) and "/Predictor" in (parameters[index] or ())
        yield f"{name} with a predictor" if has_predictor else name


def _is_array(value: Any) -> bool:  # noqa: ANN401 - as above
    import pikepdf  # noqa: PLC0415 - takes a tenth of a second, and few files need it

    return isinstance(value, pikepdf.Array | tuple)


def _decode(name: str, content: bytes, max_bytes: int) -> bytes:
    """Undo a filter (ISO 32000-2, 7.4), within bounds. Raises CorruptError for one with no use here."""
    match name:
        case "/FlateDecode" | "/Fl":
            return zlib.decompressobj().decompress(content, max_bytes)
        case "/ASCII85Decode" | "/A85":
            encoded = _SPACE.sub(b"", content).removeprefix(b"<~").partition(b"~")[0]
            return base64.a85decode(encoded)
        case "/ASCIIHexDecode" | "/AHx":
            digits = _SPACE.sub(b"", content).partition(b">")[0]
            return binascii.unhexlify(digits + b"0" * (len(digits) % 2))
        case "/Crypt":  # qpdf has undone it
            return content
        case _:
            raise CorruptError(UNKNOWN_FILTER)
