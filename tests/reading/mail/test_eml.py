import base64
import quopri
import struct
from email.message import EmailMessage
from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError, TooLargeError
from docmill.reading.files import containers, file_types
from docmill.reading.files.options import ReadingOptions
from docmill.reading.layout.typeset import typeset
from docmill.reading.mail import eml

OPTIONS = ReadingOptions()
CASES = Path(__file__).parents[4] / "shared" / "cases"
DATA = Path(__file__).parents[3].parent / "shared" / "data" / "mail"
HEAD = b"From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: Bill\nMIME-Version: 1.0\n"


class Mail:
    """A mail as docmill sees it."""

    def __init__(self, path: Path) -> None:
        self.text = "\n".join(page.text for page in typeset(eml.read(path)))
        with eml.open_attachments(path, OPTIONS) as held:
            taken = containers.take_batch(held, 0, 10**9, OPTIONS)
        self.parts = {part.name: content for part, content in zip(taken.parts, taken.contents, strict=True)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def seen(folder: Path, source: bytes) -> Mail:
    path = folder / "a.eml"
    path.write_bytes(source)
    return Mail(path)


def mixed(*parts: bytes, kind: str = "mixed") -> bytes:
    body = b"".join(b"--B\n" + part + b"\n" for part in parts)
    return HEAD + f"Content-Type: multipart/{kind}; boundary=B\n\n".encode() + body + b"--B--\n"


PLAIN = b"Content-Type: text/plain\n\nDear Bob, here it is."
PDF = b"Content-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0="


def test_head_and_body_are_read(folder: Path) -> None:
    found = seen(
        folder, HEAD + b"Cc: c@example.com\nDate: Fri, 16 Dec 2022 17:04:16 -0500\n\nTotal   12.50\n"
    )

    assert found.text.split("\n")[:6] == [
        "From: Ann <ann@example.com>",
        "To: bob@example.com",
        "Cc: c@example.com",
        "Date: Fri, 16 Dec 2022 17:04:16 -0500",
        "Subject: Bill",
        "Total   12.50",
    ]


def test_attachments_come_out_and_are_named_in_the_head(folder: Path) -> None:
    found = seen(folder, mixed(PLAIN, PDF, PDF))

    assert found.parts == {"a.pdf": b"%PDF-", "a (2).pdf": b"%PDF-"}
    assert "Attachments: a.pdf, a (2).pdf" in found.text
    assert "here it is" in found.text


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (b"Content-Disposition: attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf", "résumé.pdf"),
        (b"Content-Disposition: attachment; filename*0=long; filename*1=name.pdf", "longname.pdf"),
        (
            b'Content-Disposition: attachment; filename="=?utf-8?B?UmVjaG51bmcgTcO8bGxlci5wZGY=?="',
            "Rechnung Müller.pdf",
        ),
        (
            b'Content-Disposition: attachment; filename="=?iso-8859-1?Q?M=FCller?==?iso-8859-1?Q?.pdf?="',
            "Müller.pdf",
        ),
        ('Content-Disposition: attachment; filename="größe.pdf"'.encode(), "größe.pdf"),
        ('Content-Disposition: attachment; filename="größe.pdf"'.encode("cp1252"), "größe.pdf"),
        (b'Content-Disposition: attachment; filename="../../etc/passwd"', "etc/passwd"),
        (b'Content-Type: application/pdf; name="only a name.pdf"', "only a name.pdf"),
        (b'Content-Disposition: attachment; filename="=?utf-8?B?!!!?="', "attachment 1.txt"),
        (b"Content-Type: application/pdf", "attachment 1.pdf"),
        (b"Content-Disposition: attachment; filename*=x-none''%ff.pdf", "\ufffd.pdf"),
    ],
)
def test_names_are_read_as_programs_write_them(folder: Path, fields: bytes, name: str) -> None:
    found = seen(folder, mixed(PLAIN, fields + b"\n\ncontent"))

    (read,) = found.parts
    assert read == name


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (b"=?iso-8859-8?B?+ezl7Q==?=", "שלום"),
        (b"Gr\xfc\xdfe", "Grüße"),
        ("Grüße".encode(), "Grüße"),
        (b"=?utf-8?Q?a?=\n =?utf-8?Q?b?=", "ab"),
        (b"=?broken", "=?broken"),
        (b"=?nonsense?Q?a?= b", "a b"),
    ],
)
def test_subjects_are_read_in_their_encoding(folder: Path, subject: bytes, text: str) -> None:
    found = seen(folder, b"From: a@b.c\nTo: b@c.d\nSubject: " + subject + b"\n\nx\n")

    assert f"Subject: {text}" in found.text


