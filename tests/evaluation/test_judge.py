from typing import Any

from docmill.evaluation.judge import Judge, JudgedValue, leaf_fields

KINDS: Any = {"gross_total": "decimal", "lines[].net_amount": "decimal", "lines[].description": "text"}


def _judged(true: dict[str, Any], said: dict[str, Any]) -> list[JudgedValue]:
    return Judge(KINDS, leaf_fields(true)).cells(true, said)


def test_what_the_truth_does_not_name_is_not_judged() -> None:
    assert _judged({"number": "1"}, {"number": "1", "gross_total": "5"}) == [
        JudgedValue("number", "1", "1", "number", ("S0", "S1", "S2", "S3"))
    ]


def test_a_value_is_missing_wrong_or_too_much() -> None:
    cells = _judged(
        {"number": "1", "seller": {"name": "A", "vat_id": None}, "currency": None},
        {"number": None, "seller": {"name": "B", "vat_id": "DE1"}},
    )

    assert [(cell.field, cell.true, cell.read, cell.is_right) for cell in cells] == [
        ("number", "1", None, False),
        ("seller.name", "A", "B", False),
        ("seller.vat_id", None, "DE1", False),
    ]


def test_items_are_paired_so_that_most_is_right() -> None:
    true = [{"description": "Nuts", "net_amount": 1}, {"description": "Bolts", "net_amount": 2}]
    said = [
        {"description": "Glue", "net_amount": "9", "unit": "kg"},
        {"description": "Bolts", "net_amount": "2.00"},
        {"description": "Nuts", "net_amount": "1.00"},
    ]

    cells = _judged({"lines": true}, {"lines": said})

    assert [(cell.path, cell.is_right) for cell in cells] == [
        ("lines[2].description", True),
        ("lines[2].net_amount", True),
        ("lines[1].description", True),
        ("lines[1].net_amount", True),
        ("lines[0].description", False),
        ("lines[0].net_amount", False),
    ]


def test_items_with_nothing_in_common_are_missing_and_too_many() -> None:
    cells = _judged({"lines": [{"description": "Nuts"}]}, {"lines": [{"description": "Glue"}]})

    assert [(cell.true, cell.read) for cell in cells] == [("Nuts", None), (None, "Glue")]


def test_an_object_or_list_that_is_not_there_was_read_in_vain() -> None:
    judge = Judge(KINDS, frozenset({"seller.name", "lines[].description", "tags[]"}))

    cells = judge.cells(
        {"seller": None, "lines": None, "tags": []},
        {"seller": {"name": "A"}, "lines": [{"description": "x", "more": [1]}], "tags": ["t"]},
    )

    assert [(cell.path, cell.read) for cell in cells] == [
        ("seller.name", "A"),
        ("lines[0].description", "x"),
        ("tags[0]", "t"),
    ]


def test_a_path_may_be_written_in_one_word() -> None:
    true = {"seller.name": "A", "buyer.name": "B"}

    cells = _judged(true, {"seller": {"name": "A"}, "buyer": None})

    assert [cell.is_right for cell in cells] == [True, False]


def test_lists_and_objects_that_were_not_read_are_missing() -> None:
    cells = _judged({"lines": [{"description": "x"}], "seller": {"name": "A"}, "ok": True}, {})

    assert [(cell.field, cell.true, cell.path) for cell in cells] == [
        ("lines[].description", "x", None),
        ("seller.name", "A", None),
        ("ok", "true", None),
    ]


def test_the_fields_of_an_empty_list_are_not_known() -> None:
    assert leaf_fields({"lines": [], "seller": {"name": None}}) == {"lines[]", "seller.name"}
