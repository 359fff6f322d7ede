"""winmail.dat: how Outlook wraps what it encloses when it does not trust the other side ([MS-OXTNEF])."""

import struct
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from docmill.errors import CorruptError
from docmill.reading.containers.members import Member
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import mapi
from docmill.reading.mail.message import MailMessage

_SIGNATURE = 0x223E9F78
_INTERFACE_BYTES = 16
"""Before a mail within stands the id of the interface that Outlook uses for it."""
_HEAD = struct.Struct("<BLL")
_SIZES = {0x2: 2, 0x3: 4, 0x4: 4, 0x5: 8, 0x6: 8, 0x7: 8, 0xA: 4, 0xB: 2, 0x14: 8, 0x40: 8, 0x48: 16}
_VARIABLE = frozenset({mapi.TEXT_8, mapi.TEXT_16, mapi.BINARY, mapi.OBJECT})
_KINDS = _VARIABLE | _SIZES.keys()
_SEVERAL = 0x1000
_NAMED = 0x8000
_MOST = 10_000
_DAMAGED = "the winmail.dat is damaged; have what it encloses sent again, as a PDF or in a ZIP archive"
_DEEPEST = 5


class _Attribute(NamedTuple):
    number: int
    data: bytes


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Blocks of a winmail.dat's text. Raises CorruptError."""
    del options
    return decode_mail(path.read_bytes()).blocks()


@contextmanager
def open_attachments(path: Path, options: ReadingOptions) -> Generator[list[Member]]:
    """Open the members of a winmail.dat. Raises CorruptError."""
    yield list(decode_mail(path.read_bytes()).enclosed)[: options.max_parts]


def decode_mail(data: bytes, depth: int = 0) -> MailMessage:
    """Decode a winmail.dat as a mail. Raises CorruptError."""
    try:
        if int.from_bytes(data[:4], "little") != _SIGNATURE or depth > _DEEPEST:
            raise CorruptError(_DAMAGED)
        gathered = _Gathered()
        for number, content in _attributes(data):
            gathered.add(number, content)
        held = [_held(file, depth) for file in gathered.files]
        head = gathered.head
        members = [member for member in held if member is not None]
        return MailMessage(mapi.fields(head), [mapi.writing(head)], members)
    except (struct.error, IndexError, ValueError) as error:
        raise CorruptError(_DAMAGED) from error


@dataclass
class _Gathered:
    """Properties of the message and of each file; what is said in an old way counts where nothing else is."""

    head: dict[int, mapi.Value] = field(default_factory=dict[int, mapi.Value])
    files: list[dict[int, mapi.Value]] = field(default_factory=list[dict[int, mapi.Value]])
    charset: str | None = None

    def add(self, number: int, content: bytes) -> None:
        match number:
            case 0x9007:  # the code page of texts of 8 bits
                self.charset = mapi.charset_of(int.from_bytes(content[:4], "little"))
            case 0x8004:
                self.head.setdefault(mapi.SUBJECT, mapi.decode_text(content, self.charset))
            case 0x800C:
                self.head.setdefault(mapi.BODY, mapi.decode_text(content, self.charset))
            case 0x9003:
                self.head |= _properties(content, self.charset)
            case 0x9002:  # a file begins
                self.files.append({})
            case 0x8010 if self.files:
                self.files[-1].setdefault(mapi.SHORT_NAME, mapi.decode_text(content, self.charset))
            case 0x800F if self.files:
                self.files[-1].setdefault(mapi.CONTENT, content)
            case 0x9005 if self.files:
                self.files[-1] |= _properties(content, self.charset)
            case _:
                pass


def _held(file: dict[int, mapi.Value], depth: int) -> Member | None:
    content = file.get(mapi.CONTENT)
    if not isinstance(content, bytes):
        return None
    inner = content[_INTERFACE_BYTES:]
    if int.from_bytes(inner[:4], "little") == _SIGNATURE:
        within = decode_mail(inner, depth + 1)
        return Member(within.file_name, "attachment", within.as_eml)
    return Member(mapi.name(file), "attachment", lambda: content)


def _attributes(data: bytes) -> Iterator[_Attribute]:
    """The attributes in order; the last may be cut."""
    at = 6
    while at + _HEAD.size <= len(data):
        _, tag, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield _Attribute(tag & 0xFFFF, data[at : at + size])
        at += size + 2


def _properties(data: bytes, charset: str | None) -> dict[int, mapi.Value]:
    """Properties as they stand in a stream; what cannot be told apart any more is left out."""
    found: dict[int, mapi.Value] = {}
    (count,) = struct.unpack_from("<L", data)
    at = 4
    for _ in range(min(count, _MOST)):
        kind, number = struct.unpack_from("<HH", data, at)
        at += 4
        if kind & ~_SEVERAL not in _KINDS:  # nobody knows where it ends
            break
        if number >= _NAMED:
            at = _after_name(data, at)
        values, at = _values(data, at, kind)
        if values:
            found[number] = _value(values[0], kind, charset)
    return found


def _after_name(data: bytes, at: int) -> int:
    (is_text,) = struct.unpack_from("<L", data, at + 16)
    if not is_text:
        return at + 24
    (size,) = struct.unpack_from("<L", data, at + 20)
    return at + 24 + _padded(size)


def _values(data: bytes, at: int, kind: int) -> tuple[list[bytes], int]:
    single = kind & ~_SEVERAL
    count = 1
    if kind & _SEVERAL or single in _VARIABLE:
        (count,) = struct.unpack_from("<L", data, at)
        at += 4
    values: list[bytes] = []
    for _ in range(min(count, _MOST)):
        if single in _VARIABLE:
            (size,) = struct.unpack_from("<L", data, at)
            at += 4
        else:
            size = _SIZES[single]
        values.append(data[at : at + size])
        at += _padded(size)
    return values, at


def _padded(size: int) -> int:
    return size + -size % 4


def _value(data: bytes, kind: int, charset: str | None) -> mapi.Value:
    single = kind & ~_SEVERAL
    if single == mapi.TEXT_16:
        return data.decode("utf-16-le", "replace").rstrip("\0")
    if single == mapi.TEXT_8:
        return mapi.decode_text(data, charset)
    if single in _VARIABLE:
        return data
    return int.from_bytes(data, "little")
