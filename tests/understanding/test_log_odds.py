"""Tests of the log-odds of probabilities."""

import pytest

from docmill.understanding.log_odds import log_odds, shift_probability


def test_a_certain_value_has_the_log_odds_of_the_clip() -> None:
    assert log_odds(1.0, clip=0.01) == log_odds(0.99, clip=0.0)
    assert log_odds(0.0, clip=0.01) == pytest.approx(-log_odds(1.0, clip=0.01))


def test_evidence_for_and_against_of_one_weight_cancels() -> None:
    assert shift_probability(0.8, 0.0, clip=0.001) == pytest.approx(0.8)
    assert shift_probability(shift_probability(0.8, 3.0, clip=0.001), -3.0, clip=0.001) == pytest.approx(0.8)
