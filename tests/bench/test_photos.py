from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from bench.data.photos import amounts, clock_times, days, in_reading_order, is_right


class Letters:
    """The part of the shared scorer that compares texts."""

    @staticmethod
    def s2_text(text: str) -> str:
        return "".join(filter(str.isalnum, text.upper()))


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("Eur154,40", "154.40"),
        ("$1,400.00", "1400.00"),
        (".56", "0.56"),
        ("1.234,50", "1234.50"),
        ("15", "15"),
    ],
)
def test_a_comma_before_two_final_digits_is_a_decimal_mark(text: str, amount: str) -> None:
    assert amounts(text) == {Decimal(amount)}


@pytest.mark.parametrize(
    "text", ["2018-07-04", "07/04/2018", "04/07/2018", "7/4/18", "4Jul'18", "JUL 4 2018", "20180704"]
)
def test_day_and_month_may_stand_in_either_order(text: str) -> None:
    assert date(2018, 7, 4) in days(text)


def test_times_are_compared_by_the_hour_of_half_a_day() -> None:
    assert clock_times("06:23:45PM") == clock_times("18:23:45") == {(6, 23)}


def test_a_name_may_be_one_of_the_accepted_texts_or_all_of_them_joined() -> None:
    accepted = ["ILTO'S", "Restaurant"]

    assert is_right("seller.name", "Ilto's Restaurant", accepted, Letters)
    assert is_right("seller.name", "ILTO'S", accepted, Letters)
    assert not is_right("seller.name", "Ilto", accepted, Letters)


def test_labels_are_put_in_reading_order() -> None:
    def label(text: str, x: int, y: int) -> dict[str, Any]:
        return {"text": text, "box": [x, y, x + 80, y, x + 80, y - 20, x, y - 20]}

    listed = [label("Town", 10, 60), label("12", 120, 33), label("Street", 10, 30)]
    assert in_reading_order(listed) == ["Street", "12", "Town"]


def test_labels_of_a_picture_on_its_side_stay_as_they_are_listed() -> None:
    def label(text: str, x: int) -> dict[str, Any]:
        return {"text": text, "box": [x, 100, x + 20, 100, x + 20, 10, x, 10]}

    assert in_reading_order([label("Street", 60), label("Town", 30)]) == ["Street", "Town"]
