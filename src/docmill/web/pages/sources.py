"""Pages of sources: their state, forms to make and change them, and what could not be taken."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from docmill.errors import MisconfiguredError, SetupError, TransientError, ValidationError
from docmill.service.sources.gmail.gmail_watcher import PUSH_PATH
from docmill.service.sources.kinds import Kind
from docmill.service.sources.registry import KINDS
from docmill.service.sources.webhook.inbound import HOOK_PATH
from docmill.service.store import events
from docmill.service.store.doc_sources import SourceRow
from docmill.web.access import Router, needs
from docmill.web.addresses import absolute_address
from docmill.web.api.sources import existing_source
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.languages import gettext
from docmill.web.view import settings_form, source_form, source_words

router = Router(include_in_schema=False, prefix="/settings/sources")

_PATHS = {"webhook": HOOK_PATH, "gmail": PUSH_PATH}
"""Paths to which programs send what is for sources, by kind."""

PERMISSION_CALLBACK = "/settings/sources/authorized"
"""To which a provider of mailboxes sends back; its owner has entered it there."""

_SHOWN_ITEMS = 50
NO_SECRETS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class _Typed:
    """Values that somebody typed into the form of a source. is_forced: to be saved without a test."""

    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: dict[str, Any] = field(default_factory=dict[str, Any])
    is_forced: bool = False


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of the page. faults: by setting. can_force: it may be saved even so.

    is_of_form: False for the outcome of something that was done elsewhere.
    """

    message: str
    works: bool = False
    can_force: bool = False
    is_of_form: bool = True
    faults: Mapping[str, str] = field(default_factory=dict[str, str])


@router.get("")
@needs("administer")
async def show_sources(request: Request, vault: TheVault) -> Response:
    """The sources of the organisation with their state."""
    sources = vault.service.sources
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)
    return vault.templates.page(
        request,
        "sources.html",
        review_count=await vault.review_count(),
        rows=await sources.every(tenant_id=vault.tenant_id),
        refused=await sources.refused(tenant_id=vault.tenant_id),
        kinds=sorted(KINDS),
        source_words=source_words,
        last_event=last_event,
    )


@router.get("/new/{kind}")
@needs("connect sources")
async def show_new_source(request: Request, kind: str, vault: TheVault) -> Response:
    """The form for a new source of a kind."""
    return await _form_page(request, vault, _existing_kind(kind), _Typed())


@router.post("/new/{kind}")
@needs("connect sources")
async def create_source(request: Request, kind: str, vault: TheVault) -> Response:
    """Make a source if it works; of one that does not, a person may want it even so."""
    known = _existing_kind(kind)
    typed = await _typed(request, known)

    async def save() -> None:
        row = await vault.service.sources.add(
            kind,
            typed.name,
            typed.settings,
            typed.secrets,
            tenant_id=vault.tenant_id,
            created_by=vault.user_id,
            api_key_id=vault.access.api_key_id,
        )
        vault.audit_details.update({"source": str(row.id), "name": row.name})

    refusal = await _save(typed, known, _test_of(typed, known, vault), save)
    if refusal is not None:
        return await _form_page(request, vault, known, typed, answer=refusal, status=422)
    return RedirectResponse("/settings/sources", 303)


@router.post("/new/{kind}/test")
@needs("connect sources", logged=False)
async def test_new_source(request: Request, kind: str, vault: TheVault) -> Response:
    """Try what was typed, and show the form with the outcome."""
    known = _existing_kind(kind)
    typed = await _typed(request, known)
    answer = await _tested(typed, known, _test_of(typed, known, vault))
    return await _form_page(request, vault, known, typed, answer=answer)


