import pytest

from docmill.model.result import percent_of


@pytest.mark.parametrize(
    ("confidence", "percent"), [(0.0, 0), (0.29, 29), (0.57, 57), (0.9999, 99), (1.0, 100)]
)
def test_a_confidence_is_shown_in_whole_percent_rounded_down(confidence: float, percent: int) -> None:
    assert percent_of(confidence) == percent
