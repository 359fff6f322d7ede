"""Takes the items of one source into the vault: each once, whatever stops the watcher in between."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from pydantic import JsonValue

from docmill.errors import DocmillError, DocumentError
from docmill.service.intake.accept import Intake, KnownItemError
from docmill.service.sources.rate_limits import ItemLimits
from docmill.service.store import arrivals, doc_sources
from docmill.service.store.database import Conn, Database
from docmill.service.store.ingestions import Origin


@dataclass(frozen=True, slots=True)
class TakenItem:
    """What became of an item. known: it was taken or refused before. error: why it was refused.

    accepted: it is a new document. already_here: the vault has its content. document_id: None for one that
    is known or refused.
    """

    status: Literal["accepted", "already_here", "known", "refused"]
    document_id: UUID | None = None
    ingestion_id: UUID | None = None
    error: DocmillError | None = None


class ItemIntake:
    """The intake of one source.

    An item is filed and noted as taken in one transaction. What is done at the source afterwards (a mail
    moved, a message deleted) comes later, and is done again for an item that is known.

    limits: of the source and its tenant; without them, there are none.
    """

    def __init__(
        self,
        intake: Intake,
        database: Database,
        *,
        source_id: UUID,
        tenant_id: UUID,
        limits: ItemLimits | None = None,
    ) -> None:
        self._intake = intake
        self._database = database
        self._limits = limits
        self.source_id = source_id
        self.tenant_id = tenant_id

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """A transaction of the tenant, for what a kind keeps in tables of its own."""
        async with self._database.tenant(self.tenant_id) as conn:
            yield conn

    async def known(self, items: Sequence[str]) -> set[str]:
        """Those of the items that were taken or refused before. For many at once: ask in batches."""
        async with self._database.tenant(self.tenant_id) as conn:
            return await arrivals.known(conn, self.source_id, items)

    async def take(
        self,
        item: str,
        chunks: AsyncIterator[bytes],
        *,
        file_name: str,
        metadata: Mapping[str, JsonValue],
    ) -> TakenItem:
        """Take one item: a file with its content, and what the source says about it.

        item: its name in the source, the same each time, of this content alone. A file that can never be
        taken (empty, too large) is refused for good. Raises TransientError, SetupError: nothing is noted.

        Limits that are reached make a watched source wait here; for others it raises RateLimitedError.
        """
        origin = Origin(source_id=self.source_id, metadata=metadata)
        if self._limits is not None:
            if await self.known([item]):  # sent again: that must not use up what the limits allow
                return TakenItem("known")
            await self._limits.wait_for_turn()
            chunks = self._limits.within_size(chunks)
        try:
            accepted = await self._intake.accept_from(
                origin, chunks, tenant_id=self.tenant_id, file_name=file_name, item=item
            )
        except KnownItemError:
            return TakenItem("known")
        except DocumentError as error:
            return await self.refuse(item, error, metadata=metadata)
        status = "accepted" if accepted.is_new else "already_here"
        return TakenItem(status, accepted.document_id, accepted.ingestion_id)

    async def refuse(self, item: str, error: DocmillError, *, metadata: Mapping[str, JsonValue]) -> TakenItem:
        """Note that an item cannot be taken, and why; it is not tried again."""
        origin = Origin(source_id=self.source_id, metadata=metadata)
        async with self._database.tenant(self.tenant_id) as conn:
            is_new = await arrivals.add(
                conn, origin, item, tenant_id=self.tenant_id, document_id=None, error=error
            )
        return TakenItem("refused" if is_new else "known", error=error if is_new else None)

    async def keep_position(self, position: JsonValue) -> None:
        """Keep how far the source was read, for the next time it is opened."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.keep_position(conn, self.source_id, position)

    async def note_success(self) -> None:
        """Note that the source answers: after it was connected to, and now and then while nothing arrives."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.note_success(conn, self.source_id)

    async def note_problem(self, error: DocmillError) -> None:
        """Show people a problem that does not end the watch."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.note_failure(conn, self.source_id, error, retry_s=None)
