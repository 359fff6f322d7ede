from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from docmill.errors import CorruptError
from docmill.reading.formats import cells as sheets
from docmill.reading.formats.xlsx import read
from docmill.reading.layout.typeset import Block, HeadingBlock, MissingBlock, PageBreak, Paragraph, TableBlock

MakeZip = Callable[[Mapping[str, str]], Path]
WORKBOOK = {
    "xl/workbook.xml": "<workbook xmlns:r='r'><sheets><sheet name='One' r:id='1'/></sheets></workbook>",
    "xl/_rels/workbook.xml.rels": "<r><a Id='1' Type='t/worksheet' Target='sheet.xml'/>"
    "<a Id='2' Type='t/sharedStrings' Target='strings.xml'/></r>",
    "xl/strings.xml": "<sst><si><r><t>Rich</t></r><r><t> text</t></r><rPh><t>read</t></rPh></si></sst>",
}


def blocks(workbook: openpyxl.Workbook, folder: Path) -> list[Block]:
    workbook.save(folder / "made.xlsx")
    return read(folder / "made.xlsx")


@pytest.fixture
def workbook() -> openpyxl.Workbook:
    return openpyxl.Workbook()


@pytest.fixture
def sheet(workbook: openpyxl.Workbook) -> Worksheet:
    sheet = workbook.active
    assert isinstance(sheet, Worksheet)
    return sheet


def put(sheet: Worksheet, place: str, value: Any, form: str = "General") -> None:  # noqa: ANN401 - a cell's value
    sheet[place] = value
    sheet[place].number_format = form


def test_cells_are_read_as_they_are_shown(
    workbook: openpyxl.Workbook, sheet: Worksheet, tmp_path: Path
) -> None:
    put(sheet, "B2", "Date")
    put(sheet, "C2", date(2024, 3, 5), "dd.mm.yyyy")
    put(sheet, "B3", "Net")
    put(sheet, "C3", 1234.5, "#,##0.00 [$€-407]")
    put(sheet, "B5", "VAT")
    put(sheet, "C5", 0.19, "0%")
    put(sheet, "B6", sheet["A1"].value or True)

    assert blocks(workbook, tmp_path) == [
        TableBlock([["Date", "05.03.2024"], ["Net", "1,234.50 €"], [], ["VAT", "19%"], ["TRUE", ""]]),
        PageBreak(),
    ]


def test_every_sheet_is_read_hidden_ones_too_but_empty_ones_not(
    workbook: openpyxl.Workbook, sheet: Worksheet, tmp_path: Path
) -> None:
    sheet["A1"] = 1
    workbook.create_sheet("Empty")
    hidden = workbook.create_sheet("Rates")
    hidden["A1"], hidden.sheet_state = 2, "veryHidden"

    assert blocks(workbook, tmp_path) == [
        HeadingBlock("Sheet", 2), TableBlock([["1"]]), PageBreak(),
        HeadingBlock("Rates", 2), TableBlock([["2"]]), PageBreak(),
    ]  # fmt: skip


def test_merged_cells_are_spans_of_what_is_left(
    workbook: openpyxl.Workbook, sheet: Worksheet, tmp_path: Path
) -> None:
    sheet["B2"], sheet["B9"], sheet["D9"] = "Title", "a", "b"
    sheet.merge_cells("B2:E3")
    sheet.merge_cells("G5:H6")

    assert blocks(workbook, tmp_path)[0] == TableBlock(
        [["Title", ""], [], ["a", "b"]], spans={(0, 0): (1, 2)}
    )


