"""Questions about uncertain links show records as data, and answers change only what the rules allow."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.matching.records import invoice, line, paid, payments

from docmill.matching.decision import AUTOMATIC, SUGGESTED, decide, may_be_automatic
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link
from docmill.matching.pairs import ScoredPair, score_pair
from docmill.matching.questions import (
    JUDGED_LOG_ODDS,
    MOST_CANDIDATES,
    MOST_CHARACTERS,
    AnswerError,
    Judgement,
    Question,
    judgements_of,
    question_about,
    with_judgements,
)
from docmill.matching.scoring import probability, shipped_weights
from docmill.matching.wording import reason_text

WEIGHTS = shipped_weights()
BILL = invoice()


def pair_of(first: MatchRecord, second: MatchRecord, log_odds: float = 1.0) -> ScoredPair:
    pair = score_pair(first, second, WEIGHTS, least=-99)
    assert pair is not None
    return replace(pair, log_odds=log_odds)


def payment(id_: str = "statement", **values: Any) -> MatchRecord:  # noqa: ANN401
    (made,) = payments(paid(**values), id_=id_)
    return made


def unnamed(id_: str, log_odds: float, **values: str) -> ScoredPair:
    """A payment that does not name the invoice: of several, one can be right."""
    return pair_of(BILL, payment(id_, **{"description": "Danke", **values}), log_odds)


def decided(*pairs: ScoredPair) -> list[Link]:
    return decide(pairs, WEIGHTS)


def asked(*pairs: ScoredPair, about: MatchRecord = BILL) -> Question:
    question = question_about(about, decided(*pairs), pairs)
    assert question is not None
    return question


def answer(*names: str, verdict: str | None = None) -> dict[str, Any]:
    links = [{"candidate": name, "relation": "invoice_to_payment", "reason": "the number"} for name in names]
    return {"verdict": verdict or ("match" if links else "no_match"), "links": links}


def judged(question: Question, *names: str, is_suspicious: bool = False) -> list[Judgement]:
    return judgements_of(question, answer(*names), by="oracle", is_suspicious=is_suspicious)


def test_a_question_shows_the_record_and_its_candidates_the_likeliest_first() -> None:
    likely, unlikely = unnamed("a", 1.5), unnamed("b", -0.2, counterparty="Sommer KG")

    content = json.loads(asked(unlikely, likely).content)

    assert content["record"]["number"] == "RE-2026-0815"
    assert content["record"]["gross_total"] == "1190.00"
    assert [each["id"] for each in content["candidates"]] == ["c1", "c2"]
    assert [each["seller"]["name"] for each in content["candidates"]] == ["SOMMER GMBH", "Sommer KG"]
    assert content["candidates"][0]["relation"] == "invoice_to_payment"


def test_nobody_is_asked_about_what_is_decided_or_hopeless() -> None:
    sure, hopeless = pair_of(BILL, payment(), 6.0), pair_of(BILL, payment(), -2.9)
    copy = pair_of(BILL, invoice("copy"), 1.0)

    assert question_about(BILL, decided(sure), [sure]) is None
    assert question_about(BILL, decided(hopeless), [hopeless]) is None
    assert question_about(BILL, decided(copy), [copy]) is None
    assert (
        question_about(invoice("other"), decided(pair_of(BILL, payment())), [pair_of(BILL, payment())])
        is None
    )


def test_a_question_has_a_longest_length_and_most_candidates() -> None:
    long = [line("x" * 5000, "1") for _ in range(500)]
    bill = invoice(lines=long, seller={"name": "S" * 9000})
    pairs = [pair_of(bill, payment(f"p{index}", description="y" * 9000), 0.5) for index in range(30)]
    links = [Link(pair.first.id, pair.second.id, pair.relation, 0.5, "suggested") for pair in pairs]

    question = question_about(bill, links, pairs)

    assert question is not None
    assert 0 < len(question.pairs) <= MOST_CANDIDATES
    assert len(question.content) <= MOST_CHARACTERS


def test_the_digest_is_that_of_records_and_candidates() -> None:
    pair = pair_of(BILL, payment())

    assert asked(pair).digest == asked(replace(pair, log_odds=1.2)).digest
    assert asked(pair).digest != asked(pair_of(BILL, payment(description="Zahlung 99012"))).digest
    assert asked(pair).digest != asked(pair_of(BILL, payment("other"))).digest


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"verdict": "match"},
        {"verdict": "match", "links": "c1"},
        {"verdict": "match", "links": ["c1"]},
        {**answer("c1"), "more": 1},
        answer("c9"),
        answer("c1", "c1"),
        answer(verdict="match"),
        answer("c1", verdict="no_match"),
        {"verdict": "match", "links": [{"candidate": "c1", "relation": "duplicate", "reason": "same"}]},
        {"verdict": "match", "links": [{"candidate": 1, "relation": "invoice_to_payment", "reason": "same"}]},
        {
            "verdict": "match",
            "links": [{"candidate": "c1", "relation": "invoice_to_payment", "reason": " \x00"}],
        },
        {
            "verdict": "match",
            "links": [{"candidate": "c1", "relation": "invoice_to_payment", "reason": None}],
        },
        {"verdict": "match", "links": [{"candidate": "c1", "relation": "invoice_to_payment"}]},
    ],
)
def test_an_answer_of_another_form_is_none(wrong: Mapping[str, Any]) -> None:
    with pytest.raises(AnswerError):
        judgements_of(asked(pair_of(BILL, payment())), wrong, by="oracle", is_suspicious=False)


def test_no_match_is_an_answer() -> None:
    (judgement,) = judged(asked(pair_of(BILL, payment())))

    assert not judgement.belongs


def test_a_judged_suggestion_becomes_automatic_where_nothing_speaks_against_it() -> None:
    pair = pair_of(BILL, payment())

    (link,) = with_judgements(decided(pair), [pair], judged(asked(pair), "c1"))

    assert link.state == "automatic"
    assert link.score == pytest.approx(probability(1 + JUDGED_LOG_ODDS))
    assert reason_text(link.reasons[-1]) == "The model oracle says that they belong together: the number"


@pytest.mark.parametrize(
    "values",
    [
        {"counterparty": "Winter Maschinenbau KG"},
        {"amount": "777.00"},
        {"date": "2025-12-01"},
        {"date": "2027-12-01"},
        {"currency": "USD"},
    ],
    ids=["seller", "amount", "before", "long after", "currency"],
)
def test_a_rule_that_speaks_against_a_link_is_stronger_than_an_answer(values: dict[str, str]) -> None:
    pair = pair_of(BILL, payment(**values))

    (link,) = with_judgements(decided(pair), [pair], judged(asked(pair), "c1"))

    assert link.state == "suggested"
    assert probability(1.0) < link.score < AUTOMATIC


def test_improbable_links_and_suspicious_records_are_not_raised() -> None:
    unlikely, pair = pair_of(BILL, payment(), -0.5), pair_of(BILL, payment())

    (low,) = with_judgements(decided(unlikely), [unlikely], judged(asked(unlikely), "c1"))
    (ordered,) = with_judgements(decided(pair), [pair], judged(asked(pair), "c1", is_suspicious=True))

    assert (low.state, ordered.state) == ("suggested", "suggested")


def test_of_links_that_exclude_each_other_one_is_raised_if_the_others_are_judged_not_to_belong() -> None:
    pairs = [unnamed("a", 3.0), unnamed("b", 1.5)]
    question = asked(*pairs)

    first = with_judgements(decided(*pairs), pairs, judged(question, "c1"))
    both = with_judgements(decided(*pairs), pairs, judged(question, "c1", "c2"))
    unasked = with_judgements(decided(*pairs), pairs, judged(question, "c1")[:1])

    assert [link.state for link in decided(*pairs)] == ["suggested", "outranked"]
    assert [link.state for link in first] == ["automatic", "outranked"]
    assert all(link.state != "automatic" for link in (*both, *unasked))


def test_an_outranked_link_that_is_judged_to_belong_becomes_a_suggestion() -> None:
    pairs = [unnamed("a", 3.0), unnamed("b", 2.0)]
    before = decided(*pairs)

    after = with_judgements(before, pairs, judged(asked(*pairs), "c2"))

    assert [link.state for link in after] == ["suggested", "suggested"]
    assert after[0].score < before[0].score
    assert after[1].score > before[1].score


def test_answers_that_contradict_each_other_change_nothing_but_reasons() -> None:
    pair = pair_of(BILL, payment())
    question = asked(pair)
    (before,) = decided(pair)

    (after,) = with_judgements([before], [pair], [*judged(question, "c1"), *judged(question)])

    assert (after.state, after.score) == (before.state, before.score)
    assert len(after.reasons) == len(before.reasons) + 2


def test_an_answer_about_records_that_have_changed_counts_no_more() -> None:
    pair, changed = pair_of(BILL, payment()), pair_of(BILL, payment(description="RE-2026-0815 "))
    other = pair_of(BILL, payment(amount="1189.00"))

    for now in (other,):
        assert with_judgements(decided(now), [now], judged(asked(pair), "c1")) == decided(now)
    (link,) = with_judgements(decided(changed), [changed], judged(asked(changed), "c1"))
    assert link.state == "automatic"


def test_nothing_changes_for_a_confirmed_link() -> None:
    pair = pair_of(BILL, payment())
    judgements = judged(asked(pair))
    links = decide([pair], WEIGHTS, confirmed=frozenset({pair.ids}))

    assert with_judgements(links, [pair], judgements, confirmed={pair.ids}) == links


variants = st.fixed_dictionaries(
    {},
    optional={
        "counterparty": st.sampled_from(["Winter KG", "Sommer", "SOMMER GMBH", ""]),
        "amount": st.sampled_from(["1190.00", "1166.20", "500.00", "7.00"]),
        "date": st.sampled_from(["2025-01-01", "2026-01-16", "2026-06-01", "2028-01-01"]),
        "description": st.sampled_from(["RE-2026-0815", "RE-2026-0999", "Danke"]),
        "currency": st.sampled_from(["EUR", "USD"]),
    },
)


@given(st.lists(st.tuples(variants, st.floats(-2, 5)), min_size=1, max_size=5), st.data())
def test_whatever_is_answered_links_against_rules_are_never_made_automatic(
    made: Sequence[tuple[dict[str, str], float]], data: st.DataObject
) -> None:
    pairs = [pair_of(BILL, payment(f"p{at}", **values), odds) for at, (values, odds) in enumerate(made)]
    links = decided(*pairs)
    question = question_about(BILL, links, pairs)
    if question is None:
        return
    names = data.draw(st.lists(st.sampled_from(list(question.named)), unique=True))

    after = with_judgements(links, pairs, judged(question, *names))

    by_key = {pair.key: pair for pair in pairs}
    for old, new in zip(links, after, strict=True):
        assert new.score >= SUGGESTED or old.state != "suggested"
        if new.state != old.state and new.state == "automatic":
            assert old.state == "suggested"
            assert may_be_automatic(by_key[new.first_id, new.second_id, new.relation])
    assert sum(link.state == "automatic" for link in after) <= 1 + sum(
        link.state == "automatic" for link in links
    )
