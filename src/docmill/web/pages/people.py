"""Pages of an organisation's owners: its people, API keys and audit log."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import Form, Request
from starlette.responses import RedirectResponse, Response

from docmill.errors import NetworkError, RateLimitedError, ValidationError
from docmill.service.people.access import SCOPES
from docmill.service.people.keys import NewKey
from docmill.service.store import audit_log, handovers, memberships, one_time_links
from docmill.service.store.handovers import HandoverKind
from docmill.service.store.memberships import Role
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault, not_found, parse_id
from docmill.web.inviting import check_may_give, invite_person, keep_thing
from docmill.web.problems import status_of
from docmill.web.security import is_this_machine

router = Router(include_in_schema=False)

_Typed = Annotated[str, Form(max_length=1000)]
_AUDIT_PAGE = 50


@router.get("/people")
@needs("administer")
async def show_people(request: Request, vault: TheVault) -> Response:
    """The people of the organisation, and the open invitations."""
    return await _people_page(request, vault)


async def _people_page(
    request: Request,
    vault: Vault,
    *,
    link: str = "",
    mailed_to: str = "",
    message: str = "",
    status: int = 200,
) -> Response:
    async with vault.connection() as conn:
        people = await memberships.members(conn, vault.tenant_id)
        invitations = await one_time_links.invitations(conn)
        waiting = await handovers.waiting(conn)
    return vault.templates.page(
        request,
        "people.html",
        review_count=await vault.review_count(),
        status_code=status,
        people=people,
        invitations=invitations,
        waiting=waiting,
        link=link,
        mailed_to=mailed_to,
        invites_by_mail=vault.service.mailer.is_set_up,
        is_local_link=is_this_machine(urlsplit(link).hostname or "") if link else False,
        message=message,
    )


@router.post("/people/invitations")
@needs("administer")
async def invite(
    request: Request, vault: TheVault, *, role: Annotated[Role, Form()], email: _Typed = ""
) -> Response:
    """Make an invitation, and show its link once."""
    try:
        link = await invite_person(request, vault, role, email)
    except (ValidationError, NetworkError, RateLimitedError) as error:
        return await _people_page(request, vault, message=error.message, status=status_of(error))
    return await _people_page(
        request, vault, link=link or "", mailed_to=email.strip() if link is None else ""
    )


@router.post("/people/invitations/{invitation_id}/withdraw")
@needs("administer")
async def withdraw_invitation(invitation_id: UUID, vault: TheVault) -> Response:
    """Withdraw an invitation."""
    async with vault.connection() as conn:
        if not await one_time_links.delete(conn, invitation_id):
            raise not_found("invitation")
    return RedirectResponse("/people", 303)


@router.post("/people/{user_id}/role")
@needs("administer")
async def change_role(
    request: Request, user_id: UUID, vault: TheVault, *, role: Annotated[Role, Form()]
) -> Response:
    """Give a person another role."""
    check_may_give(vault, role)
    vault.audit_details["role"] = role
    try:
        if not await vault.service.accounts.change_role(user_id, role, tenant_id=vault.tenant_id):
            raise not_found("person")
    except ValidationError as error:
        return await _people_page(request, vault, message=error.message, status=422)
    return RedirectResponse("/people", 303)


@router.post("/people/{user_id}/remove")
@needs("administer")
async def remove_person(request: Request, user_id: UUID, vault: TheVault) -> Response:
    """Remove a person from the organisation."""
    try:
        if not await vault.service.accounts.remove(user_id, tenant_id=vault.tenant_id):
            raise not_found("person")
    except ValidationError as error:
        return await _people_page(request, vault, message=error.message, status=422)
    return RedirectResponse("/people", 303)


@router.post("/people/handovers/{kind}/{thing_id}/keep")
@needs("administer")
async def keep_handover(kind: HandoverKind, thing_id: UUID, vault: TheVault) -> Response:
    """Answer for a key, webhook or source of somebody who is no owner any more."""
    await keep_thing(vault, kind, thing_id)
    return RedirectResponse("/people", 303)


@router.get("/keys")
@needs("administer")
async def show_keys(request: Request, vault: TheVault) -> Response:
    """The API keys of the organisation."""
    return await _keys_page(request, vault)


async def _keys_page(
    request: Request,
    vault: Vault,
    *,
    new_key: NewKey | None = None,
    message: str = "",
    name: str = "",
    scopes: tuple[str, ...] = ("read",),
) -> Response:
    return vault.templates.page(
        request,
        "keys.html",
        review_count=await vault.review_count(),
        status_code=422 if message else 200,
        keys=await vault.service.api_keys.page(tenant_id=vault.tenant_id),
        all_scopes=SCOPES,
        new_key=new_key,
        message=message,
        key_name=name,
        scopes=scopes,
    )


@router.post("/keys")
@needs("administer")
async def create_key(
    request: Request,
    vault: TheVault,
    *,
    name: _Typed = "",
    scope: Annotated[list[str], Form()] = [],  # noqa: B006  FastAPI copies it
    days: Annotated[str, Form(max_length=4)] = "",
) -> Response:
    """Make an API key, and show it once. days: until it ends; empty for one without an end."""
    try:
        expires_at = _end_after(days)
        key = await vault.service.api_keys.create(vault.access, name, scope, expires_at)
    except ValidationError as error:
        return await _keys_page(request, vault, message=error.message, name=name, scopes=tuple(scope))
    vault.audit_details.update({"key": key.prefix, "name": name, "scopes": list(scope)})
    return await _keys_page(request, vault, new_key=key)


def _end_after(days: str) -> datetime | None:
    if not days.strip():
        return None
    if not (days.isascii() and days.isdigit()):
        raise ValidationError("Give the number of days until the key ends, or nothing.")
    return datetime.now(UTC) + timedelta(days=int(days))


@router.post("/keys/{key_id}/revoke")
@needs("administer")
async def revoke_key(key_id: UUID, vault: TheVault) -> Response:
    """End an API key at once."""
    if not await vault.service.api_keys.revoke(key_id, tenant_id=vault.tenant_id):
        raise not_found("API key")
    return RedirectResponse("/keys", 303)


@router.get("/audit-log")
@needs("administer")
async def show_audit_log(request: Request, vault: TheVault, *, after: str = "") -> Response:
    """The audit log: each change with its author, object and address; the newest first."""
    async with vault.connection() as conn:
        entries = await audit_log.page(conn, after=parse_id(after), limit=_AUDIT_PAGE + 1)
        names = await audit_log.names(conn, entries)
    follow = f"/audit-log?after={entries[_AUDIT_PAGE - 1].id}" if len(entries) > _AUDIT_PAGE else None
    return vault.templates.page(
        request,
        "audit_log.html",
        review_count=await vault.review_count(),
        entries=entries[:_AUDIT_PAGE],
        names=names,
        follow=follow,
    )
