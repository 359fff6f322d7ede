"""Keys are limited by who made them: their role, their keys, their password."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import pytest

from docmill.errors import ValidationError
from docmill.service.app import Service
from docmill.service.people.access import SCOPES, Access, Scope
from docmill.service.people.accounts import LinkIsOverError, NewPerson
from docmill.service.people.openid import Identity
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import hash_token
from docmill.service.store import api_keys, doc_sources, handovers, webhook_deliveries, webhooks
from docmill.service.store.api_keys import NewKeyRow
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from support.people import PASSWORD
from support.webhook_tools import WebhookTools

Member = Callable[..., Awaitable[UUID]]
Open = Callable[[UUID], Awaitable[Access]]
HOUR = timedelta(hours=1)


@pytest.fixture
def access_of(service: Service) -> Open:
    """The access of a person who signs in."""

    async def open_session(user_id: UUID) -> Access:
        session = await service.sign_in.begin_session(user_id, Visitor())
        access = await service.sign_in.of_session(session.token)
        assert access is not None
        return access

    return open_session


@pytest.fixture
async def ben(service: Service, anna: UUID, member: Member) -> UUID:
    """A second owner."""
    return await member("Ben", "owner", service.default_tenant_id, anna)


async def _scopes(service: Service, secret: str) -> frozenset[Scope]:
    access = await service.sign_in.of_key(secret)
    return frozenset() if access is None else access.allows


async def _connect(service: Service, user_id: UUID, api_key_id: UUID | None) -> tuple[UUID, UUID]:
    """Make a webhook and a source in somebody's name."""
    tenant_id, webhook_id, source_id = service.default_tenant_id, new_id(), new_id()
    async with service.database.tenant(tenant_id) as conn:
        await webhooks.add(
            conn,
            webhook_id,
            tenant_id=tenant_id,
            url="https://hook.invalid/",
            events=["document.failed"],
            with_data=True,
            secret=b"sealed",
            created_by=user_id,
        )
        await doc_sources.add(
            conn,
            source_id=source_id,
            tenant_id=tenant_id,
            kind="folder",
            name="Scans",
            settings={},
            secrets=None,
            created_by=user_id,
        )
        if api_key_id is not None:
            await webhooks.bind_to_key(conn, webhook_id, api_key_id)
            await doc_sources.bind_to_key(conn, source_id, api_key_id)
    return webhook_id, source_id


@pytest.mark.parametrize(
    ("role", "left"), [("viewer", {"read"}), ("reviewer", {"read", "review", "write"}), ("owner", {*SCOPES})]
)
async def test_a_key_has_no_scope_that_its_person_has_lost(
    service: Service, ben: UUID, access_of: Open, role: str, left: set[str]
) -> None:
    key = await service.api_keys.create(await access_of(ben), "robot", SCOPES, None)

    await service.accounts.change_role(ben, role, tenant_id=service.default_tenant_id)  # pyright: ignore[reportArgumentType]  a word of the test

    assert await _scopes(service, key.secret) == left


async def test_a_key_of_who_was_removed_allows_nothing(service: Service, ben: UUID, access_of: Open) -> None:
    key = await service.api_keys.create(await access_of(ben), "robot", SCOPES, None)

    await service.accounts.remove(ben, tenant_id=service.default_tenant_id)

    assert await service.sign_in.of_key(key.secret) is None


async def test_the_keys_of_a_person_count_where_they_were_made(
    service: Service, ben: UUID, access_of: Open, other_tenant: UUID
) -> None:
    key = await service.api_keys.create(await access_of(ben), "robot", ["read"], None)
    token = await service.invitations.invite("owner", tenant_id=other_tenant, invited_by=DEFAULT_USER_ID)
    await service.invitations.accept_as(token, ben, None)

    await service.accounts.remove(ben, tenant_id=service.default_tenant_id)

    assert await service.sign_in.of_key(key.secret) is None


