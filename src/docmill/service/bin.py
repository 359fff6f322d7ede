"""Deletes documents into the bin, restores them, and removes them with their files."""

import logging
from collections.abc import Collection, Sequence
from uuid import UUID

from docmill.errors import DocmillError
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.intake.orphaned_files import remove_original
from docmill.service.ports import Sender
from docmill.service.storage.blobs import Blobs
from docmill.service.store import bin as store
from docmill.service.store import claims, documents
from docmill.service.store.bin import BinRow, RemovedDocument
from docmill.service.store.database import Database

log = logging.getLogger(__name__)

_BATCH = 50
"""Documents per transaction: each takes its ingestions, reviews and links with it."""


class Bin:
    """The bins of all tenants. days: for which a deleted document is kept."""

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        sender: Sender,
        feed: EventFeed,
        *,
        days: float,
        matching: MatchingRequests = NO_MATCHING,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._sender = sender
        self._feed = feed
        self.days = days
        self._matching = matching

    async def delete(
        self,
        document_id: UUID,
        *,
        tenant_id: UUID,
        deleted_by: UUID,
        versions: Collection[int] | None = None,
    ) -> list[UUID]:
        """Put a document in the bin, with the parts that came with it alone; the ids of all of them.

        None of them if there is no such document. Work on it ends, and those whose links depend on it are
        matched again. versions: of the document, one of which the person saw; else it raises OutdatedError.
        """
        async with self._database.tenant(tenant_id) as conn:
            family = await store.with_parts(conn, document_id)
            depending = await self._matching.depending_on(conn, family)
            await claims.lock_documents(conn, [*family, *depending])
            if not await documents.lock(conn, document_id, versions=versions):
                return []
            await store.put_in(conn, family, tenant_id=tenant_id, root_id=document_id, deleted_by=deleted_by)
            await self._matching.request(conn, depending)
        self._matching.announce()
        self._feed.announce()
        return family

    async def restore(self, document_id: UUID, *, tenant_id: UUID) -> list[UUID]:
        """Take a document out of the bin, with its parts; the ids of all of them, none if it is not there.

        Work that its deletion ended is begun again.
        """
        async with self._database.tenant(tenant_id) as conn:
            restored, reopened = await store.restore(conn, document_id, tenant_id=tenant_id)
            await self._sender.send_in(conn, [str(ingestion_id) for ingestion_id in reopened])
            await self._matching.request_restored(conn, restored)
        self._matching.announce()
        self._sender.announce()
        self._feed.announce()
        return restored

    async def page(self, *, tenant_id: UUID, after: UUID | None = None, limit: int = 50) -> list[BinRow]:
        """Up to `limit` deleted documents, the latest first. after: the last one before these."""
        async with self._database.tenant(tenant_id) as conn:
            return await store.page(conn, days=self.days, after=after, limit=limit)

    async def remove(self, document_id: UUID, *, tenant_id: UUID) -> int:
        """Remove a deleted document for good, with its parts and files; how many that were."""
        return await self._remove([document_id], tenant_id)

    async def empty(self, *, tenant_id: UUID) -> int:
        """Remove every deleted document for good; how many that were."""
        total = 0
        while rows := await self.page(tenant_id=tenant_id, limit=_BATCH):
            total += await self._remove([row.id for row in rows], tenant_id)
        # Parts whose whole was restored or removed without them.
        return total + await self._remove_older(tenant_id, days=0)

    async def remove_expired(self) -> None:
        """Remove documents of all tenants that were deleted too long ago."""
        async with self._database.connection() as conn:
            tenants = await store.tenants_with_expired(conn, days=self.days)
        for tenant_id in tenants:
            removed = await self._remove_older(tenant_id, days=self.days)
            log.info("deleted documents are removed", extra={"tenant_id": str(tenant_id), "count": removed})

    async def _remove_older(self, tenant_id: UUID, *, days: float) -> int:
        total = 0
        while True:
            async with self._database.tenant(tenant_id) as conn:
                ids = await store.expired(conn, days=days, limit=_BATCH)
            if not ids:
                return total
            total += await self._remove(ids, tenant_id)

    async def _remove(self, document_ids: Sequence[UUID], tenant_id: UUID) -> int:
        async with self._database.tenant(tenant_id) as conn:
            removed = await store.remove(conn, document_ids)
        self._feed.announce()
        for document in removed:
            try:
                await self._remove_files(document)
            except DocmillError as error:  # the sweeper removes what nothing names any more
                log.warning(
                    "could not remove the files of a document",
                    extra={"document_id": str(document.id), "code": error.code},
                )
        return len(removed)

    async def _remove_files(self, document: RemovedDocument) -> None:
        """Remove the files of a document, unless its content has been uploaded again since."""
        if await remove_original(self._database, self._blobs, document.file_path):
            content = document.file_path.removeprefix("documents/")
            for folder in ("pages", "readable"):
                await self._remove_folder(f"{folder}/{content}")
        for ingestion_id in document.ingestion_ids:
            await self._remove_folder(f"ingestions/{ingestion_id}")

    async def _remove_folder(self, folder: str) -> None:
        for key in await self._blobs.keys(folder):
            await self._blobs.delete(key)
