"""The page of the bin, and the forms that delete, restore and change many documents at once."""

from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Request
from starlette.responses import HTMLResponse, RedirectResponse

from docmill.errors import DocumentError
from docmill.service.store import pauses
from docmill.web.access import Router, local_address, needs
from docmill.web.context import TheVault, not_found, parse_document_id, parse_id

router = Router(include_in_schema=False)

PAGE_SIZE = 50
_MOST_AT_ONCE = 200
_Next = Annotated[str, Form(alias="next", max_length=2000)]
_Ids = Annotated[list[UUID], Form(alias="id", max_length=_MOST_AT_ONCE)]


@router.get("/bin")
@needs("read")
async def show_bin(request: Request, vault: TheVault, *, after: str = "", removed: str = "") -> HTMLResponse:
    """Deleted documents, to restore or to remove for good."""
    rows = await vault.service.bin.page(tenant_id=vault.tenant_id, after=parse_id(after), limit=PAGE_SIZE + 1)
    async with vault.connection() as conn:
        paused = await pauses.current(conn)
    follow = f"/bin?{urlencode({'after': rows[PAGE_SIZE - 1].id})}" if len(rows) > PAGE_SIZE else None
    return vault.templates.page(
        request,
        "bin.html",
        review_count=await vault.review_count(),
        rows=rows[:PAGE_SIZE],
        follow=follow,
        days=vault.service.bin.days,
        removed=int(removed) if removed.isdecimal() and len(removed) < 10 else None,  # noqa: PLR2004  digits
        pauses=paused,
    )


@router.post("/bin/empty")
@needs("administer")
async def empty_bin(vault: TheVault) -> RedirectResponse:
    """Remove every deleted document for good."""
    removed = await vault.service.bin.empty(tenant_id=vault.tenant_id)
    return RedirectResponse(f"/bin?removed={removed}", 303)


@router.post("/bin/{document_id}/remove")
@needs("administer")
async def remove_document(document_id: str, vault: TheVault) -> RedirectResponse:
    """Remove a deleted document for good."""
    removed = await vault.service.bin.remove(parse_document_id(document_id), tenant_id=vault.tenant_id)
    if not removed:
        raise not_found()
    return RedirectResponse(f"/bin?removed={removed}", 303)


@router.post("/docs/{document_id}/delete")
@needs("write")
async def delete_document(document_id: str, vault: TheVault) -> RedirectResponse:
    """Put a document in the bin, and offer on the documents page to undo that."""
    key = parse_document_id(document_id)
    if not await vault.service.bin.delete(key, tenant_id=vault.tenant_id, deleted_by=vault.user_id):
        raise not_found()
    return RedirectResponse(f"/?deleted={key}", 303)


@router.post("/restore")
@needs("write")
async def restore_documents(vault: TheVault, *, ids: _Ids, to: _Next = "/") -> RedirectResponse:
    """Take documents out of the bin."""
    for document_id in ids:
        await vault.service.bin.restore(document_id, tenant_id=vault.tenant_id)
    return RedirectResponse(local_address(to), 303)


@router.post("/bulk")
@needs("write")
async def change_documents(
    vault: TheVault,
    *,
    ids: Annotated[list[UUID], Form(alias="id", max_length=_MOST_AT_ONCE, default_factory=list)],
    action: Annotated[Literal["delete", "retry", "type"], Form()],
    document_type: Annotated[str, Form(max_length=100)] = "",
    to: _Next = "/",
) -> RedirectResponse:
    """Delete the marked documents, process them again, or give them a type; then go back to the list."""
    address = local_address(to)
    done: list[str] = []
    refused = 0
    for document_id in ids:
        try:
            match action:
                case "delete":
                    deleted = await vault.service.bin.delete(
                        document_id, tenant_id=vault.tenant_id, deleted_by=vault.user_id
                    )
                    is_done = bool(deleted)
                case "retry":
                    ingestion_id = await vault.service.intake.reprocess(
                        document_id, tenant_id=vault.tenant_id, uploaded_by=vault.user_id
                    )
                    is_done = ingestion_id is not None
                case "type":
                    ingestion_id = await vault.service.type_choices.choose(
                        document_id, document_type, tenant_id=vault.tenant_id, reviewed_by=vault.user_id
                    )
                    is_done = ingestion_id is not None
        except DocumentError:
            is_done = False
        done += [str(document_id)] if is_done else []
        refused += not is_done
    told = [("deleted", ",".join(done)) if action == "delete" else ("sent", str(len(done)))]
    if refused:
        told.append(("refused", str(refused)))
    path, _, query = address.partition("?")
    separator = "&" if query else ""
    return RedirectResponse(f"{path}?{query}{separator}{urlencode(told)}", 303)


@router.get("/bulk")
@router.get("/restore")
@needs("read")
async def back_to_documents() -> RedirectResponse:
    """Go to the documents: a refused form leaves the browser at these addresses."""
    return RedirectResponse("/", 303)


@router.get("/bin/empty")
@needs("read")
async def back_to_bin() -> RedirectResponse:
    """Go to the bin, likewise."""
    return RedirectResponse("/bin", 303)