async def test_another_organisation_ends_no_session_here(
    service: Service, ben: UUID, other_tenant: UUID
) -> None:
    session = await service.sign_in.begin_session(ben, Visitor())
    token = await service.invitations.invite("owner", tenant_id=other_tenant, invited_by=DEFAULT_USER_ID)
    await service.invitations.accept_as(token, ben, None)
    await service.accounts.add("carl@example.org", "Carl", "owner", tenant_id=other_tenant)
    there = await service.sign_in.begin_session(ben, Visitor(), tenant_id=other_tenant)

    await service.accounts.change_role(ben, "viewer", tenant_id=other_tenant)
    assert await service.sign_in.of_session(there.token) is None
    await service.accounts.remove(ben, tenant_id=other_tenant)

    assert await service.sign_in.of_session(session.token) is not None


async def test_a_key_cannot_make_one_that_outlives_it(service: Service, anna: UUID, access_of: Open) -> None:
    soon = datetime.now(UTC) + HOUR
    parent = await service.api_keys.create(await access_of(anna), "robot", SCOPES, soon)
    robot = await service.sign_in.of_key(parent.secret)
    assert robot is not None

    for end in (None, soon + HOUR):
        with pytest.raises(ValidationError, match="outlive"):
            await service.api_keys.create(robot, "child", ["read"], end)

    await service.api_keys.create(robot, "child", ["read"], soon)


async def test_a_key_ends_with_the_one_that_made_it(service: Service, anna: UUID, access_of: Open) -> None:
    line = [await service.api_keys.create(await access_of(anna), "robot", SCOPES, None)]
    robot = await service.sign_in.of_key(line[0].secret)
    for _ in range(2):
        assert robot is not None
        line.append(await service.api_keys.create(robot, "child", SCOPES, None))
        robot = await service.sign_in.of_key(line[-1].secret)
    assert robot is not None

    assert await service.api_keys.revoke(line[0].id, tenant_id=service.default_tenant_id)

    assert [await service.sign_in.of_key(key.secret) for key in line] == [None, None, None]
    with pytest.raises(ValidationError, match="ended"):
        await service.api_keys.create(robot, "late", ["read"], None)


async def test_what_a_key_made_ends_with_it(service: Service, anna: UUID, access_of: Open) -> None:
    tenant_id = service.default_tenant_id
    key = await service.api_keys.create(await access_of(anna), "robot", SCOPES, None)
    token = await service.invitations.invite(
        "viewer", tenant_id=tenant_id, invited_by=anna, api_key_id=key.id
    )
    webhook_id, source_id = await _connect(service, anna, key.id)
    robot = await service.sign_in.of_key(key.secret)
    assert robot is not None
    (signed,) = await service.signed_addresses.sign(["/a"], robot, expires_at=2**32)
    assert await service.signed_addresses.verify("/a", signed) is not None

    await service.api_keys.revoke(key.id, tenant_id=tenant_id)

    with pytest.raises(LinkIsOverError):
        await service.invitations.accept(token, NewPerson("eve@example.org", "Eve", PASSWORD), None)
    stopped = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert stopped is not None
    assert stopped.state == "paused"
    paused = await service.sources.get(source_id, tenant_id=tenant_id)
    assert paused is not None
    assert paused.state == "paused"
    assert await service.signed_addresses.verify("/a", signed) is None


async def test_a_key_with_an_end_makes_nothing_without_one(
    service: Service, anna: UUID, access_of: Open
) -> None:
    tenant_id, soon = service.default_tenant_id, datetime.now(UTC) + HOUR
    key = await service.api_keys.create(await access_of(anna), "robot", SCOPES, soon)

    with pytest.raises(ValidationError, match="outlive"):
        await service.webhooks.add(
            "https://hook.invalid/",
            ["document.failed"],
            with_data=False,
            tenant_id=tenant_id,
            created_by=anna,
            api_key_id=key.id,
        )
    with pytest.raises(ValidationError, match="outlive"):
        await service.sources.add(
            "webhook", "Ours", {}, {}, tenant_id=tenant_id, created_by=anna, api_key_id=key.id
        )
    await service.invitations.invite("viewer", tenant_id=tenant_id, invited_by=anna, api_key_id=key.id)
    async with service.database.accounts() as conn:
        cur = await conn.execute(
            "SELECT expires_at <= %(end)s FROM one_time_links WHERE api_key_id = %(key)s",
            {"end": soon, "key": key.id},
        )
        assert await cur.fetchone() == (True,)


