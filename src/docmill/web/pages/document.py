"""The page of one document."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from docmill.service.store import events
from docmill.web.page_images import is_viewable
from docmill.web.vault import TheVault, not_found
from docmill.web.view.cards import money, title
from docmill.web.view.document import TABS, choose, document_view, page_count_of
from docmill.web.view.listing import parsed_id

router = APIRouter(include_in_schema=False)


@router.get("/docs/{document_id}")
async def show_document(
    request: Request, document_id: str, vault: TheVault, *, page: str = "1", tab: str = "", field: str = ""
) -> HTMLResponse:
    """A page of the document with its boxes, and what was read."""
    known = parsed_id(document_id)
    if known is None:
        raise not_found()
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the document, so that no change falls between
    row, history = await vault.document_with_history(known)
    transcription = await vault.transcription(history)
    choice = choose(page, tab, field, page_count=page_count_of(row, transcription))
    return vault.templates.page(
        request,
        "document.html",
        view=document_view(row, history, transcription, choice),
        links=await vault.links(known),
        title=title(row),
        money=money(row.structured_data),
        is_viewable=is_viewable(row),
        tabs=TABS,
        last_event=last_event,
    )
