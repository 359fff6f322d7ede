"""Asks for documents that were never matched, sends lost messages again, and warns of what is stuck."""

import logging
from collections.abc import Sequence
from uuid import UUID

from docmill.matching.version import MATCHING_VERSION
from docmill.service.events.matching_requests import MatchingRequests
from docmill.service.ports import ExpectedMessage
from docmill.service.ports.matching import MatchingStep
from docmill.service.protocol.matching_rules import MATCHABLE_TYPES
from docmill.service.store import matching_jobs
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Database
from docmill.service.store.sweeps import IdleWork, by_tenant

log = logging.getLogger(__name__)

_PAGE = 1000
_PAGES = 5
"""How much one repair looks at; the next goes on from there."""

_NAMED = 100
"""Most documents that each repair logs by id."""

_FIRST_ID = UUID(int=0)


def expected_messages(idle: Sequence[IdleWork]) -> list[ExpectedMessage]:
    """The messages by which workers would take what is idle."""
    return [ExpectedMessage(str(each.id), each.tenant_id, each.due_for_s) for each in idle]


class MatchingRepair:
    """A chore of the sweeper. grace_s: a document that nobody has had in hand for so long may be lost.

    Dead messages of matching are left where they are, for people who look for causes: a document whose third
    delivery failed is settled already, and one whose workers all died is failed by who gets its next message.
    """

    def __init__(self, database: Database, matching: MatchingStep, *, grace_s: float) -> None:
        self._database = database
        self._matching = matching
        self._grace_s = grace_s
        self._looked_up_to = _FIRST_ID

    async def repair(self) -> None:
        """Do it once."""
        await self.warn_of_stuck()
        await self.send_lost_again()
        await self.ask_for_never_matched()

    async def ask_for_never_matched(self) -> None:
        """Ask for documents that were read while nothing was matched, or matched before an upgrade.

        Some with each repair, so that what comes in meanwhile does not wait for all of them.
        """
        requests = MatchingRequests(self._matching.sender)
        async with self._database.connection() as conn:
            missing = await matching_jobs.never_asked_for(conn, types=MATCHABLE_TYPES, limit=_PAGE)
            missing += await matching_jobs.matched_before(conn, MATCHING_VERSION, limit=_PAGE)
        for tenant_id, ids in by_tenant(missing).items():
            async with self._database.tenant(tenant_id) as conn:
                await lock_documents(conn, ids)
                await requests.request(conn, ids)
        if missing:
            requests.announce()
            log.info(
                "documents are matched that were not, or by an earlier version", extra={"count": len(missing)}
            )

    async def send_lost_again(self) -> None:
        """Send the messages of documents to be matched again that have neither a worker nor a message."""
        for _ in range(_PAGES):
            async with self._database.connection() as conn:
                idle = await matching_jobs.idle(
                    conn, grace_s=self._grace_s, after=self._looked_up_to, limit=_PAGE
                )
            unsent = set(await self._matching.queue.unsent(expected_messages(idle)))
            lost = by_tenant(job for job in idle if str(job.id) in unsent)
            count = 0
            for tenant_id, ids in lost.items():
                async with self._database.tenant(tenant_id) as conn:
                    sent = await matching_jobs.note_sent(conn, ids)
                    await self._matching.sender.send_in(conn, [str(document_id) for document_id in sent])
                count += len(sent)
            if lost:
                self._matching.sender.announce()
                log.warning("messages of matching were lost", extra={"count": count})
            if len(idle) < _PAGE:
                self._looked_up_to = _FIRST_ID
                return
            self._looked_up_to = idle[-1].id

    async def warn_of_stuck(self) -> None:
        """Log the documents that have been in progress for longer than any work may take."""
        async with self._database.connection() as conn:
            stuck = await matching_jobs.stuck(conn, limit=_NAMED)
        for document in stuck:
            ids = {"document_id": str(document.id), "tenant_id": str(document.tenant_id)}
            log.warning("matching is stuck: in progress for more than 10 minutes", extra=ids)
