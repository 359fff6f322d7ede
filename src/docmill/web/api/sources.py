"""Routes for sources: list, make, change, test, pause, resume and remove them, and see what arrived."""

from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from docmill.errors import DocmillError, SetupError, TransientError, ValidationError
from docmill.service.sources.registry import KINDS
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.doc_sources import SourceRow
from docmill.web.access import Router, needs
from docmill.web.api.shapes import Fault
from docmill.web.context import TheVault, Vault, not_found

router = Router(prefix="/sources", tags=["sources"])

_Values = Annotated[dict[str, JsonValue], Field(max_length=100)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceKind(_Shape):
    """A kind of source. settings, secrets: JSON schemas of what a source of the kind has.

    is_watched: docmill goes to the other side; if not, that comes to docmill.
    """

    name: str
    is_watched: bool
    settings: dict[str, Any]
    secrets: dict[str, Any]


class SourceKindList(_Shape):
    """The kinds of sources by name."""

    kinds: list[SourceKind]


class Source(_Shape):
    """A source. secrets_set: the names of those that are kept; nobody is shown a secret.

    address: to which others send; null for other kinds, and without an address of the installation.
    failures: in a row; error: of the last one, at error_at. waits_until: for its limits. arrivals, refusals:
    the numbers of items that were taken and that could not be.
    """

    id: UUID
    kind: str
    name: str
    settings: dict[str, Any]
    secrets_set: list[str]
    address: str | None
    state: Literal["active", "paused"]
    failures: int
    error: Fault | None
    error_at: datetime | None
    next_attempt_at: datetime | None
    waits_until: datetime | None
    last_success_at: datetime | None
    arrivals: int
    refusals: int
    created_at: datetime


class SourceList(_Shape):
    """The sources of the organisation by name."""

    sources: list[Source]


class NewSource(_Request):
    """A source to make. settings, secrets: in the form of its kind. test: make none that does not work."""

    kind: Annotated[str, Field(max_length=50)]
    name: Annotated[str, Field(max_length=200)]
    settings: _Values = {}
    secrets: _Values = {}
    test: bool = False


class TriedSettings(_Request):
    """Settings to try, of which no source is made."""

    kind: Annotated[str, Field(max_length=50)]
    settings: _Values = {}
    secrets: _Values = {}


class SourceChange(_Request):
    """Changes to a source; what is left out stays. secrets: those to replace; null removes one."""

    name: Annotated[str, Field(max_length=200)] | None = None
    settings: _Values | None = None
    secrets: _Values | None = None


class SourceTest(_Shape):
    """The outcome of a test. message: what was found, or why it does not work. code: of the error."""

    works: bool
    message: str
    code: str | None = None


class NewSecrets(_Shape):
    """New secrets of a source, by name. They are in this answer and nowhere else."""

    secrets: dict[str, str]


class SourceItem(_Shape):
    """An item of a source. document_id: null if it was refused, with an error, or its document is gone."""

    id: UUID
    document_id: UUID | None
    metadata: dict[str, Any]
    error: Fault | None
    arrived_at: datetime

    @classmethod
    def of(cls, row: ArrivalRow) -> "SourceItem":
        """The row as the API shows it."""
        return cls.model_validate({**_values(row), "error": _fault(row.error_code, row.error_message)})


class SourceItemList(_Shape):
    """Items of a source, the newest first."""

    items: list[SourceItem]


def _values(row: ArrivalRow | SourceRow) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _fault(code: str | None, message: str | None) -> Fault | None:
    return None if code is None else Fault(code=code, message=message or "")


def _shown(row: SourceRow, vault: Vault) -> Source:
    return Source.model_validate(
        {
            **_values(row),
            "secrets_set": vault.service.sources.secret_names(row),
            "address": vault.service.sources.address(row),
            "error": _fault(row.last_error_code, row.last_error_message),
            "error_at": row.last_error_at,
        }
    )


async def existing_source(source_id: UUID, vault: Vault) -> SourceRow:
    """Load a source. Answers 404 if the tenant has none of that id."""
    row = await vault.service.sources.get(source_id, tenant_id=vault.tenant_id)
    if row is None:
        raise not_found("source")
    return row


def as_mistake(error: SetupError) -> ValidationError:
    """Turn what the installation does not allow into a mistake in what somebody typed, not of the server."""
    return ValidationError(error.message)


@router.get("")
@needs("read")
async def list_sources(vault: TheVault) -> SourceList:
    """The sources with their state, without their secrets."""
    rows = await vault.service.sources.every(tenant_id=vault.tenant_id)
    return SourceList(sources=[_shown(row, vault) for row in rows])


@router.get("/kinds")
@needs("read")
async def list_source_kinds() -> SourceKindList:
    """The kinds of sources, with the JSON schemas of their settings and secrets."""
    return SourceKindList(
        kinds=[
            SourceKind(
                name=kind.name,
                is_watched=kind.is_watched,
                settings=kind.settings.model_json_schema(),
                secrets=kind.secrets.model_json_schema(),
            )
            for _, kind in sorted(KINDS.items())
        ]
    )


@router.post("", status_code=201)
@needs("connect sources")
async def create_source(new: NewSource, vault: TheVault) -> Source:
    """Make a source, which is read from now on. With `test`, one that does not work is not made."""
    sources = vault.service.sources
    try:
        if new.test:
            await sources.test_settings(new.kind, new.settings, new.secrets, tenant_id=vault.tenant_id)
        row = await sources.add(
            new.kind,
            new.name,
            new.settings,
            new.secrets,
            tenant_id=vault.tenant_id,
            created_by=vault.user_id,
            api_key_id=vault.access.api_key_id,
        )
    except SetupError as error:
        raise as_mistake(error) from error
    vault.audit_details.update({"source": str(row.id), "kind": row.kind, "name": row.name})
    return _shown(row, vault)


@router.post("/test")
@needs("connect sources", logged=False)
async def test_source_settings(tried: TriedSettings, vault: TheVault) -> SourceTest:
    """Try settings before a source is made of them. Nothing is taken."""
    try:
        message = await vault.service.sources.test_settings(
            tried.kind, tried.settings, tried.secrets, tenant_id=vault.tenant_id
        )
    except (SetupError, TransientError) as error:
        return failed_test(error)
    return SourceTest(works=True, message=message)


def failed_test(error: DocmillError) -> SourceTest:
    """The outcome of a test that ended in an error."""
    return SourceTest(works=False, message=error.message, code=error.code)


@router.get("/{source_id}")
@needs("read")
async def get_source(source_id: UUID, vault: TheVault) -> Source:
    """A source with its state, without its secrets."""
    return _shown(await existing_source(source_id, vault), vault)


@router.patch("/{source_id}")
@needs("connect sources")
async def change_source(source_id: UUID, change: SourceChange, vault: TheVault) -> Source:
    """Change the name, the settings as a whole, or some secrets of a source. What watches it begins again."""
    row = await existing_source(source_id, vault)
    try:
        row = await vault.service.sources.change(
            row,
            name=change.name,
            settings=change.settings,
            secrets=change.secrets,
            api_key_id=vault.access.api_key_id,
        )
    except SetupError as error:
        raise as_mistake(error) from error
    vault.audit_details.update({"name": row.name, "changed": list(change.model_fields_set)})
    return _shown(row, vault)


@router.delete("/{source_id}", status_code=204)
@needs("administer")
async def remove_source(source_id: UUID, vault: TheVault) -> Response:
    """Remove a source and its secrets. What arrived from it stays."""
    if not await vault.service.sources.remove(source_id, tenant_id=vault.tenant_id):
        raise not_found("source")
    return Response(status_code=204)


@router.post("/{source_id}/test")
@needs("connect sources", logged=False)
async def test_source(source_id: UUID, vault: TheVault) -> SourceTest:
    """Try a source. Nothing is taken."""
    row = await existing_source(source_id, vault)
    try:
        return SourceTest(works=True, message=await vault.service.sources.test(row))
    except (SetupError, TransientError) as error:
        return failed_test(error)


@router.post("/{source_id}/secrets")
@needs("connect sources")
async def make_source_secrets(source_id: UUID, vault: TheVault, response: Response) -> NewSecrets:
    """Make the secrets anew that docmill makes for a kind, such as that of a webhook. They are shown once."""
    row = await existing_source(source_id, vault)
    response.headers["cache-control"] = "no-store"
    return NewSecrets(
        secrets=await vault.service.sources.make_secrets(row, api_key_id=vault.access.api_key_id)
    )


@router.post("/{source_id}/pause")
@needs("administer")
async def pause_source(source_id: UUID, vault: TheVault) -> Source:
    """Take nothing from a source until it is resumed."""
    return await _set_state(source_id, "paused", vault)


@router.post("/{source_id}/resume")
@needs("connect sources")
async def resume_source(source_id: UUID, vault: TheVault) -> Source:
    """Go on with a source that was paused, or try one that fails again at once."""
    return await _set_state(source_id, "active", vault)


async def _set_state(source_id: UUID, state: Literal["active", "paused"], vault: Vault) -> Source:
    if not await vault.service.sources.set_state(
        source_id, state, tenant_id=vault.tenant_id, api_key_id=vault.access.api_key_id
    ):
        raise not_found("source")
    return _shown(await existing_source(source_id, vault), vault)


@router.get("/{source_id}/items")
@needs("read")
async def list_source_items(
    source_id: UUID,
    vault: TheVault,
    *,
    refused: Annotated[bool, Query(description="only items that could not be taken")] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SourceItemList:
    """The newest items of a source, with what it says about each."""
    row = await existing_source(source_id, vault)
    items = await vault.service.sources.items(
        row.id, tenant_id=vault.tenant_id, refused_only=refused, limit=limit
    )
    return SourceItemList(items=[SourceItem.of(item) for item in items])


@router.post("/{source_id}/items/{item_id}/retry", status_code=204)
@needs("connect sources")
async def retry_source_item(source_id: UUID, item_id: UUID, vault: TheVault) -> Response:
    """Forget that an item was refused: it is taken when it is found, or sent, again."""
    if not await vault.service.sources.forget_refusal(source_id, item_id, tenant_id=vault.tenant_id):
        raise not_found("refused item")
    return Response(status_code=204)
