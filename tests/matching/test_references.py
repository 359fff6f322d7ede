import pytest

from docmill.matching.references import (
    are_revisions,
    has_same_pattern,
    is_contained,
    is_misreading,
    is_mistyped,
    is_partial,
    is_revision,
    is_with_more,
    payment_references,
    reference_core,
    reference_key,
    references,
    text_references,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("RE-0012/5", "re 00125"),
        ("PO.4711", "PO 47l1"),
        ("SO4711", "SO 4711"),
        ("000815", "815"),
        ("4500 O12", "4500012"),
    ],
)
def test_spelling_and_confused_letters_do_not_part_a_number(one: str, other: str) -> None:
    assert reference_key(one) == reference_key(other)


def test_letters_of_a_series_are_no_digits() -> None:
    assert reference_key("SO-4711") == "SO4711"
    assert reference_core("SO4711") == "4711"


def test_a_short_number_has_no_core() -> None:
    assert reference_core("RE00125") == ""


def test_one_field_may_name_several_numbers() -> None:
    assert [each.key for each in references("order", "PO-4711, PO-4712 und 4713")] == [
        "PO4711",
        "PO4712",
        "4713",
    ]
    assert [each.key for each in references("order", "2026/0815")] == ["20260815"]
    assert list(references("order", None)) == []


def test_numbers_in_a_text_are_found_without_dates_and_amounts() -> None:
    text = "SVWZ+RE 4711 VOM 12.03.2026 KD-NR 10023 BETRAG 1.234,56 RG-2026-00815 EREF+NOTPROVIDED"

    assert text_references(text) >= {"4711", "RE4711", "10023", "RG202600815"}
    assert not {"12032026", "123456", "1234"} & text_references(text)


def test_a_long_text_gives_no_more_numbers_than_asked_for() -> None:
    assert len(text_references(" ".join(map(str, range(10_000, 12_000))), most=50)) <= 51


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("bitte RF18 5390 0754 7034 angeben", "RF18539007547034"),
        ("21 00000 00003 13947 14300 09017", "210000000003139471430009017"),
        ("+++090/9337/55493+++", "90933755493"),
    ],
)
def test_structured_references_of_payments_are_found_by_their_check_digits(text: str, key: str) -> None:
    assert key in [each.key for each in payment_references(text)]


@pytest.mark.parametrize(
    "text", ["RF19 5390 0754 7034", "21 00000 00003 13947 14300 09018", "+++090/9337/55494+++"]
)
def test_wrong_check_digits_make_no_reference(text: str) -> None:
    assert list(payment_references(text)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("20260815", "20280815"), ("4711900", "471900"), ("4711900", "4717900"), ("123456", "124356")],
)
def test_a_misread_a_lost_and_a_swapped_character_are_misreadings(one: str, other: str) -> None:
    assert is_misreading(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("20260815", "20260816"),
        ("20260803", "20260808"),
        ("20260812", "20260821"),
        ("4711", "4717"),
        ("20260815", "20260815"),
        ("123456", "654321"),
    ],
)
def test_neighbouring_numbers_and_short_ones_are_none(one: str, other: str) -> None:
    assert not is_misreading(one, other)


def test_a_number_is_found_in_a_text_with_a_series_or_without() -> None:
    assert is_contained("RE4711", frozenset({"4711"}))
    assert is_contained("4711", frozenset({"RE4711"}))
    assert not is_contained("4711", frozenset({"47110"}))


@pytest.mark.parametrize("named", ["RE2026", "60815"])
def test_a_part_of_a_number_is_partial(named: str) -> None:
    assert is_partial("RE20260815", named)


@pytest.mark.parametrize("named", ["RE2", "815", "RE20260816", "RE20270816", "RE20260815"])
def test_neighbours_and_short_parts_are_neither_partial_nor_mistyped(named: str) -> None:
    assert not is_partial("RE20260815", named)
    assert not is_mistyped("RE20260815", named)


def test_another_digit_within_a_number_is_mistyped() -> None:
    assert is_mistyped("RE20260815", "RE20270815")
    assert not is_mistyped("RE20260815", "RE2026")


def test_zeros_that_fill_a_number_may_be_left_out_with_its_letters() -> None:
    assert is_contained("INV000355", frozenset({"355"}))
    assert is_contained("171", frozenset({"NR000171"}))
    assert not is_contained("INV000055", frozenset({"55"}))
    assert not is_contained("INV000355", frozenset({"1355"}))


def test_a_field_may_hold_another_number_beside_it() -> None:
    assert is_with_more("PO4711", "PO471110023")
    assert is_with_more("PO4711", "10023PO4711")
    assert not is_with_more("4711", "471110023")


def test_numbers_of_one_series_have_the_same_pattern() -> None:
    assert has_same_pattern("RE20260815", "RE20260999")
    assert has_same_pattern("4711", "12044")
    assert not has_same_pattern("RE20260815", "20260815")
    assert not has_same_pattern("4711", "1204499")


def test_a_letter_and_more_behind_a_number_make_it_a_revision() -> None:
    assert is_revision("PO4711", "PO4711C02")
    assert not is_revision("PO4711", "PO47111")
    assert not is_revision("PO4711", "PO4711")
    assert not is_revision("PO4711C02", "PO4711R01")
    assert are_revisions("PO4711C02", "PO4711R01")
    assert are_revisions("PO4711", "PO4711R01")
    assert not are_revisions("PO4711", "PO4712")


def test_a_number_of_four_characters_with_zeros_before_it_is_found() -> None:
    assert "457" in text_references("Rechnung 000457")