def test_of_two_forms_of_one_text_the_page_is_read_unless_it_hides_something(folder: Path) -> None:
    page = b"Content-Type: text/html; charset=utf-8\n\n<p>Dear Bob, here <b>it</b> really is.</p>"
    poor = b"Content-Type: text/html\n\n<img src=x>"

    assert "really is" in seen(folder, mixed(PLAIN, page, kind="alternative")).text
    assert "here it is" in seen(folder, mixed(PLAIN, poor, kind="alternative")).text
    assert "really is" in seen(folder, mixed(page, kind="alternative")).text
    assert "here it is" in seen(folder, mixed(PLAIN, kind="alternative")).text
    assert seen(folder, mixed(PDF, kind="alternative")).parts == {"a.pdf": b"%PDF-"}


def test_a_text_in_pieces_with_files_between_them_is_read_to_its_end(folder: Path) -> None:
    page = b"Content-Type: text/html\n\n<p>%b</p>"
    pieces = (page % b"before", PDF, page % b"after")
    inner = mixed(*pieces).removeprefix(HEAD).replace(b"--B", b"--C").replace(b"=B", b"=C")
    plain = b"Content-Type: text/plain\n\nbefore after"

    assert seen(folder, mixed(plain, inner, kind="alternative")).text.endswith("before\nafter")
    assert "a.pdf" in seen(folder, mixed(plain, inner, kind="alternative")).parts

    hollow = inner.replace(b"<p>before</p>", b"").replace(b"<p>after</p>", b"")
    assert seen(folder, mixed(plain, hollow, kind="alternative")).text.endswith("before after")


def test_a_logo_in_the_body_is_no_document_and_a_photo_is(folder: Path) -> None:
    field = b"Content-Type: image/png; name=%s.png\nContent-ID: <%s>\n%s\n"
    logo = field % (b"logo", b"1", b"") + b"logo"
    cited = field % (b"cited", b"2", b"Content-Disposition: attachment\n") + b"cited"
    sent = field % (b"sent", b"3", b"Content-Disposition: attachment\n") + b"sent"
    photo = field % (b"photo", b"4", b"") + b"x" * 100_001
    page = b"Content-Type: text/html\n\n<p>See <img src='cid:2'></p>"

    found = seen(folder, mixed(page, logo, cited, sent, photo))

    assert set(found.parts) == {"sent.png", "photo.png"}
    assert set(seen(folder, mixed(page, sent, kind="related")).parts) == set()


def test_a_text_with_a_name_is_a_file_unless_it_is_all_there_is(folder: Path) -> None:
    note = b"Content-Type: text/plain; name=note.txt\n\na note"

    assert seen(folder, mixed(PLAIN, note)).parts == {"note.txt": b"a note"}
    alone = seen(folder, mixed(note))
    assert alone.parts == {}
    assert "a note" in alone.text


def test_a_mail_within_a_mail_is_a_file_of_its_own(folder: Path) -> None:
    inner = b"Content-Type: message/rfc822\n\nFrom: x@y.z\nTo: a@b.c\nSubject: Inner: one\n\ninner text"

    found = seen(folder, mixed(PLAIN, inner))

    assert set(found.parts) == {"Inner one.eml"}
    within = seen(folder, found.parts["Inner one.eml"] or b"")
    assert "inner text" in within.text


INNER = b"From: x@y.z\nTo: a@b.c\nSubject: Inner =?utf-8?q?one?=\n\ninner=20text"


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("base64", base64.encodebytes(INNER)),
        ("BASE64", base64.b64encode(INNER)),
        ("quoted-printable", quopri.encodestring(INNER)),
        ("quoted-printable", INNER.replace(b"=20", b" ")),  # not encoded at all
        ("base64", INNER),
    ],
)
def test_a_mail_within_a_mail_may_be_encoded(folder: Path, encoding: str, content: bytes) -> None:
    head = f"Content-Type: message/rfc822\nContent-Transfer-Encoding: {encoding}\n\n".encode()

    found = seen(folder, mixed(PLAIN, head + content))

    assert set(found.parts) == {"Inner one.eml"}
    within = seen(folder, found.parts["Inner one.eml"] or b"")
    assert within.text.splitlines()[2] == "Subject: Inner one"
    assert "inner" in within.text


