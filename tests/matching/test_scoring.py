from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docmill.matching.evidence import LEVELS, Evidence
from docmill.matching.relations import RULE_OF
from docmill.matching.scoring import log_odds, probability, shipped_weights

RELATIONS = sorted(shipped_weights())


def test_every_relation_has_weights_for_every_level() -> None:
    assert set(RELATIONS) == {*RULE_OF, "duplicate"}
    for weights in shipped_weights().values():
        assert {name: len(values) for name, values in weights.items()} == {
            "bias": 1,
            **{name: len(levels) for name, levels in zip(Evidence._fields, LEVELS, strict=True)},
        }


@given(
    relation=st.sampled_from(RELATIONS),
    levels=st.tuples(*(st.sampled_from(list(levels)) for levels in LEVELS)),
    dimension=st.integers(0, len(LEVELS) - 1),
)
def test_more_evidence_never_lowers_a_score(relation: str, levels: Sequence[int], dimension: int) -> None:
    weights = shipped_weights()[relation]  # type: ignore[index]
    evidence = Evidence(*levels)  # type: ignore[arg-type]
    higher = [level for level in LEVELS[dimension] if level > levels[dimension]]

    for level in higher:
        better = evidence._replace(**{Evidence._fields[dimension]: level})
        assert log_odds(better, weights) >= log_odds(evidence, weights)


@pytest.mark.parametrize("log_odds_", [-800.0, -2.0, 0.0, 2.0, 800.0])
def test_probabilities_are_between_none_and_certain(log_odds_: float) -> None:
    assert 0 <= probability(log_odds_) <= 1
    assert probability(log_odds_) + probability(-log_odds_) == pytest.approx(1)
