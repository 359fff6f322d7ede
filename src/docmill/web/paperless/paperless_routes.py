"""Routes of paperless-ngx's API, as far as devices need them to sign in, upload and see what came of it."""

from dataclasses import replace
from typing import Annotated, Any, cast

from fastapi import Depends, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse

from docmill.errors import ValidationError
from docmill.service.paperless.tag_colors import nearest_color
from docmill.service.people.keys import APP_KEY_NAME
from docmill.service.people.sign_in import SignInRefusedError
from docmill.service.review.review import InvalidValuesError
from docmill.service.store import (
    audit_log,
    document_list,
    documents,
    ingestions,
    numbered_pages,
    serial_numbers,
    tags,
)
from docmill.service.store.database import Conn
from docmill.service.store.document_list import page as search_page
from docmill.service.store.documents import DocumentRow
from docmill.web.access import Router, client_address, needs
from docmill.web.addresses import absolute_url
from docmill.web.api.tags import TheTagging
from docmill.web.context import TheVault, Vault, parse_id
from docmill.web.pages.sign_in import visitor_of
from docmill.web.paperless.paperless_query import DocumentPatch, SerialNumberQuery
from docmill.web.paperless.paperless_shapes import (
    Json,
    document_answer,
    index_answer,
    number_of,
    page_answer,
    statistics_answer,
    tag_answer,
    task_answer,
    type_answer,
    ui_settings_answer,
)
from docmill.web.paperless.paperless_upload import receive_document
from docmill.web.view.words import type_choices

_MOST_TASKS = 50
_NOT_CHANGED = (
    "This is not changed in docmill by an app for paperless-ngx; use docmill's pages or its own API."
)
_VERSIONS = {"x-api-version": "9", "x-version": "2.20.0"}
"""The version of the protocol, and the release of paperless-ngx with it that clients may take us for."""


def _tell_versions(response: Response) -> None:
    response.headers.update(_VERSIONS)


router = Router(prefix="/api", include_in_schema=False, dependencies=[Depends(_tell_versions)])

_Page = Annotated[int, Query(ge=1, le=100_000)]
_PageSize = Annotated[int, Query(ge=1, le=100_000)]
_MOST_IN_PAGE = 100
_Words = Annotated[str, Query(max_length=200)]