async def test_a_signed_address_works_while_its_person_may_share(
    service: Service, ben: UUID, access_of: Open
) -> None:
    tenant_id = service.default_tenant_id
    (signed,) = await service.signed_addresses.sign(["/a"], await access_of(ben), expires_at=2**32)

    await service.accounts.change_role(ben, "reviewer", tenant_id=tenant_id)
    assert await service.signed_addresses.verify("/a", signed) is not None
    await service.accounts.change_role(ben, "viewer", tenant_id=tenant_id)

    assert await service.signed_addresses.verify("/a", signed) is None


async def test_who_reviews_needs_to_read(service: Service, anna: UUID, access_of: Open) -> None:
    with pytest.raises(ValidationError, match="choose the scope read"):
        await service.api_keys.create(await access_of(anna), "robot", ["review"], None)


async def test_webhooks_of_a_former_owner_send_nothing(service: Service, ben: UUID) -> None:
    tenant_id = service.default_tenant_id
    webhook_id, _ = await _connect(service, ben, None)

    await service.accounts.change_role(ben, "reviewer", tenant_id=tenant_id)

    row = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert row is not None
    assert (row.state, row.reason) == ("paused", "Its person is no owner any more.")


@pytest.mark.parametrize("is_removed", [False, True], ids=["demoted", "removed"])
async def test_a_webhook_made_while_its_owner_loses_the_role_sends_nothing_until_it_is_kept(
    service: Service, anna: UUID, ben: UUID, *, is_removed: bool
) -> None:
    tenant_id = service.default_tenant_id
    change = service.accounts.remove if is_removed else partial(service.accounts.change_role, role="reviewer")
    await change(ben, tenant_id=tenant_id)
    webhook_id, _ = await _connect(service, ben, None)  # by a request that was let in before
    await WebhookTools(service).fail()

    async def due() -> list[UUID]:
        async with service.database.connection() as conn:
            return [id_ for _, id_ in await webhooks.due(conn, [], limit=9)]

    async def claimed() -> int:
        async with service.database.tenant(tenant_id) as conn:
            batch = await webhook_deliveries.claim(conn, webhook_id, token=new_id(), limit=9, lease_s=0)
            return len(batch)

    before = await due(), await claimed()
    async with service.database.tenant(tenant_id) as conn:
        assert await handovers.keep(conn, "webhook", webhook_id, anna)

    assert before == ([], 0)
    assert (await due(), await claimed()) == ([webhook_id], 1)


async def _change_password(service: Service, user_id: UUID) -> None:
    await service.accounts.change_password(user_id, "another good one")


async def _reset(service: Service, user_id: UUID) -> None:
    await service.accounts.set_password(await service.accounts.password_link(user_id), "another good one")


async def _openid(service: Service, user_id: UUID) -> None:
    identity = Identity("https://login.example.org", "b", "ben@example.org", "Ben")
    assert await service.accounts.of_identity(identity) == user_id


@pytest.mark.parametrize("change", [_change_password, _reset, _openid])
async def test_keys_of_apps_end_with_the_password(
    service: Service,
    ben: UUID,
    access_of: Open,
    other_tenant: UUID,
    change: Callable[[Service, UUID], Awaitable[None]],
) -> None:
    async with service.database.accounts() as conn:
        await conn.execute("UPDATE users SET verified_at = now() WHERE id = %(id)s", {"id": ben})
    access = await access_of(ben)
    app = await service.api_keys.create_for_app(access)
    program = await service.api_keys.create(access, "robot", ["read"], None)
    token = await service.invitations.invite("viewer", tenant_id=other_tenant, invited_by=DEFAULT_USER_ID)
    await service.invitations.accept_as(token, ben, None)
    session = await service.sign_in.begin_session(ben, Visitor(), tenant_id=other_tenant)
    elsewhere = await service.sign_in.of_session(session.token)
    assert elsewhere is not None
    other = await service.api_keys.create_for_app(elsewhere)
    assert len(await service.api_keys.of_apps(ben)) == 2

    await change(service, ben)

    assert await service.sign_in.of_key(app.secret) is None
    assert await service.sign_in.of_key(other.secret) is None
    assert await service.api_keys.of_apps(ben) == []
    assert await service.sign_in.of_key(program.secret) is not None


