"""A worker's claims on documents that are to be matched, and the transactions that end them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import psycopg

from docmill.errors import DocmillError
from docmill.service.ports.matching import Counts, DocumentToMatch, MatchingStep
from docmill.service.processing.claim_writer import persistently
from docmill.service.protocol.claim_rules import ClaimLostError
from docmill.service.protocol.matching_rules import MatchingObstacle
from docmill.service.store import matching_jobs
from docmill.service.store.claims import lock_documents
from docmill.service.store.database import Conn, Database, lock_matches, new_id
from docmill.service.store.matching_jobs import Ending, MatchingClaim
from docmill.service.store.notifications import Notification

log = logging.getLogger(__name__)


class MatchingClaims:
    """Claims of one worker. Every write names its fence; what it names takes effect once."""

    def __init__(self, database: Database, matching: MatchingStep, worker_id: str, *, lease_s: float) -> None:
        self._database = database
        self._matching = matching
        self._worker_id = worker_id
        self._lease_s = lease_s

    def claim(self, document_id: UUID) -> asyncio.Task[MatchingClaim | MatchingObstacle | None]:
        """The claim, or what stands in its way; None if the document is not to be matched.

        The database is asked for as long as the claim would last.
        """
        token = new_id()

        async def once() -> MatchingClaim | MatchingObstacle | None:
            tenant_id = await self._tenant_of(document_id)
            if tenant_id is None:
                return None
            async with self._database.tenant(tenant_id) as conn:
                claim = await matching_jobs.take(
                    conn, document_id, worker_id=self._worker_id, lease_s=self._lease_s, token=token
                )
                return claim or await matching_jobs.obstacle(conn, document_id)

        async def ask() -> MatchingClaim | MatchingObstacle | None:
            return await persistently(once, attempts=None, within_s=self._lease_s)

        return asyncio.create_task(ask())

    async def extend(self, claim: MatchingClaim) -> bool:
        """Extend the claim to the length of a lease from now. False if it is lost."""
        async with self._database.connection() as conn:
            return await matching_jobs.extend(conn, claim, lease_s=self._lease_s)

    async def write(
        self,
        claim: MatchingClaim,
        decision: Any,  # noqa: ANN401  see `Decision`
        *,
        missing: str | None = None,
    ) -> Counts:
        """Write a decision and end the claim with success, in one transaction.

        missing: see `matching_jobs.succeed`. Raises ClaimLostError, with nothing written, if it is lost.
        """
        document = DocumentToMatch(claim.document_id, claim.tenant_id)
        counts: Counts = {}

        async def write(conn: Conn) -> Ending:
            nonlocal counts
            # One after the other in a tenant: each sees the clusters that the others have made.
            await lock_matches(conn, claim.tenant_id)
            await lock_documents(conn, [claim.document_id])
            counts = await self._matching.matcher.write(conn, document, decision)
            ending = await matching_jobs.succeed(conn, claim, missing=missing)
            if ending == "lost":
                raise ClaimLostError
            return ending

        await self._end(claim, write)
        return counts

    async def write_meanwhile(self, claim: MatchingClaim, decision: Any) -> None:  # noqa: ANN401  see `Decision`
        """Write a decision that another one is to follow, and keep the claim. Raises ClaimLostError."""
        document = DocumentToMatch(claim.document_id, claim.tenant_id)

        async def once() -> None:
            async with self._database.tenant(claim.tenant_id) as conn:
                await lock_matches(conn, claim.tenant_id)
                await lock_documents(conn, [claim.document_id])
                await self._matching.matcher.write(conn, document, decision)
                if not await matching_jobs.is_held(conn, claim):
                    raise ClaimLostError

        await persistently(once)

    async def set_back(
        self, claim: MatchingClaim, *, error: DocmillError | None, delay_s: float, counts: bool
    ) -> Ending:
        """See `matching_jobs.set_back`. Requested again, its message is sent."""

        async def write(conn: Conn) -> Ending:
            return await matching_jobs.set_back(conn, claim, error=error, delay_s=delay_s, counts=counts)

        return await self._end(claim, write)

    async def fail(self, claim: MatchingClaim, error: DocmillError, *, receive_count: int) -> Ending:
        """See `matching_jobs.fail`. People are told of it in the same transaction."""

        async def write(conn: Conn) -> Ending:
            ending = await matching_jobs.fail(conn, claim, error, receive_count=receive_count)
            if ending == "ended":
                await self._notify(conn, claim.tenant_id, claim.document_id, error, claim.attempt)
            return ending

        return await self._end(claim, write)

    async def give_up(self, document_id: UUID, error: DocmillError, *, receive_count: int) -> bool:
        """See `matching_jobs.give_up`. People are told of it in the same transaction."""
        tenant_id = await self._tenant_of(document_id)
        if tenant_id is None:
            return False
        async with self._database.tenant(tenant_id) as conn:
            attempts = await matching_jobs.give_up(conn, document_id, error, receive_count=receive_count)
            if attempts is not None:
                await self._notify(conn, tenant_id, document_id, error, attempts)
        return attempts is not None

    async def _tenant_of(self, document_id: UUID) -> UUID | None:
        async with self._database.connection() as conn:
            return await matching_jobs.tenant_of(conn, document_id)

    async def _end(self, claim: MatchingClaim, write: Callable[[Conn], Awaitable[Ending]]) -> Ending:
        """End a claim; if the document was requested again meanwhile, its next message is sent with that."""

        async def once() -> Ending:
            async with self._database.tenant(claim.tenant_id) as conn:
                ending = await write(conn)
                if ending == "requested again":
                    await self._matching.sender.send_in(conn, [str(claim.document_id)])
            return ending

        ending = await persistently(once)
        if ending == "requested again":
            self._matching.sender.announce()
        return ending

    async def _notify(
        self, conn: Conn, tenant_id: UUID, document_id: UUID, error: DocmillError, attempts: int
    ) -> None:
        """Have people told. A notifier that fails harms nothing."""
        if self._matching.notifier is None:
            return
        notification = Notification(
            "matching_failed",
            tenant_id=tenant_id,
            document_id=document_id,
            error=error.message,
            attempts=attempts,
            link=f"/docs/{document_id}",
        )
        try:
            async with conn.transaction():
                await self._matching.notifier.notify(conn, notification)
        except psycopg.OperationalError:  # of the whole transaction, which is tried again
            raise
        except Exception as fault:  # any fault: the document must not stay unfinished for it
            log.exception("nobody is told of a failure", exc_info=fault)
