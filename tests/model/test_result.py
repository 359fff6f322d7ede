import pytest

from docmill.model.result import percent_of, percent_text


@pytest.mark.parametrize(
    ("confidence", "percent"), [(0.0, 0), (0.29, 29), (0.57, 57), (0.9999, 99), (1.0, 100)]
)
def test_a_confidence_is_shown_in_whole_percent_rounded_down(confidence: float, percent: int) -> None:
    assert percent_of(confidence) == percent


@pytest.mark.parametrize(
    ("confidence", "text"), [(0.0, "0 %"), (0.004, "< 1 %"), (0.01, "1 %"), (0.999, "99 %")]
)
def test_what_is_possible_is_never_shown_as_0_percent(confidence: float, text: str) -> None:
    assert percent_text(confidence) == text
