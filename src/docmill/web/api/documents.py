"""Documents: upload, list, look at, process again."""

from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import JSONResponse

from docmill.service.store import document_list, documents
from docmill.service.store.document_list import Cursor
from docmill.web.api.document_query import DocumentQuery
from docmill.web.api.shapes import (
    DocumentChange,
    DocumentDetail,
    DocumentList,
    DocumentSummary,
    DuplicateDecision,
    Fault,
    Ingestion,
    IngestionList,
    NearDuplicateList,
    PageReading,
    PageReadings,
    Password,
    Reprocessing,
    UploadedFile,
    UploadResult,
)
from docmill.web.context import TheVault, preprocessed_path
from docmill.web.problems import problem_response
from docmill.web.uploads import receive, refusal_of, upload_status
from docmill.web.view.document import failures_of, page_count_of, result_of

router = APIRouter(prefix="/documents", tags=["documents"])
ingestions_router = APIRouter(prefix="/documents/{document_id}/ingestions", tags=["ingestions"])

_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "password": {"type": "string", "description": "stands before the files it opens"},
                        "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    },
                }
            }
        },
    }
}


@router.post(
    "",
    status_code=201,
    response_model=UploadResult,
    openapi_extra=_FORM,
    responses={200: {"model": UploadResult, "description": "Every file was in the vault already"}},
)
async def upload(request: Request, vault: TheVault, *, force: bool = False) -> Response:
    """Take in the files of a form. `force`: process content again that is already in the vault.

    If every file was refused, the answer is the problem of the first, with all results in it.
    """
    results = await receive(request, vault, force=force)
    content = UploadResult(
        results=[
            UploadedFile(
                file_name=result.file_name,
                status=result.status,
                document_id=result.document_id,
                ingestion_id=result.ingestion_id,
                error=Fault(code=result.error.code, message=result.error.message) if result.error else None,
            )
            for result in results
        ]
    ).model_dump(mode="json")
    status, refusal = upload_status(results), refusal_of(results)
    if refusal is not None:
        return problem_response(status, code=refusal.code, detail=refusal.message, **content)
    return JSONResponse(content, status)


@router.get("")
async def list_documents(
    request: Request, vault: TheVault, wanted: Annotated[DocumentQuery, Query()]
) -> DocumentList:
    """Documents, newest first; with `q` those that fit it best first."""
    after = Cursor.parse(wanted.after) if wanted.after else None
    async with vault.connection() as conn:
        listed = await document_list.page(
            conn, wanted.filters, sort=wanted.sort, after=after, limit=wanted.limit
        )
        ids = [row.id for row in listed.rows]
        query = listed.corrected or wanted.q
        found = await documents.snippets(conn, ids, query) if query else {}
    follow = None
    if listed.follow is not None:
        pairs = [pair for pair in request.query_params.multi_items() if pair[0] != "after"]
        follow = f"{request.url.path}?{urlencode([*pairs, ('after', listed.follow.text)])}"
    return DocumentList(
        documents=[DocumentSummary.of(row, found.get(row.id)) for row in listed.rows],
        next=follow,
        corrected=listed.corrected,
    )


@router.get("/{document_id}")
async def get_document(document_id: UUID, vault: TheVault) -> DocumentDetail:
    """A document with its data, the place of each value, and the verdict of the checks."""
    row, history = await vault.document_with_history(document_id)
    links = await vault.links(document_id)
    result, reviewed = result_of(history), await vault.reviewed(document_id)
    return DocumentDetail.of_result(
        row,
        failures_of(row, result, reviewed.near_duplicates if reviewed else ()),
        links,
        reviewed,
        is_judged=result is not None and result.verdict is not None,
        is_preprocessed=preprocessed_path(history) is not None,
        page_count=page_count_of(row, None),
    )


@router.patch("/{document_id}", status_code=202)
async def change_document(document_id: UUID, change: DocumentChange, vault: TheVault) -> Reprocessing:
    """Give a document a type, by which it is read again; no processing changes that type.

    Null takes the latest choice back. A document that has the type by choice already is not read again.
    """
    return Reprocessing(
        ingestion_id=await vault.choose_type(document_id, change.document_type, seen=change.seen)
    )


@router.put("/{document_id}/near-duplicates/{other_id}")
async def decide_duplicate(
    document_id: UUID, other_id: UUID, decision: DuplicateDecision, vault: TheVault
) -> NearDuplicateList:
    """Say whether two documents are the same; null takes the decision back. It holds for both of them."""
    await vault.decide_duplicate(document_id, other_id, is_duplicate=decision.is_duplicate)
    reviewed = await vault.reviewed(document_id)
    return NearDuplicateList.of(reviewed.near_duplicates if reviewed else ())


@router.get("/{document_id}/pages")
async def get_pages(document_id: UUID, vault: TheVault) -> PageReadings:
    """List how each page was read; empty before the document has been read."""
    _, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    pages = transcription.pages if transcription else ()
    return PageReadings(pages=[PageReading.model_validate(page) for page in pages])


@router.post("/{document_id}/reprocess", status_code=202)
async def reprocess(document_id: UUID, vault: TheVault) -> Reprocessing:
    """Process a document again. A second request during that starts nothing new."""
    return Reprocessing(ingestion_id=await vault.reprocess(document_id))


@router.post("/{document_id}/unlock", status_code=202)
async def unlock(document_id: UUID, key: Password, vault: TheVault) -> Reprocessing:
    """Process a document that needs a password, which is not stored. A wrong one changes nothing."""
    return Reprocessing(ingestion_id=await vault.unlock(document_id, key.password.get_secret_value()))


@ingestions_router.get("")
async def list_ingestions(document_id: UUID, vault: TheVault) -> IngestionList:
    """Every request to process the document and its result, newest first."""
    _, history = await vault.document_with_history(document_id)
    return IngestionList(ingestions=[Ingestion.of(row) for row in history])
