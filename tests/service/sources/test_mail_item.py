import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.service.sources.mail.mail_item import from_addresses, mail_item

MAIL = (
    b"From: =?utf-8?q?M=C3=BCller?= <mueller@example.com>\r\nTo: invoices@example.org\r\n"
    b"Subject: Invoice 7/2026:\r\n March\r\nMessage-ID: <1@example.com>\r\n\r\nHello\r\n"
)


def test_a_mail_is_named_by_its_id_and_content() -> None:
    item = mail_item(MAIL)

    assert item.name.startswith("<1@example.com> ")
    assert item.name == mail_item(MAIL).name
    assert item.name != mail_item(MAIL + b"more").name
    assert item.file_name == "Invoice 7 2026 March.eml"
    assert item.metadata == {
        "sender": "Müller <mueller@example.com>",
        "recipient": "invoices@example.org",
        "subject": "Invoice 7/2026: March",
        "message_id": "<1@example.com>",
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\xff",
        b"Subject: " + b"x" * 200_000,
        b"From: \r\n\r\n",
        b"From: " + b"(" * 60_000 + b"\r\n\r\n",
    ],
)
def test_a_mail_with_a_damaged_header_has_a_name(content: bytes) -> None:
    item = mail_item(content)

    assert item.name
    assert len(item.file_name) <= 124


@given(st.binary(max_size=400))
def test_no_header_stops_the_others(content: bytes) -> None:
    mail_item(b"From: " + content + b"\r\nSubject: " + content + b"\r\n\r\n")


@pytest.mark.parametrize("value", [b"," * 60_000, b"(" * 60_000, b"<@a," * 15_000, b"a." * 30_000 + b"@x.y"])
def test_a_field_from_without_end_keeps_nobody_waiting(value: bytes) -> None:
    started = time.monotonic()

    assert from_addresses(b"From: " + value + b"\r\n\r\n") == []
    assert time.monotonic() - started < 1


def test_only_a_single_field_from_names_the_author() -> None:
    assert from_addresses(MAIL) == ["mueller@example.com"]
    assert from_addresses(b"From: a@x.de\r\nFROM: b@x.de\r\n\r\n") == []
