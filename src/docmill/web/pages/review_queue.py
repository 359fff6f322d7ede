"""The review queue, and what is done to a document in it: approve, reject, skip, take over."""

from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Request
from pydantic import AwareDatetime
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from docmill.errors import ChangedError, DocmillError
from docmill.service.review.review import InvalidValuesError
from docmill.service.store import document_list, events, pauses, review_locks, review_queue
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import REJECTED, DocumentRow
from docmill.service.store.review_locks import ReviewLock
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found, parse_document_id
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.pages.documents import RefusedReview, document_page, load_view, open_question
from docmill.web.reviewing import (
    ORDER_COOKIE,
    ORDERS,
    Done,
    check_lock,
    drop_draft,
    keep_draft,
    notice_of,
    order_of,
)
from docmill.web.view.cards import Money, money, title
from docmill.web.view.document import select_page
from docmill.web.view.messages import told
from docmill.web.view.words import sentence

router = Router(include_in_schema=False)

PAGE_SIZE = 25
_YEAR_S = 365 * 24 * 3600
_Id = Annotated[UUID, Form()]
_Number = Annotated[str, Form(max_length=10)]
_Reason = Annotated[str, Form(max_length=2000)]
_Text = Annotated[str, Form(max_length=20_000)]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A document of the queue as the list shows it. lock: of another person who reviews it now."""

    row: DocumentRow
    title: str
    money: Money | None
    why: str
    open_count: int
    picture: str | None
    lock: ReviewLock | None


@router.get("/review")
@needs("read")
async def show_queue(
    request: Request,
    vault: TheVault,
    *,
    order: Literal["oldest", "due"] | None = None,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> HTMLResponse:
    """The documents that wait for a person, and where to begin."""
    chosen = order or order_of(request)
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the list, so that no change falls between
        total = await review_queue.count(conn)
        ids = await review_queue.page(conn, order=chosen, offset=(page - 1) * PAGE_SIZE, limit=PAGE_SIZE)
        first = await review_queue.first(conn, user_id=vault.user_id, order=chosen)
        locks = await review_locks.of_others(conn, user_id=vault.user_id)
        rejected = await document_list.newest_ids(conn, DocumentFilters(state=REJECTED), limit=1)
        paused = await pauses.current(conn)
    rows = [await _queue_row(vault, document_id, locks) for document_id in ids]
    response = vault.templates.page(
        request,
        "review_queue.html",
        rows=[row for row in rows if row],
        total=total,
        first=first,
        order=chosen,
        orders=ORDERS,
        number=page,
        page_count=-(-total // PAGE_SIZE),
        page_size=PAGE_SIZE,
        has_rejected=bool(rejected),
        notice=await notice_of(request, vault),
        last_event=last_event,
        pauses=paused,
        review_count=total,
    )
    if order is not None:
        response.set_cookie(ORDER_COOKIE, order, max_age=_YEAR_S, httponly=True, samesite="lax")
    return response


async def _queue_row(vault: Vault, document_id: UUID, locks: dict[UUID, ReviewLock]) -> QueueRow | None:
    row, history = await vault.document_with_history(document_id)
    view = await load_view(vault, row, history, select_page("1", "", "", page_count=1))
    why = [failure.message for failure in view.failures]
    return QueueRow(
        row=row,
        title=title(row),
        money=money(row.structured_data, row.document_type),
        why=sentence(told(why[0])) if why else "",
        open_count=view.open_count + len(view.undecided_duplicates),
        picture=(
            f"/api/v1/documents/{row.id}/pages/1.webp?width=200&v={picture_version(row)}"
            if is_viewable(row)
            else None
        ),
        lock=locks.get(row.id),
    )


@router.get("/review/next")
@needs("read")
async def show_next(request: Request, vault: TheVault) -> RedirectResponse:
    """Go to the first document of the queue that nobody else reviews now."""
    async with vault.connection() as conn:
        first = await review_queue.first(conn, user_id=vault.user_id, order=order_of(request))
    return RedirectResponse(f"/review/{first}" if first else "/review", 303)


@router.get("/review/{document_id}")
@needs("read")
async def show_review(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A document of the queue: its page and values, the open ones first."""
    return await document_page(
        request, parse_document_id(document_id), vault, page=page, tab=tab, field=field
    )


@router.post("/review/{document_id}/approve")
@needs("review")
async def approve(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: _Number = "1",
    reason: _Reason = "",
) -> Response:
    """Confirm all values and go to the next document; while any is open, go to the first open one.

    reason: why the open values are approved without a look at them.
    """
    key = parse_document_id(document_id)
    try:
        await check_lock(request, vault, key)
        question = await open_question(vault, key, reason=reason, page=page)
        if question is not None:
            return await document_page(
                request, key, vault, page=question.page, field=question.field, refused=question
            )
        following = await _next_link(request, vault, key, "approved")
        if not await vault.service.reviews.confirm_all(
            key,
            tenant_id=vault.tenant_id,
            ingestion_id=ingestion_id,
            reviewed_by=vault.user_id,
            reason=reason.strip() or None,
        ):
            raise not_found()
    except (ChangedError, InvalidValuesError) as error:
        return await _refusal(request, key, vault, error, page=page)
    await _let_go(vault, key)
    return RedirectResponse(following, 303)


