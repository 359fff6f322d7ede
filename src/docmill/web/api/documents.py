"""Documents: upload, list, look at, process again."""

from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from starlette.responses import JSONResponse

from docmill.service.review.edits import parse_edits
from docmill.service.search.snippets import Snippet
from docmill.service.store import document_list, documents
from docmill.service.store.document_list import Cursor, DocumentPage
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.matching_states import MatchingState
from docmill.web.access import Router, needs
from docmill.web.api.document_query import DocumentQuery
from docmill.web.api.etags import WantedVersions, etag_of, is_known
from docmill.web.api.shapes import (
    Arrival,
    DocumentChange,
    DocumentDetail,
    DocumentList,
    DocumentSummary,
    DuplicateDecision,
    Fault,
    Ingestion,
    IngestionList,
    MatchingProgress,
    NearDuplicateList,
    PageReading,
    PageReadings,
    Password,
    Reprocessing,
    UploadedFile,
    UploadResult,
)
from docmill.web.context import TheVault, Vault, preprocessed_path
from docmill.web.problems import problem_response
from docmill.web.uploads import receive, refusal_of, upload_status
from docmill.web.view.document import failures_of, page_count_of, result_of

router = Router(prefix="/documents", tags=["documents"])
ingestions_router = Router(prefix="/documents/{document_id}/ingestions", tags=["ingestions"])

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
@needs("write", form="streamed")
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
@needs("read")
async def list_documents(
    request: Request, vault: TheVault, wanted: Annotated[DocumentQuery, Query()]
) -> DocumentList:
    """Documents, newest first; with `q` those that fit it best first."""
    listed, found = await find_documents(vault, wanted)
    follow = None
    if listed.follow is not None:
        pairs = [pair for pair in request.query_params.multi_items() if pair[0] != "after"]
        follow = f"{request.url.path}?{urlencode([*pairs, ('after', listed.follow.text)])}"
    return DocumentList(
        documents=[
            DocumentSummary.of(row, found.get(row.id), is_similar=row.id in listed.by_meaning)
            for row in listed.rows
        ],
        next=follow,
        corrected=listed.corrected,
    )


async def find_documents(vault: Vault, wanted: DocumentQuery) -> tuple[DocumentPage, Mapping[UUID, Snippet]]:
    """A page of the documents that a query finds, and the text around what was found in each."""
    after = Cursor.parse(wanted.after) if wanted.after else None
    near = await vault.service.meaning.near(wanted.q or "", wanted.by)
    async with vault.connection() as conn:
        listed = await document_list.page(
            conn,
            wanted.filters,
            sort=wanted.sort,
            after=after,
            limit=wanted.limit,
            near=near,
            mode="meaning" if wanted.by == "meaning" else "both",
        )
        query = listed.corrected or wanted.q
        if not query:
            return listed, {}
        return listed, await documents.snippets(conn, [row.id for row in listed.rows], query)


@router.get(
    "/{document_id}",
    response_model=DocumentDetail,
    responses={304: {"description": "The client has this version already"}},
)
@needs("read")
async def get_document(
    document_id: UUID, request: Request, response: Response, vault: TheVault
) -> DocumentDetail | Response:
    """A document with its data, the place of each value, and the verdict of the checks.

    Its version is the `ETag`, for `If-None-Match` here and `If-Match` of a change.
    """
    row, history = await vault.document_with_history(document_id)
    matching = await vault.matching_state(document_id)
    etag = etag_of(row.version, matching)
    headers = {"etag": etag}
    if is_known(request, etag):
        return Response(None, 304, headers)
    response.headers.update(headers)
    return await _detail(row, history, vault, matching)


