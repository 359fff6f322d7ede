"""What tells that a paper is from the United States."""

import pytest

from docmill.understanding.text.united_states import has_us_address, has_us_phone


@pytest.mark.parametrize(
    "text", ["Springfield, IL 62701", "Clayton. GA 30525-1234", "PO BOX 9 DALLAS TX 75225"]
)
def test_a_state_with_its_zip_code_is_an_address(text: str) -> None:
    assert has_us_address(text)


@pytest.mark.parametrize("text", ["10115 Berlin", "AG 10115", "TX 752", "50450 KL 75225"])
def test_other_codes_are_none(text: str) -> None:
    assert not has_us_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "(386) 555-8625",
        "Phone: 214-555-1299",
        "+1 212 555 7799",
        "P: 212 555.7799",
        "Tel 212 555 7799",
        "212 555 7799",
    ],
)
def test_a_number_of_the_north_american_plan_tells_the_country(text: str) -> None:
    assert has_us_phone(f"Corner Diner\n{text}\nTotal 12.50")


@pytest.mark.parametrize(
    "text",
    [
        "416-555-1299 HST 13 %",
        "416-555-1299 Toronto M5V 2T6",
        "Tel 03-7726 8625",
        "030 555 86 25",
        "604-555-8625 GST 5 %",
        "reference 9214-555-12990",
        "NHS No: 943 476 5919",
    ],
)
def test_a_number_beside_words_of_another_country_does_not(text: str) -> None:
    assert not has_us_phone(text)
