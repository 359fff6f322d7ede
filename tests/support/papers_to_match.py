"""Documents that are read without a worker, and what they say of their matching."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.store.claims import Claim
from docmill.service.store.result_columns import StoredResult
from support.scripted_steps import once


@dataclass(frozen=True)
class MatchingState:
    """What a document says of its matching. written: the number of decisions that were committed."""

    status: str | None
    attempts: int
    error: str | None
    is_failed_at: bool
    written: int


def result_of(document_type: str | None) -> StoredResult:
    """The result of a document of this type."""
    return StoredResult(
        media_type="application/pdf",
        classification={"document_type": document_type, "title": "Title"},
        structured_data={"number": "7"},
        valid_structured_data=True,
        pipeline_fingerprint="",
    )


@dataclass
class PapersToMatch:
    """Documents of the default tenant."""

    service: Service
    count: int = 0

    async def upload(self) -> Accepted:
        """A new document."""
        self.count += 1
        return await self.service.intake.accept(
            once(b"%%PDF %d" % self.count), tenant_id=self.service.default_tenant_id, file_name="a.pdf"
        )

    async def read(self, document_type: str | None = "invoice", accepted: Accepted | None = None) -> UUID:
        """A document that has been read, with which matching is asked for where it can be."""
        accepted = accepted or await self.upload()
        assert accepted.ingestion_id
        writer = ClaimWriter(
            self.service.database,
            "reader",
            lease_s=300,
            max_attempts=3,
            matching=self.service.matching_requests,
        )
        claim = await writer.claim(accepted.ingestion_id)
        assert isinstance(claim, Claim)
        assert await writer.finish(claim, result_of(document_type))
        return accepted.document_id

    async def state(self, document_id: UUID) -> MatchingState:
        """What the document says."""
        async with (
            self.service.database.tenant(self.service.default_tenant_id) as conn,
            conn.cursor(row_factory=class_row(MatchingState)) as cur,
        ):
            await cur.execute(
                """
                SELECT matching_status AS status, matching_attempts AS attempts, matching_error AS error,
                       matching_failed_at IS NOT NULL AS is_failed_at,
                       (SELECT count(*) FROM match_record
                         WHERE document_id = document.id AND content ? 'decision') AS written
                  FROM document
                 WHERE id = %(id)s
                """,
                {"id": document_id},
            )
            state = await cur.fetchone()
        assert state is not None
        return state

    async def until(self, document_id: UUID, holds: Callable[[MatchingState], bool]) -> MatchingState:
        """The state of the document, once `holds` is true of it."""
        async with asyncio.timeout(30):
            while not holds(state := await self.state(document_id)):
                await self.service.wakeups.wait(self.service.wakeups.next("papers"), timeout_s=0.05)
        return state

    async def request(self, document_id: UUID) -> None:
        """Ask for the document to be matched, once more."""
        async with self.service.database.tenant(self.service.default_tenant_id) as conn:
            await self.service.matching_requests.request(conn, [document_id])
        self.service.matching_requests.announce()

    async def messages(self) -> int:
        """The number of messages in the queue of matching."""
        assert self.service.matching is not None
        depth = await self.service.matching.queue.depth()
        return depth.due + depth.delayed + depth.in_flight
