"""Routes for who asks, people, API keys and the audit log."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from docmill.service.people.access import Scope
from docmill.service.store import audit_log, handovers, memberships, one_time_links
from docmill.service.store.handovers import HandoverKind
from docmill.service.store.memberships import Role
from docmill.web.access import Router, needs
from docmill.web.api.shapes import IsoDatetime
from docmill.web.context import TheVault, not_found
from docmill.web.inviting import check_may_give, invite_person, keep_thing

router = Router()
_PEOPLE: list[str | Enum] = ["people"]
_KEYS: list[str | Enum] = ["keys"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tenant(_Shape):
    """An organisation of the person, and their role there."""

    tenant_id: UUID
    tenant_name: str
    role: Role


class Me(_Shape):
    """The person or program that sends the request.

    via: `machine` on this machine, while the vault has no account. user_id: of an API key, who made it.
    tenants: those that a person can switch to.
    """

    via: Literal["session", "key", "machine"]
    user_id: UUID
    user_name: str
    email: str | None
    tenant_id: UUID | None
    tenant_name: str
    role: Role | None
    scopes: list[Scope]
    tenants: list[Tenant]


class Person(_Shape):
    """A member of the organisation."""

    user_id: UUID
    email: str
    name: str
    role: Role
    created_at: datetime


class Invitation(_Shape):
    """An invitation that nobody has accepted yet."""

    id: UUID
    role: Role
    email: str | None
    created_at: datetime
    expires_at: datetime


class People(_Shape):
    """The people of the organisation, and the open invitations."""

    people: list[Person]
    invitations: list[Invitation]


class NewInvitation(_Request):
    """An invitation to make. email: the only address that can accept it; null for whoever has the link."""

    role: Role
    email: Annotated[str, Field(max_length=254)] | None = None


class InvitationLink(_Shape):
    """The link of a new invitation, which is shown once; null if it was mailed to the address.

    It is mailed where the vault has a mail server and the invitation an address.
    """

    link: str | None


class RoleChange(_Request):
    """Another role of a person."""

    role: Role


class ApiKey(_Shape):
    """An API key without its secret. prefix: the first characters of the secret.

    kind: `app` for a key of a device that signed in with a person's password. responsible_id: the person
    whose role limits the key; role: that role now, null for who is no member. parent_id: the key that made
    it, and with which it ends.
    """

    id: UUID
    name: str
    prefix: str
    scopes: list[Scope]
    created_by: UUID
    created_by_name: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    is_usable: bool
    kind: Literal["program", "app"]
    responsible_id: UUID
    responsible_name: str | None
    role: Role | None
    parent_id: UUID | None


class ApiKeyList(_Shape):
    """The API keys of the organisation, those that hold first."""

    keys: list[ApiKey]


class Handover(_Shape):
    """A thing to keep or end. person: who answered for it. api_key: the revoked key that made it.

    stays_stopped: it stands still for another reason, or it is a source: resume it once you have kept it.
    """

    kind: HandoverKind
    id: UUID
    name: str
    person: str | None
    api_key: str | None
    stays_stopped: bool


class HandoverList(_Shape):
    """What waits for an owner, by kind and name."""

    handovers: list[Handover]


class NewApiKey(_Request):
    """An API key to make. expires_at: null for one that holds until it is revoked."""

    name: Annotated[str, Field(max_length=200)]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=10)]
    expires_at: IsoDatetime | None = None


class CreatedApiKey(_Shape):
    """A new key. secret: shown once."""

    id: UUID
    prefix: str
    secret: str


class AuditEntry(_Shape):
    """An entry of the audit log. address: null for a command on the machine itself."""

    id: UUID
    at: datetime
    user_id: UUID
    user_name: str | None
    api_key_id: UUID | None
    api_key: str | None
    action: str
    target: str | None
    details: dict[str, JsonValue]
    address: str | None


class AuditLog(_Shape):
    """A page of the audit log, the newest entry first."""

    entries: list[AuditEntry]
    next: str | None


@router.get("/me", tags=_PEOPLE)
@needs("signed in")
async def get_me(vault: TheVault) -> Me:
    """The person or program that sends this request, its organisation, and what it may do."""
    access = vault.access
    assert access.via != "signature", "only addresses of files are signed"
    return Me(
        via=access.via,
        user_id=access.user_id,
        user_name=access.user_name,
        email=access.email,
        tenant_id=access.tenant_id,
        tenant_name=access.tenant_name,
        role=access.role,
        scopes=sorted(access.allows),
        tenants=[Tenant.model_validate(row) for row in access.tenants],
    )


@router.get("/people", tags=_PEOPLE)
@needs("administer")
async def list_people(vault: TheVault) -> People:
    """The people of the organisation, and the open invitations."""
    async with vault.connection() as conn:
        return People(
            people=[Person.model_validate(row) for row in await memberships.members(conn, vault.tenant_id)],
            invitations=[Invitation.model_validate(row) for row in await one_time_links.invitations(conn)],
        )


@router.post("/people/invitations", status_code=201, tags=_PEOPLE)
@needs("administer")
async def invite(request: Request, new: NewInvitation, response: Response, vault: TheVault) -> InvitationLink:
    """Make an invitation. With `email`, no other address can accept it; see `InvitationLink`."""
    link = await invite_person(request, vault, new.role, new.email)
    response.headers["cache-control"] = "no-store"
    return InvitationLink(link=link)


@router.delete("/people/invitations/{invitation_id}", status_code=204, tags=_PEOPLE)
@needs("administer")
async def withdraw_invitation(invitation_id: UUID, vault: TheVault) -> Response:
    """Withdraw an invitation."""
    async with vault.connection() as conn:
        if not await one_time_links.delete(conn, invitation_id):
            raise not_found("invitation")
    return Response(status_code=204)


@router.patch("/people/{user_id}", status_code=204, tags=_PEOPLE)
@needs("administer")
async def change_role(user_id: UUID, change: RoleChange, vault: TheVault) -> Response:
    """Give a person another role, which ends their sessions."""
    check_may_give(vault, change.role)
    vault.audit_details["role"] = change.role
    if not await vault.service.accounts.change_role(user_id, change.role, tenant_id=vault.tenant_id):
        raise not_found("person")
    return Response(status_code=204)


@router.delete("/people/{user_id}", status_code=204, tags=_PEOPLE)
@needs("administer")
async def remove_person(user_id: UUID, vault: TheVault) -> Response:
    """Remove a person, end their sessions and revoke the API keys that they made."""
    if not await vault.service.accounts.remove(user_id, tenant_id=vault.tenant_id):
        raise not_found("person")
    return Response(status_code=204)


@router.get("/handovers", tags=_PEOPLE)
@needs("administer")
async def list_handovers(vault: TheVault) -> HandoverList:
    """Keys, webhooks and sources of people who are no owners any more, or of keys that were revoked."""
    async with vault.connection() as conn:
        rows = await handovers.waiting(conn)
    return HandoverList(handovers=[Handover.model_validate(row) for row in rows])


@router.post("/handovers/{kind}/{thing_id}/keep", status_code=204, tags=_PEOPLE)
@needs("administer")
async def keep_handover(kind: HandoverKind, thing_id: UUID, vault: TheVault) -> Response:
    """Answer for a key, webhook or source from now on. People do that; to end it, revoke or remove it."""
    await keep_thing(vault, kind, thing_id)
    return Response(status_code=204)


@router.get("/keys", tags=_KEYS)
@needs("administer")
async def list_keys(vault: TheVault) -> ApiKeyList:
    """The API keys of the organisation."""
    rows = await vault.service.api_keys.page(tenant_id=vault.tenant_id)
    return ApiKeyList(keys=[ApiKey.model_validate(row) for row in rows])


@router.post("/keys", status_code=201, tags=_KEYS)
@needs("administer")
async def create_key(new: NewApiKey, response: Response, vault: TheVault) -> CreatedApiKey:
    """Make an API key. Its secret is in this answer and nowhere else."""
    key = await vault.service.api_keys.create(vault.access, new.name, new.scopes, new.expires_at)
    vault.audit_details.update({"key": key.prefix, "name": new.name, "scopes": list(new.scopes)})
    response.headers["cache-control"] = "no-store"
    return CreatedApiKey(id=key.id, prefix=key.prefix, secret=key.secret)


@router.delete("/keys/{key_id}", status_code=204, tags=_KEYS)
@needs("administer")
async def revoke_key(key_id: UUID, vault: TheVault) -> Response:
    """End an API key at once."""
    if not await vault.service.api_keys.revoke(key_id, tenant_id=vault.tenant_id):
        raise not_found("API key")
    return Response(status_code=204)


@router.get("/audit-log", tags=_PEOPLE)
@needs("administer")
async def get_audit_log(
    request: Request,
    vault: TheVault,
    *,
    user_id: Annotated[UUID | None, Query(description="only what this user did")] = None,
    action: Annotated[str | None, Query(max_length=100, description="only this action")] = None,
    after: Annotated[UUID | None, Query(description="the last id of the page before this one")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> AuditLog:
    """The audit log: each change with its author, object and address; the newest first."""
    async with vault.connection() as conn:
        rows = await audit_log.page(conn, user_id=user_id, action=action, after=after, limit=limit + 1)
    follow = None
    if len(rows) > limit:
        query = {**request.query_params, "after": str(rows[limit - 1].id)}
        follow = f"{request.url.path}?{urlencode(query)}"
    return AuditLog(entries=[AuditEntry.model_validate(row) for row in rows[:limit]], next=follow)
