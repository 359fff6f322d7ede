import pytest

from docmill.service.exports.safe_names import SafeNames, safe_name


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("bill.pdf", "bill.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..\\..\\windows\\system32", "_.._windows_system32"),
        ("/etc/passwd", "_etc_passwd"),
        ("C:\\bill.pdf", "C__bill.pdf"),
        ("..", "document"),
        (".", "document"),
        ("", "document"),
        ("///", "document"),
        ("bill.pdf\0.exe", "bill.pdf.exe"),
        ("a\nb\tc.pdf", "abc.pdf"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("NUL", "_NUL"),
        ("con.pdf", "_con.pdf"),
        ("Com1.tar.gz", "_Com1.tar.gz"),
        ("lpt\u00b9.pdf", "_lpt\u00b9.pdf"),
        ("console.pdf", "console.pdf"),
        ("bill.pdf. . ", "bill.pdf"),
        (" bill.pdf", "bill.pdf"),
        ("Rechnung Müller.pdf", "Rechnung Müller.pdf"),
        ("Mu\u0308ller.pdf", "Müller.pdf"),
        ("請求書.pdf", "請求書.pdf"),
    ],
)
def test_a_name_leads_nowhere_and_can_be_unpacked_everywhere(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_long_name_keeps_its_extension() -> None:
    name = safe_name("ü" * 400 + ".pdf")

    assert name.endswith("ü.pdf")
    assert len(name.encode()) <= 180


def test_every_name_is_given_once() -> None:
    names = SafeNames()

    given = [
        names.take(name)
        for name in ("a.pdf", "a.pdf", "A.PDF", "a (2).pdf", "a.pdf", "Mu\u0308.pdf", "Mü.pdf", "x", "x")
    ]

    assert given[:2] == ["a.pdf", "a (2).pdf"]
    assert given[-2:] == ["x", "x (2)"]
    assert len({name.casefold() for name in given}) == len(given)
