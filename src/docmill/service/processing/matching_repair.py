"""Sends the lost messages of documents to be matched again, and warns of those that are stuck."""

import logging
from uuid import UUID

from docmill.service.ports.matching import Matching
from docmill.service.store import matching_jobs
from docmill.service.store.database import Database

log = logging.getLogger(__name__)

_PAGE = 1000
_PAGES = 5
"""How much one repair looks at; the next goes on from there."""

_NAMED = 100
"""Most documents that each repair logs by id."""

_FIRST_ID = UUID(int=0)


class MatchingRepair:
    """A chore of the sweeper. grace_s: a document that nobody has had in hand for so long may be lost.

    Dead messages of matching are left where they are, for people who look for causes: a document whose third
    delivery failed is settled already, and one whose workers all died is failed by who gets its next message.
    """

    def __init__(self, database: Database, matching: Matching, *, grace_s: float) -> None:
        self._database = database
        self._matching = matching
        self._grace_s = grace_s
        self._looked_up_to = _FIRST_ID

    async def repair(self) -> None:
        """Do it once."""
        await self.warn_of_stuck()
        await self.send_lost_again()

    async def send_lost_again(self) -> None:
        """Send the messages of documents to be matched again that have neither a worker nor a message."""
        for _ in range(_PAGES):
            async with self._database.connection() as conn:
                idle = await matching_jobs.idle(
                    conn, grace_s=self._grace_s, after=self._looked_up_to, limit=_PAGE
                )
            unsent = set(await self._matching.queue.unsent([str(document_id) for document_id in idle]))
            lost = [document_id for document_id in idle if str(document_id) in unsent]
            if lost:
                async with self._database.transaction() as conn:
                    sent = await matching_jobs.note_sent(conn, lost)
                    await self._matching.sender.send_in(conn, [str(document_id) for document_id in sent])
                self._matching.sender.announce()
                log.warning("messages of matching were lost", extra={"count": len(sent)})
            if len(idle) < _PAGE:
                self._looked_up_to = _FIRST_ID
                return
            self._looked_up_to = idle[-1]

    async def warn_of_stuck(self) -> None:
        """Log the documents that have been in progress for longer than any work may take."""
        async with self._database.connection() as conn:
            stuck = await matching_jobs.stuck(conn, limit=_NAMED)
        for document in stuck:
            ids = {"document_id": str(document.id), "tenant_id": str(document.tenant_id)}
            log.warning("matching is stuck: in progress for more than 10 minutes", extra=ids)
