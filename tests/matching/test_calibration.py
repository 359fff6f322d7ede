"""Corrections of scores are fitted to decisions, and taken only where they are better."""

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matching.records import invoice, paid, payments

from docmill.matching.calibration import (
    LEAST_LABELS,
    LEAST_OF_EACH,
    LEAST_TO_RAISE,
    Correction,
    Label,
    Trial,
    try_correction,
    with_correction,
)
from docmill.matching.decision import AUTOMATIC, SUGGESTED, decide
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair, pairs_of
from docmill.matching.scoring import probability, shipped_weights

WEIGHTS = shipped_weights()


def decisions(is_right: Callable[[float], float], count: int = 400, low: float = 0.1) -> list[Label]:
    """Decisions about links with scores from `low` to .99. is_right: the probability for a score."""
    source = random.Random(7)  # noqa: S311  a sample
    scores = [low + (0.99 - low) * index / count for index in range(count)]
    return [Label(score, source.random() < is_right(score)) for score in scores]


def tried(labels: list[Label], current: Correction | None = None) -> Trial:
    trial = try_correction(labels, current)
    assert trial is not None
    return trial


def test_scores_that_are_right_already_are_not_corrected() -> None:
    trial = tried(decisions(lambda score: score))

    assert trial.outcome == "rejected"
    assert trial.corrected_loss == pytest.approx(trial.shipped_loss, abs=0.02)


def test_scores_that_are_too_high_are_lowered_to_what_people_decide() -> None:
    trial = tried(decisions(lambda score: score**3, 2000))
    correction = trial.correction

    assert trial.outcome == "promoted"
    assert trial.corrected_loss < trial.shipped_loss
    assert correction.may_lower
    assert not correction.may_raise
    for score in (0.3, 0.6, 0.9):
        assert correction.corrected(score) == pytest.approx(score**3, abs=0.1)


def labels_of(*groups: tuple[float, bool, int]) -> list[Label]:
    return [Label(score, is_right) for score, is_right, count in groups for _ in range(count)]


GOOD = labels_of((0.8, True, 60), (0.7, True, 40), (0.15, False, 30), (0.12, False, 10))


def test_scores_that_are_too_low_are_raised_where_no_declined_link_would_become_automatic() -> None:
    trial = tried(GOOD)

    assert trial.outcome == "promoted"
    assert trial.correction.may_raise
    assert trial.correction.corrected(0.8) >= AUTOMATIC


@pytest.mark.parametrize("score", [0.8, 0.98], ids=["would be automatic", "was automatic"])
def test_one_declined_link_that_would_be_automatic_forbids_to_raise_any(score: float) -> None:
    correction = tried([*GOOD, Label(score, is_right=False)]).correction

    assert not correction.may_raise
    assert correction.corrected(0.8) < AUTOMATIC


def test_too_few_confirmed_links_allow_no_raise() -> None:
    few = labels_of((0.8, True, LEAST_TO_RAISE - 1), (0.15, False, 40))

    assert not tried(few).correction.may_raise


def test_automatic_links_are_lowered_only_where_people_declined_one() -> None:
    eager = labels_of((0.6, False, 60), (0.5, False, 20), (0.55, True, 20))

    kept, lowered = tried(eager).correction, tried([*eager, *labels_of((0.975, False, 10))]).correction

    assert not kept.may_lower
    assert kept.corrected(0.98) >= AUTOMATIC
    assert lowered.may_lower
    assert lowered.corrected(0.98) < AUTOMATIC


@pytest.mark.parametrize(
    ("confirmed", "declined"),
    [(LEAST_LABELS, LEAST_OF_EACH - 1), (LEAST_OF_EACH - 1, LEAST_LABELS), (20, LEAST_LABELS - 21)],
)
def test_few_decisions_correct_nothing(confirmed: int, declined: int) -> None:
    assert try_correction(labels_of((0.8, False, declined), (0.2, True, confirmed))) is None


def test_a_correction_that_is_no_better_than_none_any_more_is_withdrawn() -> None:
    right = decisions(lambda score: score)

    assert tried(right, Correction(3.0, -2.0)).outcome == "withdrawn"
    assert tried(right, Correction(0.98, 0.0)).outcome in ("rejected", "withdrawn")


