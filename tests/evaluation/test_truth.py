import json
from pathlib import Path
from typing import Any

import pytest

from docmill.errors import MisconfiguredError
from docmill.evaluation.truth import Truth, known_fields, read_truths, sources_of
from docmill.schemas.registry import REGISTRY


def _lines(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_a_line_is_the_truth_of_a_document(tmp_path: Path) -> None:
    file = _lines(
        tmp_path / "truth.jsonl",
        '{"source": "a.pdf", "document_type": "invoice", "group": 7, "data": {"gross_total": 119.10}}',
        "",
        {"source": "b.pdf", "document_type": "receipt"},
    )

    assert read_truths(file) == [
        Truth("a.pdf", {"gross_total": "119.10"}, "invoice", "7"),
        Truth("b.pdf", {}, "receipt"),
    ]


def test_a_folder_holds_a_file_per_document(tmp_path: Path) -> None:
    (tmp_path / "2026").mkdir()
    _lines(tmp_path / "2026/a.json", {"number": "1"})
    _lines(tmp_path / "b.pdf.json", {"document_type": "invoice", "data": {"number": "2"}})

    assert read_truths(tmp_path) == [
        Truth("2026/a", {"number": "1"}),
        Truth("b.pdf", {"number": "2"}, "invoice"),
    ]


def test_one_object_holds_the_truths_by_file(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    file.write_text('{"a.pdf": {"seller.name": "A", "total": 1.10},\n "b.pdf": {"seller": {"name": "B"}}}')

    assert read_truths(file) == [
        Truth("a.pdf", {"seller": {"name": "A"}, "total": "1.10"}),
        Truth("b.pdf", {"seller": {"name": "B"}}),
    ]


def test_a_table_has_a_row_for_each_file(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    file.write_text("file,seller.name,seller.vat_id,total\na.pdf,A,DE1,\n", encoding="utf-8-sig")

    assert read_truths(file) == [Truth("a.pdf", {"seller": {"name": "A", "vat_id": "DE1"}})]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("truth.csv", "name,total\na.pdf,1\n", 'line 2 of .* has no "file"'),
        ("truth.json", '{"a.pdf": {"seller": "A", "seller.name": "B"}}', "both 'seller' and 'seller.name'"),
    ],
)
def test_what_is_no_truth_by_file_is_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(MisconfiguredError, match=said):
        read_truths(tmp_path / name)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no truth"),
        (["{"], "line 1 of .* is no JSON"),
        (["[]"], "must be an object"),
        (["{}"], 'has no "source"'),
        ([{"source": "a", "data": [1]}], '"data" of line 1 .* must be an object'),
        ([{"source": "a", "number": "1"}], "unknown key 'number'; .* fields go into data"),
        ([{"source": "a"}, {"source": "a"}], "speaks of 'a' twice"),
    ],
)
def test_what_is_no_truth_is_refused(tmp_path: Path, lines: list[Any], said: str) -> None:
    with pytest.raises(MisconfiguredError, match=said):
        read_truths(_lines(tmp_path / "truth.jsonl", *lines))


def test_a_truth_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="there is no truth"):
        read_truths(tmp_path / "none.jsonl")


def test_a_truth_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(MisconfiguredError, match="text file"):
        read_truths(tmp_path / "truth.jsonl")


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(MisconfiguredError, match="'gros_total' that is not there; do you mean 'gross_total'"):
        known_fields([Truth("a", {"gros_total": "1"}, "invoice")], REGISTRY)


def test_a_field_of_no_type_leads_to_schemas_of_ones_own() -> None:
    with pytest.raises(MisconfiguredError, match=r"'advertiser' that is not there; there are .*--schema"):
        known_fields([Truth("a", {"advertiser": "A"})], REGISTRY)


def test_a_field_like_none_names_them_all() -> None:
    with pytest.raises(MisconfiguredError, match="there are number, issue_date"):
        known_fields([Truth("a", {"§": "1"}, "delivery_note")], REGISTRY)


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(MisconfiguredError, match="do you mean 'invoice'"):
        known_fields([Truth("a", {}, "invoic")], REGISTRY)


def test_a_truth_without_a_type_may_name_the_fields_of_any() -> None:
    known = known_fields([Truth("a", {"tip": "1", "period_end": "2026-01-01"})], REGISTRY)

    assert known.labelled == {"tip", "period_end"}
    assert known.kinds["tip"] == "decimal"


def test_what_is_said_not_to_be_there_means_all_within() -> None:
    known = known_fields([Truth("a", {"seller": None, "transactions": []})], REGISTRY)

    assert {"seller.name", "seller.vat_id", "transactions[].amount"} <= known.labelled


def test_an_empty_list_means_what_other_documents_name() -> None:
    known = known_fields([Truth("a", {"lines": []}), Truth("b", {"lines": [{"unit": "kg"}]})], REGISTRY)

    assert known.labelled == {"lines[].unit"}


def test_a_source_may_leave_out_the_ending() -> None:
    truths = [Truth("2026/a", {}), Truth("b.pdf", {}), Truth("c", {})]

    found = sources_of(truths, ["2026/a.pdf", "b.pdf", "b.pdf.txt", "a.pdf"])

    assert found == {"2026/a.pdf": truths[0], "b.pdf": truths[1]}


def test_a_source_that_two_files_have_is_refused() -> None:
    with pytest.raises(MisconfiguredError, match=r"'a.jpg' or 'a.pdf'; give the ending"):
        sources_of([Truth("a", {})], ["a.jpg", "a.pdf"])


def test_lines_and_cells_end_where_their_file_says(tmp_path: Path) -> None:
    lines = tmp_path / "truth.jsonl"
    lines.write_text('{"source": "a.pdf", "data": {"number": "1\u2028x"}}\n', encoding="utf-8")
    table = tmp_path / "truth.csv"
    table.write_text('file,seller.address\na.pdf,"1 Street\nTown"\n', encoding="utf-8")

    assert read_truths(lines)[0].data == {"number": "1\u2028x"}
    assert read_truths(table)[0].data == {"seller": {"address": "1 Street\nTown"}}


def test_a_type_that_is_no_text_is_refused(tmp_path: Path) -> None:
    lines = tmp_path / "truth.jsonl"
    lines.write_text('{"source": "a.pdf", "document_type": [], "data": {}}\n')

    with pytest.raises(MisconfiguredError, match="document_type"):
        read_truths(lines)
