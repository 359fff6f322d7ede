"""The page of one document."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import EncryptedError
from docmill.service.store import events, pauses
from docmill.web.context import TheVault, Vault, parse_document_id
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.view.cards import money, title
from docmill.web.view.document import TABS, document_view, page_count_of, select_page

router = APIRouter(include_in_schema=False)


@router.get("/docs/{document_id}")
async def show_document(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A page of the document with its boxes, and the values of all of it."""
    return await document_page(
        request, parse_document_id(document_id), vault, page=page, tab=tab, field=field
    )


@router.post("/docs/{document_id}/unlock")
async def unlock(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    password: Annotated[str, Form(min_length=1, max_length=1000)],
) -> Response:
    """Have a protected document read, and go back to its page; with a wrong password, ask again there."""
    key = parse_document_id(document_id)
    try:
        await vault.unlock(key, password)
    except EncryptedError as error:
        return await document_page(request, key, vault, wrong_password=error.message)
    return RedirectResponse(f"/docs/{key}", 303)


@dataclass(frozen=True, slots=True)
class RefusedReview:
    """A review that was refused, shown with the typed value. path: empty for the document as a whole."""

    path: str
    typed: str
    message: str
    status: int


async def document_page(
    request: Request,
    document_id: UUID,
    vault: Vault,
    *,
    page: str = "1",
    tab: str = "",
    field: str = "",
    wrong_password: str | None = None,
    refused_review: RefusedReview | None = None,
) -> HTMLResponse:
    """Build the page. wrong_password: the message about the password just given."""
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the document, so that no change falls between
        paused = await pauses.current(conn)
    row, history = await vault.document_with_history(document_id)
    transcription = await vault.transcription(history)
    choice = select_page(page, tab, field, page_count=page_count_of(row, transcription))
    return vault.templates.page(
        request,
        "document.html",
        view=document_view(row, history, transcription, choice, await vault.reviewed(document_id)),
        links=await vault.links(document_id),
        title=title(row),
        money=money(row.structured_data),
        is_viewable=is_viewable(row),
        picture_version=picture_version(row),
        tabs=TABS,
        last_event=last_event,
        pauses=paused,
        asks_password=wrong_password is not None or await vault.asks_password(row),
        wrong_password=wrong_password,
        refused_review=refused_review,
        status_code=422 if wrong_password else refused_review.status if refused_review else 200,
    )
