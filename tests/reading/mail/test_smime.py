"""Mails that S/MIME wraps into their signature."""

import pytest

from docmill.errors import CorruptError
from docmill.reading.mail import eml

SIGNED = bytes.fromhex("06092a864886f70d010702")
SEALED = bytes.fromhex("06092a864886f70d010703")
DATA = bytes.fromhex("06092a864886f70d010701")
TEXT = b"Content-Type: text/plain\r\n\r\n" + b"The invoice is due. " * 20


def value(tag: int, *contents: bytes) -> bytes:
    content = b"".join(contents)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    return bytes([tag, 0x82]) + len(content).to_bytes(2, "big") + content


def endless(tag: int, *contents: bytes) -> bytes:
    return bytes([tag, 0x80]) + b"".join(contents) + b"\0\0"


def wrapped(octets: bytes, kind: bytes = SIGNED) -> bytes:
    head = value(0x02, b"\x01") + value(0x31, value(0x30))
    return value(0x30, kind, value(0xA0, value(0x30, head, value(0x30, DATA, octets), value(0x31))))


def test_what_was_signed_is_taken_out() -> None:
    assert eml.unwrap_signed(wrapped(value(0xA0, value(0x04, TEXT)))) == TEXT


def test_what_was_signed_may_come_in_pieces_without_lengths() -> None:
    pieces = endless(0x24, value(0x04, TEXT[:100]), endless(0x24, value(0x04, TEXT[100:])))
    head = value(0x02, b"\x01") + value(0x31)
    data = endless(
        0x30, SIGNED, endless(0xA0, endless(0x30, head, endless(0x30, DATA, endless(0xA0, pieces))))
    )

    assert eml.unwrap_signed(data) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        wrapped(value(0xA0, value(0x04, TEXT)), SEALED),
        wrapped(b""),
        value(0x30, SIGNED),
        value(0x30, SIGNED, value(0xA0, value(0x30, value(0x02, b"\x01")))),
    ],
    ids=["sealed", "a signature alone", "nothing", "without what was signed"],
)
def test_where_nothing_is_wrapped_there_is_nothing(data: bytes) -> None:
    assert eml.unwrap_signed(data) is None


@pytest.mark.parametrize(
    "data", [b"", b"0", wrapped(value(0xA0, value(0x04, TEXT)))[:-9], b"\x30\x80" * 100, b"\x30\x80\x30\x01"]
)
def test_a_damaged_signature_is_told(data: bytes) -> None:
    with pytest.raises(CorruptError, match="damaged"):
        eml.unwrap_signed(data)
