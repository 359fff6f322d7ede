"""Whatever is confirmed and however scores are corrected: confirmed links stay certain, and order is kept."""

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matching.records import invoice, order, paid, payments

from docmill.matching.assignment import places_of
from docmill.matching.calibration import Correction, with_correction
from docmill.matching.decision import AUTOMATIC, decide
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair, score_pair
from docmill.matching.scoring import shipped_weights

WEIGHTS = shipped_weights()
RECORDS = (
    order(),
    order("other order", number="PO-4712"),
    invoice(),
    invoice("twin", number="RE-2026-0816", issue_date="2026-01-16"),
    invoice("cheap", number="RE-2026-0817", order_number=None, net_total="100.00", gross_total="119.00"),
    *payments(paid(), paid(description="Danke"), paid("1309.00"), paid("119.00", description="")),
)
PAIRS = [
    pair
    for one, other in combinations(RECORDS, 2)
    if (pair := score_pair(one, other, WEIGHTS, least=-inf)) is not None
]

corrections = st.builds(
    Correction, st.floats(0.05, 20), st.floats(-20, 20), may_raise=st.booleans(), may_lower=st.booleans()
)


@dataclass(frozen=True)
class Corrected:
    """The links of pairs before a correction and after it, by what tells them apart."""

    pairs: dict[tuple[str, str, str], ScoredPair]
    confirmed: frozenset[tuple[str, str]]
    correction: Correction
    before: dict[tuple[str, str, str], Link]
    after: dict[tuple[str, str, str], Link]

    def is_confirmed(self, link: Link) -> bool:
        return (link.first_id, link.second_id) in self.confirmed


@st.composite
def corrected_links(draw: st.DrawFn) -> Corrected:
    """Pairs of any log-odds, of which a person has confirmed some."""
    odds = draw(st.lists(st.floats(-6, 12), min_size=len(PAIRS), max_size=len(PAIRS)))
    pairs = [replace(pair, log_odds=log_odds) for pair, log_odds in zip(PAIRS, odds, strict=True)]
    confirmed = frozenset(draw(st.sets(st.sampled_from([pair.ids for pair in pairs]), max_size=4)))
    correction = draw(corrections)
    links = decide(pairs, WEIGHTS, confirmed=confirmed)
    corrected = with_correction(links, pairs, correction, confirmed=confirmed)
    before, after = (
        {(link.first_id, link.second_id, link.relation): link for link in each} for each in (links, corrected)
    )
    return Corrected({pair.key: pair for pair in pairs}, confirmed, correction, before, after)


@settings(max_examples=60, deadline=None)
@given(corrected_links())
def test_confirmed_links_and_duplicates_stay_as_they_are(made: Corrected) -> None:
    kept = {
        key: link
        for key, link in made.before.items()
        if made.is_confirmed(link) or link.relation == "duplicate"
    }

    assert {key: made.after.get(key) for key in kept} == kept


@settings(max_examples=60, deadline=None)
@given(corrected_links())
def test_the_order_of_other_links_is_kept_and_none_is_added(made: Corrected) -> None:
    assert list(made.after) == [key for key in made.before if key in made.after]
    changed = [
        (made.before[key].score, link.score)
        for key, link in made.after.items()
        if not made.is_confirmed(link) and link.relation != "duplicate"
    ]
    assert all(now >= later for (_, now), (_, later) in pairwise(changed))
    assert all(0 <= now <= 1 for _, now in changed)


@settings(max_examples=60, deadline=None)
@given(corrected_links())
def test_a_link_becomes_automatic_only_where_no_confirmed_one_has_its_place(made: Corrected) -> None:
    taken = {
        place
        for key, link in made.before.items()
        if made.is_confirmed(link) and link.relation != "duplicate"
        for place in places_of(made.pairs[key])
    }

    for key, link in made.after.items():
        if link.state == "automatic" and made.before[key].state != "automatic":
            assert made.correction.may_raise
            assert link.score >= AUTOMATIC
            assert taken.isdisjoint(places_of(made.pairs[key]))
        if link.state != "automatic" and made.before[key].state == "automatic":
            assert made.correction.may_lower