async def test_all_keys_of_an_account_end_when_its_address_is_proven(
    service: Service, ben: UUID, access_of: Open
) -> None:
    program = await service.api_keys.create(await access_of(ben), "robot", ["read"], None)

    await _reset(service, ben)

    assert await service.sign_in.of_key(program.secret) is None


async def test_a_key_of_an_app_ends_when_it_is_not_used(
    service: Service, anna: UUID, access_of: Open
) -> None:
    access = await access_of(anna)
    app, program = (
        await service.api_keys.create_for_app(access),
        await service.api_keys.create(access, "robot", ["read"], None),
    )
    assert await service.sign_in.of_key(app.secret) is not None
    async with service.database.accounts(service.default_tenant_id) as conn:
        await conn.execute("UPDATE api_keys SET last_used_at = now() - interval '91 days'")

    assert await service.sign_in.of_key(app.secret) is None
    assert await service.sign_in.of_key(program.secret) is not None
    assert await service.api_keys.of_apps(anna) == []


async def test_a_person_has_a_limited_number_of_keys_of_apps(
    service: Service, anna: UUID, access_of: Open
) -> None:
    access = await access_of(anna)
    keys = [await service.api_keys.create_for_app(access) for _ in range(service.settings.web.app_keys)]

    with pytest.raises(ValidationError, match="limit"):
        await service.api_keys.create_for_app(access)

    assert not await service.api_keys.end_of_app(keys[0].id, user_id=DEFAULT_USER_ID)
    assert await service.api_keys.end_of_app(keys[0].id, user_id=anna)
    await service.api_keys.create_for_app(access)


async def test_what_a_key_with_an_end_changes_would_outlive_it(
    service: Service, anna: UUID, access_of: Open
) -> None:
    tenant_id, soon = service.default_tenant_id, datetime.now(UTC) + HOUR
    key = await service.api_keys.create(await access_of(anna), "robot", SCOPES, soon)
    webhook_id, _ = await _connect(service, anna, None)
    source = await service.sources.add("webhook", "Ours", {}, {}, tenant_id=tenant_id, created_by=anna)

    for change in (
        service.webhooks.change(
            webhook_id, tenant_id=tenant_id, url="https://elsewhere.invalid/", api_key_id=key.id
        ),
        service.webhooks.resume(webhook_id, tenant_id=tenant_id, api_key_id=key.id),
        service.webhooks.rotate(webhook_id, tenant_id=tenant_id, api_key_id=key.id),
        service.sources.change(source, name="Theirs", api_key_id=key.id),
        service.sources.make_secrets(source, api_key_id=key.id),
        service.sources.set_state(source.id, "active", tenant_id=tenant_id, api_key_id=key.id),
    ):
        with pytest.raises(ValidationError, match="outlive"):
            await change

    row = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert row is not None
    assert row.url == "https://hook.invalid/"


async def test_a_webhook_that_a_key_has_changed_stops_with_it(
    service: Service, anna: UUID, access_of: Open
) -> None:
    tenant_id = service.default_tenant_id
    key = await service.api_keys.create(await access_of(anna), "robot", SCOPES, None)
    webhook_id, _ = await _connect(service, anna, None)

    await service.webhooks.change(
        webhook_id, tenant_id=tenant_id, url="https://elsewhere.invalid/", api_key_id=key.id
    )
    await service.api_keys.revoke(key.id, tenant_id=tenant_id)

    row = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert row is not None
    assert (row.state, row.reason) == ("paused", webhooks.KEY_REVOKED)


