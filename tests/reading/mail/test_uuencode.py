import base64
import binascii
from pathlib import Path

import pytest

from docmill.errors import CorruptError
from docmill.reading.files.options import ReadingOptions
from docmill.reading.mail import eml
from docmill.reading.mail.uuencode import split_uuencoded

CASES = Path(__file__).parents[4] / "shared" / "cases"
CONTENT = bytes(range(256))


def uuencoded(name: str, content: bytes = CONTENT, *, end: str = "`\nend\n", backtick: bool = True) -> str:
    pieces = (content[at : at + 45] for at in range(0, len(content), 45))
    return (
        f"begin 644 {name}\n" + b"".join(binascii.b2a_uu(p, backtick=backtick) for p in pieces).decode() + end
    )


def in_base64(name: str, content: bytes = CONTENT, *, end: str = "====\n") -> str:
    return f"begin-base64 644 {name}\n{base64.encodebytes(content).decode()}{end}"


@pytest.mark.parametrize(
    "text",
    [
        uuencoded("a b.bin"),
        uuencoded("a b.bin", backtick=False, end=" \nend"),
        uuencoded("a b.bin", end="end\n"),
        uuencoded("a b.bin").replace("\n", "\r\n"),
        "\n".join(
            line.rstrip(" ") for line in uuencoded("a b.bin", backtick=False, end=" \nend\n").split("\n")
        ),
        in_base64("a b.bin"),
    ],
)
def test_a_file_in_the_text_comes_out_of_it(text: str) -> None:
    rest, (member,) = split_uuencoded(f"Dear all,\n\n{text}\nRegards\n")

    assert member.name == "a b.bin"
    assert member.kind == "attachment"
    assert member.read() == CONTENT
    assert rest.split() == ["Dear", "all,", "Regards"]


def test_lines_with_a_checksum_behind_them_are_read() -> None:
    lines = uuencoded("a", CONTENT[:90]).split("\n")
    text = "\n".join([lines[0], *(f"{line}!" for line in lines[1:3]), *lines[3:]])

    _, (member,) = split_uuencoded(text)

    assert member.read() == CONTENT[:90]


def test_several_files_keep_their_order() -> None:
    text = f"one\n{uuencoded('a.bin', b'1')}two\n{in_base64('b.bin', b'2')}three\n{uuencoded('c.bin', b'3')}"

    rest, members = split_uuencoded(text)

    assert [(member.name, member.read()) for member in members] == [
        ("a.bin", b"1"), ("b.bin", b"2"), ("c.bin", b"3")
    ]  # fmt: skip
    assert rest.split() == ["one", "two", "three"]


@pytest.mark.parametrize(
    "text",
    [
        "We begin 644 days from now.",
        "begin 644 days\nfrom now, and end\nend",
        "begin 644 DAYS\nFROM NOW\nend",
        "begin 644 nothing",
        "begin-base64 644 words\nDear\nall\nyou see",
        "begin-base64 644 words\nDear",
    ],
)
def test_what_only_looks_like_a_file_is_text(text: str) -> None:
    assert split_uuencoded(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        uuencoded("a.bin", end="\n"),
        uuencoded("a.bin", end=""),
        uuencoded("a.bin", end="").rstrip("\n"),
        uuencoded("a.bin", b"x" * 45, end="$)!!!!\x20`?`?`?`?\nend\n"),
        in_base64("a.bin").replace("=\n====", "\n===="),
    ],
)
def test_a_damaged_file_is_named_with_the_reason(text: str) -> None:
    _, (member,) = split_uuencoded(text)

    assert member.name == "a.bin"
    with pytest.raises(CorruptError, match="have it sent again"):
        member.read()


def test_a_file_in_any_text_of_a_mail_is_its_attachment(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    head = "From: a@b.c\nTo: d@e.f\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n"
    texts = ("plain", uuencoded("a.bin", b"1")), ("plain; format=flowed", uuencoded("b.bin", b"2"))
    body = "".join(f"--B\nContent-Type: text/{kind}\n\nHello\n{text}\n" for kind, text in texts)
    path.write_text(f"{head}{body}--B--\n")

    with eml.open_attachments(path, ReadingOptions()) as members:
        assert [(member.name, member.read()) for member in members] == [("a.bin", b"1"), ("b.bin", b"2")]


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_a_bill_in_the_text_of_a_mail_is_its_attachment() -> None:
    (path,) = (CASES / "06-uuencoded-attachment" / "in").iterdir()

    with eml.open_attachments(path, ReadingOptions()) as (member,):
        assert member.name == "Rechnung.pdf"
        assert member.read().startswith(b"%PDF")