@router.post("/review/{document_id}/reject")
@needs("review")
async def reject(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    ingestion_id: _Id,
    page: _Number = "1",
    reason: _Reason = "",
) -> Response:
    """Keep that the document cannot be used, with the reason, and go to the next one."""
    key = parse_document_id(document_id)
    try:
        await check_lock(request, vault, key)
        following = await _next_link(request, vault, key, "rejected")
        if not await vault.service.reviews.reject(
            key, reason, tenant_id=vault.tenant_id, ingestion_id=ingestion_id, reviewed_by=vault.user_id
        ):
            raise not_found()
    except (ChangedError, InvalidValuesError) as error:
        return await _refusal(request, key, vault, error, page=page)
    await _let_go(vault, key)
    return RedirectResponse(following, 303)


@router.post("/review/{document_id}/undo-approved")
@router.post("/review/{document_id}/undo-rejected")
@needs("review")
async def undo_done(request: Request, document_id: str, vault: TheVault) -> Response:
    """Take back the approval or rejection of a document, and go to it."""
    key = parse_document_id(document_id)
    reviewed = await vault.reviewed(key)
    if reviewed is None:
        raise not_found()
    try:
        await check_lock(request, vault, key)
        await vault.service.reviews.undo_last(
            key,
            tenant_id=vault.tenant_id,
            ingestion_id=reviewed.result.ingestion_id,
            reviewed_by=vault.user_id,
        )
    except (ChangedError, InvalidValuesError) as error:
        return await _refusal(request, key, vault, error, page="1")
    return RedirectResponse(f"/review/{key}", 303)


@router.post("/review/{document_id}/take-over")
@needs("review")
async def take_over(document_id: str, vault: TheVault) -> RedirectResponse:
    """Take the document from another person who reviews it now, and go to it."""
    key = parse_document_id(document_id)
    await vault.document(key)
    async with vault.connection() as conn:
        await review_locks.take(conn, key, tenant_id=vault.tenant_id, user_id=vault.user_id, by_force=True)
    return RedirectResponse(f"/review/{key}", 303)


@router.post("/review/{document_id}/lock")
@needs("review", logged=False)
async def renew_lock(document_id: str, vault: TheVault) -> JSONResponse:
    """A sign of life of the page of a document: renew its lock, or tell that another person has it."""
    key = parse_document_id(document_id)
    await vault.document(key)
    async with vault.connection() as conn:
        lock = await review_locks.take(conn, key, tenant_id=vault.tenant_id, user_id=vault.user_id)
    if lock.user_id != vault.user_id:
        return JSONResponse({"is_mine": False})
    return JSONResponse({"is_mine": True, "seen_at": lock.seen_at.isoformat()})


@router.post("/review/{document_id}/release")
@needs("review", logged=False)
async def release(
    document_id: str, vault: TheVault, *, seen_at: Annotated[AwareDatetime | None, Form()] = None
) -> Response:
    """Let go of the document: its page was left. seen_at: its last sign of life."""
    key = parse_document_id(document_id)
    await vault.document(key)
    async with vault.connection() as conn:
        await review_locks.release(conn, key, user_id=vault.user_id, seen_at=seen_at)
    return Response(status_code=204)


@router.post("/docs/{document_id}/draft")
@router.post("/review/{document_id}/draft")
@needs("review", logged=False)
async def save_draft(
    document_id: str,
    vault: TheVault,
    *,
    path: Annotated[str, Form(min_length=1, max_length=300)],
    typed: _Text = "",
    seen: _Text = "",
) -> Response:
    """Keep what is typed into a field and not saved yet."""
    key = parse_document_id(document_id)
    await vault.document(key)
    typed, seen = typed.replace("\r\n", "\n"), seen.replace("\r\n", "\n")  # as forms send it
    await keep_draft(vault, key, path=path, typed=typed, seen=seen)
    return Response(status_code=204)


@router.get("/review/{document_id}/approve")
@router.get("/review/{document_id}/reject")
@router.get("/review/{document_id}/undo-approved")
@router.get("/review/{document_id}/undo-rejected")
@router.get("/review/{document_id}/take-over")
@needs("read")
async def back(request: Request, document_id: str) -> RedirectResponse:
    """Go to the document: a refused form leaves the browser at these addresses."""
    return RedirectResponse(f"/review/{parse_document_id(document_id)}?{request.url.query}", 303)


async def _next_link(request: Request, vault: Vault, document_id: UUID, done: Done) -> str:
    """The address of the next document, which says what was done to this one."""
    async with vault.connection() as conn:
        position = await review_queue.position(
            conn, document_id, user_id=vault.user_id, order=order_of(request)
        )
    address = f"/review/{position.following}" if position.following else "/review"
    return f"{address}?{urlencode({done: str(document_id)})}"


async def _let_go(vault: Vault, document_id: UUID) -> None:
    await drop_draft(vault, document_id)
    async with vault.connection() as conn:
        await review_locks.release(conn, document_id, user_id=vault.user_id)


async def _refusal(
    request: Request, document_id: UUID, vault: Vault, error: DocmillError, *, page: str
) -> HTMLResponse:
    status = 409 if isinstance(error, ChangedError) else 422
    refused = RefusedReview("", "", error.message, status)
    return await document_page(request, document_id, vault, page=page, refused=refused)