class _NewTag(BaseModel):
    """A tag as a client makes one; its rules of matching are not heeded."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Annotated[str, Field(min_length=1, max_length=200)]
    color: Any = None


@router.get("/")
@needs("read")
async def show_paperless_index(request: Request) -> Json:
    """The addresses of what there is."""
    return index_answer(absolute_url(request))


@router.post("/token/")
@needs("public", form="unchecked")
async def create_paperless_key(request: Request, vault: TheVault) -> Response:
    """Make an API key for a person's name and password, with which a phone app signs in.

    Counted as an attempt to sign in. Raises RateLimitedError after too many.
    """
    email, password = await _credentials(request)
    sign_in, visitor = vault.service.sign_in, visitor_of(request)
    try:
        access = await sign_in.access_of(await sign_in.verify(email, password, visitor))
    except SignInRefusedError as error:
        response = _refused("Unable to log in with provided credentials.")
        if error.user_id is not None:
            response.background = BackgroundTask(sign_in.log_refusal, error.user_id, visitor)
        return response
    if access is None or access.tenant_id is None:
        return _refused("You belong to no organisation (any more). Ask an owner to invite you.")
    try:
        key = await vault.service.api_keys.create_for_app(access)
    except ValidationError as error:
        return _refused(error.message)
    async with vault.service.database.tenant(access.tenant_id) as conn:
        await audit_log.add(
            conn,
            tenant_id=access.tenant_id,
            user_id=access.user_id,
            action="create_key",
            details={"key": key.prefix, "name": APP_KEY_NAME, "scopes": list(key.scopes)},
            address=client_address(request),
        )
    return JSONResponse({"token": key.secret}, headers={**_VERSIONS, "cache-control": "no-store"})


async def _credentials(request: Request) -> tuple[str, str]:
    """The user name and password of a form or a JSON object; empty where one is missing."""
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            sent: Any = await request.json()
        except ValueError:
            sent = None
        values = cast("dict[str, Any]", sent) if isinstance(sent, dict) else {}
    else:
        values = dict[str, Any](await request.form())
    user, password = values.get("username"), values.get("password")
    return (user if isinstance(user, str) else "", password if isinstance(password, str) else "")


def _refused(message: str) -> JSONResponse:
    return JSONResponse({"non_field_errors": [message]}, 400, _VERSIONS)


@router.post("/documents/post_document/")
@needs("write", form="streamed")
async def upload_paperless_document(request: Request, vault: TheVault) -> str:
    """Take in a document; the id of the task that reads it."""
    return str(await receive_document(request, vault))


@router.get("/tasks/")
@needs("read")
async def list_paperless_tasks(vault: TheVault, *, task_id: _Words | None = None) -> list[Json]:
    """The task of this id, if there is one; without an id, the newest ones."""
    async with vault.connection() as conn:
        if task_id is None:
            rows = await ingestions.page(conn, limit=_MOST_TASKS)
        else:
            key = parse_id(task_id)
            row = None if key is None else await ingestions.get(conn, key)
            rows = [] if row is None else [row]
        named = [(row, await documents.get(conn, row.document_id)) for row in rows]
    return [task_answer(row, document.file_name) for row, document in named if document is not None]


@router.get("/documents/")
@needs("read")
async def list_paperless_documents(
    request: Request,
    vault: TheVault,
    *,
    page: _Page = 1,
    page_size: _PageSize = 25,
    query: _Words = "",
    title_content: _Words = "",
    title: Annotated[str, Query(alias="title__icontains", max_length=200)] = "",
    numbers: Annotated[SerialNumberQuery, Query()],
) -> Json:
    """Documents, the newest first; of a search, the best ones on a single page. Other filters do nothing."""
    size = min(page_size, _MOST_IN_PAGE)
    words = (query or title_content or title).strip()
    filters = numbers.filters
    async with vault.connection() as conn:
        if words:
            found = await search_page(conn, replace(filters, query=words), limit=size)
            rows, count = (found.rows, len(found.rows)) if page == 1 else ([], 0)
        else:
            rows = await numbered_pages.newest(conn, filters, page=page, page_size=size)
            count = await document_list.number(conn, filters)
        tag_numbers = await _tag_numbers(conn)
    results = [document_answer(row, tag_numbers) for row in rows]
    return page_answer(absolute_url(request), results, count=count, page=page, page_size=size)


@router.get("/documents/next_asn/")
@needs("read")
async def get_next_paperless_number(vault: TheVault) -> int:
    """The archive serial number after the highest one."""
    async with vault.connection() as conn:
        return await serial_numbers.next_number(conn)


@router.get("/documents/{document_number}/")
@needs("read")
async def get_paperless_document(document_number: int, vault: TheVault) -> Json:
    """One document, as lists have it."""
    return await _answer(await _document(document_number, vault), vault)


@router.patch("/documents/{document_number}/")
@needs("organise")
async def change_paperless_document(
    document_number: int, vault: TheVault, tagging: TheTagging, change: DocumentPatch
) -> Response:
    """Give a document a title, date, archive serial number or tags; a change of anything else is refused."""
    row = await _document(document_number, vault)
    answer = await _answer(row, vault)
    if unsupported := change.unsupported(answer):
        return JSONResponse({name: [_NOT_CHANGED] for name in unsupported}, 400, _VERSIONS)
    has: set[int] = set(answer["tags"])
    wanted = has if change.tags is None else set(change.tags)
    named: dict[int, str] = {}
    if wanted != has:
        async with vault.connection() as conn:
            every = await tags.every(conn)
        named = {number_of(each.id): each.name for each in every if each.removed_at is None}
    if unknown := sorted(wanted - has - named.keys()):
        return JSONResponse({"tags": [f"There is no tag {unknown[0]}."]}, 400, _VERSIONS)
    try:
        await vault.edit(row.id, change.edits_of(answer))
    except InvalidValuesError as error:
        names = {"document_date": "created"}
        faults = {names.get(name, name): [message] for name, message in error.faults.items()}
        return JSONResponse(faults, 400, _VERSIONS)
    if wanted != has:
        add = [named[number] for number in sorted(wanted - has)]
        remove = [named[number] for number in sorted(has - wanted)]
        await tagging.assign(
            [row.id], add=add, remove=remove, tenant_id=vault.tenant_id, assigned_by=vault.user_id
        )
    return JSONResponse(await _answer(await vault.document(row.id), vault), headers=_VERSIONS)


async def _document(number: int, vault: Vault) -> DocumentRow:
    """Answers 404 for a number that no document has, or more than one."""
    async with vault.connection() as conn:
        rows = await numbered_pages.of_number(conn, number)
    if len(rows) != 1:
        raise HTTPException(404, "Several documents have this number." if rows else "Not found.")
    return rows[0]


async def _answer(row: DocumentRow, vault: Vault) -> Json:
    async with vault.connection() as conn:
        return document_answer(row, await _tag_numbers(conn))


async def _tag_numbers(conn: Conn) -> dict[str, int]:
    return {row.name: number_of(row.id) for row in await tags.every(conn)}


@router.get("/tags/")
@needs("read")
async def list_paperless_tags(
    request: Request, vault: TheVault, *, page: _Page = 1, page_size: _PageSize = 25
) -> Json:
    """Tags by name."""
    async with vault.connection() as conn:
        rows = [row for row in await tags.every(conn) if row.removed_at is None]
    return _part_of(request, [tag_answer(row) for row in rows], page, page_size)


@router.post("/tags/", status_code=201)
@needs("organise")
async def create_paperless_tag(new: _NewTag, vault: TheVault, tagging: TheTagging) -> Json:
    """Make a tag; if there is one of that name, it is the answer."""
    color = nearest_color(new.color)
    return tag_answer(await tagging.create(new.name, color=color, tenant_id=vault.tenant_id))


@router.get("/document_types/")
@needs("read")
async def list_paperless_types(
    request: Request, vault: TheVault, *, page: _Page = 1, page_size: _PageSize = 25
) -> Json:
    """The types that docmill knows."""
    answers = [type_answer(name, label) for name, label in type_choices(vault.service.type_choices.types)]
    return _part_of(request, answers, page, page_size)


@router.get("/ui_settings/")
@needs("read")
async def get_paperless_settings(vault: TheVault) -> Json:
    """The person or program that asks, and what they may do."""
    return ui_settings_answer(vault.access)


@router.get("/statistics/")
@needs("read")
async def get_paperless_statistics(vault: TheVault) -> Json:
    """The number of documents, tags and types."""
    async with vault.connection() as conn:
        return statistics_answer(
            documents=await documents.number(conn),
            highest_number=await serial_numbers.next_number(conn) - 1,
            tags=len([row for row in await tags.every(conn) if row.removed_at is None]),
            document_types=len(vault.service.type_choices.types),
        )


@router.get("/correspondents/")
@router.get("/custom_fields/")
@router.get("/groups/")
@router.get("/saved_views/")
@router.get("/storage_paths/")
@router.get("/users/")
@needs("read")
async def list_paperless_nothing(request: Request) -> Json:
    """An empty list of what there is nothing of here, for clients that ask for it before they upload."""
    return page_answer(absolute_url(request), [], count=0, page=1, page_size=1)


def _part_of(request: Request, answers: list[Json], page: int, page_size: int) -> Json:
    """A page of a list that is whole at hand."""
    chosen = answers[(page - 1) * page_size : page * page_size]
    return page_answer(absolute_url(request), chosen, count=len(answers), page=page, page_size=page_size)
