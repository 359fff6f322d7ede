"""The processings of a document."""

from uuid import UUID

from fastapi import APIRouter

from docmill.web.api.shapes import Ingestion, IngestionList
from docmill.web.context import TheVault

router = APIRouter(prefix="/documents/{document_id}/ingestions", tags=["ingestions"])


@router.get("")
async def list_ingestions(document_id: UUID, vault: TheVault) -> IngestionList:
    """Every request to process the document and what came of it, newest first."""
    _, history = await vault.document_with_history(document_id)
    return IngestionList(ingestions=[Ingestion.of(row) for row in history])
