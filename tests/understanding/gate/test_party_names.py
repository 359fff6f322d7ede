"""Names that are a label, an item or the title, and addresses that begin with a label."""

from collections.abc import Callable
from typing import Any

import pytest

from docmill.model.result import Failure

Judge = Callable[..., list[Failure]]


def _read(path: str, text: str) -> dict[str, tuple[Any, str]]:
    return {path: (text, text)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("seller.name", "Bill to: Atelier Nord ApS"),
        ("buyer.name", "Adverteerder: Fietsenwinkel De Ketting"),
        ("buyer.address", "Job: call out of 4 May"),
    ],
)
def test_a_label_is_no_part_of_a_name_or_address(judge: Judge, path: str, text: str) -> None:
    (failure,) = judge("party_name", f"Invoice 104\n{text}\nTotal 24.00", _read(path, text))

    assert failure.fields == (path,)
    bare = text.partition(": ")[2]
    assert not judge("party_name", f"Invoice 104\n{text}\nTotal 24.00", _read(path, bare))


def test_the_title_is_no_name(judge: Judge) -> None:
    assert judge("party_name", "Credit note\nTotal 24.00", _read("buyer.name", "Credit note"))


@pytest.mark.parametrize(
    "row", ["Tea bowl    10    13500    135000", "Packing    80.00 EUR", "Tea bowl   2 pcs  9.00"]
)
def test_an_item_is_no_name(judge: Judge, row: str) -> None:
    name = row.partition("  ")[0]

    (failure,) = judge("party_name", f"Invoice 104\n{row}", _read("buyer.name", name))

    assert failure.message.endswith("seems to be an item.")


@pytest.mark.parametrize(
    "row", ["Tea House Ltd    Invoice total  80.00", "Tea House Ltd    Number  2026", "Tea House Ltd  17"]
)
def test_a_name_may_stand_beside_something_else(judge: Judge, row: str) -> None:
    assert not judge("party_name", row, _read("seller.name", "Tea House Ltd"))


@pytest.mark.parametrize(
    "name", ["Besteller: Acme Ltd", "Tax reversed charge. Acme Ltd", "Invoice", "Tea bowl"]
)
def test_a_name_with_a_label_or_of_an_item_or_title_is_doubted(judge: Judge, name: str) -> None:
    read: dict[str, tuple[Any, str]] = {
        "buyer.name": (name, name),
        "lines[0].description": ("Tea bowl", ""),
    }

    assert judge("party_name", name, read)
    assert not judge(
        "party_name", "Prof. Acme Ltd", {**read, "buyer.name": ("Prof. Acme Ltd", "Prof. Acme Ltd")}
    )
