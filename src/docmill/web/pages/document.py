"""The page of one document."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import EncryptedError
from docmill.service.store import events, pauses
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.page_images import is_viewable, picture_version
from docmill.web.view.cards import money, title
from docmill.web.view.document import TABS, document_view, page_count_of, select_page
from docmill.web.view.listing import parsed_id

router = APIRouter(include_in_schema=False)


@router.get("/docs/{document_id}")
async def show_document(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A page of the document with its boxes, and what was read."""
    return await document_page(request, known_id(document_id), vault, page=page, tab=tab, field=field)


@router.post("/docs/{document_id}/unlock")
async def unlock(
    request: Request,
    document_id: str,
    vault: TheVault,
    *,
    password: Annotated[str, Form(min_length=1, max_length=1000)],
) -> Response:
    """Have a protected document read, and go back to its page; with a wrong password, ask again there."""
    known = known_id(document_id)
    try:
        await vault.unlock(known, password)
    except EncryptedError as error:
        return await document_page(request, known, vault, refusal=error.message)
    return RedirectResponse(f"/docs/{known}", 303)


def known_id(document_id: str) -> UUID:
    """The id in an address. Answers 404 for what is none."""
    known = parsed_id(document_id)
    if known is None:
        raise not_found()
    return known


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused review, to be shown with what was typed. path: empty for the document as a whole."""

    path: str
    typed: str
    message: str
    status: int


async def document_page(
    request: Request,
    known: UUID,
    vault: Vault,
    *,
    page: str = "1",
    tab: str = "",
    field: str = "",
    refusal: str | None = None,
    refused: Refusal | None = None,
) -> HTMLResponse:
    """The page. refusal: why the password just given did not open the document. refused: what was typed."""
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the document, so that no change falls between
        paused = await pauses.current(conn)
    row, history = await vault.document_with_history(known)
    transcription = await vault.transcription(history)
    choice = select_page(page, tab, field, page_count=page_count_of(row, transcription))
    return vault.templates.page(
        request,
        "document.html",
        view=document_view(row, history, transcription, choice, await vault.reviewed(known)),
        links=await vault.links(known),
        title=title(row),
        money=money(row.structured_data),
        is_viewable=is_viewable(row),
        picture_version=picture_version(row),
        tabs=TABS,
        last_event=last_event,
        pauses=paused,
        asks_password=refusal is not None or await vault.asks_password(row),
        refusal=refusal,
        refused=refused,
        status_code=422 if refusal else refused.status if refused else 200,
    )
