"""Routes for deleting documents, and for the bin."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict

from docmill.web.access import Router, needs
from docmill.web.api.etags import WantedVersions
from docmill.web.context import TheVault, not_found

router = Router(tags=["bin"])


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class Deletion(_Shape):
    """What was put in the bin: a document, and its parts that stand in no other. kept_days: until removal."""

    document_ids: list[UUID]
    kept_days: float


class Restoration(_Shape):
    """What was taken out of the bin: the document, and the parts that were deleted with it."""

    document_ids: list[UUID]


class DeletedDocument(_Shape):
    """A document in the bin. parts: those that were deleted with it. removed_at: when it goes for good."""

    id: UUID
    title: str
    file_name: str
    byte_size: int
    document_type: str | None
    parts: int
    deleted_at: datetime
    removed_at: datetime


class BinList(_Shape):
    """Deleted documents, the latest first. next: the address of those that follow, null on the last page."""

    documents: list[DeletedDocument]
    next: str | None


class Removal(_Shape):
    """The number of documents that were removed for good, with their parts."""

    removed: int


@router.delete("/documents/{document_id}", tags=["documents"])
@needs("write")
async def delete_document(document_id: UUID, vault: TheVault, versions: WantedVersions) -> Deletion:
    """Put a document in the bin, where it is kept for a while. Work on it ends."""
    deleted = await vault.service.bin.delete(
        document_id, tenant_id=vault.tenant_id, deleted_by=vault.user_id, versions=versions
    )
    if not deleted:
        raise not_found()
    return Deletion(document_ids=deleted, kept_days=vault.service.bin.days)


@router.post("/documents/{document_id}/restore", tags=["documents"])
@needs("write")
async def restore_document(document_id: UUID, vault: TheVault) -> Restoration:
    """Take a document out of the bin. Work that its deletion ended begins again."""
    restored = await vault.service.bin.restore(document_id, tenant_id=vault.tenant_id)
    if not restored:
        raise not_found()
    return Restoration(document_ids=restored)


@router.get("/bin")
@needs("read")
async def list_bin(
    request: Request,
    vault: TheVault,
    *,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> BinList:
    """Deleted documents, the latest first. Parts that were deleted with a document are counted there."""
    rows = await vault.service.bin.page(tenant_id=vault.tenant_id, after=after, limit=limit + 1)
    follow = None
    if len(rows) > limit:
        query = {**request.query_params, "after": str(rows[limit - 1].id)}
        follow = f"{request.url.path}?{urlencode(query)}"
    return BinList(documents=[DeletedDocument.model_validate(row) for row in rows[:limit]], next=follow)


@router.delete("/bin")
@needs("administer")
async def empty_bin(vault: TheVault) -> Removal:
    """Remove all deleted documents for good, with their files."""
    return Removal(removed=await vault.service.bin.empty(tenant_id=vault.tenant_id))


@router.delete("/bin/{document_id}")
@needs("administer")
async def remove_document(document_id: UUID, vault: TheVault) -> Removal:
    """Remove a deleted document for good, with its parts and files."""
    removed = await vault.service.bin.remove(document_id, tenant_id=vault.tenant_id)
    if not removed:
        raise not_found()
    return Removal(removed=removed)
