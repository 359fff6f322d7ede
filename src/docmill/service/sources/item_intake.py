"""Takes the items of one source into the vault: each once, whatever stops the watcher in between."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from pydantic import JsonValue

from docmill.errors import DocmillError, DocumentError, ValidationError
from docmill.service.intake.accept import AssignedTags, Intake, KnownItemError
from docmill.service.sources.rate_limits import ItemLimits
from docmill.service.store import arrivals, doc_sources, tags
from docmill.service.store.database import DEFAULT_USER_ID, Conn, Database
from docmill.service.store.ingestions import Origin
from docmill.service.tagging import clean_name


@dataclass(frozen=True, slots=True)
class TakenItem:
    """The outcome for an item. known: it was taken before. error: why it was refused, if that is so now.

    accepted: it is a new document. already_here: the vault has its content. document_id: None for one that
    is known or refused.
    """

    status: Literal["accepted", "already_here", "known", "refused"]
    document_id: UUID | None = None
    ingestion_id: UUID | None = None
    error: DocmillError | None = None


class ItemIntake:
    """The intake of one source. created_by: who made it, in whose name it tags documents.

    An item is filed and noted as taken in one transaction. What is done at the source afterwards (a mail
    moved, a message deleted) comes later, and is done again for an item that is known.

    next_notice: gives an event that is set at the next `Sources.wake` of the source. Ask for it before
    looking at the source, so that no notice is missed; one can be lost with a connection, so look even
    without, now and then.
    limits: of the source and its tenant; without them, there are none. version: of the source as it was
    opened; once that is another one, no position is kept.
    """

    def __init__(
        self,
        intake: Intake,
        database: Database,
        *,
        source_id: UUID,
        tenant_id: UUID,
        next_notice: Callable[[], asyncio.Event] = asyncio.Event,
        created_by: UUID = DEFAULT_USER_ID,
        limits: ItemLimits | None = None,
        version: int | None = None,
    ) -> None:
        self._intake = intake
        self._database = database
        self._limits = limits
        self._version = version
        self.next_notice = next_notice
        self.source_id = source_id
        self.tenant_id = tenant_id
        self._created_by = created_by

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """A transaction of the tenant, for what a kind keeps in tables of its own."""
        async with self._database.tenant(self.tenant_id) as conn:
            yield conn

    async def known(self, items: Sequence[str]) -> set[str]:
        """Those of the items that were taken or refused before. For many at once: ask in batches."""
        async with self._database.tenant(self.tenant_id) as conn:
            return await arrivals.known(conn, self.source_id, items)

    async def refused(self, items: Sequence[str]) -> set[str]:
        """Those of the items that could not be taken, and stay where they are."""
        async with self._database.tenant(self.tenant_id) as conn:
            return await arrivals.refused(conn, self.source_id, items)

    async def newest_taken(self, limit: int) -> list[Mapping[str, JsonValue]]:
        """The metadata of the last items that were taken."""
        async with self._database.tenant(self.tenant_id) as conn:
            rows = await arrivals.of_source(conn, self.source_id, limit=limit)
        return [row.metadata for row in rows if row.error_code is None]

    async def taken_mails(self) -> set[tuple[str, int]]:
        """Message id and size of mails that were taken, the newest ones: they need not be fetched again."""
        async with self._database.tenant(self.tenant_id) as conn:
            return await arrivals.taken_mails(conn, self.source_id)

    async def take(
        self,
        item: str,
        chunks: AsyncIterator[bytes],
        *,
        file_name: str,
        metadata: Mapping[str, JsonValue],
        tag_names: Sequence[str] = (),
    ) -> TakenItem:
        """Take one item: a file with its content, and what the source says about it.

        item: its name in the source, the same each time, of this content alone. tag_names: tags that the
        document gets, made if there are none of these names; what is no name of a tag is left out. A file
        that can never be taken (empty, too large) is refused for good. Raises TransientError, SetupError:
        nothing is noted.

        Limits that are reached make a watched source wait here; for others it raises RateLimitedError.
        """
        origin = Origin(source_id=self.source_id, metadata=metadata)
        if self._limits is not None:
            if await self.known([item]):  # sent again: that must not use up what the limits allow
                return await self._known(item)
            await self._limits.wait_for_turn()
            chunks = self._limits.within_size(chunks)
        try:
            accepted = await self._intake.accept_from(
                origin,
                chunks,
                tenant_id=self.tenant_id,
                file_name=file_name,
                item=item,
                tagging=await self._tagging(tag_names),
            )
        except KnownItemError:
            return await self._known(item)
        except DocumentError as error:
            return await self.refuse(item, error, metadata=metadata)
        status = "accepted" if accepted.is_new else "already_here"
        return TakenItem(status, accepted.document_id, accepted.ingestion_id)

    async def _tagging(self, names: Sequence[str]) -> AssignedTags | None:
        """The tags of these names, which are made in a transaction of their own: others may wait for it."""
        usable: list[str] = []
        for name in names:
            with suppress(ValidationError):
                usable.append(clean_name(name))
        if not usable:
            return None
        async with self._database.tenant(self.tenant_id) as conn:
            tag_ids = await tags.named_or_new(conn, usable, tenant_id=self.tenant_id)
        return AssignedTags(tag_ids, self._created_by)

    async def _known(self, item: str) -> TakenItem:
        """The answer for an item that was taken, or refused, before."""
        return TakenItem("refused" if await self.refused([item]) else "known")

    async def refuse(self, item: str, error: DocmillError, *, metadata: Mapping[str, JsonValue]) -> TakenItem:
        """Note that an item cannot be taken, and why; it is not tried again."""
        origin = Origin(source_id=self.source_id, metadata=metadata)
        async with self._database.tenant(self.tenant_id) as conn:
            is_new = await arrivals.add(
                conn, origin, item, tenant_id=self.tenant_id, document_id=None, error=error
            )
        return TakenItem("refused", error=error if is_new else None)

    async def keep_position(self, position: JsonValue) -> None:
        """Keep how far the source was read, for the next time it is opened."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.keep_position(conn, self.source_id, position, version=self._version)

    async def note_success(self) -> None:
        """Note that the source answers: after it was connected to, and now and then while nothing arrives."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.note_success(conn, self.source_id)

    async def note_problem(self, error: DocmillError) -> None:
        """Show people a problem that does not end the watch."""
        async with self._database.tenant(self.tenant_id) as conn:
            await doc_sources.note_failure(conn, self.source_id, error, retry_s=None)
