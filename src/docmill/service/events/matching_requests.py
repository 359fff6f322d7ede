"""Requests to match documents, made in the transaction that changes them."""

from collections.abc import Sequence
from uuid import UUID

from docmill.service.ports import Sender
from docmill.service.protocol.matching_rules import MATCHABLE_TYPES
from docmill.service.store import matching_jobs
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Conn


class MatchingRequests:
    """Asks for documents to be matched. sender: into the queue of matching; None if nothing is matched."""

    def __init__(self, sender: Sender | None = None) -> None:
        self._sender = sender

    async def request(self, conn: Conn, document_ids: Sequence[UUID]) -> None:
        """Ask for those of the documents to be matched, once more if they have been, that can be.

        The caller has locked them, and calls `announce` after the transaction.
        """
        if self._sender is None or not document_ids:
            return
        to_send = await matching_jobs.request_matching(conn, document_ids, types=MATCHABLE_TYPES)
        if to_send:
            await self._sender.send_in(conn, [str(document_id) for document_id in to_send])

    async def depending_on(self, conn: Conn, document_ids: Sequence[UUID]) -> list[UUID]:
        """The other documents whose links depend on these, to be locked and matched again without them."""
        if self._sender is None:
            return []
        return await matching_jobs.depending_on(conn, document_ids)

    async def request_restored(self, conn: Conn, document_ids: Sequence[UUID]) -> None:
        """Ask for documents that are back from the bin, and for those whose links depend on them.

        The caller has locked these. The others cannot be locked before, since the bin hides what depends.
        """
        others = await self.depending_on(conn, document_ids)
        await lock_documents(conn, others)
        await self.request(conn, [*document_ids, *others])

    def announce(self) -> None:
        """Wake the workers after the transaction."""
        if self._sender is not None:
            self._sender.announce()


NO_MATCHING = MatchingRequests()
"""For a service in which nothing is matched."""