@router.get("/{source_id}")
@needs("administer")
async def show_source(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """A source: its state, what arrived, and the form to change it."""
    row = await existing_source(source_id, vault)
    return await _form_page(request, vault, _existing_kind(row.kind), _Typed(row.name, row.settings), row=row)


@router.post("/{source_id}")
@needs("connect sources")
async def change_source(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """Change a source if it works so; if it does not, a person may want it even so."""
    row = await existing_source(source_id, vault)
    kind = _existing_kind(row.kind)
    typed = await _typed(request, kind)

    async def save() -> None:
        await vault.service.sources.change(
            row,
            name=typed.name,
            settings=typed.settings,
            secrets=typed.secrets,
            api_key_id=vault.access.api_key_id,
        )
        vault.audit_details["name"] = typed.name

    refusal = await _save(typed, kind, _test_of(typed, kind, vault, row), save)
    if refusal is not None:
        return await _form_page(request, vault, kind, typed, row=row, answer=refusal, status=422)
    return RedirectResponse(f"/settings/sources/{row.id}", 303)


@router.post("/{source_id}/test")
@needs("connect sources", logged=False)
async def test_source(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """Try what was typed, and show the form with the outcome."""
    row = await existing_source(source_id, vault)
    kind = _existing_kind(row.kind)
    typed = await _typed(request, kind)
    answer = await _tested(typed, kind, _test_of(typed, kind, vault, row))
    return await _form_page(request, vault, kind, typed, row=row, answer=answer)


@router.post("/{source_id}/secrets")
@needs("connect sources")
async def make_source_secrets(request: Request, source_id: UUID, vault: TheVault) -> Response:
    """Make the secret anew that docmill makes for a kind, and show it once."""
    row = await existing_source(source_id, vault)
    made = await vault.service.sources.make_secrets(row, api_key_id=vault.access.api_key_id)
    typed = _Typed(row.name, row.settings)
    return await _form_page(request, vault, _existing_kind(row.kind), typed, row=row, made=made)


@router.post("/{source_id}/pause")
@needs("administer")
async def pause_source(source_id: UUID, vault: TheVault) -> Response:
    """Take nothing from a source until it is resumed."""
    return await _set_state(source_id, "paused", vault)


@router.post("/{source_id}/resume")
@needs("connect sources")
async def resume_source(source_id: UUID, vault: TheVault) -> Response:
    """Go on with a source, or try one that fails again at once."""
    return await _set_state(source_id, "active", vault)


async def _set_state(source_id: UUID, state: Literal["active", "paused"], vault: Vault) -> Response:
    if not await vault.service.sources.set_state(
        source_id, state, tenant_id=vault.tenant_id, api_key_id=vault.access.api_key_id
    ):
        raise not_found("source")
    return RedirectResponse(f"/settings/sources#source-{source_id}", 303)


@router.post("/{source_id}/remove")
@needs("administer")
async def remove_source(source_id: UUID, vault: TheVault) -> Response:
    """Remove a source and its secrets; its documents stay."""
    if not await vault.service.sources.remove(source_id, tenant_id=vault.tenant_id):
        raise not_found("source")
    return RedirectResponse("/settings/sources", 303)


@router.post("/{source_id}/items/{item_id}/retry")
@needs("connect sources")
async def retry_source_item(source_id: UUID, item_id: UUID, vault: TheVault) -> Response:
    """Forget that an item was refused, so that it is taken again."""
    if not await vault.service.sources.forget_refusal(source_id, item_id, tenant_id=vault.tenant_id):
        raise not_found("refused item")
    return RedirectResponse(f"/settings/sources/{source_id}#refused", 303)


def _address_of(request: Request, row: SourceRow) -> str | None:
    """The address to which others send what is for a source; None for a kind to which nothing is sent.

    Without a public address in the settings, that by which this page was reached.
    """
    vault: Vault = request.app.state.vault
    path = _PATHS.get(row.kind)
    known = vault.service.sources.address(row)
    return known or (path and absolute_address(request, path.format(source_id=row.id)))


def _needs_permission(vault: Vault, row: SourceRow) -> bool:
    """True for a mailbox whose owner gives docmill permission at the provider."""
    try:
        return vault.service.sources.permission_server(row) is not None
    except MisconfiguredError:  # the key of its secrets is lost, or an address is missing
        return False


def _existing_kind(name: str) -> Kind:
    if name not in KINDS:
        raise not_found("kind of source")
    return KINDS[name]


async def _typed(request: Request, kind: Kind) -> _Typed:
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    secrets = settings_form.typed_values(kind.secrets, form, prefix="secret.")
    forgotten = {name: None for name in secrets if f"forget.{name}" in form}
    return _Typed(
        " ".join(form.get("name", "").split()),
        settings_form.typed_values(kind.settings, form, prefix="setting."),
        {**secrets, **forgotten},
        "force" in form,
    )


_Test = Callable[[], Awaitable[str]]


def _test_of(typed: _Typed, kind: Kind, vault: Vault, row: SourceRow | None = None) -> _Test:
    async def test() -> str:
        sources = vault.service.sources
        if row is not None:
            return await sources.test_change(row, typed.settings, typed.secrets)
        return await sources.test_settings(
            kind.name, typed.settings, typed.secrets, tenant_id=vault.tenant_id
        )

    return test


async def _tested(typed: _Typed, kind: Kind, test: _Test) -> _Answer:
    """The outcome of a test of what was typed."""
    if faults := settings_form.faults_of(kind.settings, typed.settings):
        return _Answer(gettext("Some settings are to be corrected:"), faults=faults)
    try:
        return _Answer(await test(), works=True)
    except ValidationError as error:
        return _Answer(error.message)
    except (SetupError, TransientError) as error:
        return _Answer(error.message, can_force=True)


async def _save(
    typed: _Typed, kind: Kind, test: _Test, save: Callable[[], Awaitable[None]]
) -> _Answer | None:
    """Test and save what was typed; None if it was saved."""
    if not typed.is_forced or settings_form.faults_of(kind.settings, typed.settings):
        tested = await _tested(typed, kind, test)
        if not tested.works:
            return tested
    try:
        await save()
    except (ValidationError, SetupError) as error:
        return _Answer(error.message)
    return None


async def source_answer(
    request: Request, vault: Vault, row: SourceRow, message: str, *, works: bool = False
) -> Response:
    """The page of a source with what became of something that was done with it."""
    kind, typed = _existing_kind(row.kind), _Typed(row.name, row.settings)
    answer = _Answer(message, works=works, is_of_form=False)
    return await _form_page(request, vault, kind, typed, row=row, answer=answer)


async def _form_page(
    request: Request,
    vault: Vault,
    kind: Kind,
    typed: _Typed,
    *,
    row: SourceRow | None = None,
    answer: _Answer | None = None,
    made: Mapping[str, str] = NO_SECRETS,
    status: int = 200,
) -> Response:
    """The page of a source or of a new one. made: secrets that are shown this once."""
    sources = vault.service.sources
    secrets_set = () if row is None else tuple(sources.secret_names(row))
    faults: Mapping[str, str] = answer.faults if answer else {}
    items = refused = []
    if row is not None:
        items = await sources.items(row.id, tenant_id=vault.tenant_id, limit=_SHOWN_ITEMS)
        refused = await sources.items(
            row.id, tenant_id=vault.tenant_id, refused_only=True, limit=_SHOWN_ITEMS
        )
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)
    return vault.templates.page(
        request,
        "source.html",
        review_count=await vault.review_count(),
        status_code=status,
        kind=kind,
        row=row,
        typed=typed,
        answer=answer,
        form=source_form.arrange(kind, typed.settings, faults, secrets_set),
        items=[item for item in items if item.error_code is None],
        refused=refused,
        made=made,
        address=None if row is None else _address_of(request, row),
        secrets_set=secrets_set,
        callback=absolute_address(request, PERMISSION_CALLBACK),
        needs_permission=row is not None and _needs_permission(vault, row),
        source_words=source_words,
        last_event=last_event,
    )