def test_the_order_of_decisions_makes_no_difference() -> None:
    labels = decisions(lambda score: score**3, 120)

    assert try_correction(labels) == try_correction(labels[::-1])


corrections = st.builds(
    Correction,
    st.floats(0.05, 20),
    st.floats(-20, 20),
    may_raise=st.booleans(),
    may_lower=st.booleans(),
)
scores = st.floats(0, 1)


@given(corrections, scores, scores)
def test_a_higher_score_stays_the_higher_one(correction: Correction, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert 0 <= correction.corrected(low) <= correction.corrected(high) <= 1
    if not correction.may_raise and low < AUTOMATIC:
        assert correction.corrected(low) < AUTOMATIC
    if not correction.may_lower and high >= AUTOMATIC:
        assert correction.corrected(high) >= AUTOMATIC


@settings(max_examples=30)
@given(st.lists(st.builds(Label, scores, st.booleans()), min_size=LEAST_LABELS, max_size=90))
def test_no_declined_link_would_be_automatic_where_links_may_be_raised(labels: list[Label]) -> None:
    trial = try_correction(labels)

    if trial is not None and trial.correction.may_raise:
        assert all(
            trial.correction.corrected(label.score) < AUTOMATIC for label in labels if not label.is_right
        )
    if trial is not None and trial.outcome == "promoted":
        assert trial.corrected_loss < trial.shipped_loss
        assert math.isfinite(trial.correction.slope + trial.correction.offset)


def decided(*records: object) -> tuple[list[Link], list[ScoredPair]]:
    pairs = list(pairs_of(records, WEIGHTS))  # type: ignore[arg-type]
    return decide(pairs, WEIGHTS), pairs


def rescored(pairs: list[ScoredPair], log_odds: float) -> list[ScoredPair]:
    return [replace(pair, log_odds=log_odds) for pair in pairs]


def test_a_suggestion_becomes_automatic_and_an_automatic_link_a_suggestion() -> None:
    _, pairs = decided(invoice(), *payments(paid()))
    unsure, sure = rescored(pairs, 1.0), rescored(pairs, 3.0)

    (raised,) = with_correction(decide(unsure, WEIGHTS), unsure, Correction(1.0, 4.0, may_raise=True))
    (lowered,) = with_correction(decide(sure, WEIGHTS), sure, Correction(1.0, -2.0, may_lower=True))
    dropped = with_correction(decide(unsure, WEIGHTS), unsure, Correction(1.0, -6.0))

    assert (raised.state, raised.score) == ("automatic", pytest.approx(probability(5.0)))
    assert (lowered.state, lowered.score) == ("suggested", pytest.approx(probability(1.0)))
    assert dropped == []
    assert probability(-5.0) < SUGGESTED


def test_a_link_against_which_something_speaks_is_never_raised() -> None:
    _, pairs = decided(invoice(), *payments(paid(counterparty="Winter Maschinenbau KG")))
    unsure = rescored(pairs, 1.0)

    (link,) = with_correction(decide(unsure, WEIGHTS), unsure, Correction(1.0, 4.0, may_raise=True))

    assert link.state == "suggested"


def test_links_that_exclude_each_other_are_not_raised() -> None:
    records = (invoice(), invoice("twin", number="RE-2026-0999"), *payments(paid()))
    found = [pair for pair in pairs_of(records, WEIGHTS, least=-99) if pair.relation == "invoice_to_payment"]
    pairs = rescored(found, 1.0)

    links = with_correction(decide(pairs, WEIGHTS), pairs, Correction(1.0, 6.0, may_raise=True))

    assert len(links) == 2
    assert {link.state for link in links} <= {"suggested", "outranked"}


def test_duplicates_stay_as_they_are() -> None:
    links, pairs = decided(invoice(), invoice("copy"))

    assert links
    assert with_correction(links, pairs, Correction(1.0, -9.0, may_lower=True)) == links


def test_what_people_confirmed_stays_as_it_is() -> None:
    _, pairs = decided(invoice(), *payments(paid()))
    ids = frozenset(pair.ids for pair in pairs)
    links = decide(pairs, WEIGHTS, confirmed=ids)

    assert links
    assert with_correction(links, pairs, Correction(0.1, -9.0, may_lower=True), confirmed=ids) == links
