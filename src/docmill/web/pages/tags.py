"""The page of tags, and the forms that change tags there and on a document's page."""

from typing import Annotated, Literal
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Form, Request
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import ChangedError, ValidationError
from docmill.service.store import document_list, pauses, tags
from docmill.service.store.tags import COLORS, TagRow
from docmill.service.tagging import MOST_DOCUMENTS
from docmill.web.access import Router, local_address, needs
from docmill.web.api.tags import TheTagging
from docmill.web.context import TheVault, Vault, not_found, parse_document_id
from docmill.web.languages import gettext_noop
from docmill.web.problems import status_of
from docmill.web.view.filters import Filters

router = Router(include_in_schema=False)

_COLOR_NAMES = {
    "blue": gettext_noop("Blue"),
    "green": gettext_noop("Green"),
    "amber": gettext_noop("Amber"),
    "red": gettext_noop("Red"),
    "purple": gettext_noop("Purple"),
    "teal": gettext_noop("Teal"),
    "pink": gettext_noop("Pink"),
    "grey": gettext_noop("Grey"),
}
_Text = Annotated[str, Form(max_length=1000)]


@router.get("/tags")
@needs("read")
async def show_tags(request: Request, vault: TheVault) -> HTMLResponse:
    """All tags with the number of their documents, and the forms to change each."""
    return await _page(request, vault)


@router.post("/tags")
@needs("organise")
async def create_tag(
    request: Request, vault: TheVault, tagging: TheTagging, *, name: _Text = "", color: _Text = ""
) -> Response:
    """Create a tag."""
    try:
        await tagging.create(name, color=color or None, tenant_id=vault.tenant_id)
    except ValidationError as error:
        return await _page(request, vault, refused=error, typed=name)
    return RedirectResponse("/tags", 303)


@router.post("/tags/found")
@needs("organise")
async def tag_found_documents(
    vault: TheVault,
    tagging: TheTagging,
    *,
    name: _Text = "",
    query: Annotated[str, Form(max_length=4000)] = "",
    action: Annotated[Literal["add", "remove"], Form()] = "add",
) -> RedirectResponse:
    """Give a tag to all documents that the filters of the list find, or take it off them; and go back."""
    params = QueryParams(parse_qsl(query, max_num_fields=100))
    filters = Filters.of(params, types=vault.service.type_choices.types)
    found = await vault.found(filters.criteria, filters.by)
    async with vault.connection() as conn:
        ids = await document_list.newest_ids(conn, found, limit=MOST_DOCUMENTS)
    names = _names(name) if ids else []
    add, remove = (names, []) if action == "add" else ([], names)
    await tagging.assign(ids, add=add, remove=remove, tenant_id=vault.tenant_id, assigned_by=vault.user_id)
    return RedirectResponse(filters.link(), 303)


@router.post("/tags/marked")
@needs("organise")
async def tag_marked_documents(
    vault: TheVault,
    tagging: TheTagging,
    *,
    ids: Annotated[list[UUID], Form(alias="id", max_length=MOST_DOCUMENTS, default_factory=list)],
    name: _Text = "",
    action: Annotated[Literal["add", "remove"], Form()] = "add",
    to: Annotated[str, Form(alias="next", max_length=4000)] = "/",
) -> RedirectResponse:
    """Give a tag to the marked documents of the list, or take it off them; and go back."""
    names = _names(name)
    if names and ids:
        add, remove = (names, []) if action == "add" else ([], names)
        await tagging.assign(
            ids, add=add, remove=remove, tenant_id=vault.tenant_id, assigned_by=vault.user_id
        )
    return RedirectResponse(local_address(to), 303)


@router.post("/tags/{tag_id}")
@needs("organise")
async def change_tag(
    request: Request,
    tag_id: UUID,
    vault: TheVault,
    tagging: TheTagging,
    *,
    name: _Text = "",
    color: _Text = "",
) -> Response:
    """Give a tag the name and the colour of the form."""
    try:
        is_found = await tagging.rename(tag_id, name, tenant_id=vault.tenant_id)
        is_found = is_found and await tagging.recolor(tag_id, color or None, tenant_id=vault.tenant_id)
    except (ChangedError, ValidationError) as error:
        return await _page(request, vault, refused=error, typed=name, tag_id=tag_id)
    return _back(tag_id, is_found=is_found)


@router.post("/tags/{tag_id}/merge")
@needs("organise")
async def merge_tag(
    request: Request, tag_id: UUID, vault: TheVault, tagging: TheTagging, *, into: _Text = ""
) -> Response:
    """Give the documents of a tag another one in its place."""
    try:
        target = UUID(into)
    except ValueError:
        error = ValidationError("Choose the tag to merge into.")
        return await _page(request, vault, refused=error, tag_id=tag_id)
    return _back(target, is_found=await tagging.merge(tag_id, target, tenant_id=vault.tenant_id))


@router.post("/tags/{tag_id}/remove")
@needs("organise")
async def remove_tag(tag_id: UUID, vault: TheVault, tagging: TheTagging) -> Response:
    """Take a tag off all documents."""
    found = await tagging.set_removed(tag_id, is_removed=True, tenant_id=vault.tenant_id)
    return _back(tag_id, is_found=found)


@router.post("/tags/{tag_id}/restore")
@needs("organise")
async def restore_tag(tag_id: UUID, vault: TheVault, tagging: TheTagging) -> Response:
    """Give a removed tag back to the documents that had it."""
    found = await tagging.set_removed(tag_id, is_removed=False, tenant_id=vault.tenant_id)
    return _back(tag_id, is_found=found)


@router.post("/docs/{document_id}/tags")
@needs("organise")
async def tag_document(
    document_id: str, vault: TheVault, tagging: TheTagging, *, add: _Text = "", remove: _Text = ""
) -> RedirectResponse:
    """Add tags to a document, parted by commas, or take one off, and go back to it."""
    key = parse_document_id(document_id)
    await vault.document(key)
    await tagging.assign(
        [key],
        add=_names(add),
        remove=[remove] if remove else [],
        tenant_id=vault.tenant_id,
        assigned_by=vault.user_id,
    )
    return RedirectResponse(f"/docs/{key}#tags", 303)


def _names(typed: str) -> list[str]:
    """The names of tags that a person typed, parted by commas."""
    return [name for name in typed.split(",") if name.strip()]


def link_of(tag: TagRow) -> str:
    """The address of the documents that have the tag."""
    return "/?" + urlencode({"tag": tag.name})


def _back(tag_id: UUID, *, is_found: bool) -> RedirectResponse:
    if not is_found:
        raise not_found()
    return RedirectResponse(f"/tags#tag-{tag_id}", 303)


async def _page(
    request: Request,
    vault: Vault,
    *,
    refused: ChangedError | ValidationError | None = None,
    typed: str = "",
    tag_id: UUID | None = None,
) -> HTMLResponse:
    """Build the page. refused: why the last change was, about the tag `tag_id` or a new one."""
    async with vault.connection() as conn:
        rows = await tags.every(conn)
        paused = await pauses.current(conn)
    return vault.templates.page(
        request,
        "tags.html",
        review_count=await vault.review_count(),
        tags=[row for row in rows if row.removed_at is None],
        removed=[row for row in rows if row.removed_at is not None],
        colors=COLORS,
        color_names=_COLOR_NAMES,
        link_of=link_of,
        refused=refused,
        refused_id=tag_id,
        typed=typed,
        pauses=paused,
        status_code=status_of(refused) if refused else 200,
    )
