"""Formulas that no program has calculated: their values are unknown, and a person is asked."""

import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

import docmill
from docmill.model.cells import NO_RESULT, is_without_result, shown_text
from docmill.model.paths import leaves
from docmill.presentation.file_result import FileResult
from docmill.understanding.formulas import UNCALCULATED

CASES = Path(__file__).parents[3] / "shared" / "cases"
INVOICE = [
    ["Papierhaus Lindner GmbH"],
    ["Hafenstraße 12, 20457 Hamburg"],
    [],
    ["Rechnung", "", "Rechnungsnummer", "Z-3"],
    ["", "", "Rechnungsdatum", "10.06.2025"],
    [],
    ["Bezeichnung", "Menge", "Einzelpreis", "Betrag"],
    ["Ware 1", 2, 100.00, "=B8*C8"],
    ["Ware 2", 1, 50.00, "=B9*C9"],
    [],
    ["", "", "Nettobetrag", "=SUM(D8:D9)"],
    ["", "", "zzgl. 19 % USt", "=D11*0.19"],
    ["", "", "Gesamtbetrag EUR", "=D11+D12"],
]
SUMS = ("net_total", "tax_total", "gross_total", "amount_due")


def amounts_of(result: FileResult) -> dict[str, str]:
    assert result.extraction is not None
    values = dict(leaves(result.extraction.data))
    return {path: str(value) for path, value in values.items() if path in SUMS or path.endswith("net_amount")}


def failures_of(result: FileResult) -> dict[str, str]:
    assert result.verdict is not None
    return {failure.check: failure.message for failure in result.verdict.failures}


def test_a_total_without_a_result_is_unknown_in_a_workbook(tmp_path: Path) -> None:
    workbook = Workbook()
    sheet = workbook.active
    assert isinstance(sheet, Worksheet)
    for row in INVOICE:
        sheet.append(row)
    workbook.save(tmp_path / "invoice.xlsx")

    result = docmill.process_file(tmp_path / "invoice.xlsx")

    assert amounts_of(result) == {}
    assert failures_of(result)["formulas"] == UNCALCULATED
    assert result.status == "needs_review"
    assert result.classification is not None
    assert "100" not in (result.classification.summary or "")


def test_a_total_without_a_result_is_unknown_in_a_table_of_text(tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    path.write_text("\n".join(";".join(map(str, row)) for row in INVOICE), encoding="utf-8")

    result = docmill.process_file(path)

    assert amounts_of(result) == {}
    assert "formulas" in failures_of(result)


def test_a_file_whose_formulas_have_results_is_not_asked_about(tmp_path: Path) -> None:
    results = {"=B8*C8": 200, "=B9*C9": 50, "=SUM(D8:D9)": 250, "=D11*0.19": 47.5, "=D11+D12": 297.5}
    rows = [[str(results.get(str(cell), cell)) for cell in row] for row in INVOICE]
    path = tmp_path / "invoice.csv"
    path.write_text("\n".join(map(";".join, rows)), encoding="utf-8")

    result = docmill.process_file(path)

    assert amounts_of(result)["gross_total"] == "297.5"
    assert "formulas" not in failures_of(result)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=SUM(D2:D9)", NO_RESULT),
        ("=D11*0,19", NO_RESULT),
        ("= -$B$3", NO_RESULT),
        ("=-30", NO_RESULT),
        ("=40*5", NO_RESULT),
        ("=WENN(A1>0;1;2)", NO_RESULT),
        ('="0012345"', "0012345"),
        ('="say ""so"""', 'say "so"'),
        ("=====", "====="),
        ("= equal to all", "= equal to all"),
        (" 12,50 ", "12,50"),
    ],
)
def test_a_formula_in_a_text_file_is_no_text(cell: str, shown: str) -> None:
    assert shown_text(cell) == shown


@pytest.mark.parametrize("word", [NO_RESULT, "#REF!", "#N/A", "#VALUE!", "#WERT!", "#NV", "Err:508"])
def test_errors_are_no_results(word: str) -> None:
    assert is_without_result(word)


@pytest.mark.parametrize("word", ["#12", "100.00", "N/A", "#1!", "Err:1"])
def test_other_words_are_no_errors(word: str) -> None:
    assert not is_without_result(word)


def test_an_error_as_total_is_told(tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    path.write_text(
        "\n".join(";".join(str(cell).replace("=D11+D12", "#REF!") for cell in row) for row in INVOICE[:7])
        + "\nWare 1;2;100,00;200,00\n\n;;Gesamtbetrag EUR;#REF!\n",
        encoding="utf-8",
    )

    result = docmill.process_file(path)

    assert not set(SUMS) & amounts_of(result).keys()
    assert "formulas" in failures_of(result)


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not here")
@pytest.mark.parametrize("name", ["y1-nocache.xlsx", "z1-xlsxwriter.xlsx", "z3-ods.ods", "z4-bookings.xlsx"])
def test_files_that_people_met_are_not_ready(name: str) -> None:
    (path,) = CASES.glob(f"*/in/{name}")
    assert zipfile.is_zipfile(path)

    result = docmill.process_file(path)

    assert amounts_of(result) == {}
    assert "formulas" in failures_of(result)
