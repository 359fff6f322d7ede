"""Dead letters, documents that have failed for good: find them, try them again, or remove them.

One that could not be matched is asked to be matched again.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from uuid import UUID

from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.ports import Sender
from docmill.service.store import dead_letters
from docmill.service.store.database import Database

_BATCH = 100
"""Letters per transaction: many enough to be quick, few enough to hold no document for long."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of dead letters: those of `ids`, all with an error code or of a step, or all."""

    ids: Sequence[UUID] | None = None
    code: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class RedriveResult:
    """The result of trying dead letters again.

    redriven: tried again now. dropped: their document has been processed anew since, so they are out of
    date. unknown: not there (any more).
    """

    redriven: int = 0
    dropped: int = 0
    unknown: int = 0


class DeadLetters:
    """Finds, redrives and purges the dead letters of one tenant; repeating a call changes nothing more."""

    def __init__(
        self, database: Database, sender: Sender, feed: EventFeed, matching: MatchingRequests = NO_MATCHING
    ) -> None:
        self._database = database
        self._matching = matching
        self._sender = sender
        self._feed = feed

    async def redrive(self, chosen: Selection, *, tenant_id: UUID) -> RedriveResult:
        """Try again from the first attempt. A letter, its ingestion and its message change together."""
        total = RedriveResult()
        async for ids in self._batches(chosen, tenant_id):
            async with self._database.tenant(tenant_id) as conn:
                await dead_letters.lock_documents(conn, ids)
                removed = await dead_letters.remove(conn, ids)
                reopened = await dead_letters.reopen(conn, removed.ingestion_ids)
                await self._sender.send_in(conn, [str(ingestion_id) for ingestion_id in reopened])
                await self._matching.request(conn, removed.document_ids)
            total = RedriveResult(
                total.redriven + len(reopened) + len(removed.document_ids),
                total.dropped + len(removed.ingestion_ids) - len(reopened),
                total.unknown + len(ids) - len(removed),
            )
            self._sender.announce()
            self._matching.announce()
            self._feed.announce()
        return total

    async def purge(self, chosen: Selection, *, tenant_id: UUID) -> int:
        """Remove dead letters; their number. The documents stay failed, and their files can be opened."""
        purged = 0
        async for ids in self._batches(chosen, tenant_id):
            async with self._database.tenant(tenant_id) as conn:
                purged += len(await dead_letters.remove(conn, ids))
        return purged

    async def find(self, chosen: Selection, *, tenant_id: UUID) -> list[UUID]:
        """The dead letters of a selection that exist."""
        letters: list[UUID] = []
        async for ids in self._batches(chosen, tenant_id):
            async with self._database.tenant(tenant_id) as conn:
                letters += await dead_letters.existing(conn, ids)
        return letters

    async def _batches(self, chosen: Selection, tenant_id: UUID) -> AsyncGenerator[Sequence[UUID]]:
        """The ids of a selection, in batches. Letters that arrive meanwhile are not included."""
        if chosen.ids is not None:
            unique = list(dict.fromkeys(chosen.ids))
            for start in range(0, len(unique), _BATCH):
                yield unique[start : start + _BATCH]
            return
        after: UUID | None = None
        while True:
            async with self._database.tenant(tenant_id) as conn:
                ids = await dead_letters.ids(
                    conn, code=chosen.code, step=chosen.step, after=after, limit=_BATCH
                )
            if ids:
                yield ids
            if len(ids) < _BATCH:
                return
            after = ids[-1]
