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


@pytest.mark.parametrize(
    "name", ["Cliente Restaurante El Faro S.L.", "F\u00fcr Praxis Dr. Ahlers", "Voor Bakkerij Jansen"]
)
def test_a_seller_that_begins_with_the_label_of_the_buyer_puts_both_in_doubt(judge: Judge, name: str) -> None:
    page = f"{name}\n\nOlmedo S.L."
    names = {"seller.name": (name, name), "buyer.name": ("Olmedo S.L.", "Olmedo S.L.")}

    (failure,) = judge("party_name", page, names)

    assert failure.fields == ("seller.name", "buyer.name")


def test_the_own_label_of_a_party_may_be_part_of_its_name(judge: Judge) -> None:
    page = "Lieferant GmbH\n\nKunden AG Mitte"
    names = {"seller.name": ("Lieferant GmbH",) * 2, "buyer.name": ("Kunden AG Mitte",) * 2}

    assert judge("party_name", page, names) == []


def test_a_title_behind_a_name_is_no_part_of_it(judge: Judge) -> None:
    firm = "Imprimerie Vasseur SAS"
    page = f"{firm} PROPOSITION COMMERCIALE"

    (failure,) = judge("party_name", page, _read("seller.name", page))

    assert "a title behind it" in failure.message
    assert judge("party_name", page, _read("seller.name", firm)) == []
    assert judge("party_name", "VASSEUR SAS LYON", _read("seller.name", "VASSEUR SAS LYON")) == []