def test_a_mail_in_damaged_base64_is_kept_as_it_is(folder: Path) -> None:
    head = b"Content-Type: message/rfc822; name=a.eml\nContent-Transfer-Encoding: base64\n\n"

    assert seen(folder, mixed(PLAIN, head + b"!no base64!")).parts == {"a.eml": b"\n!no base64!"}


def test_a_digest_is_as_many_mails(folder: Path) -> None:
    one = b"\nFrom: x@y.z\nSubject: One\n\n1"
    two = b"\nFrom: x@y.z\n\n2"

    assert list(seen(folder, mixed(one, two, kind="digest")).parts) == ["One.eml", "message.eml"]


def test_a_mail_saved_as_wide_text_is_read(folder: Path) -> None:
    source = mixed(PLAIN, PDF).decode()

    for encoding in ("utf-16", "utf-16-le", "utf-8-sig"):
        found = seen(folder, source.encode(encoding))
        assert "here it is" in found.text
        assert found.parts == {"a.pdf": b"%PDF-"}


@pytest.mark.parametrize(
    "source",
    [
        mixed(b"Content-Type: application/pgp-encrypted\n\nVersion: 1", kind="encrypted"),
        HEAD + b"\n-----BEGIN PGP MESSAGE-----\nVersion: 2\n",
        HEAD + b"Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name=smime.p7m\n\nMII=",
    ],
)
def test_an_encrypted_mail_is_refused_with_advice(folder: Path, source: bytes) -> None:
    with pytest.raises(EncryptedError, match="open it in your mail program"):
        seen(folder, source)


def test_a_signature_is_no_document(folder: Path) -> None:
    signature = (
        b"Content-Type: application/pgp-signature; name=signature.asc\n\n-----BEGIN PGP SIGNATURE-----"
    )
    sealed = b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n\nMII="

    assert seen(folder, mixed(PLAIN, signature, kind="signed")).parts == {}
    assert set(seen(folder, HEAD + sealed).parts) == {"smime.p7m"}


def test_what_is_wrapped_into_a_signature_is_read(folder: Path) -> None:
    inner = mixed(PLAIN, b"Content-Disposition: attachment; filename=bill.pdf\n\n%PDF-").removeprefix(HEAD)
    signed_data = bytes.fromhex("3080 06092a864886f70d010702 a080 3080 020101 3100")
    data = bytes.fromhex("3080 06092a864886f70d010701 a080 0482") + len(inner).to_bytes(2, "big") + inner
    wrapped = signed_data + data + bytes(10)
    head = HEAD + b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"

    found = seen(folder, head + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(wrapped))

    assert set(found.parts) == {"bill.pdf"}
    assert "Subject" in found.text


def test_certificates_sent_alone_are_no_document(folder: Path) -> None:
    assert (
        seen(folder, HEAD + b"Content-Type: application/pkcs7-mime; smime-type=certs-only\n\nMII=").parts
        == {}
    )


def test_a_flowed_text_gets_its_paragraphs_back(folder: Path) -> None:
    flowed = b"Content-Type: text/plain; format=flowed\n\nOne line \nthat goes on.\n> quoted \nNext\n-- \nAnn"

    text = seen(folder, HEAD + flowed).text

    assert "One line that goes on." in text
    assert "-- \nAnn".replace(" ", "") in text.replace(" ", "")
    joined = b"Content-Type: text/plain; format=flowed; delsp=yes\n\nDonau \ndampf"
    assert "Donaudampf" in seen(folder, HEAD + joined).text


def test_the_report_of_a_delivery_is_text(folder: Path) -> None:
    report = b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nAction: failed\n"

    assert "Action: failed" in seen(folder, mixed(PLAIN, report, kind="report")).text


def test_an_empty_mail_is_refused(folder: Path) -> None:
    with pytest.raises(CorruptError, match="empty"):
        seen(folder, b"X-Mailer: x\nMIME-Version: 1.0\n\n")


def test_too_many_attachments_are_refused(folder: Path) -> None:
    path = folder / "a.eml"
    path.write_bytes(mixed(PDF, PDF, PDF))

    with (
        pytest.raises(TooLargeError, match="3 files"),
        eml.open_attachments(path, ReadingOptions(max_parts=2)),
    ):
        pass


