"""Removes orphaned files: uploads that never finished, and files of deleted documents."""

import logging
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from docmill.service.storage.blobs import Blobs
from docmill.service.store import claims, sweeps
from docmill.service.store.database import Database, try_lock

log = logging.getLogger(__name__)

LEFT_AFTER = timedelta(days=1)
"""Nothing younger is removed, whatever it looks like."""

_GIVEN_UP_AFTER = timedelta(days=1)
"""An upload that is not complete, or not in its place, by then never will be."""

_PIECES_KEPT_FOR = timedelta(days=2)
"""Pieces of a resumable upload, which has expired by then."""

_PAGES_KEPT_FOR = timedelta(days=7)
"""Recognised pages of a document that has not been read to its end by then are recognised again."""

_BATCH = 500
_OWNER_KEY = "vault/id"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ORIGINAL = re.compile(rf"(?:documents|pages|readable)/{_UUID}/[0-9a-f]{{64}}(?:/|$)")
_RECOGNISED = re.compile(rf"ingestions/{_UUID}/pages/")
_RESULT = re.compile(rf"ingestions/{_UUID}/")
"""Patterns of the names of our own files; others are left alone."""


async def remove_orphaned_files(database: Database, blobs: Blobs) -> None:
    """Remove every old file that nothing names. A file that was accepted is never among them.

    None is removed from a store that belongs to another database, which may name them all.
    """
    async with database.connection() as conn:
        mark = str(await sweeps.vault_id(conn)).encode()
    # A store without an owner is given to this database.
    if not await blobs.put_once(_OWNER_KEY, mark) and await blobs.get(_OWNER_KEY) != mark:
        log.error(
            "the file store belongs to another database: nothing is removed from it; give each database a "
            "data folder or bucket of its own",
            extra={"key": _OWNER_KEY},
        )
        return
    removed = await blobs.drop_unfinished(datetime.now(UTC) - _GIVEN_UP_AFTER)
    removed += await _remove_unnamed(blobs)
    async for keys in _old_files(blobs, "documents", LEFT_AFTER):
        for key in await _nameless(database, keys):
            removed += await remove_original(database, blobs, key)
    for derived in ("pages", "readable"):
        async for keys in _old_files(blobs, derived, LEFT_AFTER):
            removed += await _remove(blobs, await _nameless(database, keys))
    async for keys in _old_files(blobs, "ingestions", _PAGES_KEPT_FOR):
        removed += await _remove(blobs, [key for key in keys if _RECOGNISED.match(key)])
    async for keys in _old_files(blobs, "ingestions", LEFT_AFTER):
        owners = {key: UUID(key.split("/")[1]) for key in keys if _RESULT.match(key)}
        async with database.connection() as conn:
            tenants = await claims.tenants_of(conn, list(set(owners.values())))
        removed += await _remove(blobs, [key for key, owner in owners.items() if owner not in tenants])
    if removed:
        log.warning("files that belonged to nothing are removed", extra={"count": removed})


async def _remove_unnamed(blobs: Blobs) -> int:
    """Remove what uploads have left that are over, whatever became of them; the number of files."""
    removed = 0
    for prefix, age in (("incoming", _GIVEN_UP_AFTER), ("partial", _PIECES_KEPT_FOR)):
        async for keys in _old_files(blobs, prefix, age):
            removed += await _remove(blobs, keys)
    return removed


async def _old_files(blobs: Blobs, prefix: str, age: timedelta) -> AsyncIterator[list[str]]:
    """The old keys below `prefix`, in batches."""
    limit = datetime.now(UTC) - age
    batch: list[str] = []
    async for entry in blobs.entries(prefix):
        if entry.modified_at < limit:
            batch.append(entry.key)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    yield batch


async def _remove(blobs: Blobs, keys: Sequence[str]) -> int:
    for key in keys:
        await blobs.delete(key)
    return len(keys)


async def remove_original(database: Database, blobs: Blobs, key: str) -> bool:
    """Remove an original without a document, under the lock that intake takes for one; whether it was."""
    tenant_id, content_hash = _owner(key)
    async with database.tenant(tenant_id) as conn:
        if not await try_lock(conn, key) or await sweeps.known_hashes(conn, [content_hash]):
            return False
        await blobs.delete(key)
    return True


async def _nameless(database: Database, keys: Sequence[str]) -> list[str]:
    """The keys of originals and page pictures that belong to no document of the database."""
    of_tenant: defaultdict[UUID, dict[str, str]] = defaultdict(dict)
    for key in keys:
        if _ORIGINAL.match(key):
            tenant_id, content_hash = _owner(key)
            of_tenant[tenant_id][key] = content_hash
    nameless: list[str] = []
    for tenant_id, hashes in of_tenant.items():
        async with database.tenant(tenant_id) as conn:
            hashes_in_use = await sweeps.known_hashes(conn, list(hashes.values()))
        nameless += [key for key, content_hash in hashes.items() if content_hash not in hashes_in_use]
    return nameless


def _owner(key: str) -> tuple[UUID, str]:
    """Tenant and content of an original or one of its pages."""
    _, tenant, content_hash, *_ = key.split("/")
    return UUID(tenant), content_hash
