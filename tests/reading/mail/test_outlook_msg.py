import binascii
import io
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.files import containers
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import FigureBlock, typeset
from docmill.reading.mail import eml, mapi, outlook_msg
from support.compound_files import Tree, attachment, compound, message, within

OPTIONS = ReadingOptions()
DATA = Path(__file__).parents[3].parent / "shared" / "data" / "mail"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


def text_of(name: str) -> str:
    return "\n".join(page.text for page in typeset(outlook_msg.read(DATA / name)))


@needs_data
def test_a_message_and_what_it_encloses_are_read() -> None:
    text = text_of("fake-email-attachment.msg")
    with outlook_msg.open_attachments(DATA / "fake-email-attachment.msg", OPTIONS) as held:
        taken = containers.take_batch(held, 0, 10**9, OPTIONS)

    assert "Attachments: fake-attachment.txt" in text
    assert "Subject: Fake email with attachment" in text
    assert [len(content or b"") for content in taken.contents] == [30]


@needs_data
def test_an_encrypted_message_is_refused_with_advice() -> None:
    with pytest.raises(EncryptedError, match="PGP"):
        outlook_msg.read(DATA / "fake-encrypted.msg")


def test_a_damaged_message_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))

    with pytest.raises(CorruptError, match="damaged"):
        outlook_msg.read(path)


def saved(tmp_path: Path, tree: Tree) -> Path:
    path = tmp_path / "a.msg"
    path.write_bytes(compound(tree))
    return path


def parts_of(path: Path) -> dict[str, bytes | str]:
    with outlook_msg.open_attachments(path, OPTIONS) as held:
        taken = containers.take_batch(held, 0, 10**9, OPTIONS)
    return {
        part.name: part.problem or content or b""
        for part, content in zip(taken.parts, taken.contents, strict=True)
    }


def said(path: Path) -> str:
    return "\n".join(page.text for page in typeset(outlook_msg.read(path)))


RICH = rb"""{\rtf1\ansi\ansicpg1252\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 Gr\'fc\'dfe{ }
{\*\htmltag84 <b>}\htmlrtf {\b\htmlrtf0 from Bremen\htmlrtf }\htmlrtf0 \htmlrtf\par}\htmlrtf0 }"""
COMPRESSED = struct.pack("<LL4sL", len(RICH) + 12, len(RICH), b"MELA", 0) + RICH
RICH_ALONE = message(texts={mapi.SUBJECT: "Rich"}, binaries={mapi.RICH_BODY: COMPRESSED})


def test_a_body_that_is_rich_text_alone_is_read(tmp_path: Path) -> None:
    text = said(saved(tmp_path, RICH_ALONE))

    assert "Subject: Rich" in text
    assert "Grüße from Bremen" in text


def test_a_mail_within_a_message_becomes_a_mail_with_all_it_holds(tmp_path: Path) -> None:
    letter = attachment({mapi.LONG_NAME: "Brief.pdf"}, {mapi.CONTENT: b"%PDF-" + bytes(5000)})
    inner = message(
        letter,
        texts={
            mapi.SUBJECT: "Ihr Auftrag",
            mapi.BODY: "Anbei der Brief.",
            mapi.SENDER_SMTP: "ann@example.com",
        },
    )
    path = saved(tmp_path, message(within(inner), texts={mapi.SUBJECT: "Forwarded"}))

    parts = parts_of(path)

    assert "Attachments: Ihr Auftrag.eml" in said(path)
    assert list(parts) == ["Ihr Auftrag.eml"]
    assert parts == parts_of(path)
    content = parts["Ihr Auftrag.eml"]
    assert isinstance(content, bytes)
    (tmp_path / "a.eml").write_bytes(content)
    text = "\n".join(page.text for page in typeset(eml.read(tmp_path / "a.eml")))
    assert "From: <ann@example.com>" in text
    assert "Anbei der Brief." in text
    with eml.open_attachments(tmp_path / "a.eml", OPTIONS) as held:
        assert [(one.name, len(one.read())) for one in held] == [("Brief.pdf", 5005)]


