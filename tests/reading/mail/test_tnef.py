import struct
from pathlib import Path

import pytest

from docmill.errors import CorruptError
from docmill.reading.files import containers, file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import typeset
from docmill.reading.mail import mapi, tnef

OPTIONS = ReadingOptions()
SIGNATURE = struct.pack("<LH", 0x223E9F78, 1)


def attribute(number: int, data: bytes) -> bytes:
    return struct.pack("<BLL", 1, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def text_16(number: int, text: str) -> bytes:
    data = text.encode("utf-16-le") + b"\0\0"
    return struct.pack("<HHLL", 0x1F, number, 1, len(data)) + data + bytes(-len(data) % 4)


def binary(number: int, data: bytes, kind: int = 0x102) -> bytes:
    return struct.pack("<HHLL", kind, number, 1, len(data)) + data + bytes(-len(data) % 4)


def properties(*entries: bytes) -> bytes:
    return struct.pack("<L", len(entries)) + b"".join(entries)


NAMED_BY_NUMBER = struct.pack("<HH16sLLL", 3, 0x8001, bytes(16), 0, 5, 7)
NAMED_BY_TEXT = struct.pack("<HH16sLL8sL", 3, 0x8002, bytes(16), 1, 6, b"a\0b\0\0\0", 7)
SEVERAL = struct.pack("<HHLLL", 0x1003, 0x6000, 2, 1, 2)
SENT_AT = struct.pack("<HHQ", 0x40, mapi.SENT_AT, 133_374_600_553_852_006)

WRAPPED = (
    SIGNATURE
    + attribute(0x9007, struct.pack("<LL", 1252, 0))
    + attribute(0x8004, b"Gr\xfc\xdfe\0")
    + attribute(
        0x9003,
        properties(
            NAMED_BY_NUMBER,
            NAMED_BY_TEXT,
            SEVERAL,
            SENT_AT,
            text_16(mapi.SENDER_NAME, "Ann"),
            text_16(mapi.SENDER_SMTP, "ann@example.com"),
            binary(mapi.BODY, b"Sch\xf6ne Rechnung\0", 0x1E),
        ),
    )
    + attribute(0x9002, bytes(14))
    + attribute(0x8010, b"SHORT~1.PDF\0")
    + attribute(0x800F, b"%PDF-")
    + attribute(0x9005, properties(text_16(mapi.LONG_NAME, "long name.pdf")))
    + attribute(0x9002, bytes(14))
    + attribute(0x8010, b"b.txt\0")
    + attribute(0x800F, b"text")
    + attribute(0x1234, b"something new")
)


def parts(path: Path) -> dict[str, bytes | None]:
    with tnef.open_attachments(path, OPTIONS) as held:
        taken = containers.take_batch(held, 0, 10**9, OPTIONS)
    return {part.name: content for part, content in zip(taken.parts, taken.contents, strict=True)}


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    path = tmp_path / "winmail.dat"
    path.write_bytes(WRAPPED)
    return path


def test_what_outlook_wrapped_is_read(wrapped: Path) -> None:
    text = "\n".join(page.text for page in typeset(tnef.read(wrapped)))

    assert file_types.media_type(wrapped) == "application/ms-tnef"
    assert "From: Ann <ann@example.com>" in text
    assert "Subject: Grüße" in text
    assert "Date: Fri, 25 Aug 2023" in text
    assert "Schöne Rechnung" in text


def test_what_outlook_wrapped_comes_out(wrapped: Path) -> None:
    assert parts(wrapped) == {"long name.pdf": b"%PDF-", "b.txt": b"text"}


def test_a_mail_within_comes_out_as_a_mail(tmp_path: Path) -> None:
    path = tmp_path / "winmail.dat"
    within = bytes(16) + WRAPPED
    path.write_bytes(
        SIGNATURE
        + attribute(0x9002, bytes(14))
        + attribute(0x9005, properties(binary(mapi.CONTENT, within, 0x0D)))
        + attribute(0x9002, bytes(14))
    )

    ((name, content),) = parts(path).items()

    assert name == "Grüße.eml"
    assert content == parts(path)[name], "the same each time"
    mail = tmp_path / "within.eml"
    mail.write_bytes(content or b"")
    assert file_types.media_type(mail) == "message/rfc822"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no wrapping",
        SIGNATURE + attribute(0x9003, b"\1"),
        SIGNATURE + attribute(0x9003, struct.pack("<LHH", 1, 0x7777, 1)),
        SIGNATURE + attribute(0x9003, struct.pack("<LHHLL", 1, 0x1F, 1, 1, 5)) + b"x",
    ],
)
def test_damaged_wrapping_is_refused_or_read_as_far_as_it_goes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "winmail.dat"
    path.write_bytes(data)

    with pytest.raises(CorruptError):
        tnef.read(path)


def test_what_comes_before_a_property_of_an_unknown_kind_is_read() -> None:
    unknown = struct.pack("<HHL", 0x00FE, 0x6000, 0)
    data = (
        SIGNATURE
        + attribute(0x9003, properties(text_16(mapi.SUBJECT, "Bill"), unknown, text_16(mapi.TO, "Bob")))
        + attribute(0x9002, bytes(14))
        + attribute(0x8010, b"a.txt\0")
        + attribute(0x800F, b"text")
    )

    letter = tnef.decode_mail(data)

    assert [held.name for held in letter.enclosed] == ["a.txt"]
    assert "Bill" in "\n".join(page.text for page in typeset(letter.blocks()))


def test_wrappings_within_wrappings_have_an_end() -> None:
    data = WRAPPED
    for _ in range(7):
        data = (
            SIGNATURE
            + attribute(0x9002, bytes(14))
            + attribute(0x9005, properties(binary(mapi.CONTENT, bytes(16) + data, 0x0D)))
        )

    with pytest.raises(CorruptError):
        tnef.decode_mail(data)


PACKED = bytes.fromhex(
    "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
)
"""The first example of [MS-OXRTFCP], 3.1."""


def test_compressed_rich_text_is_expanded() -> None:
    plain = struct.pack("<LL4sL", 5 + 12, 5, b"MELA", 0) + b"{\\rtf"

    assert mapi.rich_text(plain) == b"{\\rtf"
    assert mapi.rich_text(PACKED).startswith(b"{\\rtf1\\ansi\\ansicpg1252\\pard hello")


@pytest.mark.parametrize("data", [b"", bytes(16), struct.pack("<LL4sL", 1, 2**31, b"LZFu", 0)])
def test_damaged_rich_text_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptError):
        mapi.rich_text(data)
