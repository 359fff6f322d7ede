"""Route for the ingestions of all documents."""

from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request

from docmill.service.store import ingestions
from docmill.web.access import Router, needs
from docmill.web.api.shapes import Ingestion, IngestionPage, IsoDatetime
from docmill.web.context import TheVault

router = Router(tags=["ingestions"])


@router.get("/ingestions")
@needs("read")
async def list_ingestions(
    request: Request,
    vault: TheVault,
    *,
    status: Literal["in-progress", "completed", "failed"] | None = None,
    document: Annotated[UUID | None, Query(description="only those of this document")] = None,
    since: Annotated[IsoDatetime | None, Query(description="only those requested then or later")] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> IngestionPage:
    """Requests to process documents, with their results, newest first."""
    async with vault.connection() as conn:
        rows = await ingestions.page(
            conn, status=status, document_id=document, since=since, after=after, limit=limit + 1
        )
    follow = None
    if len(rows) > limit:
        query = {**request.query_params, "after": str(rows[limit - 1].id)}
        follow = f"{request.url.path}?{urlencode(query)}"
    return IngestionPage(ingestions=[Ingestion.of(row) for row in rows[:limit]], next=follow)


@router.get("/ingestions/{ingestion_id}")
@needs("read")
async def get_ingestion(ingestion_id: UUID, vault: TheVault) -> Ingestion:
    """One request to process a document, with its result."""
    return Ingestion.of(await vault.ingestion(ingestion_id))
