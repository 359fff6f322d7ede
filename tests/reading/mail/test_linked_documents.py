from pathlib import Path

import pytest

from docmill.reading.files import containers
from docmill.reading.files.options import ReadingOptions
from docmill.reading.mail import eml
from docmill.reading.mail.linked_documents import ONLY_LINKED, linked_documents
from docmill.reading.mail.message import MailText

HEAD = b"From: a@b.example\nSubject: Your invoice\nMIME-Version: 1.0\n"


def names(*writings: MailText) -> list[str]:
    return [member.name for member in linked_documents(writings)]


@pytest.mark.parametrize(
    ("link", "name"),
    [
        (
            '<a href="https://pay.example/x?k=1">View your <b>invoice</b></a>',
            "link to View your invoice (pay.example)",
        ),
        (
            '<a href="https://pay.example/x">Rechnung herunterladen</a>',
            "link to Rechnung herunterladen (pay.example)",
        ),
        ('<a href="https://pay.example/x">Stromrechnung</a>', "link to Stromrechnung (pay.example)"),
        ('<a href="https://pay.example/d/R%207.pdf?k=1">here</a>', "link to here (pay.example)"),
        ('<a href="https://pay.example/d/R7.PDF"></a>', "link to R7.PDF (pay.example)"),
        (
            '<a href="https://pay.example/d/R7.pdf">https://bank.example/R7.pdf</a>',
            "link to R7.pdf (pay.example)",
        ),
        (
            '<a href="https://pay.example/">Download your invoice/receipt</a>',
            "link to Download your invoice receipt (pay.example)",
        ),
    ],
)
def test_a_link_to_an_invoice_is_named_with_its_host(link: str, name: str) -> None:
    assert names(MailText(page=f"<p>Hello</p>{link}")) == [name]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="https://pay.example/unsubscribe">Unsubscribe</a>',
        '<a href="mailto:bills@pay.example">Ask about your invoice</a>',
        '<a href="javascript:alert(1)">invoice</a>',
        '<a href="https://[bad/x">invoice</a>',
        '<a href="#top">invoice</a>',
        '<a href="https://pay.example/">Visit our billboard</a>',
        "<p>invoice</p>",
    ],
)
def test_other_links_are_not_named(link: str) -> None:
    assert names(MailText(page=link)) == []


def test_addresses_in_plain_text_count_by_their_file() -> None:
    text = "Your invoice: https://pay.example/d/R7.pdf. More on https://pay.example/news"

    assert names(MailText(text)) == ["link to R7.pdf (pay.example)"]


def test_each_address_is_named_once_and_not_too_many() -> None:
    pages = "".join(f'<a href="https://pay.example/{number // 2}">invoice</a>' for number in range(40))

    assert len(names(MailText(page=pages))) == 5


def parts(path: Path) -> dict[str, str | None]:
    with eml.open_attachments(path, ReadingOptions()) as held:
        batch = containers.take_batch(held, 0, 10**9, ReadingOptions())
    return {part.name: part.problem for part in batch.parts}


def test_links_of_a_mail_without_attachments_are_parts_that_are_not_to_be_had(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    page = b'<a href="https://pay.example/x">View invoice</a>'
    path.write_bytes(HEAD + b"Content-Type: text/html\n\n" + page)
    assert parts(path) == {"link to View invoice (pay.example)": ONLY_LINKED}

    path.write_bytes(
        HEAD
        + b"Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/html\n\n"
        + page
        + b"\n--B\nContent-Type: application/pdf; name=a.pdf\n\n%PDF\n--B--\n"
    )
    assert parts(path) == {"a.pdf": None}
