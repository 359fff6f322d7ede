from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.document import Document
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from docmill.errors import CorruptError
from docmill.reading.formats.docx import read
from docmill.reading.layout.typeset import Block, HeadingBlock, PageBreak, Paragraph, TableBlock

MakeZip = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def document() -> Document:
    return docx.Document()


def blocks(document: Document, folder: Path) -> list[Block]:
    document.save(str(folder / "made.docx"))
    return read(folder / "made.docx")


def add(document: Document, xml: str) -> None:
    """A paragraph or table before the body's last element, which describes the page."""
    root: Any = document.element
    root.body.insert(len(root.body) - 1, parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1)))


def test_the_body_is_read_in_order_between_headers_and_footers(document: Document, tmp_path: Path) -> None:
    section = document.sections[0]
    section.header.paragraphs[0].text = "ACME Ltd"
    section.footer.paragraphs[0].text = "Bank: 12"
    document.add_heading("Invoice", 1)
    document.add_paragraph("Dear Ms Jones")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Chair", "9.00"
    document.add_paragraph("Thanks")

    assert blocks(document, tmp_path) == [
        Paragraph("ACME Ltd"),
        HeadingBlock("Invoice", 1),
        Paragraph("Dear Ms Jones"),
        TableBlock([["Chair", "9.00"]]),
        Paragraph("Thanks"),
        Paragraph("Bank: 12"),
    ]


def test_the_header_of_an_earlier_section_is_read(document: Document, tmp_path: Path) -> None:
    document.sections[0].header.paragraphs[0].text = "ACME Ltd"
    document.add_paragraph("Invoice")
    document.add_section()

    assert blocks(document, tmp_path)[0] == Paragraph("ACME Ltd")


def test_page_breaks_tabs_and_line_breaks_are_kept(document: Document, tmp_path: Path) -> None:
    run = document.add_paragraph("Total\t5").add_run("\nnext")
    run.add_break(WD_BREAK.PAGE)
    run.add_text("second page")
    document.add_paragraph("third").paragraph_format.page_break_before = True

    assert blocks(document, tmp_path) == [
        Paragraph("Total\t5\nnext", is_set=True),
        PageBreak(),
        Paragraph("second page"),
        PageBreak(),
        Paragraph("third"),
    ]


def test_merged_cells_are_spans(document: Document, tmp_path: Path) -> None:
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "high"
    table.cell(2, 2).text = "last"

    (grid,) = blocks(document, tmp_path)

    assert grid == TableBlock(
        [["wide", "", ""], ["high", "", ""], ["", "", "last"]], spans={(0, 0): (1, 2), (1, 0): (2, 1)}
    )


def test_a_table_in_a_cell_keeps_its_columns(document: Document, tmp_path: Path) -> None:
    inner = document.add_table(1, 1).cell(0, 0).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "Net", "5"

    assert blocks(document, tmp_path) == [TableBlock([["Net   5"]])]


def test_tracked_changes_are_read_as_accepted(document: Document, tmp_path: Path) -> None:
    add(
        document,
        "<w:p><w:r><w:t>Price </w:t></w:r><w:del><w:r><w:delText>10</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>12</w:t></w:r></w:ins>"
        "<w:moveFrom><w:r><w:t> moved</w:t></w:r></w:moveFrom></w:p>",
    )

    assert blocks(document, tmp_path) == [Paragraph("Price 12")]


def test_content_controls_fields_and_hidden_text(document: Document, tmp_path: Path) -> None:
    add(
        document,
        "<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent><w:p><w:r><w:t>in control</w:t></w:r>"
        "<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        "<w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>!</w:t></w:r></w:p></w:sdtContent></w:sdt>",
    )

    assert blocks(document, tmp_path) == [Paragraph("in control!")]


def test_a_text_box_is_read_once_after_its_paragraph(document: Document, tmp_path: Path) -> None:
    box = "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
    add(
        document,
        f"<w:p xmlns:mc='m'><w:r><w:t>before</w:t><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>",
    )

    assert blocks(document, tmp_path) == [Paragraph("before"), Paragraph("boxed")]


def test_ticks_of_forms_are_shown(document: Document, tmp_path: Path) -> None:
    add(document, "<w:p><w:r><w:sym w:font='Wingdings' w:char='F0FE'/><w:t> yes</w:t></w:r></w:p>")

    assert blocks(document, tmp_path) == [Paragraph("☒ yes")]


