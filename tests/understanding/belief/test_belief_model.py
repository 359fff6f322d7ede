"""The shipped weights of belief, and their form in the file."""

import json

import numpy as np
import pytest

from docmill.understanding.belief.facts import FACTS
from docmill.understanding.belief.model import BeliefModel, shipped_beliefs


def test_a_model_is_the_same_after_it_was_written_and_read() -> None:
    model = shipped_beliefs()
    again = BeliefModel.of_content(json.loads(json.dumps(model.content())))
    assert again.weights.keys() == model.weights.keys()
    assert all(np.array_equal(again.weights[key], model.weights[key]) for key in model.weights)


def test_a_fact_that_a_model_does_not_name_weighs_nothing() -> None:
    model = BeliefModel.of_content({"business code": {"offset": 1.0}})
    without = model.belief("business code", np.zeros(len(FACTS)))
    assert without == model.belief("business code", np.ones(len(FACTS)))


def test_a_model_fitted_to_a_fact_that_is_gone_is_refused() -> None:
    with pytest.raises(AssertionError, match="other facts"):
        BeliefModel.of_content({"business code": {"offset": 1.0, "gone": 0.5}})
