"""Outlook messages (.msg): mails in a compound file ([MS-OXMSG])."""

import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import olefile

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.files.containers import Member
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import eml, mapi
from docmill.reading.mail.eml import DECORATION_BYTES, ENCRYPTED
from docmill.reading.mail.linked_documents import linked_documents
from docmill.reading.mail.message import MailMessage

_DAMAGED = "the Outlook message is damaged; open it in Outlook, save it as a PDF and use that"
_VALUE = "__substg1.0_"
_FIXED = "__properties_version1.0"
_ATTACHED = "__attach_version1.0_"
_MAIL_WITHIN = "3701000D"
_SIGNED = ".smime"
_SEQUENCE = b"0"
"""First byte of every file of S/MIME, and of no mail header."""
ELSEWHERE = "the mail only says where this file was; upload it by itself"
EMBEDDED = "this is a picture or object inside the text; open the mail, save it as a file and use that"
_DEEPEST = 10
_FAULTS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, struct.error, RecursionError)
"""Errors that `olefile` raises on malformed files."""

_Path = tuple[str, ...]
_FIXED_ENTRY = struct.Struct("<HHL8s")
_EIGHT_BYTES = frozenset({0x0014, mapi.TIME})


@contextmanager
def _open_store(path: Path) -> Generator["_Store"]:
    try:
        with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            yield _Store(compound)  # pyright: ignore[reportUnknownArgumentType] - untyped
    except _FAULTS as error:
        raise CorruptError(_DAMAGED) from error


def read(path: Path) -> list[Block]:
    """Read header and body. Raises EncryptedError, CorruptError."""
    with _open_store(path) as store:
        return _message(store, ()).blocks()


@contextmanager
def open_attachments(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open the attachments; without any, links to documents. Raises as `read` does, and TooLargeError."""
    with _open_store(path) as store:
        message = _message(store, ())
        yield eml.check_count(message.enclosed, options) or linked_documents(message.writings)


_Compound: TypeAlias = "olefile.OleFileIO[Any]"


class _Store:
    """A compound file, by the storages in it."""

    def __init__(self, compound: _Compound) -> None:
        self._compound = compound
        self._children: dict[_Path, list[str]] = {}
        entries: list[list[str]] = compound.listdir(streams=True, storages=True)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
        for entry in entries:
            self._children.setdefault(tuple(entry[:-1]), []).append(entry[-1])

    def names(self, storage: _Path) -> Sequence[str]:
        """Entries of a storage, in the order of their names."""
        return sorted(self._children.get(storage, ()))

    def bytes(self, storage: _Path, name: str) -> bytes:
        """The content of a stream."""
        with self._compound.openstream([*storage, name]) as stream:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
            content: bytes = stream.read()  # pyright: ignore[reportUnknownMemberType] - untyped
        return content

    def properties(self, storage: _Path, head_bytes: int) -> dict[int, mapi.Value]:
        """The properties of a storage. head_bytes: before those of fixed length."""
        names = self.names(storage)
        if _FIXED not in names:
            raise CorruptError(_DAMAGED)
        data = self.bytes(storage, _FIXED)[head_bytes:]
        entries = _FIXED_ENTRY.iter_unpack(data[: len(data) // _FIXED_ENTRY.size * _FIXED_ENTRY.size])
        properties: dict[int, mapi.Value] = {
            number: int.from_bytes(value if kind in _EIGHT_BYTES else value[:4], "little")
            for kind, number, _, value in entries
            if kind not in mapi.VARIABLE  # their values stand in streams of their own
        }
        charset = mapi.charset_of(properties.get(mapi.CODE_PAGE) or properties.get(mapi.BODY_CODE_PAGE))
        for name in names:
            tag = name.removeprefix(_VALUE)
            if tag in (name, _MAIL_WITHIN) or len(tag) != len(_MAIL_WITHIN):
                continue
            number, kind = int(tag[:4], 16), int(tag[4:], 16)
            if kind in (mapi.TEXT_8, mapi.TEXT_16, mapi.BINARY):
                properties[number] = mapi.value_of(self.bytes(storage, name), kind, charset)
        return properties


def _message(store: _Store, storage: _Path) -> MailMessage:
    properties = store.properties(storage, 24 if storage else 32)
    writing, enclosed = mapi.mail_text(properties)
    if writing.is_encrypted:
        raise EncryptedError(ENCRYPTED.format("PGP"))
    files = [(*storage, name) for name in store.names(storage) if name.startswith(_ATTACHED)]
    if _SIGNED in mapi.text(properties, mapi.MESSAGE_CLASS).lower():
        return _signed_message(store, files, properties)
    pictures: dict[str, Callable[[], bytes]] = {}
    for file in files:
        if _VALUE + _MAIL_WITHIN in store.names(file):
            enclosed.append(_mail_within(store, (*file, _VALUE + _MAIL_WITHIN)))
            continue
        attached = store.properties(file, 8)
        content = attached.get(mapi.CONTENT)
        if not isinstance(content, bytes):
            enclosed.append(Member(mapi.name(attached), "attachment", bytes, ELSEWHERE))
            continue
        media_type = mapi.text(attached, mapi.MEDIA_TYPE)
        if media_type == "application/pgp-encrypted":
            raise EncryptedError(ENCRYPTED.format("PGP"))
        content_id = mapi.text(attached, mapi.CONTENT_ID)
        is_in_place = bool(content_id) or bool(attached.get(mapi.IS_HIDDEN))
        if media_type.startswith("image/") and is_in_place and len(content) < DECORATION_BYTES:
            pictures[content_id.strip("<>") or file[-1]] = partial(bytes, content)
        else:
            enclosed.append(Member(mapi.name(attached), "attachment", partial(bytes, content)))
    return MailMessage(mapi.fields(properties), [replace(writing, pictures=pictures)], enclosed, pictures)


def _signed_message(store: _Store, files: Sequence[_Path], properties: mapi.Properties) -> MailMessage:
    """A mail that Outlook keeps as it was sent, in its only attachment. Raises EncryptedError."""
    contents = [store.properties(file, 8) for file in files]
    sent = next((data for file in contents if isinstance(data := file.get(mapi.CONTENT), bytes)), b"")
    if sent[:1] in (b"", _SEQUENCE):  # no header: the content is wrapped in its signature, or encrypted
        wrapped = eml.unwrap_signed(sent)
        if wrapped is None:
            raise EncryptedError(ENCRYPTED.format("S/MIME"))
        sent = wrapped
    return replace(eml.parse_mail(sent), fields=mapi.fields(properties))


def _mail_within(store: _Store, storage: _Path) -> Member:
    """A mail within a mail as a file of its own; an object of another program cannot be taken out."""
    name = mapi.name(store.properties(storage[:-1], 8))
    if _FIXED not in store.names(storage):
        return Member(name, "attachment", bytes, EMBEDDED)
    if len(storage) > 2 * _DEEPEST:
        raise CorruptError("the mail is nested too deep to be read; save it as a PDF")
    try:
        inner = _message(store, storage)
    except EncryptedError as error:
        return Member(f"{name}.msg", "attachment", bytes, error.message)
    return Member(inner.file_name, "attachment", partial(MailMessage.as_eml, inner))
