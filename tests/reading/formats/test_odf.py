from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docmill.errors import CorruptError, EncryptedError
from docmill.reading.formats import odf
from docmill.reading.layout.typeset import Block, HeadingBlock, PageBreak, Paragraph, TableBlock

MakeZip = Callable[[Mapping[str, str]], Path]
STYLES = (
    "<s><master-styles><master-page name='Standard'><header><p>ACME</p></header><footer><p>Bank</p></footer>"
    "</master-page><master-page name='other'><header><p>unused</p></header></master-page></master-styles></s>"
)


@pytest.fixture
def text(make_zip: MakeZip) -> Callable[[str], list[Block]]:
    def read(body: str) -> list[Block]:
        content = "<c><automatic-styles><style name='P1'><paragraph-properties break-before='page'/></style>"
        content += f"<style name='P2'/></automatic-styles><body><text>{body}</text></body></c>"
        return odf.read(make_zip({"content.xml": content}))

    return read


@pytest.fixture
def sheets(make_zip: MakeZip) -> Callable[[str], list[Block]]:
    def read(body: str) -> list[Block]:
        content = f"<c><body><spreadsheet>{body}</spreadsheet></body></c>"
        return odf.read_sheets(make_zip({"content.xml": content}))

    return read


def test_headings_paragraphs_and_lists_are_read(text: Callable[[str], list[Block]]) -> None:
    found = text(
        "<tracked-changes><p>deleted</p></tracked-changes><h outline-level='2'>Invoice</h>"
        "<p>a<s c='3'/>b<tab/>c<line-break/>d<span>e</span>f<annotation><p>note</p></annotation></p>"
        "<list><list-item><p>one</p><list><list-item><p>two</p></list-item></list></list-item></list>"
        "<p style-name='P1'>next</p>"
    )

    assert found == [
        HeadingBlock("Invoice", 2),
        Paragraph("a   b\tc\ndef", is_set=True),
        Paragraph("• one"),
        Paragraph("• two"),
        PageBreak(),
        Paragraph("next"),
    ]


def test_notes_and_boxes_follow_their_paragraph(text: Callable[[str], list[Block]]) -> None:
    found = text(
        "<p>x<note><note-citation>1</note-citation><note-body><p>plus VAT</p></note-body></note>"
        "<frame><text-box><p>boxed</p></text-box></frame></p>"
    )

    assert found == [Paragraph("x[1]"), Paragraph("boxed"), Paragraph("[1] plus VAT")]


def test_tables_have_spans_and_headers(text: Callable[[str], list[Block]]) -> None:
    found = text(
        "<table><table-header-rows><table-row><table-cell number-columns-spanned='2'><p>T</p></table-cell>"
        "<covered-table-cell/></table-row></table-header-rows><table-row><table-cell><p>a</p></table-cell>"
        "<table-cell><p>b</p></table-cell></table-row></table>"
    )

    assert found == [TableBlock([["T", ""], ["a", "b"]], 1, {(0, 0): (1, 2)})]


def test_the_header_of_a_page_that_a_style_of_the_text_asks_for_is_read(make_zip: MakeZip) -> None:
    style = "<automatic-styles><style name='P1' master-page-name='other'/></automatic-styles>"
    content = f"<c>{style}<body><text><p style-name='P1'>body</p></text></body></c>"
    path = make_zip({"content.xml": content, "styles.xml": STYLES})

    assert Paragraph("unused") in odf.read(path)


def test_headers_and_footers_of_used_pages_are_read(make_zip: MakeZip) -> None:
    path = make_zip({"content.xml": "<c><body><text><p>body</p></text></body></c>", "styles.xml": STYLES})

    assert odf.read(path) == [Paragraph("ACME"), Paragraph("body"), Paragraph("Bank")]


def test_each_slide_is_a_page(make_zip: MakeZip) -> None:
    slides = "<page><frame><text-box><p>{}</p></text-box></frame></page>"
    content = f"<c><body><presentation>{slides.format(1)}{slides.format(2)}</presentation></body></c>"

    found = odf.read(make_zip({"content.xml": content}))

    assert found == [Paragraph("1"), PageBreak(), Paragraph("2"), PageBreak()]


def test_cells_are_read_as_they_are_shown(sheets: Callable[[str], list[Block]]) -> None:
    found = sheets(
        "<table name='A'><table-row><table-cell number-columns-repeated='3'/>"
        "<table-cell value='0.19'><p>19 %</p>"
        "<annotation><p>no</p></annotation></table-cell>"
        "<table-cell number-columns-spanned='2'><p>x<s/>y</p><p>z</p>"
        "</table-cell><covered-table-cell/></table-row><table-row number-rows-repeated='1048000'><table-cell "
        "number-columns-repeated='16384'/></table-row><table-row-group><table-row number-rows-repeated='2'>"
        "<table-cell><p>end</p></table-cell></table-row></table-row-group>"
        "<shapes><frame><p>boxed</p></frame></shapes></table>"
    )

    assert found == [
        TableBlock([["", "19 %", "x y\nz"], [], ["end", "", ""], ["end", "", ""]]),
        Paragraph("boxed"),
        PageBreak(),
    ]


def test_a_cell_repeated_without_end_is_limited(sheets: Callable[[str], list[Block]]) -> None:
    cell = "<table-cell number-columns-repeated='99999'><p>x</p></table-cell>"

    grid, *_ = sheets(f"<table name='A'><table-row number-rows-repeated='9999999'>{cell}</table-row></table>")

    assert isinstance(grid, TableBlock)
    assert sum(map(len, grid.rows)) <= 1_000_000


def test_a_password_is_asked_for_without(make_zip: MakeZip) -> None:
    path = make_zip({"content.xml": "x", "META-INF/manifest.xml": "<m><e><encryption-data/></e></m>"})

    with pytest.raises(EncryptedError):
        odf.read(path)


@pytest.mark.parametrize("content", ["<c/>", "no xml"])
def test_a_broken_text_is_corrupt(make_zip: MakeZip, content: str) -> None:
    with pytest.raises(CorruptError):
        odf.read(make_zip({"content.xml": content}))


def test_a_formula_without_a_value_is_shown_as_such(
    sheets: Callable[[str], list[Block]], text: Callable[[str], list[Block]]
) -> None:
    rows = (
        "<table-row><table-cell><p>Total</p></table-cell><table-cell formula='of:=SUM([.A1])'/></table-row>"
        "<table-row><table-cell><p>Empty</p></table-cell>"
        "<table-cell formula='of:=[.A1]' value-type='string' string-value=''/></table-row>"
        "<table-row><table-cell><p>Done</p></table-cell>"
        "<table-cell formula='of:=[.A1]' value-type='float' value='7'><p>7</p></table-cell></table-row>"
    )

    (sheet, *_) = sheets(f"<table name='One'>{rows}</table>")
    (table,) = text(f"<table>{rows}</table>")

    assert sheet == table == TableBlock([["Total", "#?"], ["Empty", ""], ["Done", "7"]])
