import pytest

from docmill.understanding.text.number_forms import is_after_post_box, is_amount, is_dialled, is_measure


@pytest.mark.parametrize("text", ["500ML", "1.5 kg", "6x330ml", "2X", "x 12", "25.5CM"])
def test_measures_of_goods_are_known_by_their_units(text: str) -> None:
    assert is_measure(text)


@pytest.mark.parametrize("text", ["R-2026-17", "500", "123456L", "2026/17", "X1000"])
def test_other_numbers_are_no_measures(text: str) -> None:
    assert not is_measure(text)


@pytest.mark.parametrize("before", ["P.O. Box ", "PO BOX", "Postfach ", "Beispiel AG, Boîte postale "])
def test_words_for_a_post_box_stand_right_before_its_number(before: str) -> None:
    assert is_after_post_box(before)
    assert not is_after_post_box(f"{before}12, Invoice No. ")


def test_an_amount_has_cents() -> None:
    assert is_amount("1,250.00")
    assert is_amount("$100.00")
    assert not is_amount("100")
    assert not is_amount("2026.17.00")


@pytest.mark.parametrize(
    ("before", "dialled"), [("+49 40 ", True), ("Tel. 0049 (0)40 / ", True), ("No. 4900 ", False)]
)
def test_the_code_of_a_country_begins_a_phone_number(before: str, *, dialled: bool) -> None:
    assert is_dialled(before) is dialled
