from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from docmill.model.paths import (
    is_same_value,
    leaves,
    path_of,
    set_value,
    steps_of,
    value_at,
    without_indices,
)

DATA = {"seller": {"name": "Acme"}, "lines": [{"net": 1}, {"net": 2, "notes": ["a", "b"]}], "total": None}


@pytest.mark.parametrize("path", ["total", "seller.name", "lines[1].net", "lines[1].notes[0]"])
def test_a_path_is_the_same_from_its_steps(path: str) -> None:
    assert path_of(steps_of(path)) == path


def test_a_path_without_indices_is_that_of_the_schema() -> None:
    assert without_indices("lines[12].notes[0]") == "lines[].notes[]"


@pytest.mark.parametrize(
    ("path", "value"),
    [("seller.name", "Acme"), ("lines[1].net", 2), ("lines[1].notes[1]", "b"), ("total", None)],
)
def test_a_value_is_found_at_its_path(path: str, value: object) -> None:
    assert value_at(DATA, path) == value


@pytest.mark.parametrize(
    "path", ["buyer.name", "lines[2].net", "seller.name.first", "lines.net", "seller[0]"]
)
def test_where_nothing_stands_there_is_no_value(path: str) -> None:
    assert value_at(DATA, path) is None


def test_setting_a_value_makes_what_its_path_goes_through() -> None:
    data: dict[str, Any] = {"seller": None, "lines": "none"}

    set_value(data, "seller.name", "Acme")
    set_value(data, "lines[1].net", 2)
    set_value(data, "emails[1]", "a@b.c")

    assert data == {"seller": {"name": "Acme"}, "lines": [{}, {"net": 2}], "emails": [None, "a@b.c"]}


def test_setting_a_value_keeps_what_stands_beside_it() -> None:
    data: dict[str, Any] = {"seller": {"name": "Acme", "id": "1"}, "lines": [{"net": 1}, {"net": 2}]}

    set_value(data, "seller.name", "Bolt")
    set_value(data, "lines[0].net", 3)

    assert data == {"seller": {"name": "Bolt", "id": "1"}, "lines": [{"net": 3}, {"net": 2}]}


def test_leaves_are_all_that_is_not_null() -> None:
    assert dict(leaves(DATA)) == {
        "seller.name": "Acme",
        "lines[0].net": 1,
        "lines[1].net": 2,
        "lines[1].notes[0]": "a",
        "lines[1].notes[1]": "b",
    }


def test_a_default_of_a_model_is_no_leaf() -> None:
    class Fields(BaseModel):
        name: str | None = None
        country: str = "DE"

    assert dict(leaves(Fields(name="Acme"))) == {"name": "Acme"}


def test_texts_are_the_same_by_their_letters_and_digits() -> None:
    assert is_same_value("A-12 b", "a12B")
    assert not is_same_value("A-12", "A-13")


def test_a_number_is_the_same_only_as_a_number() -> None:
    assert is_same_value(Decimal("1.50"), Decimal("1.5"))
    assert not is_same_value("1.5", Decimal("1.5"))
