"""Routes for what belongs together: parts, near duplicates, and matches between documents."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from docmill.web.api.shapes import NearDuplicate, Part, Whole
from docmill.web.context import TheVault

router = APIRouter(tags=["matches"])


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class Match(_Shape):
    """A link between two documents.

    kind: what the other one is to the first. score: in [0, 1]. decision: of a person; null before.
    """

    id: UUID
    document_id: UUID
    other_id: UUID
    kind: str
    score: float
    reasons: list[str]
    decision: Literal["confirmed", "declined"] | None
    created_at: datetime


class MatchList(_Shape):
    """Matches, newest first. next: the address of those that follow, null on the last page."""

    matches: list[Match]
    next: str | None


class Related(_Shape):
    """Everything that belongs to a document."""

    parts: list[Part]
    part_of: list[Whole]
    near_duplicates: list[NearDuplicate]
    matches: list[Match]


@router.get("/documents/{document_id}/related", tags=["documents"])
async def get_related(document_id: UUID, vault: TheVault) -> Related:
    """The documents in a document, those that hold it, those that seem to be the same, and its matches."""
    await vault.document(document_id)
    links, pairs = await vault.links(document_id), await vault.near_duplicates(document_id)
    return Related(
        parts=[Part.of(part) for part in links.parts],
        part_of=[Whole.of(whole) for whole in links.wholes],
        near_duplicates=[NearDuplicate.of(pair) for pair in pairs],
        matches=[],
    )


@router.get("/matches")
async def list_matches(
    vault: TheVault,
    *,
    document_id: Annotated[UUID | None, Query(description="only those of this document")] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MatchList:
    """Links between documents. There are none before documents are matched."""
    del vault, document_id, after, limit
    return MatchList(matches=[], next=None)