def test_lists_are_numbered_as_word_does(document: Document, tmp_path: Path) -> None:
    for style in ("List Number", "List Number", "List Bullet"):
        document.add_paragraph("entry", style=style)

    assert blocks(document, tmp_path) == [Paragraph("1. entry"), Paragraph("2. entry"), Paragraph("• entry")]


def test_levels_count_in_letters_and_roman_numbers(document: Document, tmp_path: Path) -> None:
    numbering = document.part.numbering_part.element
    forms = ("upperRoman", "lowerLetter", "decimal")
    levels = "".join(
        f"<w:lvl w:ilvl='{at}'><w:start w:val='3'/><w:numFmt w:val='{form}'/>"
        f"<w:lvlText w:val='%1.%{at + 1})'/></w:lvl>"
        for at, form in enumerate(forms)
    )
    numbering.insert(
        0, parse_xml(f"<w:abstractNum {nsdecls('w')} w:abstractNumId='99'>{levels}</w:abstractNum>")
    )
    number = parse_xml(f"<w:num {nsdecls('w')} w:numId='99'><w:abstractNumId w:val='99'/></w:num>")
    numbering.append(number)
    for depth in (0, 1, 1, 2, 0, 1):
        properties = f"<w:numPr><w:ilvl w:val='{depth}'/><w:numId w:val='99'/></w:numPr>"
        add(document, f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>x</w:t></w:r></w:p>")

    texts = [block.text for block in blocks(document, tmp_path) if isinstance(block, Paragraph)]

    assert texts == ["III.III) x", "III.c) x", "III.d) x", "III.3) x", "IV.IV) x", "IV.c) x"]


def test_footnotes_stand_at_the_end(make_zip: MakeZip) -> None:
    path = make_zip(
        {
            "word/document.xml": f"<w:document {nsdecls('w')}><w:body><w:p><w:r><w:t>text</w:t>"
            "<w:footnoteReference w:id='7'/></w:r></w:p></w:body></w:document>",
            "word/_rels/document.xml.rels": "<r xmlns='x'><Relationship Id='1' Type='a/footnotes' "
            "Target='footnotes.xml'/></r>",
            "word/footnotes.xml": f"<w:footnotes {nsdecls('w')}><w:footnote w:id='0'/>"
            "<w:footnote w:id='7'><w:p><w:r><w:t>plus VAT</w:t></w:r></w:p></w:footnote></w:footnotes>",
        }
    )

    assert read(path) == [Paragraph("text[1]"), Paragraph("[1] plus VAT")]


def test_a_heading_may_be_one_by_its_outline(document: Document, tmp_path: Path) -> None:
    add(document, "<w:p><w:pPr><w:outlineLvl w:val='1'/></w:pPr><w:r><w:t>Terms</w:t></w:r></w:p>")

    assert blocks(document, tmp_path) == [HeadingBlock("Terms", 2)]


BROKEN = ["<w:document/>", "<a><b></a>", "", "<?xml version='1.0' encoding='odd'?><a/>"]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_document_is_corrupt(make_zip: MakeZip, content: str) -> None:
    with pytest.raises(CorruptError, match="damaged"):
        read(make_zip({"word/document.xml": content}))


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("<w:fldSimple w:instr='=SUM(ABOVE)'/>", "#?"),
        ("<w:fldSimple w:instr=' =SUM(ABOVE)'><w:r><w:t>7.00</w:t></w:r></w:fldSimple>", "7.00"),
        ("<w:fldSimple w:instr='DATE'/>", ""),
        (
            (
                "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText> =SUM(ABOVE)</w:instrText>"
                "<w:fldChar w:fldCharType='separate'/><w:fldChar w:fldCharType='end'/></w:r>"
            ),
            "#?",
        ),
        (
            (
                "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>=A1*B1</w:instrText></w:r>"
                "<w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>9.00</w:t></w:r>"
                "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
            ),
            "9.00",
        ),
        (
            (
                "<w:r><w:fldChar w:fldCharType='begin'/><w:fldChar w:fldCharType='begin'/><w:instrText>PAGE"
                "</w:instrText><w:fldChar w:fldCharType='end'/><w:fldChar w:fldCharType='end'/></w:r>"
            ),
            "",
        ),
    ],
)
def test_a_formula_of_a_table_without_a_result_is_shown_as_such(
    document: Document, tmp_path: Path, field: str, shown: str
) -> None:
    add(
        document,
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Total</w:t></w:r></w:p></w:tc>"
        f"<w:tc><w:p>{field}</w:p></w:tc></w:tr></w:tbl>",
    )

    assert blocks(document, tmp_path) == [TableBlock([["Total", shown]])]
