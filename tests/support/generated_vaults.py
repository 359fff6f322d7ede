"""Generated documents of a tenant, with decoys, that can be matched from the beginning in any order."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from docmill.matching.match_record import MatchRecord
from docmill.matching.relations import RULES
from docmill.service.store import match_records
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from support.decided_papers import DecidedPapers

_SCORE_DIGITS = 9

Decided = tuple[str, str, str, str]
"""Ids of two records, their relation, and what a person says of them."""


@dataclass(frozen=True)
class Outcome:
    """What the database holds of documents that are not deleted: state and score of each link, and clusters.

    Pairs that are no links are left out: of many unlikely candidates, the first ones that are there count.
    clusters: the ids of records, and of documents, that are in one, by its id.
    """

    edges: dict[tuple[str, str, str], tuple[str, float]]
    clusters: dict[UUID, frozenset[str]]


class GeneratedVault(DecidedPapers):
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
                """
                WITH there AS (
                    SELECT match_record.id FROM match_record JOIN document ON document.id = document_id
                )
                SELECT first_id, second_id, relation, state, score
                  FROM match_edge
                 WHERE state IS NOT NULL
                   AND first_id IN (SELECT id FROM there) AND second_id IN (SELECT id FROM there)
                """
            )
            edges = {
                (first, second, relation): (state, round(score, _SCORE_DIGITS))
                for first, second, relation, state, score in await cur.fetchall()
            }
            cur = await conn.execute(
                """
                WITH member AS (
                    SELECT match_record.id, match_record.cluster_id
                      FROM match_record
                      JOIN document ON document.id = document_id
                     UNION ALL
                    SELECT 'document ' || id, cluster_id FROM document
                )
                SELECT cluster_id, array_agg(id) FROM member WHERE cluster_id IS NOT NULL GROUP BY cluster_id
                """
            )
            return Outcome(edges, {id_: frozenset(ids) for id_, ids in await cur.fetchall()})

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


async def decisions_about(vault: GeneratedVault, found: Outcome, source: random.Random) -> list[Decided]:
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