async def test_a_key_that_is_made_while_its_parent_is_revoked_ends_too(
    service: Service, anna: UUID, access_of: Open
) -> None:
    tenant_id = service.default_tenant_id
    parent = await service.api_keys.create(await access_of(anna), "robot", SCOPES, None)
    async with service.database.tenant(tenant_id) as making:
        assert (await api_keys.lock(making, parent.id))[0]
        await api_keys.add(
            making,
            NewKeyRow(
                tenant_id=tenant_id,
                name="child",
                prefix="dm_child",
                secret_hash=hash_token("dm_child"),
                scopes=["read"],
                created_by=anna,
                expires_at=None,
                parent_id=parent.id,
            ),
        )
        revoking = asyncio.create_task(service.api_keys.revoke(parent.id, tenant_id=tenant_id))
        waiting = 0
        while not waiting:
            cur = await making.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            ((waiting,),) = await cur.fetchall()

    assert await revoking
    assert await service.sign_in.of_key("dm_child") is None


async def test_a_webhook_of_a_former_owner_is_not_resumed_before_somebody_keeps_it(
    service: Service, anna: UUID, ben: UUID
) -> None:
    tenant_id = service.default_tenant_id
    webhook_id, _ = await _connect(service, ben, None)
    await service.accounts.change_role(ben, "reviewer", tenant_id=tenant_id)

    with pytest.raises(ValidationError, match="Nobody answers"):
        await service.webhooks.resume(webhook_id, tenant_id=tenant_id)
    async with service.database.tenant(tenant_id) as conn:
        assert await handovers.keep(conn, "webhook", webhook_id, anna)

    kept = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert kept is not None
    assert (kept.state, kept.reason) == ("active", None)
    await service.webhooks.resume(webhook_id, tenant_id=tenant_id)


@pytest.mark.parametrize("is_removed", [False, True], ids=["demoted", "removed"])
async def test_keeping_resumes_nothing_that_was_stopped_for_another_reason(
    service: Service,
    anna: UUID,
    ben: UUID,
    is_removed: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    tenant_id = service.default_tenant_id
    webhook_id, source_id = await _connect(service, ben, None)
    async with service.database.tenant(tenant_id) as conn:
        assert await webhooks.note_failure(
            conn, webhook_id, wait_s=None, disable_after_s=0, reason="It answers 500."
        )
        await doc_sources.set_state(conn, source_id, "paused")
    if is_removed:
        await service.accounts.remove(ben, tenant_id=tenant_id)
    else:
        await service.accounts.change_role(ben, "viewer", tenant_id=tenant_id)

    async with service.database.tenant(tenant_id) as conn:
        rows = await handovers.waiting(conn)
        assert [(row.kind, row.id, row.stays_stopped) for row in rows] == [
            ("source", source_id, True),
            ("webhook", webhook_id, True),
        ]
        assert await handovers.keep(conn, "webhook", webhook_id, anna)
        assert await handovers.keep(conn, "source", source_id, anna)
        assert await handovers.waiting(conn) == []
        assert not await handovers.keep(conn, "source", source_id, anna)

    webhook = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    source = await service.sources.get(source_id, tenant_id=tenant_id)
    assert webhook is not None
    assert source is not None
    assert (webhook.state, webhook.reason, source.state) == ("disabled", "It answers 500.", "paused")


async def test_the_end_of_a_key_leaves_a_webhook_disabled(
    service: Service, anna: UUID, access_of: Open
) -> None:
    tenant_id = service.default_tenant_id
    key = await service.api_keys.create(await access_of(anna), "robot", SCOPES, None)
    webhook_id, _ = await _connect(service, anna, key.id)
    async with service.database.tenant(tenant_id) as conn:
        await webhooks.note_failure(
            conn, webhook_id, wait_s=None, disable_after_s=0, reason="It answers 500."
        )

    await service.api_keys.revoke(key.id, tenant_id=tenant_id)

    row = await service.webhooks.get(webhook_id, tenant_id=tenant_id)
    assert row is not None
    assert (row.state, row.reason) == ("disabled", "It answers 500.")
