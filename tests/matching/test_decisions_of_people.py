"""What people have linked or parted, against what scores say."""

from dataclasses import astuple
from itertools import combinations
from math import inf
from typing import Any

import pytest
from tests.matching.records import delivery, invoice, line, order, paid, payments

from docmill.errors import ValidationError
from docmill.matching import match
from docmill.matching.decision import decide
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Link, Matching
from docmill.matching.pairs import score_pair
from docmill.matching.scoring import shipped_weights

NO_PAIRS: frozenset[tuple[str, str]] = frozenset()


def decided(
    *records: MatchRecord,
    confirmed: frozenset[tuple[str, str]] = NO_PAIRS,
    declined: frozenset[tuple[str, str]] = NO_PAIRS,
) -> dict[tuple[str, str], Link]:
    """The links by the ids of their records, of all pairs, however unlikely."""
    scored = (score_pair(*pair, shipped_weights(), least=-inf) for pair in combinations(records, 2))
    pairs = [pair for pair in scored if pair is not None]
    links = decide(pairs, shipped_weights(), confirmed=confirmed, declined=declined)
    return {(link.first_id, link.second_id): link for link in links}


def test_of_two_equal_invoices_the_confirmed_one_is_paid() -> None:
    lines = [line("Wartung der Anlage", "1", "1000.00")]
    twin = invoice(
        "twin", number="RE-2026-0937", issue_date="2026-01-17", order_number="PO 4820", lines=lines
    )
    (payment,) = payments(paid(description="Danke"))
    pair = ("twin", payment.id)
    assert "automatic" not in {link.state for link in decided(invoice(), twin, payment).values()}

    after = decided(invoice(), twin, payment, confirmed=frozenset({pair}))

    assert after[pair].state == "automatic"
    assert after[pair].score > 0.99
    assert ("invoice", payment.id) not in after or after["invoice", payment.id].score < 0.1


def test_a_confirmed_link_takes_none_of_those_that_belong_beside_it() -> None:
    first = delivery("first", number="LS-1")
    second = delivery("second", number="LS-2")
    before = decided(order(), first, second)
    assert {before["order", "first"].state, before["order", "second"].state} == {"automatic"}

    after = decided(order(), first, second, confirmed=frozenset({("order", "first")}))

    assert {after["order", "first"].state, after["order", "second"].state} == {"automatic"}


def test_several_confirmed_links_of_one_record_hold() -> None:
    (payment,) = payments(paid(amount="777.00", description="Danke"))
    others = [invoice(), invoice("second", number="RE-2", gross_total="99.00", net_total="83.19")]
    confirmed = frozenset((other.id, payment.id) for other in others)

    after = decided(*others, payment, confirmed=confirmed)

    assert {after[pair].state for pair in confirmed} == {"automatic"}


def test_a_confirmed_link_holds_whatever_speaks_against_it() -> None:
    (payment,) = payments(paid(amount="1.00", counterparty="Somebody else", description="x"))
    pair = ("invoice", payment.id)

    after = decided(invoice(), payment, confirmed=frozenset({pair}))

    assert after[pair].state == "automatic"


def test_a_declined_pair_is_not_even_suggested() -> None:
    (payment,) = payments(paid())
    pair = ("invoice", payment.id)
    assert decided(invoice(), payment)[pair].state == "automatic"

    assert pair not in decided(invoice(), payment, declined=frozenset({pair}))


def links_of(matching: Matching, state: str = "automatic") -> set[tuple[str, str]]:
    return {(link.first_id, link.second_id) for link in matching.links if link.state == state}


def test_a_set_of_records_is_matched_with_what_people_decided_in_either_order() -> None:
    lines = [line("Wartung der Anlage", "1", "1000.00")]
    twin = invoice(
        "twin", number="RE-2026-0937", issue_date="2026-01-17", order_number="PO 4820", lines=lines
    )
    records = [invoice(), twin, *payments(paid(description="Danke"))]

    for pair in (("twin", "statement#1"), ("statement#1", "twin")):
        assert ("twin", "statement#1") in links_of(match(records, confirmed=[pair]))
        declined = match(records, declined=[pair])
        assert ("twin", "statement#1") not in {link[:2] for link in map(astuple, declined.links)}


def test_a_confirmed_link_that_nothing_speaks_for_is_taken() -> None:
    far = payments(paid(amount="1.00", counterparty="Somebody else", description="x", date="2019-01-01"))
    records = [invoice(), *far]
    assert links_of(match(records)) == set()

    assert links_of(match(records, confirmed=[("invoice", "statement#1")])) == {("invoice", "statement#1")}


def test_names_that_are_one_party_are_found_and_told() -> None:
    records = [
        invoice(seller={"name": "Amazon EU S.a.r.l."}),
        *payments(paid(counterparty="AMZN MKTP", description="Karte")),
    ]

    (without,) = match(records).links or (None,)
    (link,) = match(records, aliases=[("AMZN MKTP", "Amazon EU")]).links

    assert without is None or without.score < link.score
    assert "party_alias" in {reason.code for reason in link.reasons}


def test_what_a_confirmed_link_shows_of_a_party_holds_for_others() -> None:
    amazon = {"name": "Amazon EU S.a.r.l."}
    records = [
        invoice(seller=amazon),
        invoice(
            "later",
            seller=amazon,
            number="AM-77",
            issue_date="2026-02-15",
            gross_total="77.35",
            net_total="65.00",
        ),
        *payments(
            paid(counterparty="AMZN MKTP", description="Karte"),
            paid(amount="77.35", counterparty="AMZN MKTP", description="Karte", date="2026-02-20"),
        ),
    ]

    found = match(records, confirmed=[("invoice", "statement#1")])

    by_ids = {(link.first_id, link.second_id): link for link in found.links}
    assert "party_alias" in {reason.code for reason in by_ids["later", "statement#2"].reasons}
    itself = by_ids["invoice", "statement#1"]
    assert itself.state == "automatic"
    assert "party_alias" not in {reason.code for reason in itself.reasons}, "it cannot prove itself"


def test_decisions_that_cannot_be_are_refused() -> None:
    records = [order(), invoice(), *payments(paid(), paid("5.00"))]

    refused: list[tuple[dict[str, Any], str]] = [
        ({"confirmed": [("invoice", "statement")]}, "names 'statement'"),
        ({"declined": [("nothing", "invoice")]}, "names 'nothing'"),
        ({"confirmed": [("statement#1", "statement#2")]}, "cannot be linked"),
        ({"confirmed": [("order", "invoice")], "declined": [("invoice", "order")]}, "cannot be both"),
    ]
    for decided_pairs, words in refused:
        with pytest.raises(ValidationError, match=words):
            match(records, **decided_pairs)


def test_a_confirmed_link_of_a_copy_stays() -> None:
    copy = invoice("zcopy", content_hash="other")
    before = decided(order(), invoice(), copy)
    ((first, second),) = [pair for pair, link in before.items() if link.relation == "duplicate"]
    assert before[first, second].state == "automatic"
    assert ("order", second) not in before

    after = decided(order(), invoice(), copy, confirmed=frozenset({("order", second)}))

    assert after["order", second].state == "automatic"
    assert after["order", second].score > 0.99
