"""Routes for saved views of the list of documents, and the forms for them."""

from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Form, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from docmill.errors import ValidationError
from docmill.service.store import saved_views
from docmill.service.store.saved_views import LONGEST_NAME
from docmill.understanding.types.tags import one_line
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault
from docmill.web.view.filters import Filters

router = Router(prefix="/views", tags=["views"])
form_router = Router(include_in_schema=False)

_LONGEST_QUERY = 4000


class SavedView(BaseModel):
    """A view. query: filters and order, as in the address of the documents page."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    name: str
    query: str
    created_at: datetime


class SavedViewList(BaseModel):
    """The views by name."""

    views: list[SavedView]


class NewView(BaseModel):
    """A view to save; one of the same name is replaced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    query: Annotated[str, Field(max_length=_LONGEST_QUERY)]


@router.get("")
@needs("read")
async def list_views(vault: TheVault) -> SavedViewList:
    """The saved views."""
    async with vault.connection() as conn:
        rows = await saved_views.of_user(conn, user_id=vault.user_id)
    return SavedViewList(views=[SavedView.model_validate(row) for row in rows])


@router.post("", status_code=201)
@needs("read")
async def save_view(new: NewView, vault: TheVault) -> SavedView:
    """Save filters and order under a name. What is no filter is left out."""
    return await _save(vault, new.name, new.query)


@router.delete("/{view_id}", status_code=204)
@needs("read")
async def delete_view(view_id: UUID, vault: TheVault) -> Response:
    """Delete a saved view; no document is changed."""
    await _delete(vault, view_id)
    return Response(status_code=204)


@form_router.post("/views")
@needs("read")
async def save_view_by_form(
    vault: TheVault,
    *,
    name: Annotated[str, Form(max_length=1000)] = "",
    query: Annotated[str, Form(max_length=_LONGEST_QUERY)] = "",
) -> RedirectResponse:
    """Save the view of the page, and go back to it."""
    view = await _save(vault, name, query)
    return RedirectResponse(f"/?{view.query}", 303)


@form_router.post("/views/{view_id}/delete")
@needs("read")
async def delete_view_by_form(view_id: UUID, vault: TheVault) -> RedirectResponse:
    """Delete a view, and go to all documents."""
    await _delete(vault, view_id)
    return RedirectResponse("/", 303)


async def _save(vault: Vault, typed: str, query: str) -> SavedView:
    name = one_line(typed, len(typed) + 1)
    if name is None or len(name) > LONGEST_NAME:
        raise ValidationError(f"A view needs a name of at most {LONGEST_NAME} characters.")
    try:
        params = parse_qsl(query.removeprefix("?"), max_num_fields=100)
    except ValueError as error:
        raise ValidationError("A view has at most 100 filters.") from error
    filters = Filters.of(QueryParams(params), types=vault.service.type_choices.types)
    async with vault.connection() as conn:
        row = await saved_views.save(
            conn,
            tenant_id=vault.tenant_id,
            user_id=vault.user_id,
            name=name,
            query=urlencode(filters.pairs, errors="replace"),
        )
    return SavedView.model_validate(row)


async def _delete(vault: Vault, view_id: UUID) -> None:
    async with vault.connection() as conn:
        if not await saved_views.delete(conn, view_id, user_id=vault.user_id):
            raise HTTPException(404, "There is no such view here.")
