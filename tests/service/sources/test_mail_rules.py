import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.model.document import Part
from docmill.service.intake.attachment_kinds import is_left_out, is_of_kind
from docmill.service.sources.imap.body_structure import attachment_names
from docmill.service.sources.mail.mail_rules import AttachmentName, MailRules, fits_sender

PDF = AttachmentName("a.pdf", "application/pdf")


@pytest.mark.parametrize(
    ("sender", "wanted", "fits"),
    [
        ("Shop <Bills@Shop.example>", "bills@shop.example", True),
        ("bills@shop.example", "shop.example", True),
        ("bills@eu.shop.example", "@shop.example", True),
        ("bills@myshop.example", "shop.example", False),
        ('"bills@shop.example" <eve@evil.example>', "shop.example", False),
        ("a@x.shop.example", "*@*.shop.example", True),
        ("a@shop.example", "*@*.shop.example", False),
        ("", "shop.example", False),
        ("no address", "*", False),
    ],
)
def test_senders_are_addresses_domains_and_patterns(sender: str, wanted: str, *, fits: bool) -> None:
    assert fits_sender(sender, wanted) is fits


def test_a_mail_must_fit_all_rules() -> None:
    rules = MailRules(["shop.example"], ["Rechnung", "invoice"], ["pdf"])

    assert rules.take("a@shop.example", "Ihre RECHNUNG 7", [PDF])
    assert rules.take("a@shop.example", "invoice", None)
    assert not rules.take("a@other.example", "invoice", [PDF])
    assert not rules.take("a@shop.example", "Hello", [PDF])
    assert not rules.take("a@shop.example", "invoice", [])
    assert MailRules().take("", "", [])


@pytest.mark.parametrize(
    ("name", "media_type", "kinds", "is_one"),
    [
        ("a.PDF", None, ["pdf"], True),
        ("a.pdf", "application/octet-stream", [".pdf"], True),
        ("a.pdf", "application/octet-stream", ["application/pdf"], True),
        ("a", "application/pdf", ["pdf"], True),
        ("a.jpeg", None, ["image/*"], True),
        ("a.jpeg", None, ["jpg"], True),
        ("a.docx", None, ["pdf", "image/*"], False),
        ("a", "application/octet-stream", ["pdf"], False),
        ("Forwarded.eml", None, ["pdf"], True),
        ("", "message/rfc822", ["pdf"], True),
        ("winmail.dat", None, ["pdf"], True),
    ],
)
def test_kinds_are_endings_and_media_types(
    name: str, media_type: str | None, kinds: list[str], *, is_one: bool
) -> None:
    assert is_of_kind(name, kinds, media_type) is is_one


def test_attachments_of_other_kinds_are_left_out_and_nothing_else() -> None:
    assert is_left_out(Part("a.docx", "attachment"), ["pdf"])
    assert not is_left_out(Part("a.pdf", "attachment"), ["pdf"])
    assert not is_left_out(Part("a.docx", "member"), ["pdf"])
    assert not is_left_out(Part("a.docx", "attachment"), None)
    assert not is_left_out(Part("a.docx", "attachment"), "pdf")


TEXT = (b"text", b"plain", (b"charset", b"utf-8"), None, None, b"7bit", 10, 1, None, None, None)


def file(name: tuple[bytes, ...], kind: tuple[bytes, bytes] = (b"application", b"pdf")) -> tuple[object, ...]:
    return (*kind, None, None, None, b"base64", 99, None, (b"attachment", name), None, None)


def test_attachments_are_named_by_the_structure_of_a_mail() -> None:
    inner = ([TEXT, file((b"filename", b"inner.pdf"))], b"mixed")
    envelope = (
        b"date",
        b"subject",
        ((b"A", None, b"a", b"b.c"),),
        None,
        None,
        None,
        None,
        None,
        None,
        b"<1>",
    )
    nested = (b"message", b"rfc822", None, None, None, b"7bit", 500, envelope, inner, 20, None, None, None)
    raw = (b"message", b"rfc822", None, None, None, b"7bit", 500, envelope, (TEXT, TEXT, b"mixed"), 20)
    found = attachment_names(
        (
            [
                ([TEXT, (b"text", b"html", None, None, None, b"7bit", 10, 1)], b"alternative"),
                file((b"filename", b"=?utf-8?q?R=C3=A9.pdf?=")),
                file((b"filename*0*", b"utf-8''long%20", b"filename*1*", b"name.pdf")),
                (b"image", b"png", (b"name", b"logo.png"), b"<1>", None, b"base64", 9),
                nested,
                raw,
            ],
            b"mixed",
            (b"boundary", b"x"),
            None,
        )
    )
    assert [(one.name, one.media_type) for one in found] == [
        ("Ré.pdf", "application/pdf"),
        ("long name.pdf", "application/pdf"),
        ("logo.png", "image/png"),
        ("inner.pdf", "application/pdf"),
    ]
    assert attachment_names(TEXT) == []


nonsense = st.recursive(
    st.none() | st.integers() | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=9) | st.lists(inner, max_size=9).map(tuple),
    max_leaves=40,
)


@given(nonsense)
def test_no_structure_stops_the_others(structure: object) -> None:
    attachment_names(structure)
