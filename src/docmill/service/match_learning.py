"""Learning from what people decide about links, in the background of a worker."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from docmill.matching.aliases import aliases_between
from docmill.matching.calibration import try_correction
from docmill.matching.match_record import PartyIdentity
from docmill.matching.outcome import Relation
from docmill.matching.wording import RELATION_NAMES
from docmill.resilience.concurrency import keep_doing
from docmill.service.events.matching_requests import MatchingRequests
from docmill.service.events.wakeups import TOPIC, Wakeups
from docmill.service.store import match_calibrations, match_decisions, match_records, party_aliases
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Conn, Database, lock_matches
from docmill.service.store.match_decisions import Pair

log = logging.getLogger(__name__)

DECISIONS_BETWEEN_TRIALS = 10
"""A correction of scores is tried again when there are so many more decisions, or fewer."""

MOST_MATCHED_AGAIN = 200
"""Documents that are matched again after something was learned or forgotten, the newest."""

_PAUSE_S = 1.0
"""At least between two looks, since events come in crowds while documents are read."""
_LONGEST_WAIT_S = 60.0
"""For a notice that was lost, or behind a pooler of connections comes from no other process."""
_RELATIONS: Mapping[str, Relation] = {name: name for name in RELATION_NAMES}
_BATCH = 50


@dataclass(frozen=True)
class MatchLearning:
    """Learns from decisions as they are made and taken back; whoever stores one leaves a job by a trigger."""

    database: Database
    requests: MatchingRequests

    async def reset_calibration(self, tenant_id: UUID) -> None:
        """Go back to the shipped scores; decisions made from now on may correct them again."""
        async with self.database.tenant(tenant_id) as conn:
            await match_calibrations.reset(conn, tenant_id=tenant_id)
            again = await match_calibrations.documents_with_links(
                conn, tenant_id=tenant_id, limit=MOST_MATCHED_AGAIN
            )
            await self._match_again(conn, again)
        self.requests.announce()

    async def work_for_ever(self, wakeups: Wakeups) -> None:
        """Learn from decisions as they come, until cancelled. Who decides announces an event."""

        async def work_when_woken() -> None:
            heard = wakeups.next(TOPIC)
            if not await self.work():
                await wakeups.wait_for_notice(heard, timeout_s=_LONGEST_WAIT_S)

        await keep_doing(work_when_woken, what="learning from decisions about links", pause_s=_PAUSE_S)

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
        # Who decides has this lock, too: each would wait for rows of the other, jobs or documents.
        await lock_matches(conn, tenant_id)
        pairs = await party_aliases.take_decisions(conn, tenant_id=tenant_id, limit=_BATCH)
        changed: list[PartyIdentity] = []
        for pair in pairs:
            changed += await self._learn_aliases(conn, pair, tenant_id)
        again: set[UUID] = set()
        if changed:
            log.info("aliases of parties have changed", extra={"tenant_id": str(tenant_id)})
            again.update(
                await party_aliases.documents_of_parties(
                    conn, changed, tenant_id=tenant_id, limit=MOST_MATCHED_AGAIN
                )
            )
        if pairs and await self._calibrate(conn, tenant_id):
            again.update(
                await match_calibrations.documents_with_links(
                    conn, tenant_id=tenant_id, limit=MOST_MATCHED_AGAIN
                )
            )
        await self._match_again(conn, again)
        return len(pairs)

    async def _learn_aliases(self, conn: Conn, pair: Pair, tenant_id: UUID) -> list[PartyIdentity]:
        """The parties whose aliases have changed; a link that is no relation of matching says nothing."""
        records = await match_records.of_ids(conn, [pair.first_id, pair.second_id])
        first, second = records.get(pair.first_id), records.get(pair.second_id)
        relation = _RELATIONS.get(pair.relation)
        held = await match_decisions.get(conn, pair, tenant_id=tenant_id)
        aliases = ()
        if first and second and relation and held is not None and held.decision == "confirmed":
            aliases = aliases_between(relation, first, second)
        return await party_aliases.replace_of_decision(conn, pair, aliases, tenant_id=tenant_id)

    async def _calibrate(self, conn: Conn, tenant_id: UUID) -> bool:
        """Try another correction if there are enough new decisions; whether another one is in use now."""
        labels = await match_calibrations.labels(conn, tenant_id=tenant_id)
        tried = await match_calibrations.history(conn, tenant_id=tenant_id, limit=1)
        before = tried[0].confirmed + tried[0].declined if tried else 0
        if abs(len(labels) - before) < DECISIONS_BETWEEN_TRIALS:
            return False
        current = await match_calibrations.current(conn, tenant_id=tenant_id)
        trial = await asyncio.to_thread(try_correction, labels, current)
        if trial is None:
            return False
        await match_calibrations.add(conn, trial, tenant_id=tenant_id)
        log.info(
            "a correction of scores was tried",
            extra={"tenant_id": str(tenant_id), "status": trial.outcome, "decisions": len(labels)},
        )
        return trial.outcome != "rejected"

    async def _match_again(self, conn: Conn, ids: Collection[UUID]) -> None:
        """Ask for documents to be matched again."""
        ids = sorted(ids)
        await lock_documents(conn, ids)
        await self.requests.request(conn, ids)