def test_rich_text_alone_is_still_read_one_mail_further_in(tmp_path: Path) -> None:
    content = parts_of(saved(tmp_path, message(within(RICH_ALONE))))["Rich.eml"]
    assert isinstance(content, bytes)
    (tmp_path / "a.eml").write_bytes(content)

    text = "\n".join(page.text for page in typeset(eml.read(tmp_path / "a.eml")))

    assert "Grüße from Bremen" in text
    assert "Attachments" not in text


def test_a_picture_is_a_document_unless_the_body_shows_a_small_one(tmp_path: Path) -> None:
    kind = {mapi.MEDIA_TYPE: "image/png"}
    shown = kind | {mapi.CONTENT_ID: "logo@1"}
    path = saved(
        tmp_path,
        message(
            attachment(shown | {mapi.LONG_NAME: "logo.png"}, {mapi.CONTENT: b"logo"}),
            attachment(shown | {mapi.LONG_NAME: "scan.png"}, {mapi.CONTENT: bytes(120_000)}),
            attachment(kind | {mapi.LONG_NAME: "receipt.png"}, {mapi.CONTENT: b"receipt"}),
        ),
    )

    assert parts_of(path) == {"scan.png": bytes(120_000), "receipt.png": b"receipt"}


@pytest.fixture
def picture() -> bytes:
    """With enough spots of a letter's size."""
    image = Image.new("RGB", (600, 400), "white")
    draw = ImageDraw.Draw(image)
    for index in range(60):
        x, y = 20 + 50 * (index % 10), 20 + 60 * (index // 10)
        draw.rectangle((x, y, x + 8, y + 14), fill="black")
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


PAGE = '<p>See this:</p><img src="cid:scan%40here"><p>Thank you</p>'


def figures(path: Path) -> list[int]:
    """Where pictures stand among the blocks of the body."""
    return [at for at, block in enumerate(outlook_msg.read(path)) if isinstance(block, FigureBlock)]


@pytest.mark.parametrize(
    ("texts", "binaries", "at"),
    [
        ({mapi.SUBJECT: "Page"}, {mapi.PAGE_BODY: PAGE.encode()}, [3]),
        ({mapi.SUBJECT: "Rich"}, {mapi.RICH_BODY: COMPRESSED}, [2]),
        ({mapi.SUBJECT: "Plain", mapi.BODY: "See this."}, {}, [2]),
        ({mapi.BODY: "See this. " * 20}, {mapi.PAGE_BODY: b'<img src="cid:scan@here">'}, [1]),
    ],
)
def test_a_small_picture_in_the_body_is_read_whatever_shows_it(
    tmp_path: Path, picture: bytes, texts: dict[int, str], binaries: dict[int, bytes], at: list[int]
) -> None:
    shown = {mapi.MEDIA_TYPE: "image/png", mapi.CONTENT_ID: "<scan@here>", mapi.LONG_NAME: "scan.png"}
    path = saved(
        tmp_path,
        message(attachment(shown, {mapi.CONTENT: picture}), texts=texts, binaries=binaries),
    )

    assert figures(path) == at
    assert parts_of(path) == {}


@pytest.mark.parametrize("binaries", [{mapi.PAGE_BODY: PAGE.encode()}, {mapi.RICH_BODY: COMPRESSED}])
def test_a_small_picture_stays_with_a_mail_within_a_message(
    tmp_path: Path, picture: bytes, binaries: dict[int, bytes]
) -> None:
    shown = {mapi.MEDIA_TYPE: "image/png", mapi.CONTENT_ID: "scan@here"}
    inner = message(
        attachment(shown, {mapi.CONTENT: picture}), texts={mapi.SUBJECT: "Inner"}, binaries=binaries
    )
    content = parts_of(saved(tmp_path, message(within(inner))))["Inner.eml"]
    assert isinstance(content, bytes)
    (tmp_path / "a.eml").write_bytes(content)

    found = eml.read(tmp_path / "a.eml")

    assert [block.content for block in found if isinstance(block, FigureBlock)] == [picture]
    with eml.open_attachments(tmp_path / "a.eml", OPTIONS) as held:
        assert held == []


def test_what_cannot_be_taken_out_of_a_message_is_named(tmp_path: Path) -> None:
    embedded: Tree = {
        "__properties_version1.0": bytes(8),
        "__substg1.0_3701000D": {"CONTENTS": b"drawing"},
        "__substg1.0_3001001F": "Picture".encode("utf-16-le"),
    }
    inner = within(
        message(attachment({}, {mapi.CONTENT: SEALED}), texts={mapi.MESSAGE_CLASS: "IPM.Note.SMIME"})
    )
    elsewhere = attachment({mapi.LONG_NAME: "plan.pdf"}, {})

    parts = parts_of(saved(tmp_path, message(embedded, elsewhere, inner, texts={mapi.SUBJECT: "All"})))

    assert list(parts) == ["Picture", "plan.pdf", "attachment.msg"]
    assert "inside the text" in str(parts["Picture"])
    assert "upload it by itself" in str(parts["plan.pdf"])
    assert "S/MIME" in str(parts["attachment.msg"])


SEALED = bytes.fromhex("300b06092a864886f70d010703")
SIGNED_MAIL = b"""Content-Type: multipart/mixed; boundary=B

--B

The body that was signed.
--B
Content-Disposition: attachment; filename=bill.pdf

%PDF-
--B--
"""


def test_a_signed_message_is_read_as_it_was_sent(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        message(
            attachment({mapi.LONG_NAME: "smime.p7m"}, {mapi.CONTENT: SIGNED_MAIL}),
            texts={mapi.MESSAGE_CLASS: "IPM.Note.SMIME.MultipartSigned", mapi.SUBJECT: "Signed"},
        ),
    )

    assert "Subject: Signed" in said(path)
    assert "The body that was signed." in said(path)
    assert list(parts_of(path)) == ["bill.pdf"]


@pytest.mark.parametrize(
    ("texts", "content", "scheme"),
    [
        ({mapi.MESSAGE_CLASS: "IPM.Note.SMIME"}, SEALED, "S/MIME"),
        ({mapi.BODY: "-----BEGIN PGP MESSAGE-----\n"}, b"x", "PGP"),
    ],
)
def test_an_encrypted_message_is_refused(
    tmp_path: Path, texts: dict[int, str], content: bytes, scheme: str
) -> None:
    path = saved(tmp_path, message(attachment({}, {mapi.CONTENT: content}), texts=texts))

    with pytest.raises(EncryptedError, match=scheme):
        outlook_msg.read(path)


def test_a_message_wrapped_into_its_signature_is_read(tmp_path: Path) -> None:
    head = bytes.fromhex("3080 06092a864886f70d010702 a080 3080 020101 3100")
    data = bytes.fromhex("3080 06092a864886f70d010701 a080 0482") + len(SIGNED_MAIL).to_bytes(2, "big")
    wrapped = head + data + SIGNED_MAIL + bytes(10)
    texts = {mapi.MESSAGE_CLASS: "IPM.Note.SMIME"}

    path = saved(tmp_path, message(attachment({}, {mapi.CONTENT: wrapped}), texts=texts))

    assert "The body that was signed." in said(path)
    assert list(parts_of(path)) == ["bill.pdf"]


def test_a_message_with_too_many_files_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, message(*[attachment({}, {mapi.CONTENT: b"x"})] * 3))
    options = replace(OPTIONS, max_parts=2)

    with pytest.raises(TooLargeError, match="more than 2"), outlook_msg.open_attachments(path, options):
        pass


def test_a_file_in_the_text_of_a_message_is_its_attachment(tmp_path: Path) -> None:
    lines = [binascii.b2a_uu(b"%PDF a bill").decode().rstrip("\n"), "`", "end"]
    body = "\r\n".join(["Hello", "begin 644 bill.pdf", *lines, "Bye"])
    path = saved(tmp_path, message(texts={mapi.BODY: body, mapi.SUBJECT: "A bill"}))

    assert parts_of(path) == {"bill.pdf": b"%PDF a bill"}
    text = "\n".join(page.text for page in typeset(outlook_msg.read(path)))
    assert "Bye" in text
    assert "begin 644" not in text
