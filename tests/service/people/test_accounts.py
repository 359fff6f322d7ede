"""Accounts, sessions and keys on the real database."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from docmill.errors import ChangedError, RateLimitedError, ValidationError
from docmill.service.app import Service
from docmill.service.people.accounts import LinkIsOverError, NewPerson
from docmill.service.people.sign_in import MOST_FOR_ADDRESS_AND_EMAIL, SignInRefusedError, Visitor
from docmill.service.store import audit_log, memberships, users
from docmill.service.store.database import DEFAULT_USER_ID
from support.people import PASSWORD

HERE = Visitor("192.0.2.7", "a browser")
Member = Callable[..., Awaitable[UUID]]


async def test_the_first_account_owns_the_organisation_and_is_the_only_first(service: Service) -> None:
    assert not await service.accounts.exist()

    outcomes = await asyncio.gather(
        *(
            service.accounts.create_first(NewPerson(f"{name}@example.org", name, PASSWORD), "Acme")
            for name in ("anna", "ben")
        ),
        return_exceptions=True,
    )

    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [ChangedError]
    assert await service.accounts.exist()
    async with service.database.tenant(service.default_tenant_id) as conn:
        (owner,) = await memberships.members(conn, service.default_tenant_id)
    assert owner.role == "owner"


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("no address", PASSWORD),
        ("\N{KELVIN SIGN}@b.org", PASSWORD),
        ("a@b.org,c@d.org", PASSWORD),
        ("<a@b.org", PASSWORD),
        ("a@b.org", "short"),
        ("a@b.org", "x" * 20),
        ("a@b.org", "x1" * 501),
    ],
)
async def test_a_bad_address_or_password_makes_no_account(
    service: Service, email: str, password: str
) -> None:
    with pytest.raises(ValidationError):
        await service.accounts.create_first(NewPerson(email, "Anna", password), "Acme")

    assert not await service.accounts.exist()


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("anna@example.org", "wrong password"),
        ("nobody@example.org", PASSWORD),
        ("anna@example.org", "x" * 10**6),
    ],
)
async def test_a_refusal_does_not_tell_what_is_wrong(service: Service, email: str, password: str) -> None:
    with pytest.raises(SignInRefusedError, match=r"^E-mail address or password is wrong\.$"):
        await service.sign_in.sign_in(email, password, HERE)


async def test_a_session_holds_until_it_is_ended(service: Service, anna: UUID) -> None:
    session = await service.sign_in.sign_in(" Anna@Example.org", PASSWORD, HERE)

    access = await service.sign_in.of_session(session.token)

    assert access is not None
    assert (access.user_id, access.role, access.tenant_name) == (anna, "owner", "Acme")
    assert session.token not in repr(session)
    assert access.session_id is not None
    assert await service.sign_in.end_session(access.session_id, anna)
    assert await service.sign_in.of_session(session.token) is None


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize("column", ["last_seen_at", "created_at"])
async def test_a_session_ends_by_itself(service: Service, column: str) -> None:
    session = await service.sign_in.sign_in("anna@example.org", PASSWORD, HERE)
    statement = sql.SQL("UPDATE sessions SET {} = now() - interval '31 days'")
    async with await psycopg.AsyncConnection.connect(service.owner_url) as conn:
        await conn.execute(statement.format(sql.Identifier(column)))

    assert await service.sign_in.of_session(session.token) is None


@pytest.mark.usefixtures("anna")
async def test_too_many_attempts_are_refused_whoever_is_asked(service: Service) -> None:
    for _ in range(MOST_FOR_ADDRESS_AND_EMAIL):
        with pytest.raises(SignInRefusedError):
            await service.sign_in.sign_in("anna@example.org", "wrong password", HERE)

    with pytest.raises(RateLimitedError, match="Try again in 15 minutes") as refusal:
        await service.sign_in.sign_in("anna@example.org", PASSWORD, HERE)

    assert 0 < (refusal.value.retry_after_s or 0) <= 900
    await service.sign_in.sign_in("anna@example.org", PASSWORD, Visitor("192.0.2.8"))


async def test_an_invitation_works_once(service: Service, anna: UUID) -> None:
    token = await service.invitations.invite("viewer", tenant_id=service.default_tenant_id, invited_by=anna)

    async def accept(name: str) -> object:
        return await service.invitations.accept(token, NewPerson(f"{name}@x.org", name, PASSWORD), None)

    outcomes = await asyncio.gather(accept("ben"), accept("cleo"), return_exceptions=True)

    assert sum(isinstance(outcome, LinkIsOverError) for outcome in outcomes) == 1
    async with service.database.tenant(service.default_tenant_id) as conn:
        roles = [row.role for row in await memberships.members(conn, service.default_tenant_id)]
    assert sorted(roles) == ["owner", "viewer"]


async def test_the_only_owner_stays_one(service: Service, anna: UUID) -> None:
    with pytest.raises(ValidationError, match="needs an owner"):
        await service.accounts.remove(anna, tenant_id=service.default_tenant_id)
    with pytest.raises(ValidationError, match="needs an owner"):
        await service.accounts.change_role(anna, "viewer", tenant_id=service.default_tenant_id)


async def test_two_owners_do_not_remove_each_other(service: Service, anna: UUID, member: Member) -> None:
    tenant_id = service.default_tenant_id
    ben = await member("Ben", "owner", tenant_id, anna)

    outcomes = await asyncio.gather(
        service.accounts.remove(anna, tenant_id=tenant_id),
        service.accounts.remove(ben, tenant_id=tenant_id),
        return_exceptions=True,
    )

    assert sorted(str(type(outcome).__name__) for outcome in outcomes) == ["ValidationError", "bool"]


async def test_removal_ends_sessions_and_keys_and_keeps_the_name(
    service: Service, anna: UUID, member: Member
) -> None:
    tenant_id = service.default_tenant_id
    ben = await member("Ben", "owner", tenant_id, anna)
    session = await service.sign_in.sign_in("ben@example.org", PASSWORD, HERE)
    access = await service.sign_in.of_session(session.token)
    assert access is not None
    key = await service.api_keys.create(access, "robot", ["read"], None)
    assert await service.sign_in.of_key(key.secret) is not None

    assert await service.accounts.remove(ben, tenant_id=tenant_id)

    assert await service.sign_in.of_session(session.token) is None
    assert await service.sign_in.of_key(key.secret) is None
    async with service.database.tenant(tenant_id) as conn:
        assert await users.names(conn, [ben, DEFAULT_USER_ID]) == {
            ben: "Ben",
            DEFAULT_USER_ID: "This machine",
        }


async def test_a_key_allows_what_it_says_until_it_ends(service: Service, anna: UUID) -> None:
    session = await service.sign_in.begin_session(anna, HERE)
    access = await service.sign_in.of_session(session.token)
    assert access is not None
    soon = datetime.now(UTC) + timedelta(hours=1)

    key = await service.api_keys.create(access, "robot", ["write", "read"], soon)

    used = await service.sign_in.of_key(key.secret)
    assert used is not None
    assert (used.allows, used.user_id, used.via) == ({"read", "write"}, anna, "key")
    (row,) = await service.api_keys.page(tenant_id=service.default_tenant_id)
    assert row.last_used_at is not None
    assert row.prefix == key.secret[:9]
    async with await psycopg.AsyncConnection.connect(service.owner_url) as conn:
        await conn.execute("UPDATE api_keys SET expires_at = now()")
    assert await service.sign_in.of_key(key.secret) is None


async def test_a_key_allows_no_more_than_its_maker(service: Service, anna: UUID, member: Member) -> None:
    await member("Vera", "viewer", service.default_tenant_id, anna)
    session = await service.sign_in.sign_in("vera@example.org", PASSWORD, HERE)
    access = await service.sign_in.of_session(session.token)
    assert access is not None

    with pytest.raises(ValidationError, match="more than"):
        await service.api_keys.create(access, "robot", ["administer"], None)


async def test_a_person_works_in_one_of_several_tenants(
    service: Service, anna: UUID, other_tenant: UUID
) -> None:
    token = await service.invitations.invite("viewer", tenant_id=other_tenant, invited_by=DEFAULT_USER_ID)
    assert await service.invitations.accept_as(token, anna, None) == other_tenant
    session = await service.sign_in.sign_in("anna@example.org", PASSWORD, HERE)
    access = await service.sign_in.of_session(session.token)
    assert access is not None
    assert [row.tenant_name for row in access.tenants] == ["Acme", "Other"]

    switched = await service.sign_in.switch_tenant(access, other_tenant)

    assert switched is not None
    assert await service.sign_in.of_session(session.token) is None
    there = await service.sign_in.of_session(switched)
    assert there is not None
    assert (there.tenant_id, there.role) == (other_tenant, "viewer")
    assert await service.sign_in.switch_tenant(there, DEFAULT_USER_ID) is None


async def test_a_password_link_works_once_and_ends_sessions(service: Service, anna: UUID) -> None:
    session = await service.sign_in.sign_in("anna@example.org", PASSWORD, HERE)
    older = await service.accounts.password_link(anna)
    token = await service.accounts.password_link(anna)

    with pytest.raises(LinkIsOverError):
        await service.accounts.set_password(older, "another good one")
    assert await service.accounts.set_password(token, "another good one") == anna

    assert await service.sign_in.of_session(session.token) is None
    with pytest.raises(LinkIsOverError):
        await service.accounts.set_password(token, "a third good one")
    await service.sign_in.sign_in("anna@example.org", "another good one", HERE)


@pytest.mark.usefixtures("anna")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT password_hash FROM users",
        "SELECT * FROM sessions",
        "SELECT secret_hash FROM api_keys",
        "SELECT token_hash FROM one_time_links",
        "SELECT * FROM sign_in_attempts",
        "SELECT * FROM familiar_origin",
        "INSERT INTO memberships SELECT tenant_id, user_id, 'owner' FROM memberships",
    ],
)
async def test_the_application_sees_no_secret_and_gives_no_role(service: Service, query: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(query.encode())


async def test_people_are_seen_in_their_tenants_alone(
    service: Service, anna: UUID, other_tenant: UUID
) -> None:
    async with service.database.tenant(other_tenant) as conn:
        assert await users.names(conn, [anna]) == {}
        assert await memberships.members(conn, other_tenant) == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with service.database.accounts(other_tenant) as conn:
            await memberships.put(conn, service.default_tenant_id, anna, "viewer")


async def test_an_entry_of_the_audit_log_is_kept_as_it_is(service: Service, anna: UUID) -> None:
    tenant_id = service.default_tenant_id
    async with service.database.tenant(tenant_id) as conn:
        await audit_log.add(
            conn, tenant_id=tenant_id, user_id=anna, action="upload", details={"files": 2}, address="::1"
        )

    async with await psycopg.AsyncConnection.connect(service.owner_url) as owner:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await owner.execute("DELETE FROM audit_log")

    async with service.database.tenant(tenant_id) as conn:
        (entry,) = await audit_log.page(conn)
    assert (entry.user_name, entry.action, entry.details) == ("Anna", "upload", {"files": 2})
