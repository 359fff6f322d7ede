"""Outlook messages (.msg): mails in a compound file ([MS-OXMSG])."""

import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import olefile

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.containers.members import Member
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import eml, mapi, smime
from docmill.reading.mail.eml import DECORATION_BYTES, ENCRYPTED
from docmill.reading.mail.message import MailMessage

_DAMAGED = "the Outlook message is damaged; open it in Outlook, save it as a PDF and use that"
_VALUE = "__substg1.0_"
_FIXED = "__properties_version1.0"
_ATTACHED = "__attach_version1.0_"
_MAIL_WITHIN = "3701000D"
_SIGNED = ".smime"
_SEQUENCE = b"0"
"""How every file begins that S/MIME makes, and no head of a mail."""
_ELSEWHERE = "the mail only says where this file was; upload it by itself"
_EMBEDDED = "this is a picture or object inside the text; open the mail, save it as a file and use that"
_DEEPEST = 10
_FAULTS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, struct.error, RecursionError)
"""What `olefile` raises on files that are made or broken badly."""

_Path = tuple[str, ...]
_FIXED_ENTRY = struct.Struct("<HHL8s")


@contextmanager
def _opened(path: Path) -> Generator["_Store"]:
    try:
        with path.open("rb") as file, olefile.OleFileIO(file) as compound:  # pyright: ignore[reportUnknownVariableType] - untyped
            yield _Store(compound)  # pyright: ignore[reportUnknownArgumentType] - untyped
    except _FAULTS as error:
        raise CorruptError(_DAMAGED) from error


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Head and body. Raises EncryptedError, CorruptError."""
    del options
    with _opened(path) as store:
        return _letter(store, ()).blocks()


@contextmanager
def open_attachments(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open the message's attachments. Raises EncryptedError, CorruptError, TooLargeError."""
    with _opened(path) as store:
        held = list(_letter(store, ()).enclosed)
        if len(held) > options.max_parts:
            raise TooLargeError(f"the mail holds {len(held)} files, more than {options.max_parts}")
        yield held


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
        found = self._fixed(storage, head_bytes)
        charset = mapi.charset_of(found.get(mapi.CODE_PAGE) or found.get(mapi.BODY_CODE_PAGE))
        for name in self.names(storage):
            tag = name.removeprefix(_VALUE)
            if tag in (name, _MAIL_WITHIN) or len(tag) != len(_MAIL_WITHIN):
                continue
            number, kind = int(tag[:4], 16), int(tag[4:], 16)
            if kind in (mapi.TEXT_8, mapi.TEXT_16, mapi.BINARY):
                found[number] = _value(self.bytes(storage, name), kind, charset)
        return found

    def _fixed(self, storage: _Path, head_bytes: int) -> dict[int, mapi.Value]:
        if _FIXED not in self.names(storage):
            raise CorruptError(_DAMAGED)
        data = self.bytes(storage, _FIXED)[head_bytes:]
        entries = _FIXED_ENTRY.iter_unpack(data[: len(data) // _FIXED_ENTRY.size * _FIXED_ENTRY.size])
        return {
            number: int.from_bytes(value if kind in _EIGHT_BYTES else value[:4], "little")
            for kind, number, _, value in entries
            if kind not in _LONG
        }


_EIGHT_BYTES = frozenset({0x0014, mapi.TIME})
_LONG = frozenset({mapi.TEXT_8, mapi.TEXT_16, mapi.BINARY, mapi.OBJECT})
"""Kinds whose values stand in streams of their own."""


def _value(data: bytes, kind: int, charset: str | None) -> mapi.Value:
    if kind == mapi.TEXT_16:
        return data.decode("utf-16-le", "replace")
    if kind == mapi.TEXT_8:
        return mapi.decode_text(data, charset)
    return data


def _letter(store: _Store, storage: _Path) -> MailMessage:
    properties = store.properties(storage, 24 if storage else 32)
    message_class = mapi.text(properties, mapi.MESSAGE_CLASS).lower()
    writing = mapi.writing(properties)
    if writing.is_encrypted:
        raise EncryptedError(ENCRYPTED.format("PGP"))
    files = [(*storage, name) for name in store.names(storage) if name.startswith(_ATTACHED)]
    if _SIGNED in message_class:
        return _signed_letter(store, files, properties)
    held: list[Member] = []
    pictures: dict[str, Callable[[], bytes]] = {}
    for file in files:
        found = _held(store, file)
        if isinstance(found, _InPlace):
            pictures[found.content_id] = partial(bytes, found.content)
        else:
            held.append(found)
    return MailMessage(mapi.fields(properties), [replace(writing, pictures=pictures)], held, pictures)


def _signed_letter(store: _Store, files: Sequence[_Path], properties: mapi.Properties) -> MailMessage:
    """A mail that Outlook keeps as it was sent, in its only attachment. Raises EncryptedError."""
    contents = [store.properties(file, 8) for file in files]
    sent = next((data for file in contents if isinstance(data := file.get(mapi.CONTENT), bytes)), b"")
    if sent[:1] in (b"", _SEQUENCE):  # no head: what was signed is wrapped, or sealed
        wrapped = smime.content(sent)
        if wrapped is None:
            raise EncryptedError(ENCRYPTED.format("S/MIME"))
        sent = wrapped
    return replace(eml.parse_mail(sent), fields=mapi.fields(properties))


class _InPlace(NamedTuple):
    """A picture that the body shows in place."""

    content_id: str
    content: bytes


def _held(store: _Store, storage: _Path) -> Member | _InPlace:
    """An attachment."""
    if _VALUE + _MAIL_WITHIN in store.names(storage):
        return _mail_within(store, (*storage, _VALUE + _MAIL_WITHIN))
    properties = store.properties(storage, 8)
    content = properties.get(mapi.CONTENT)
    if not isinstance(content, bytes):
        return Member(mapi.name(properties), "attachment", bytes, _ELSEWHERE)
    media_type = mapi.text(properties, mapi.MEDIA_TYPE)
    if media_type == "application/pgp-encrypted":
        raise EncryptedError(ENCRYPTED.format("PGP"))
    is_picture = media_type.startswith("image/")
    content_id = mapi.text(properties, mapi.CONTENT_ID)
    is_in_place = bool(content_id) or bool(properties.get(mapi.IS_HIDDEN))
    if is_picture and is_in_place and len(content) < DECORATION_BYTES:
        return _InPlace(content_id.strip("<>") or storage[-1], content)
    return Member(mapi.name(properties), "attachment", lambda: content)


def _mail_within(store: _Store, storage: _Path) -> Member:
    """A mail within a mail becomes a file of its own; what another program embedded cannot be taken out."""
    name = mapi.name(store.properties(storage[:-1], 8))
    if _FIXED not in store.names(storage):
        return Member(name, "attachment", bytes, _EMBEDDED)
    if len(storage) > 2 * _DEEPEST:
        raise CorruptError("the mail is nested too deep to be read; save it as a PDF")
    try:
        inner = _letter(store, storage)
    except EncryptedError as error:
        return Member(f"{name}.msg", "attachment", bytes, error.message)
    return Member(inner.file_name, "attachment", partial(MailMessage.as_eml, inner))
