"""Returned payments in the vault: in any order of documents, and as people link and part them."""

from itertools import permutations
from typing import Any

import pytest

from docmill.service.app import Service
from docmill.service.matches import Matches, NotMatchableError
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.match_decisions import Pair
from support.decided_papers import DecidedPapers
from support.matched_papers import CHAIN

RELATION = "payment_to_return"
PAYMENT = {
    "date": "2026-01-30",
    "amount": "-1190.00",
    "counterparty": "SOMMER GMBH",
    "description": "RE-2026-0815",
}
RETURN = {
    **PAYMENT,
    "date": "2026-02-03",
    "amount": "1190.00",
    "description": "RE-2026-0815 Rücklastschrift AC04",
}
AGAIN = {**PAYMENT, "date": "2026-02-10"}


@pytest.fixture
def matches(service: Service) -> Matches:
    return Matches(service.database, service.feed)


async def add_statement(made: DecidedPapers, name: str, *transactions: dict[str, str]) -> None:
    await made.add(
        name,
        "bank_statement",
        iban="AT611904300234573201",
        currency="EUR",
        transactions=list(transactions),
    )


async def told(made: DecidedPapers, matches: Matches) -> list[tuple[str, str]]:
    found = await matches.of_document(made.ids["invoice"], tenant_id=made.tenant_id)
    names = {str(id_): name for name, id_ in made.ids.items()}
    ends = ((each.code, *each.record_id.partition("#")) for each in found.discrepancies)
    return [(code, f"{names[document]}{mark}{number}") for code, document, mark, number in ends]


async def states(made: DecidedPapers, *pairs: tuple[str, str]) -> list[str | None]:
    links = [await made.link(*pair) for pair in pairs]
    return [link.state if link else None for link in links]


@pytest.mark.parametrize("order", list(permutations(("invoice", "january", "february", "march"))))
async def test_documents_in_any_order_give_the_same_return(
    service: Service, matches: Matches, order: tuple[str, ...]
) -> None:
    made = DecidedPapers(service, service.default_tenant_id)
    bookings = {"january": PAYMENT, "february": RETURN, "march": AGAIN}
    for name in order:
        if name == "invoice":
            await made.add(name, CHAIN[name][0], **CHAIN[name][1])
        else:
            await add_statement(made, name, bookings[name])
        await made.match(name)

    pairs = [("january#1", "february#1"), ("invoice", "january#1"), ("invoice", "march#1")]
    assert await states(made, *pairs) == ["automatic"] * 3
    assert await told(made, matches) == []


async def test_payment_return_and_second_payment_of_one_statement(service: Service, matches: Matches) -> None:
    made = DecidedPapers(service, service.default_tenant_id)
    await made.add("invoice", CHAIN["invoice"][0], **CHAIN["invoice"][1])
    await add_statement(made, "first", PAYMENT, RETURN)
    await made.match("invoice", "first")
    assert await told(made, matches) == [("payment_returned", "first#1")]

    await add_statement(made, "second", AGAIN)
    await made.match("second")

    assert await states(made, ("first#1", "first#2"), ("invoice", "second#1")) == ["automatic"] * 2
    assert await told(made, matches) == []


async def test_a_person_parts_and_links_two_bookings_of_one_statement(
    service: Service, matches: Matches
) -> None:
    made = DecidedPapers(service, service.default_tenant_id)
    await made.add("invoice", CHAIN["invoice"][0], **CHAIN["invoice"][1])
    await add_statement(made, "statement", PAYMENT, RETURN, AGAIN)
    await made.match("invoice", "statement")
    who: dict[str, Any] = {"tenant_id": made.tenant_id, "decided_by": DEFAULT_USER_ID}
    pair = Pair(made.record_id("statement#1"), made.record_id("statement#2"), RELATION)

    await matches.decide(pair.id, "declined", **who)
    assert await told(made, matches) == [("paid_twice", "statement#3")]
    turned = Pair(pair.second_id, pair.first_id, RELATION)
    linked = await matches.link(turned, **who)

    assert linked.link.pair == pair
    assert linked.link.decision == "confirmed"
    assert await told(made, matches) == []
    found = await matches.of_document(made.ids["statement"], tenant_id=made.tenant_id)
    assert pair in {link.pair for link in found.links}


async def test_bookings_that_cannot_be_payment_and_return_are_refused(
    service: Service, matches: Matches
) -> None:
    made = DecidedPapers(service, service.default_tenant_id)
    await add_statement(made, "statement", PAYMENT, RETURN, AGAIN)
    await made.match("statement")
    one, other, third = (made.record_id(f"statement#{number}") for number in (1, 2, 3))

    for pair, words in (
        (Pair(one, one, RELATION), "with itself"),
        (Pair(one, other, "duplicate"), "with itself"),
        (Pair(one, third, RELATION), "cannot have this relation"),
    ):
        with pytest.raises(NotMatchableError, match=words):
            await matches.link(pair, tenant_id=made.tenant_id, decided_by=DEFAULT_USER_ID)


async def test_a_return_is_offered_for_a_payment_of_another_statement(
    service: Service, matches: Matches
) -> None:
    made = DecidedPapers(service, service.default_tenant_id)
    await add_statement(made, "first", PAYMENT)
    await add_statement(made, "second", {**RETURN, "description": "", "counterparty": "Bank"}, AGAIN)
    await made.match("first", "second")

    offered = await matches.choices(made.ids["first"], [made.ids["second"]], tenant_id=made.tenant_id)

    relations = [choice.pair.relation for choice in offered[made.ids["second"]]]
    assert relations == [RELATION, "duplicate", "related"]