def test_endless_nesting_is_refused(folder: Path) -> None:
    source = PLAIN
    for number in range(60):
        source = f"Content-Type: multipart/mixed; boundary=b{number}\n\n--b{number}\n".encode() + source
    with pytest.raises(CorruptError, match="too deep"):
        seen(folder, HEAD + source)


BOX = (
    b"From ann Fri Dec 16 17:04:16 2022\n"
    + HEAD
    + b"\nfirst\n>From here\n\nFrom bob Sat Dec 17 17:04:16 2022\n"
    + HEAD.replace(b"Bill", b"Other")
    + b"\nsecond\n"
)


def test_a_mailbox_is_as_many_mails(folder: Path) -> None:
    path = folder / "box"
    path.write_bytes(BOX)

    assert file_types.media_type(path) == "application/mbox"
    with eml.open_mailbox(path, OPTIONS) as held:
        parts, contents, _ = containers.take_batch(held, 0, 10**9, OPTIONS)

    assert [part.name for part in parts] == ["Bill.eml", "Other.eml"]
    assert (contents[0] or b"").endswith(b"first\nFrom here\n")
    with pytest.raises(TooLargeError, match="2 mails"), eml.open_mailbox(path, ReadingOptions(max_parts=1)):
        pass


def test_one_mail_that_begins_like_a_mailbox_is_a_mail(folder: Path) -> None:
    path = folder / "one"
    path.write_bytes(BOX.partition(b"\n\nFrom bob")[0])

    assert file_types.media_type(path) == "message/rfc822"
    assert "first" in Mail(path).text


def test_what_python_writes_is_read(folder: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Übersicht"
    message["From"] = "a@b.c"
    message["To"] = "b@c.d"
    message.set_content("Schöne Grüße")
    message.add_alternative("<p>Schöne Grüße</p>", subtype="html")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="Übersicht 発票.pdf")

    found = seen(folder, message.as_bytes())

    assert "Schöne Grüße" in found.text
    assert found.parts == {"Übersicht 発票.pdf": b"%PDF-"}


def test_damaged_base64_gives_what_there_is(folder: Path) -> None:
    part = b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n" + base64.b64encode(
        b"Total 12.50"
    )

    assert "Total 12" in seen(folder, mixed(part[:-1])).text


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")
def test_every_real_mail_is_read_or_refused_in_words() -> None:
    refused: dict[str, str] = {}
    for path in sorted((DATA / "eml").glob("*.eml")):
        try:
            file_types.media_type(path)
            Mail(path)
        except (EncryptedError, CorruptError) as error:
            refused[path.name] = error.code

    assert refused == {"empty.eml": "corrupt", "fake-encrypted.eml": "encrypted"}


def attribute(number: int, data: bytes) -> bytes:
    return struct.pack("<BLL", 1, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


WINMAIL = b"Content-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n"
WRAPPED = (
    struct.pack("<LH", 0x223E9F78, 1)
    + attribute(0x800C, b"Wrapped text\0")
    + attribute(0x9002, bytes(14))
    + attribute(0x8010, b"bill.pdf\0")
    + attribute(0x800F, b"%PDF-")
)


def test_what_outlook_wraps_counts_as_enclosed(folder: Path) -> None:
    wrapped = WINMAIL + base64.encodebytes(WRAPPED)

    alone, beside = seen(folder, HEAD + wrapped), seen(folder, mixed(PLAIN, wrapped))

    assert set(alone.parts) == {"bill.pdf"}
    assert "Wrapped text" in alone.text
    assert set(beside.parts) == {"bill.pdf"}
    assert "Wrapped text" not in beside.text


def test_a_damaged_winmail_is_kept_as_it_is(folder: Path) -> None:
    assert set(seen(folder, mixed(PLAIN, WINMAIL + b"AAAA")).parts) == {"winmail.dat"}


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
def test_a_bill_in_an_encoded_mail_within_a_mail_is_found(folder: Path) -> None:
    (path,) = (CASES / "05-mail-in-base64" / "in").iterdir()

    outer = Mail(path)
    inner = seen(folder, outer.parts["Ihre Rechnung.eml"] or b"")

    assert (inner.parts["Rechnung.pdf"] or b"").startswith(b"%PDF")
