import numpy as np
import pytest

from docmill.training.scorers import calibrated
from docmill.understanding.receipts.model import SIGNS, Calibration, signs


def _signs(score: float) -> np.ndarray:
    return signs([score, 0.1], recognised=0.9, quality=0.8, length=20, mended=False, agrees=True)


@pytest.fixture(scope="module")
def curve() -> Calibration:
    draw = np.random.default_rng(3)
    scores = draw.uniform(0.02, 0.98, 1500)
    right = draw.uniform(size=1500) < scores**2
    return calibrated(np.array([_signs(score) for score in scores]), right)


@pytest.mark.parametrize("score", [0.2, 0.5, 0.8, 0.95])
def test_a_confidence_is_the_share_that_was_right(curve: Calibration, score: float) -> None:
    assert curve.confidence(_signs(score)) == pytest.approx(score**2, abs=0.13)


def test_a_curve_survives_storage(curve: Calibration) -> None:
    assert Calibration.of(curve.arrays()).confidence(_signs(0.7)) == curve.confidence(_signs(0.7))


def test_an_answer_without_rivals_has_all_its_signs() -> None:
    assert len(signs([1.0], recognised=1, quality=1, length=1, mended=True, agrees=False)) == len(SIGNS)
