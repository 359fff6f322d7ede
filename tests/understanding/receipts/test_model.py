import numpy as np
import pytest

from docmill.training.scorers import fit_calibration
from docmill.understanding.receipts.model import PATHS, Calibration, confidence_features, shipped


def _features(score: float) -> np.ndarray:
    return confidence_features(
        [score, 0.1], recognition=0.9, quality=0.8, length=20, corrected=False, agrees=True
    )


@pytest.fixture(scope="module")
def curve() -> Calibration:
    draw = np.random.default_rng(3)
    scores = draw.uniform(0.02, 0.98, 1500)
    right = draw.uniform(size=1500) < scores**2
    return fit_calibration(np.array([_features(score) for score in scores]), right)


@pytest.mark.parametrize("score", [0.2, 0.5, 0.8, 0.95])
def test_a_confidence_is_the_share_that_was_right(curve: Calibration, score: float) -> None:
    assert curve.confidence(_features(score)) == pytest.approx(score**2, abs=0.13)


def test_a_curve_survives_storage(curve: Calibration) -> None:
    assert Calibration.of(curve.arrays()).confidence(_features(0.7)) == curve.confidence(_features(0.7))


def test_an_answer_without_rivals_has_all_its_features() -> None:
    features = confidence_features([1.0], recognition=1, quality=1, length=1, corrected=True, agrees=False)

    assert all(features.shape == shipped().calibrations[path].weights.shape for path in PATHS.values())