async def _detail(
    row: DocumentRow, history: Sequence[IngestionRow], vault: Vault, matching: MatchingState | None
) -> DocumentDetail:
    document_id = row.id
    links = await vault.links(document_id)
    result, reviewed = result_of(history), await vault.reviewed(document_id)
    detail = DocumentDetail.of_result(
        row,
        failures_of(row, result, reviewed.near_duplicates if reviewed else ()),
        links,
        reviewed,
        edits=await vault.current_reviews(document_id),
        is_judged=result is not None and result.verdict is not None,
        is_preprocessed=preprocessed_path(history) is not None,
        page_count=page_count_of(row, None),
    )
    arrivals = [Arrival.of(arrival) for arrival in await vault.arrivals(document_id, history)]
    progress = None if matching is None else MatchingProgress.model_validate(matching)
    return detail.model_copy(update={"matching": progress, "arrivals": arrivals})


@router.patch(
    "/{document_id}",
    response_model=DocumentDetail | Reprocessing,
    responses={202: {"model": Reprocessing, "description": "The document is read again by its new type"}},
)
@needs("review")
async def change_document(
    document_id: UUID,
    change: DocumentChange,
    response: Response,
    vault: TheVault,
    versions: WantedVersions,
) -> DocumentDetail | Reprocessing:
    """Give a document a title, date, type or archive serial number, which no processing changes.

    Null takes the latest one back.
    By a new type the document is read again, and the answer is 202; it is not read again by the type that it
    has by choice already.
    """
    edits = change.edits
    parse_edits(edits)  # all or nothing: the type is stored first
    ingestion_id: UUID | None = None
    if "document_type" in change.model_fields_set:
        ingestion_id = await vault.choose_type(
            document_id, change.document_type, seen=change.seen, versions=versions
        )
        versions = None  # of before
    if edits:
        await vault.edit(document_id, edits, versions=versions)
    row, history = await vault.document_with_history(document_id)
    matching = await vault.matching_state(document_id)
    response.headers["etag"] = etag_of(row.version, matching)
    if ingestion_id is not None:
        response.status_code = 202
        return Reprocessing(ingestion_id=ingestion_id)
    return await _detail(row, history, vault, matching)


@router.put("/{document_id}/near-duplicates/{other_id}")
@needs("review")
async def decide_duplicate(
    document_id: UUID, other_id: UUID, decision: DuplicateDecision, vault: TheVault
) -> NearDuplicateList:
    """Say whether two documents are the same; null takes the decision back. It holds for both of them."""
    await vault.decide_duplicate(document_id, other_id, is_duplicate=decision.is_duplicate)
    reviewed = await vault.reviewed(document_id)
    return NearDuplicateList.of(reviewed.near_duplicates if reviewed else ())


@router.get("/{document_id}/pages")
@needs("read")
async def get_pages(document_id: UUID, vault: TheVault) -> PageReadings:
    """List how each page was read; empty before the document has been read."""
    _, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    pages = transcription.pages if transcription else ()
    return PageReadings(pages=[PageReading.model_validate(page) for page in pages])


@router.post(
    "/{document_id}/reprocess",
    status_code=202,
    responses={200: {"model": Reprocessing, "description": "Skipped: this type of file cannot be read"}},
)
@needs("write")
async def reprocess(
    document_id: UUID, response: Response, vault: TheVault, *, force: bool = False
) -> Reprocessing:
    """Process a document again. A second request during that starts nothing new.

    A file of a type that cannot be read is skipped, unless `force` is given, or a newer release or other
    settings may read it.
    """
    if not force and await vault.is_unreadable(document_id):
        response.status_code = 200
        return Reprocessing(ingestion_id=None, skipped=True)
    return Reprocessing(ingestion_id=await vault.reprocess(document_id))


@router.post("/{document_id}/unlock", status_code=202)
@needs("write")
async def unlock(document_id: UUID, key: Password, vault: TheVault) -> Reprocessing:
    """Process a document that needs a password, which is not stored. A wrong one changes nothing."""
    return Reprocessing(ingestion_id=await vault.unlock(document_id, key.password.get_secret_value()))


@ingestions_router.get("")
@needs("read")
async def list_ingestions(document_id: UUID, vault: TheVault) -> IngestionList:
    """Every request to process the document and its result, newest first."""
    _, history = await vault.document_with_history(document_id)
    return IngestionList(ingestions=[Ingestion.of(row) for row in history])
