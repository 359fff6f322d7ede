"""The scorer of links, by cases made by hand."""

from dataclasses import replace

from bench.data.link_scores import LinkScores, first_suggestions

from docmill.matching.outcome import Discrepancy, Link, Matching, Relation, State
from docmill.training.linked_documents.truth import TrueDiscrepancy, TrueLink, Truth

TRUTH = Truth(
    links=(
        TrueLink("order", "invoice", "order_to_invoice", frozenset({"reference_missing"})),
        TrueLink("invoice", "statement#1", "invoice_to_payment"),
    ),
    groups=(frozenset({"order", "invoice", "copy", "statement#1"}),),
    duplicates=(TrueLink("invoice", "copy", "duplicate"),),
    discrepancies=(
        TrueDiscrepancy("price", "invoice", 1, "2.00", "2.20"),
        TrueDiscrepancy("over_billed", "invoice", is_optional=True),
    ),
    decoys={"statement#2": "next_month_payment"},
)


def link(first: str, second: str, relation: Relation, state: State = "automatic", score: float = 1.0) -> Link:
    return Link(first, second, relation, score, state)


def scores_of(
    *links: Link, clusters: tuple[tuple[str, ...], ...] = (), discrepancies: tuple[Discrepancy, ...] = ()
) -> LinkScores:
    scores = LinkScores()
    scores.add(Matching(links, clusters, discrepancies), TRUTH)
    return scores


def test_everything_right_has_full_scores() -> None:
    scores = scores_of(
        link("order", "invoice", "order_to_invoice"),
        link("invoice", "statement#1", "invoice_to_payment"),
        link("copy", "invoice", "duplicate"),
        clusters=(("copy", "invoice", "order", "statement#1"), ("alone",)),
        discrepancies=(Discrepancy("price", "invoice", ("order",), 1),),
    )

    assert scores.pairs.f1 == scores.links.f1 == scores.duplicates.f1 == scores.discrepancies.f1 == 1
    assert scores.groups.f1 == 1
    assert (scores.false_automatic, scores.automatic) == (0, 3)


def test_nothing_found_has_no_recall_and_nothing_false() -> None:
    scores = scores_of()

    assert scores.pairs.recall == scores.groups.recall == scores.candidates.recall == 0
    assert scores.pairs.precision == 1
    assert scores.false_automatic == 0


def test_a_link_with_a_copy_is_right_and_counts_once() -> None:
    scores = scores_of(
        link("order", "copy", "order_to_invoice"), link("order", "invoice", "order_to_invoice")
    )

    assert (scores.pairs.right, scores.pairs.given, scores.pairs.true) == (1, 1, 2)
    assert scores.false_automatic == 0


def test_a_link_between_strangers_is_false() -> None:
    scores = scores_of(link("order", "statement#2", "invoice_to_payment"))

    assert (scores.false_automatic, scores.automatic) == (1, 1)
    assert scores.false_by_relation == {"invoice_to_payment": 1}
    assert scores.false_by_decoy == {"true record and next_month_payment": 1}


def test_a_link_of_another_relation_is_a_right_pair_and_no_right_link() -> None:
    scores = scores_of(link("order", "invoice", "quote_to_order"))

    assert scores.pairs.right == 1
    assert scores.links.right == 0
    assert scores.false_automatic == 0


def test_suggestions_count_as_candidates_and_the_best_of_a_record_as_first_rank() -> None:
    right = link("order", "invoice", "order_to_invoice", "suggested", 0.6)
    wrong = link("other order", "invoice", "order_to_invoice", "suggested", 0.4)
    outranked = link("invoice", "statement#1", "invoice_to_payment", "outranked", 0.3)

    scores = scores_of(wrong, right, outranked)

    assert scores.pairs.given == 0
    assert (scores.first_ranks.right, scores.first_ranks.given) == (1, 1)
    assert scores.candidates.recall == 1
    assert first_suggestions([wrong, right, link("a", "invoice", "order_to_invoice")]) == []


def test_misses_are_counted_by_edit() -> None:
    scores = scores_of(link("invoice", "statement#1", "invoice_to_payment"))

    assert scores.by_edit["reference_missing"].recall == 0
    assert scores.by_edit["no edit"].recall == 1


def test_an_optional_discrepancy_is_neither_missed_nor_false() -> None:
    without = scores_of()
    named = scores_of(discrepancies=(Discrepancy("over_billed", "copy", ("order",), 0),))
    wrong_line = scores_of(discrepancies=(Discrepancy("price", "invoice", ("order",), 0),))

    assert (without.discrepancies.given, without.discrepancies.true) == (0, 1)
    assert (named.discrepancies.given, named.discrepancies.true) == (0, 1)
    assert (wrong_line.discrepancies.right, wrong_line.discrepancies.given) == (0, 1)


def test_scores_of_tenants_add_up() -> None:
    scores = LinkScores()
    scores.add(Matching((link("order", "invoice", "order_to_invoice"),), (), ()), TRUTH)
    scores.add(Matching((), (), ()), TRUTH)

    assert (scores.pairs.right, scores.pairs.true) == (1, 4)


def test_links_that_nobody_can_tell_are_counted_apart() -> None:
    doubtful = replace(TRUTH, undecidable=frozenset({("invoice", "statement#1")}))
    scores = LinkScores()
    scores.add(Matching((link("order", "invoice", "order_to_invoice"),), (), ()), doubtful)

    assert (scores.pairs.right, scores.pairs.true) == (1, 2)
    assert (scores.decidable.f1, scores.undecidable) == (1, 1)
