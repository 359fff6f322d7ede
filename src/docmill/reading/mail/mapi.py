"""MAPI properties, by number, and compressed rich text, as Outlook's files have them ([MS-OXPROPS])."""

import contextlib
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from docmill.errors import CorruptError
from docmill.files import clean_name
from docmill.reading.files.containers import Member
from docmill.reading.mail.message import MailText
from docmill.reading.mail.uuencode import split_uuencoded
from docmill.reading.text import encodings

SUBJECT, SENDER_NAME, SENDER_ADDRESS, SENDER_SMTP = 0x0037, 0x0C1A, 0x0C1F, 0x5D01
TO, CC, BCC = 0x0E04, 0x0E03, 0x0E02
SENT_AT, ARRIVED_AT = 0x0039, 0x0E06
BODY, RICH_BODY, PAGE_BODY = 0x1000, 0x1009, 0x1013
MESSAGE_CLASS, CODE_PAGE, BODY_CODE_PAGE = 0x001A, 0x3FFD, 0x3FDE
CONTENT, LONG_NAME, SHORT_NAME, SHOWN_NAME = 0x3701, 0x3707, 0x3704, 0x3001
CONTENT_ID, MEDIA_TYPE, IS_HIDDEN = 0x3712, 0x370E, 0x7FFE

TEXT_8, TEXT_16, BINARY, OBJECT, TIME = 0x001E, 0x001F, 0x0102, 0x000D, 0x0040
VARIABLE = frozenset({TEXT_8, TEXT_16, BINARY, OBJECT})
"""Kinds of values of variable length."""

MOST_RICH_BYTES = 20_000_000

_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_RING = 4096
_HEAD = struct.Struct("<LL4sL")
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)

Value = bytes | str | int
Properties = Mapping[int, Value]


def text(properties: Properties, *numbers: int) -> str:
    """The first of these properties that is not empty."""
    for number in numbers:
        value = properties.get(number)
        if isinstance(value, str) and value.strip("\0 \r\n"):
            return value.strip("\0")
    return ""


def fields(properties: Properties) -> dict[str, str]:
    """The header fields of a mail."""
    name, address = text(properties, SENDER_NAME), text(properties, SENDER_SMTP, SENDER_ADDRESS)
    ticks = properties.get(SENT_AT) or properties.get(ARRIVED_AT)
    date = ""
    if isinstance(ticks, int):
        with contextlib.suppress(OverflowError, ValueError):
            date = format_datetime(_EPOCH + timedelta(microseconds=ticks // 10))
    return {
        "From": f"{name} <{address}>" if "@" in address and address != name else name or address,
        "To": text(properties, TO),
        "Cc": text(properties, CC),
        "Bcc": text(properties, BCC),
        "Date": date,
        "Subject": text(properties, SUBJECT),
    }


def mail_text(properties: Properties) -> tuple[MailText, list[Member]]:
    """The body in every form that is there, and the files that stand in its plain text."""
    page, compressed = properties.get(PAGE_BODY), properties.get(RICH_BODY)
    rich = None
    if isinstance(compressed, bytes):
        with contextlib.suppress(CorruptError):
            rich = rich_text(compressed)
    page = page if isinstance(page, bytes | str) else None
    plain, files = split_uuencoded(text(properties, BODY))
    return MailText(plain or None, page, rich, charset_of(properties.get(BODY_CODE_PAGE))), files


def name(properties: Properties) -> str:
    """The name of an attachment."""
    return clean_name(text(properties, LONG_NAME, SHORT_NAME, SHOWN_NAME) or "attachment")


def charset_of(code_page: Value | None) -> str | None:
    """The name of a Windows code page."""
    if not isinstance(code_page, int) or code_page in (0, 1200):
        return None
    return {65001: "utf-8", 20127: "ascii", 28591: "latin-1"}.get(code_page, f"cp{code_page}")


def value_of(data: bytes, kind: int, charset: str | None) -> Value:
    """The value of a property of variable length. charset: of text of 8 bits a character."""
    if kind == TEXT_16:
        return data.decode("utf-16-le", "replace")
    if kind == TEXT_8:
        return encodings.decode(data.rstrip(b"\0"), charset)
    return data


def rich_text(data: bytes) -> bytes:
    """Decompress rich text ([MS-OXRTFCP]). Raises CorruptError."""
    if len(data) < _HEAD.size:
        raise CorruptError("the rich text of the mail is damaged")
    _, raw_size, kind, _ = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if kind == b"MELA":
        return body[:raw_size]
    if kind != b"LZFu" or raw_size > MOST_RICH_BYTES:
        raise CorruptError("the rich text of the mail is damaged")
    ring = bytearray(_START) + bytearray(_RING - len(_START))
    write = len(_START)
    out = bytearray()
    at = 0
    while at < len(body) and len(out) < raw_size:
        control = body[at]
        at += 1
        for bit in range(8):
            is_reference = control >> bit & 1
            if at + 1 + is_reference > len(body):
                return bytes(out)
            if is_reference:
                reference = body[at] << 8 | body[at + 1]
                start, length = reference >> 4, (reference & 0xF) + 2
                if start == write:
                    return bytes(out)
                piece = (ring[(start + step) % _RING] for step in range(length))
            else:
                piece = iter(body[at : at + 1])
            at += 1 + is_reference
            for byte in piece:
                out.append(byte)
                ring[write] = byte
                write = (write + 1) % _RING
    return bytes(out)
