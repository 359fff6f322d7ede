from decimal import Decimal

import numpy as np
import pytest
from tools.page_model.decode import PlacedValue, text_spans, value_spans

from docmill.understanding.page_model.model import PageReading


def _reading(shares: list[float], goes_on: list[float]) -> PageReading:
    return PageReading(
        ("none", "value"),
        np.array([[1 - share, share] for share in shares], np.float32),
        np.array(goes_on, np.float32),
    )


def test_a_text_is_the_run_of_words_of_its_role() -> None:
    reading = _reading([0.97, 0.95, 0.02, 0.01], [0.0, 1.0, 0.0, 0.0])

    spans = text_spans(["Café", "Central", "Wien", "1010"], [(0, 2), (2, 4)], reading, role=1)

    assert spans[0].value == "Café Central"
    assert spans[0].words == (0, 1)
    assert spans[0].probability > 0.8


def test_a_doubtful_word_within_a_line_belongs_to_the_text() -> None:
    reading = _reading([0.4, 0.97, 0.97, 0.97], [0.0, 0.6, 1.0, 1.0])

    spans = text_spans(["C", "W", "KHOO", "HARDWARE"], [(0, 4)], reading, role=1)

    assert spans[0].value == "C W KHOO HARDWARE"


def test_other_cuts_of_a_text_are_its_rivals_with_less_probability() -> None:
    reading = _reading([0.9, 0.9, 0.55, 0.1], [0.0, 1.0, 1.0, 0.0])

    spans = text_spans(["Zum", "Adler", "Gasthof", "Tel"], [(0, 4)], reading, role=1)

    probabilities = [span.probability for span in spans]
    assert len(spans) > 1
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1


def test_a_page_without_words_of_the_role_has_no_text() -> None:
    reading = _reading([0.01, 0.02], [0.0, 0.0])

    assert text_spans(["a", "b"], [(0, 2)], reading, role=1) == []


def test_equal_values_at_several_places_are_one_value() -> None:
    reading = _reading([0.5, 0.1, 0.45], [0.0, 0.0, 0.0])
    candidates = [
        PlacedValue(Decimal("9.50"), (0,), 1.0),
        PlacedValue(Decimal("1.00"), (1,), 1.0),
        PlacedValue(Decimal("9.50"), (2,), 1.0),
    ]

    spans = value_spans(candidates, reading, role=1)

    assert [span.value for span in spans] == [Decimal("9.50"), Decimal("1.00")]
    assert spans[0].words == (0,)
    assert spans[0].probability == pytest.approx(0.95)


def test_a_whole_number_comes_before_its_parts() -> None:
    reading = _reading([0.6, 0.99], [0.0, 0.9])
    candidates = [
        PlacedValue("1030773", (1,), 1.0),
        PlacedValue("TV1 1030773", (0, 1), 1.0),
        PlacedValue("0773", (1,), 0.5),
    ]

    spans = value_spans(candidates, reading, role=1)

    assert [span.value for span in spans] == ["TV1 1030773", "1030773", "0773"]
