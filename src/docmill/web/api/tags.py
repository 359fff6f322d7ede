"""Routes for tags: list, create, rename, colour, merge, remove, and assign to documents."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Depends, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from docmill.service.store import tags
from docmill.service.tagging import MOST_DOCUMENTS, Tagging
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault

router = Router(prefix="/tags", tags=["tags"])
assignment_router = Router(prefix="/documents", tags=["tags"])

Name = Annotated[str, Field(min_length=1, max_length=200)]
Color = Literal["blue", "green", "amber", "red", "purple", "teal", "pink", "grey"]
_Names = Annotated[list[Name], Field(max_length=50)]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tag(BaseModel):
    """A tag. documents: the number that have it. removed_at: null unless it can only be restored."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    name: str
    color: Color | None
    documents: int
    created_at: datetime
    removed_at: datetime | None


class TagList(BaseModel):
    """All tags by name, removed ones at the end."""

    tags: list[Tag]


class NewTag(_Request):
    """A tag to create."""

    name: Name
    color: Color | None = None


class TagChange(_Request):
    """What to change of a tag; members that are left out stay. color: null takes it away."""

    name: Name | None = None
    color: Color | None = None

    @model_validator(mode="after")
    def _something(self) -> "TagChange":
        if not self.model_fields_set:
            raise ValueError("give a name or a color")
        return self


class Merge(_Request):
    """The tag that takes the place of another."""

    into: UUID


class TagsOfDocument(_Request):
    """Names of tags to add to a document and to take off it; new names become tags."""

    add: _Names = []
    remove: _Names = []


class TagsOfDocuments(TagsOfDocument):
    """Names of tags to add to documents and to take off them."""

    documents: Annotated[list[UUID], Field(min_length=1, max_length=MOST_DOCUMENTS)]


class AssignedTag(BaseModel):
    """A tag of a document. origin: who assigned it."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    name: str
    color: Color | None
    origin: Literal["machine", "person"]


class AssignedTags(BaseModel):
    """The tags of a document: those of the machine first."""

    tags: list[AssignedTag]


class Tagged(BaseModel):
    """The number of documents that were changed."""

    changed: int


def tagging_of(vault: TheVault) -> Tagging:
    """The changes of tags in the vault of this request."""
    return Tagging(vault.service.database, vault.service.feed)


TheTagging = Annotated[Tagging, Depends(tagging_of)]


@router.get("")
@needs("read")
async def list_tags(vault: TheVault) -> TagList:
    """All tags, with the number of documents that have each."""
    async with vault.connection() as conn:
        return TagList(tags=[Tag.model_validate(row) for row in await tags.every(conn)])


@router.post("", status_code=201)
@needs("organise")
async def create_tag(new: NewTag, vault: TheVault, tagging: TheTagging) -> Tag:
    """Create a tag; if there is one of that name, it is the answer. A removed one begins anew."""
    return Tag.model_validate(await tagging.create(new.name, color=new.color, tenant_id=vault.tenant_id))


@router.patch("/{tag_id}")
@needs("organise")
async def change_tag(tag_id: UUID, change: TagChange, vault: TheVault, tagging: TheTagging) -> Tag:
    """Rename or colour a tag. What had the old name is meant by the new one; 409 if another tag has it."""
    if change.name is not None:
        _found(await tagging.rename(tag_id, change.name, tenant_id=vault.tenant_id))
    if "color" in change.model_fields_set:
        _found(await tagging.recolor(tag_id, change.color, tenant_id=vault.tenant_id))
    return await _tag(tag_id, vault)


@router.post("/{tag_id}/merge")
@needs("organise")
async def merge_tag(tag_id: UUID, merge: Merge, vault: TheVault, tagging: TheTagging) -> Tag:
    """Give the documents of a tag another one in its place; the answer is that one."""
    _found(await tagging.merge(tag_id, merge.into, tenant_id=vault.tenant_id))
    return await _tag(merge.into, vault)


@router.delete("/{tag_id}", status_code=204)
@needs("organise")
async def remove_tag(tag_id: UUID, vault: TheVault, tagging: TheTagging) -> Response:
    """Take a tag off all documents. It can be restored with them."""
    _found(await tagging.set_removed(tag_id, is_removed=True, tenant_id=vault.tenant_id))
    return Response(status_code=204)


@router.post("/{tag_id}/restore")
@needs("organise")
async def restore_tag(tag_id: UUID, vault: TheVault, tagging: TheTagging) -> Tag:
    """Give a removed tag back to the documents that had it."""
    _found(await tagging.set_removed(tag_id, is_removed=False, tenant_id=vault.tenant_id))
    return await _tag(tag_id, vault)


@assignment_router.get("/{document_id}/tags")
@needs("read")
async def get_tags_of_document(document_id: UUID, vault: TheVault) -> AssignedTags:
    """The tags of a document, with who assigned each."""
    await vault.document(document_id)
    async with vault.connection() as conn:
        rows = await tags.of_document(conn, document_id)
    return AssignedTags(tags=[AssignedTag.model_validate(row) for row in rows])


@assignment_router.post("/{document_id}/tags")
@needs("organise")
async def tag_document(
    document_id: UUID, wanted: TagsOfDocument, vault: TheVault, tagging: TheTagging
) -> AssignedTags:
    """Add tags to a document, or take some off. No later processing changes these."""
    await vault.document(document_id)
    await tagging.assign(
        [document_id],
        add=wanted.add,
        remove=wanted.remove,
        tenant_id=vault.tenant_id,
        assigned_by=vault.user_id,
    )
    return await get_tags_of_document(document_id, vault)


@router.post("/assign")
@needs("organise")
async def tag_documents(wanted: TagsOfDocuments, vault: TheVault, tagging: TheTagging) -> Tagged:
    """Add tags to many documents, or take some off. Ids that are no document here are left out."""
    changed = await tagging.assign(
        wanted.documents,
        add=wanted.add,
        remove=wanted.remove,
        tenant_id=vault.tenant_id,
        assigned_by=vault.user_id,
    )
    return Tagged(changed=changed)


async def _tag(tag_id: UUID, vault: Vault) -> Tag:
    async with vault.connection() as conn:
        row = await tags.get(conn, tag_id)
    _found(row is not None)
    return Tag.model_validate(row)


def _found(is_found: bool) -> None:  # noqa: FBT001  the answer of a method, as it comes
    """Answers 404 if there was no such tag."""
    if not is_found:
        raise HTTPException(404, "There is no such tag here.")
