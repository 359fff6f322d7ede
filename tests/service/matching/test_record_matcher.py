"""The matcher of the vault links the documents of a tenant, in whatever order they come."""

import asyncio
from itertools import permutations

import pytest

from docmill.matching import match, records_of
from docmill.service.app import Service
from docmill.service.store import tenants
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from support.matched_papers import CHAIN, INVOICE, ORDER, PARTIES, Content, Papers


@pytest.fixture
def made(service: Service) -> Papers:
    return Papers(service, service.default_tenant_id)


async def test_documents_are_linked_when_the_last_of_them_comes(made: Papers) -> None:
    await made.chain()

    assert await made.links() == {
        ("order", "delivery"),
        ("order", "invoice"),
        ("delivery", "invoice"),
        ("invoice", "statement#2"),
    }
    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]


@pytest.mark.parametrize("order", list(permutations(CHAIN))[::5])
async def test_the_order_in_which_they_come_makes_no_difference(made: Papers, order: tuple[str, ...]) -> None:
    await made.chain(order)

    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]
    assert len(await made.links()) == 4


async def test_matching_at_the_same_time_gives_what_matching_one_by_one_gives(made: Papers) -> None:
    ids = [await made.add(name, content) for name, content in CHAIN.items()]

    await asyncio.gather(*map(made.match, ids))
    together = await made.links(), await made.clusters()
    for document_id in ids:
        await made.match(document_id)

    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]
    assert together[0] <= await made.links()


async def test_matched_again_nothing_changes(made: Papers) -> None:
    await made.chain()
    before = await made.links(), await made.clusters()

    for document_id in made.names:
        await made.match(document_id)

    assert (await made.links(), await made.clusters()) == before


async def edges(made: Papers) -> dict[tuple[str, str], tuple[str, ...]]:
    """The versions of all pairs in the database, by the names of their documents."""
    async with made.service.database.tenant(made.tenant_id) as conn:
        cur = await conn.execute("SELECT first_id, second_id, xmin::text, created_at::text FROM match_edge")
        rows = await cur.fetchall()
        names = {str(id_): name for id_, name in made.names.items()}
    return {
        (names[first.partition("#")[0]], names[second.partition("#")[0]] + second.partition("#")[2]): (*rest,)
        for first, second, *rest in rows
    }


async def test_pairs_that_stay_the_same_are_not_written_again(made: Papers) -> None:
    await made.chain()
    before = await edges(made)

    await made.match(made.id_of("invoice"))
    same = await edges(made)
    kind, values = CHAIN["delivery"]
    await made.change(made.id_of("delivery"), (kind, {**values, "issue_date": "2026-06-01"}))
    await made.match(made.id_of("delivery"))
    after = await edges(made)

    assert len(before) > 3
    assert same == before
    assert after["order", "delivery"] != before["order", "delivery"]
    assert after["order", "invoice"] == before["order", "invoice"]


async def test_a_corrected_number_parts_documents_and_their_cluster(made: Papers) -> None:
    await made.chain()
    invoice = made.id_of("invoice")
    other = {
        **INVOICE[1],
        "number": "RE-2026-0999",
        "order_number": "PO-9999",
        "gross_total": "77.00",
        "net_total": "64.71",
    }

    await made.change(invoice, ("invoice", other))
    await made.match(invoice)

    assert await made.links() == {("order", "delivery")}
    assert await made.clusters() == [{"order", "delivery"}]


async def test_a_document_that_can_be_matched_no_more_has_no_links(made: Papers) -> None:
    await made.chain()
    invoice = made.id_of("invoice")

    await made.change(invoice, ("letter", {}))
    await made.match(invoice)

    assert await made.links() == {("order", "delivery")}
    assert await made.clusters() == [{"order", "delivery"}]


async def test_a_declined_pair_does_not_come_back(made: Papers) -> None:
    await made.chain(("order", "invoice"))
    await made.say("declined", "order", "invoice")

    for name in ("invoice", "order"):
        await made.match(made.id_of(name))

    assert await made.links() == set()
    assert await made.clusters() == []


async def test_a_confirmed_pair_stays_together_whatever_it_says_later(made: Papers) -> None:
    await made.chain(("order", "invoice"))
    await made.say("confirmed", "order", "invoice")
    unlike = {**PARTIES, "number": "X-1", "issue_date": "2024-01-15"}

    await made.change(made.id_of("invoice"), ("invoice", unlike))
    await made.match(made.id_of("invoice"))

    assert await made.links() == {("order", "invoice")}
    assert await made.clusters() == [{"order", "invoice"}]


async def test_what_a_confirmed_pair_excludes_is_no_longer_linked(made: Papers) -> None:
    other_order: Content = ("purchase_order", {**ORDER[1], "number": "PO-9", "issue_date": "2025-11-05"})
    await made.chain(("order", "invoice"))
    assert await made.links() == {("order", "invoice")}
    other = await made.add("other order", other_order)

    await made.say("confirmed", "other order", "invoice")
    await made.match(other)

    assert await made.links() == {("other order", "invoice")}
    assert await made.clusters() == [{"other order", "invoice"}]


async def test_pairs_of_an_earlier_version_are_scored_anew(made: Papers, service: Service) -> None:
    await made.chain()
    before = await made.links()
    async with service.database.tenant(made.tenant_id) as conn:
        await conn.execute(
            """UPDATE match_edge SET pair = '{"evidence": [99], "amount": {}, "log_odds": -50}'"""
        )

    await made.match(made.id_of("delivery"))

    assert await made.links() == before


async def test_documents_of_another_organisation_are_never_candidates(made: Papers, service: Service) -> None:
    async with service.database.accounts() as conn:
        other_tenant = await tenants.add(conn, "Other")
    theirs = Papers(service, other_tenant)

    await made.chain(("order", "delivery"))
    await theirs.chain(("invoice", "statement"))

    assert await made.clusters() == [{"order", "delivery"}]
    assert await theirs.clusters() == [{"invoice", "statement#2"}]


async def test_the_vault_links_what_the_library_links(made: Papers) -> None:
    generated = generate_linked_documents(made_up_seeds(), seed=5, links=5, decoys_per_link=2).documents
    contents = {
        each.id: (each.document_type, each.data.model_dump(mode="json"), each.text) for each in generated
    }
    expected = match([record for id_, content in contents.items() for record in records_of(id_, *content)])

    for name, (document_type, data, text) in contents.items():
        document_id = await made.add(name, (document_type, data))
        async with made.service.database.tenant(made.tenant_id) as conn:
            await conn.execute("UPDATE document SET text = %s WHERE id = %s", [text, document_id])
        await made.match(document_id)

    assert {frozenset(link) for link in await made.links()} == {
        frozenset((link.first_id, link.second_id)) for link in expected.links if link.state == "automatic"
    }
    assert sorted(map(sorted, await made.clusters())) == sorted(map(sorted, expected.clusters))
