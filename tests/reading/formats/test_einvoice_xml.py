"""E-invoices without a page of their own are laid out for people."""

from pathlib import Path

import pytest

from docmill.reading.formats.text_files import LARGE_GROUP, read_xml
from docmill.reading.layout.typeset import Block, HeadingBlock, Paragraph, TableBlock

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
PARTY = """
<cac:AccountingSupplierParty><cac:Party>
  <cbc:EndpointID schemeID="EM">post@hafen.example</cbc:EndpointID>
  <cac:PostalAddress><cbc:CityName>Kiel</cbc:CityName></cac:PostalAddress>
</cac:Party></cac:AccountingSupplierParty>
"""
LINE = """
<cac:InvoiceLine><cbc:ID>{0}</cbc:ID><cbc:InvoicedQuantity unitCode="C62">2</cbc:InvoicedQuantity>
  <cbc:LineExtensionAmount currencyID="EUR">20.00</cbc:LineExtensionAmount></cac:InvoiceLine>
"""
CII = b"""<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100">
<rsm:ExchangedDocument><ID>R-1</ID><IssueDateTime><DateTimeString format="102">20260301</DateTimeString>
</IssueDateTime></rsm:ExchangedDocument></rsm:CrossIndustryInvoice>"""


def _invoice(body: str) -> str:
    return (
        f'<Invoice xmlns="{UBL}Invoice-2" xmlns:cac="{UBL}CommonAggregateComponents-2"'
        f' xmlns:cbc="{UBL}CommonBasicComponents-2"><!-- made by hand --><cbc:ID>R-1</cbc:ID>{body}</Invoice>'
    )


def _read(path: Path, content: str | bytes) -> list[Block]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_xml(path)


def test_names_become_words_and_groups_headings(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.xml", _invoice(PARTY)) == [
        HeadingBlock("Invoice"),
        TableBlock([("ID", "R-1")]),
        HeadingBlock("Accounting supplier party", 2),
        TableBlock([("Party: Endpoint ID", "post@hafen.example"), ("Postal address: City name", "Kiel")]),
    ]


def test_what_comes_several_times_is_counted_and_amounts_have_their_unit(tmp_path: Path) -> None:
    blocks = _read(tmp_path / "a.xml", _invoice(LINE.format(1) + LINE.format(2)))

    assert [block for block in blocks if isinstance(block, HeadingBlock)] == [
        HeadingBlock("Invoice"),
        HeadingBlock("Invoice line 1", 2),
        HeadingBlock("Invoice line 2", 2),
    ]
    assert blocks[-1] == TableBlock(
        [("ID", "2"), ("Invoiced quantity", "2 C62"), ("Line extension amount", "20.00 EUR")]
    )


def test_a_large_group_is_parted_again(tmp_path: Path) -> None:
    notes = "".join(f"<cbc:Note>{index}</cbc:Note>" for index in range(LARGE_GROUP))

    blocks = _read(tmp_path / "a.xml", _invoice(f"<cac:Group>{PARTY}{notes}</cac:Group>"))

    assert HeadingBlock("Accounting supplier party", 3) in blocks
    assert blocks[-1] == TableBlock([("Note", str(index)) for index in range(LARGE_GROUP)])


def test_days_without_marks_are_written_with_them(tmp_path: Path) -> None:
    assert _read(tmp_path / "a.xml", CII)[-1] == TableBlock(
        [("ID", "R-1"), ("Issue date time: Date time string", "2026-03-01")]
    )


def test_what_stands_in_an_envelope_is_taken_out(tmp_path: Path) -> None:
    space = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"
    envelope = f'<s:StandardBusinessDocument xmlns:s="{space}">{_invoice(PARTY)}</s:StandardBusinessDocument>'

    assert _read(tmp_path / "a.xml", envelope)[0] == HeadingBlock("Invoice")


@pytest.mark.parametrize(
    "content",
    [
        "<note>Other XML</note>",
        _invoice(PARTY)[:-5],
        "<!DOCTYPE Invoice [<!ENTITY a 'b'>]>" + _invoice("&a;"),
    ],
    ids=["other", "cut off", "document type"],
)
def test_all_else_is_shown_as_it_is(tmp_path: Path, content: str) -> None:
    assert _read(tmp_path / "a.xml", content)[0] == Paragraph(content, is_set=True)
