"""References to documents that others hold, in the form in which a state store keeps them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from docmill.model.document import Document, Part
from docmill.ports import Original, Ref
from docmill.runs.folders.document_records import part_source
from docmill.runs.states import DocumentState, NewDocument

if TYPE_CHECKING:
    from pydantic import JsonValue

_PART = "part"
_WITHIN = "within"
_MEDIA_TYPE = "media_type"
RAW = "raw"
"""Names within the metadata of a document. raw: its key and its name, in hexadecimal, if they are no text."""


def stored_document(ref: Ref) -> NewDocument:
    """The document as a store keeps it. Bytes of a name that are no UTF-8 are kept in its metadata."""
    key, name = text_of(ref.key), text_of(ref.name)
    metadata = dict(ref.metadata)
    if (key, name) != (ref.key, ref.name):
        metadata[RAW] = [_hex(ref.key), _hex(ref.name)]
    return NewDocument(key, name, metadata, ref.version)


def ref_of(state: DocumentState) -> Ref:
    """The reference that `stored_document` was given."""
    metadata = dict(state.metadata)
    raw = cast("list[str] | None", metadata.pop(RAW, None))
    key, name = (state.path, state.name) if raw is None else map(_from_hex, raw)
    return Ref(key, name, metadata, state.version)


def part_ref(container: Ref, part: Part, *, media_type: str, content_hash: str) -> Ref:
    """The reference to a part of a document, by which it can be taken out again.

    media_type, content_hash: of the container.
    """
    metadata: dict[str, JsonValue] = {
        _PART: cast("dict[str, JsonValue]", asdict(part)),
        _MEDIA_TYPE: media_type,
        _WITHIN: {
            "key": _hex(container.key),
            "name": _hex(container.name),
            "metadata": dict(container.metadata),
        },
    }
    key = part_source(container.key, part)
    return Ref(key, part.name.rpartition("/")[2], metadata, content_hash)


def container_of(ref: Ref) -> Ref | None:
    """The document that holds this one; None for a file of the folder."""
    within = cast("Mapping[str, Any] | None", ref.metadata.get(_WITHIN))
    if within is None:
        return None
    return Ref(_from_hex(within["key"]), _from_hex(within["name"]), within["metadata"])


def containers_of(ref: Ref) -> Iterator[Ref]:
    """The documents that hold this one, from the inside out; the last one is a file of the folder."""
    container = container_of(ref)
    while container is not None:
        yield container
        container = container_of(container)


def part_of(ref: Ref) -> Part:
    """What this document is in the one that holds it."""
    return Part(**cast("dict[str, Any]", ref.metadata[_PART]))


def container_document(ref: Ref, container: Original) -> Document:
    """The document that holds this one, as far as an unpacker needs it."""
    media_type = cast("str", ref.metadata[_MEDIA_TYPE])
    return Document(container.content_hash, media_type, [], parts=(part_of(ref),))


def text_of(name: str) -> str:
    r"""The name as a store keeps it: bytes that are no UTF-8 are written as \xNN or \uNNNN, \ as two."""
    return name.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()


def _hex(name: str) -> str:
    return name.encode("utf-8", "surrogatepass").hex()


def _from_hex(name: str) -> str:
    return bytes.fromhex(name).decode("utf-8", "surrogatepass")
