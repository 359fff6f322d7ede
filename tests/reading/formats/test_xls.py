from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlwt

from docmill.errors import CorruptError
from docmill.reading.formats import cells as sheets
from docmill.reading.formats import xls
from docmill.reading.formats.cells import Budget
from docmill.reading.layout.typeset import HeadingBlock, PageBreak, TableBlock


@pytest.fixture
def path(tmp_path: Path) -> Path:
    library: Any = xlwt
    workbook, style = library.Workbook(), library.easyxf
    first = workbook.add_sheet("First")
    first.write_merge(0, 0, 0, 1, "Rechnung für März")
    first.write(1, 0, date(2024, 3, 5), style(num_format_str="dd.mm.yyyy"))
    first.write(1, 1, 1234.5, style(num_format_str="#,##0.00"))
    first.write(2, 0, True)
    first.write(2, 1, 0.19, style(num_format_str="0%"))
    hidden = workbook.add_sheet("Hidden")
    hidden.visibility = 2
    hidden.write(5, 5, 7)
    workbook.save(str(tmp_path / "a.xls"))
    return tmp_path / "a.xls"


def test_cells_of_every_sheet_are_read_as_they_are_shown(path: Path) -> None:
    assert xls.read(path) == [
        HeadingBlock("First", 2),
        TableBlock(
            [["Rechnung für März", ""], ["05.03.2024", "1,234.50"], ["TRUE", "19%"]], spans={(0, 0): (1, 2)}
        ),
        PageBreak(),
        HeadingBlock("Hidden", 2),
        TableBlock([["7"]]),
        PageBreak(),
    ]


@pytest.mark.parametrize("at", [8, 600, 1000, 2000, 3000])
def test_a_damaged_workbook_is_corrupt_or_read(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + 200] = b"\xff" * 200
    path.write_bytes(data)

    try:
        assert xls.read(path)
    except CorruptError as error:
        assert "save it as .xlsx" in error.message  # noqa: PT017 - not every damage is noticed


def test_too_many_cells_end_the_reading(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xls, "Budget", lambda: Budget(2))

    *_, last = xls.read(path)

    assert sheets.TOO_MANY.format(count=2) in str(last)
