"""Documents, of which people linked and parted some, give the same links in whatever order they come.

Deals are generated with decoys. Matched one by one as they come is compared with other orders, with all at
once, and with all at once in batches, each from the beginning.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from docmill.matching.match_record import MatchRecord
from docmill.matching.relations import RULES
from docmill.service.app import Service
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store import match_records
from docmill.service.store.database import lock_matches
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from support.decided_papers import DecidedPapers
from support.matched_papers import CHAIN

_TOGETHER = 4
_SCORE_DIGITS = 9

Decided = tuple[str, str, str, str]
"""Ids of two records, their relation, and what a person says of them."""


@dataclass(frozen=True)
class Outcome:
    """What the database holds: state and score of each link, and the clusters.

    Pairs that are no links are left out: of many unlikely candidates, the first ones that are there count.
    """

    edges: dict[tuple[str, str, str], tuple[str, float]]
    clusters: set[frozenset[str]]


class Vault(DecidedPapers):
    """Generated documents of a tenant, which can be matched from the beginning."""

    async def fill(self, seed: int) -> None:
        generated = generate_linked_documents(made_up_seeds(), seed=seed, links=6, decoys_per_link=3)
        for each in generated.documents:
            document_id = await self.add(each.id, each.document_type, **each.data.model_dump(mode="json"))
            async with self.service.database.tenant(self.tenant_id) as conn:
                await conn.execute("UPDATE document SET text = %s WHERE id = %s", [each.text, document_id])

    async def match_anew(self, *batches: Sequence[str]) -> Outcome:
        """Forget all records and links; match the documents of each batch at the same time."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute("DELETE FROM match_record WHERE tenant_id = %s", [self.tenant_id])
            await conn.execute("UPDATE document SET cluster_id = NULL WHERE tenant_id = %s", [self.tenant_id])
        for batch in batches:
            await asyncio.gather(*map(self.match, batch))
        return await self.outcome()

    async def outcome(self) -> Outcome:
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute(
                "SELECT first_id, second_id, relation, state, score FROM match_edge WHERE state IS NOT NULL"
            )
            edges = {
                (first, second, relation): (state, round(score, _SCORE_DIGITS))
                for first, second, relation, state, score in await cur.fetchall()
            }
            cur = await conn.execute(
                "SELECT array_agg(id) FROM match_record WHERE cluster_id IS NOT NULL GROUP BY cluster_id"
            )
            return Outcome(edges, {frozenset(ids) for (ids,) in await cur.fetchall()})

    async def store(self, decisions: Sequence[Decided]) -> None:
        names = {str(id_): name for name, id_ in self.ids.items()}
        for first, second, relation, decision in decisions:
            one, other = (
                f"{names[document]}{mark}{number}"
                for document, mark, number in (first.partition("#"), second.partition("#"))
            )
            await self.decide(one, other, relation, decision)

    async def records(self) -> list[MatchRecord]:
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute("SELECT id FROM match_record ORDER BY id")
            return list((await match_records.of_ids(conn, [id_ for (id_,) in await cur.fetchall()])).values())


async def decisions_about(vault: Vault, found: Outcome, source: random.Random) -> list[Decided]:
    """Some links that are parted, some suggestions that are confirmed, and some strangers that are linked."""
    by_state = {
        state: sorted(key for key, (own, _) in found.edges.items() if own == state)
        for state in ("automatic", "suggested")
    }
    parted = source.sample(by_state["automatic"], min(3, len(by_state["automatic"])))
    linked = source.sample(by_state["suggested"], min(3, len(by_state["suggested"])))
    records = await vault.records()
    strangers = [
        (one.id, other.id, rule.relation)
        for one in records
        for other in records
        if (rule := RULES.get((one.kind, other.kind)))
        and one.kind != other.kind  # their order follows from their days
        and (one.id, other.id, rule.relation) not in found.edges
    ]
    linked += source.sample(strangers, 2)
    return [*((*key, "declined") for key in parted), *((*key, "confirmed") for key in linked)]


@pytest.mark.parametrize("seed", range(3))
async def test_any_order_and_all_at_once_give_what_one_by_one_gives(service: Service, seed: int) -> None:
    source = random.Random(seed)  # noqa: S311  a sample
    vault = Vault(service, service.default_tenant_id)
    await vault.fill(seed)
    names = list(vault.ids)
    undecided = await vault.match_anew(*([name] for name in names))
    decisions = await decisions_about(vault, undecided, source)
    await vault.store(decisions)

    expected = await vault.match_anew(*([name] for name in names))

    assert expected != undecided
    for first, second, relation, decision in decisions:
        state, _ = expected.edges.get((first, second, relation), (None, None))
        assert (state == "automatic") == (decision == "confirmed")
    shuffled = source.sample(names, len(names))
    assert await vault.match_anew(*([name] for name in shuffled)) == expected
    assert await vault.match_anew(*([name] for name in reversed(names))) == expected
    assert await vault.match_anew(names) == expected
    batches = [shuffled[start : start + _TOGETHER] for start in range(0, len(names), _TOGETHER)]
    assert await vault.match_anew(*batches) == expected


async def test_a_link_that_is_found_while_its_other_document_is_matched_is_kept(service: Service) -> None:
    vault = Vault(service, service.default_tenant_id)
    for name in ("order", "invoice"):
        await vault.add(name, CHAIN[name][0], **CHAIN[name][1])
    matcher = RecordMatcher(service.database)
    order = DocumentToMatch(vault.ids["order"], vault.tenant_id)
    await matcher.prepare(order)
    decision = await matcher.decide(order)

    await vault.match("invoice")
    async with service.database.tenant(vault.tenant_id) as conn:
        await lock_matches(conn, vault.tenant_id)
        await matcher.write(conn, order, decision)

    assert not decision.pairs
    link = await vault.link("order", "invoice")
    assert link is not None
    assert link.state == "automatic"
