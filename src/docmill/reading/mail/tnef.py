"""winmail.dat: the format in which Outlook wraps attachments for other mail programs ([MS-OXTNEF])."""

import struct
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from docmill.errors import CorruptError
from docmill.reading.files.containers import Member
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import Block
from docmill.reading.mail import mapi
from docmill.reading.mail.message import MailMessage

_SIGNATURE = 0x223E9F78
_INTERFACE_BYTES = 16
"""Length of the interface id before a mail within."""
_HEAD = struct.Struct("<BLL")
_SIZES = {0x2: 2, 0x3: 4, 0x4: 4, 0x5: 8, 0x6: 8, 0x7: 8, 0xA: 4, 0xB: 2, 0x14: 8, 0x40: 8, 0x48: 16}
_SEVERAL = 0x1000
_NAMED = 0x8000
_MOST = 10_000
_DAMAGED = "the winmail.dat is damaged; have what it encloses sent again, as a PDF or in a ZIP archive"
_DEEPEST = 5


def read(path: Path) -> list[Block]:
    """Blocks of a winmail.dat's text. Raises CorruptError."""
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
        collector = _Collector()
        at = 6
        while at + _HEAD.size <= len(data):  # the last attribute may be cut
            _, tag, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            collector.add(tag & 0xFFFF, data[at : at + size])
            at += size + 2
        members: list[Member] = []
        for file in collector.files:
            content = file.get(mapi.CONTENT)
            if not isinstance(content, bytes):
                continue
            inner = content[_INTERFACE_BYTES:]
            if int.from_bytes(inner[:4], "little") == _SIGNATURE:
                mail = decode_mail(inner, depth + 1)
                members.append(Member(mail.file_name, "attachment", mail.as_eml))
            else:
                members.append(Member(mapi.name(file), "attachment", partial(bytes, content)))
        head = collector.head
        writing, files = mapi.mail_text(head)
        return MailMessage(mapi.fields(head), [writing], [*members, *files])
    except (struct.error, IndexError, ValueError) as error:
        raise CorruptError(_DAMAGED) from error


@dataclass
class _Collector:
    """Properties of the message and of each file; a value of the old form counts where no other is."""

    head: dict[int, mapi.Value] = field(default_factory=dict[int, mapi.Value])
    files: list[dict[int, mapi.Value]] = field(default_factory=list[dict[int, mapi.Value]])
    charset: str | None = None

    def add(self, number: int, content: bytes) -> None:
        match number:
            case 0x9007:  # the code page of texts of 8 bits
                self.charset = mapi.charset_of(int.from_bytes(content[:4], "little"))
            case 0x8004:
                self.head.setdefault(mapi.SUBJECT, mapi.value_of(content, mapi.TEXT_8, self.charset))
            case 0x800C:
                self.head.setdefault(mapi.BODY, mapi.value_of(content, mapi.TEXT_8, self.charset))
            case 0x9003:
                self.head |= _properties(content, self.charset)
            case 0x9002:  # a file begins
                self.files.append({})
            case 0x8010 if self.files:
                name = mapi.value_of(content, mapi.TEXT_8, self.charset)
                self.files[-1].setdefault(mapi.SHORT_NAME, name)
            case 0x800F if self.files:
                self.files[-1].setdefault(mapi.CONTENT, content)
            case 0x9005 if self.files:
                self.files[-1] |= _properties(content, self.charset)
            case _:
                pass


def _properties(data: bytes, charset: str | None) -> dict[int, mapi.Value]:
    """Properties in a stream, up to the first of an unknown kind, whose end is unknown."""
    properties: dict[int, mapi.Value] = {}
    (count,) = struct.unpack_from("<L", data)
    at = 4
    for _ in range(min(count, _MOST)):
        kind, number = struct.unpack_from("<HH", data, at)
        at += 4
        single = kind & ~_SEVERAL
        if single not in mapi.VARIABLE and single not in _SIZES:
            break
        if number >= _NAMED:
            (is_text,) = struct.unpack_from("<L", data, at + 16)
            size = struct.unpack_from("<L", data, at + 20)[0] if is_text else 0
            at += 24 + _padded(size)
        several = 1
        if kind & _SEVERAL or single in mapi.VARIABLE:
            (several,) = struct.unpack_from("<L", data, at)
            at += 4
        values: list[bytes] = []
        for _ in range(min(several, _MOST)):
            size = _SIZES.get(single)
            if size is None:
                (size,) = struct.unpack_from("<L", data, at)
                at += 4
            values.append(data[at : at + size])
            at += _padded(size)
        if values and single in mapi.VARIABLE:
            value = mapi.value_of(values[0], single, charset)
            properties[number] = value.rstrip("\0") if isinstance(value, str) else value
        elif values:
            properties[number] = int.from_bytes(values[0], "little")
    return properties


def _padded(size: int) -> int:
    return size + -size % 4
