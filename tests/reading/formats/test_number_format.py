import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from docmill.reading.formats import number_format


@pytest.mark.parametrize(
    ("number", "code", "expected"),
    [
        (1234.5, "General", "1234.5"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "General", "1e+20"),
        (1234.5, "0", "1235"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-1234.5, "#,##0.00", "-1,234.50"),
        (-1234.5, "#,##0.00;(#,##0.00)", "(1,234.50)"),
        (-5, "0;[Red]-0", "-5"),
        (0, '0.00;-0.00;"-"', "-"),
        (0, "0.00;-0.00", "0.00"),
        (-0.001, "0.00", "0.00"),
        (0.19, "0%", "19%"),
        (0.285, "0%", "29%"),
        (0.075, "0.0 %", "7.5 %"),
        (12.3, '#,##0.00\\ "€"', "12.30 €"),
        (12.3, "[$€-407] #,##0.00", "€ 12.30"),
        (12.3, '_-* #,##0.00\\ "kr"_-', "12.30 kr"),
        (1234567, "0.0,,", "1.2"),
        (7, "000", "007"),
        (0.5, "#.##", ".5"),
        (2, "0.##", "2"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.5, "# ?/?", "0.5"),
        (5, '"only text"', "only text"),
        (5, "@", "5"),
        (5, "General;@", "5"),
        (45356, "dd/mm/yyyy", "05/03/2024"),
        (45356, number_format.BUILT_IN[14], "2024-03-05"),
        (45356.5, "d. mmmm yyyy hh:mm", "5. March 2024 12:00"),
        (45356.5, "ddd d mmm yy", "Tue 5 Mar 24"),
        (45356.75, "h:mm AM/PM", "6:00 PM"),
        (0.25, "h:mm a/p", "6:00 AM"),
        (45356.000011574, "mmmmm mm:ss.00", "M 00:01.00"),
        (1.5, "[h]:mm:ss", "36:00:00"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (0.9999999, "hh:mm", "00:00"),
        (-1, "yyyy-mm-dd", "-1"),
        (1e9, "yyyy-mm-dd", "1000000000"),
        (2_958_465.9999999, "hh:mm:ss", "2958466"),
    ],
)
def test_numbers_are_shown_as_a_spreadsheet_does(number: float, code: str, expected: str) -> None:
    assert number_format.format_number(number, code) == expected


def test_days_may_count_from_1904() -> None:
    assert number_format.format_number(0, "yyyy-mm-dd", from_1904=True) == "1904-01-01"


@example(1e307, "0%")
@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(alphabet='0#?.,%;[]$dmyhsE+-/@"\\_* aAPM', max_size=20),
)
def test_any_format_shows_any_number(number: float, code: str) -> None:
    assert isinstance(number_format.format_number(number, code), str)