def test_cells_far_apart_do_not_make_a_table_of_millions(
    workbook: openpyxl.Workbook, sheet: Worksheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sheet["A1"], sheet["XFD1048576"] = "first", "last"

    assert blocks(workbook, tmp_path)[0] == TableBlock([["first", ""], [], ["", "last"]])

    monkeypatch.setattr(sheets, "MAX_PLACES", 3)
    assert blocks(workbook, tmp_path)[:2] == [Paragraph("first", is_set=True), Paragraph("last", is_set=True)]


def test_too_many_cells_are_read_as_far_as_possible(make_zip: MakeZip) -> None:
    cells = "<row>" + "<c><v>7</v></c>" * 1000 + "</row>"
    path = make_zip({**WORKBOOK, "xl/sheet.xml": f"<worksheet>{cells * 501}</worksheet>"})

    grid, _, missing = read(path)

    assert isinstance(grid, TableBlock)
    assert sum(map(len, grid.rows)) == 500_000
    assert isinstance(missing, MissingBlock)
    assert "more than 500,000 cells" in missing.problem


def test_cells_of_every_type_are_read(make_zip: MakeZip) -> None:
    cells = (
        "<c t='s'><v>0</v></c><c t='s'><v>9</v></c><c t='inlineStr'><is><t>in line</t></is></c>"
        "<c t='str'><v>formula</v></c><c t='e'><v>#N/A</v></c><c t='b'><v>0</v></c>"
        "<c t='d'><v>2024-03-05T00:00:00</v></c><c><v>odd</v></c><c/><c s='99'><v>3</v></c>"
    )
    path = make_zip({**WORKBOOK, "xl/sheet.xml": f"<worksheet><row>{cells}</row></worksheet>"})

    assert read(path)[0] == TableBlock(
        [["Rich text", "in line", "formula", "#N/A", "FALSE", "2024-03-05", "odd", "3"]]
    )


def test_days_may_count_from_1904(workbook: openpyxl.Workbook, sheet: Worksheet, tmp_path: Path) -> None:
    workbook.epoch = datetime(1904, 1, 1)  # noqa: DTZ001 - as openpyxl wants it
    put(sheet, "A1", date(2024, 3, 5), "yyyy-mm-dd")

    assert blocks(workbook, tmp_path)[0] == TableBlock([["2024-03-05"]])


def test_a_damaged_sheet_is_read_up_to_the_damage(make_zip: MakeZip) -> None:
    path = make_zip({**WORKBOOK, "xl/sheet.xml": "<worksheet><row><c><v>1</v></c></row><row"})

    grid, missing, _ = read(path)

    assert grid == TableBlock([["1"]])
    assert isinstance(missing, MissingBlock)
    assert "'One' is damaged" in missing.problem


def test_text_boxes_on_a_sheet_follow_its_cells(make_zip: MakeZip) -> None:
    drawing = (
        "<d><Choice><txBody><p><r><t>boxed</t></r></p></txBody></Choice><Fallback><txBody/></Fallback></d>"
    )
    path = make_zip(
        {
            **WORKBOOK,
            "xl/sheet.xml": "<worksheet/>",
            "xl/_rels/sheet.xml.rels": "<r><a Id='1' Type='t/drawing' Target='d.xml'/></r>",
            "xl/d.xml": drawing,
        }
    )

    assert read(path) == [Paragraph("boxed"), PageBreak()]


def test_a_workbook_without_its_part_is_corrupt(make_zip: MakeZip) -> None:
    with pytest.raises(CorruptError):
        read(make_zip({"xl/other.xml": "<a/>"}))


@pytest.mark.parametrize(
    ("cell", "on_load", "shown"),
    [
        ("<c r='A1'><f>B1</f></c>", "", "#?"),
        ("<c r='A1'><f>B1</f><v></v></c>", "", "#?"),
        ("<c r='A1'><f>B1</f><v>0</v></c>", "<calcPr fullCalcOnLoad='1'/>", "#?"),
        ("<c r='A1'><f>B1</f><v>0</v></c>", "", "0"),
        ("<c r='A1'><f>B1</f><v>7</v></c>", "<calcPr fullCalcOnLoad='1'/>", "7"),
        ("<c r='A1'><v>0</v></c>", "<calcPr fullCalcOnLoad='1'/>", "0"),
        ("<c r='A1' t='str'><f>B1</f><v>text</v></c>", "", "text"),
        ("<c r='A1' t='str'><f>B1</f><v></v></c>", "", ""),
        ("<c r='A1' t='e'><f>B1</f><v>#REF!</v></c>", "", "#REF!"),
    ],
)
def test_a_formula_without_a_result_is_shown_as_such(
    make_zip: MakeZip, cell: str, on_load: str, shown: str
) -> None:
    workbook = WORKBOOK["xl/workbook.xml"].replace("</workbook>", f"{on_load}</workbook>")
    rows = (
        f"<worksheet><sheetData><row r='1'>{cell}<c r='B1' t='str'><v>x</v></c></row></sheetData></worksheet>"
    )

    (table, *_) = read(make_zip({**WORKBOOK, "xl/workbook.xml": workbook, "xl/sheet.xml": rows}))

    assert table == TableBlock([[shown, "x"] if shown else ["x"]])
