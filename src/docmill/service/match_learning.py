"""Learning from what people decide about links, in the background of a worker."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from docmill.matching.aliases import aliases_between
from docmill.matching.match_record import PartyIdentity
from docmill.resilience.concurrency import keep_doing
from docmill.service.events.matching_requests import MatchingRequests
from docmill.service.store import match_records, party_aliases
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Conn, Database
from docmill.service.store.party_aliases import DecidedPair

log = logging.getLogger(__name__)

MOST_MATCHED_AGAIN = 200
"""Documents that are matched again after something was learned or forgotten, the newest."""

_PAUSE_S = 1.0
_BATCH = 50


@dataclass(frozen=True)
class MatchLearning:
    """Learns from decisions as they are made and taken back; whoever stores one leaves a job by a trigger."""

    database: Database
    requests: MatchingRequests

    async def work_for_ever(self) -> None:
        """Learn from decisions as they come, until cancelled."""
        await keep_doing(self.work, what="learning from decisions about links", pause_s=_PAUSE_S)

    async def work(self) -> int:
        """Learn from the decisions that are there now; their number."""
        async with self.database.connection() as conn:
            tenant_ids = await party_aliases.tenants_to_learn(conn)
        learned = 0
        for tenant_id in tenant_ids:
            async with self.database.tenant(tenant_id) as conn:
                learned += await self._learn(conn, tenant_id)
            self.requests.announce()
        return learned

    async def _learn(self, conn: Conn, tenant_id: UUID) -> int:
        pairs = await party_aliases.take_decisions(conn, tenant_id=tenant_id, limit=_BATCH)
        changed: list[PartyIdentity] = []
        for pair in pairs:
            changed += await self._learn_aliases(conn, pair, tenant_id)
        if changed:
            log.info("aliases of parties have changed", extra={"tenant_id": str(tenant_id)})
            await self._match_again(conn, changed, tenant_id)
        return len(pairs)

    async def _learn_aliases(self, conn: Conn, pair: DecidedPair, tenant_id: UUID) -> list[PartyIdentity]:
        """The parties whose aliases have changed."""
        records = await match_records.of_ids(conn, [pair.first_id, pair.second_id])
        first, second = records.get(pair.first_id), records.get(pair.second_id)
        aliases = ()
        if first and second and await party_aliases.is_confirmed(conn, pair, tenant_id=tenant_id):
            aliases = aliases_between(pair.relation, first, second)
        return await party_aliases.replace_of_decision(conn, pair, aliases, tenant_id=tenant_id)

    async def _match_again(self, conn: Conn, parties: Collection[PartyIdentity], tenant_id: UUID) -> None:
        """Ask for the documents of parties to be matched again."""
        ids = await party_aliases.documents_of_parties(
            conn, parties, tenant_id=tenant_id, limit=MOST_MATCHED_AGAIN
        )
        await lock_documents(conn, ids)
        await self.requests.request(conn, ids)
