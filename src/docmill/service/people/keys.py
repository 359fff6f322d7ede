"""API keys: made, listed, taken over and revoked for one tenant; and those of people's devices."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.config.web import Web
from docmill.service.people.access import SCOPES, Access, Scope
from docmill.service.people.accounts import clean_name
from docmill.service.people.tokens import hash_token, key_prefix, new_key
from docmill.service.store import api_keys
from docmill.service.store.api_keys import ApiKeyRow, AppKeyRow, KeyKind, NewKeyRow
from docmill.service.store.database import Conn, Database

APP_KEY_NAME = "paperless app"
_APP_SCOPES: tuple[Scope, ...] = ("read", "write")
APP_KEY = timedelta(days=365)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made. secret: shown once; it cannot be read again."""

    id: UUID
    prefix: str
    scopes: Sequence[str]
    secret: str = field(repr=False)


class ApiKeys:
    """Makes, lists and revokes the API keys of a tenant."""

    def __init__(self, database: Database, web: Web) -> None:
        self._database = database
        self._app_idle = timedelta(days=web.app_key_idle_days)
        self._most_app_keys = web.app_keys

    async def page(self, *, tenant_id: UUID) -> list[ApiKeyRow]:
        """Return the keys of a tenant, those that hold first."""
        async with self._database.tenant(tenant_id) as conn:
            return await api_keys.page(conn, app_idle=self._app_idle)

    async def create(
        self, access: Access, name: str, scopes: Collection[str], expires_at: datetime | None
    ) -> NewKey:
        """Make a key, which allows no more than its maker may, and ends with the key that makes it.

        Raises ValidationError.
        """
        chosen = _checked_scopes(access, scopes)
        if expires_at is not None and expires_at.tzinfo is None:
            raise ValidationError("The expiry needs a time zone, such as 2027-01-31T00:00:00Z.")
        if expires_at is not None and expires_at <= datetime.now(UTC):
            raise ValidationError("The key would have expired already. Choose a day in the future.")
        assert access.tenant_id is not None, "who administers a tenant is in one"
        async with self._database.tenant(access.tenant_id) as conn:
            if access.api_key_id is not None:
                await _check_end(conn, access.api_key_id, expires_at)
            return await _add(conn, access, name, chosen, expires_at)

    async def create_for_app(self, access: Access) -> NewKey:
        """Make a key for a device, with which it keeps the person signed in.

        It ends with the password of the person, and after a time without use. Raises ValidationError if the
        person has as many as are allowed.
        """
        assert access.tenant_id is not None, "who has a role is in a tenant"
        scopes: list[Scope] = [scope for scope in _APP_SCOPES if scope in access.allows]
        async with self._database.accounts() as conn:
            count = len(await api_keys.app_keys(conn, access.user_id, idle=self._app_idle))
        if count >= self._most_app_keys:
            raise ValidationError(
                f"You have {count} keys of apps, which is the limit. End some on the page Profile first."
            )
        async with self._database.tenant(access.tenant_id) as conn:
            return await _add(conn, access, APP_KEY_NAME, scopes, datetime.now(UTC) + APP_KEY, kind="app")

    async def of_apps(self, user_id: UUID) -> list[AppKeyRow]:
        """Return the keys of a person's devices, in all their organisations."""
        async with self._database.accounts() as conn:
            return await api_keys.app_keys(conn, user_id, idle=self._app_idle)

    async def end_of_app(self, key_id: UUID, *, user_id: UUID) -> bool:
        """End the key of a person's device at once. False if they have none of that id."""
        async with self._database.accounts() as conn:
            return await api_keys.revoke_of_person(conn, user_id, kinds=["app"], only=key_id) > 0

    async def revoke(self, key_id: UUID, *, tenant_id: UUID) -> bool:
        """End a key at once, and all that it made. False if the tenant has none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            return await api_keys.revoke(conn, key_id)


def _checked_scopes(access: Access, scopes: Collection[str]) -> list[Scope]:
    """The scopes in their order. Raises ValidationError."""
    chosen: list[Scope] = [scope for scope in SCOPES if scope in scopes]
    if not chosen or set(scopes) - set(SCOPES):
        raise ValidationError(f"Choose at least one scope of {', '.join(SCOPES)}.")
    if set(chosen) - access.allows:
        raise ValidationError("A key cannot allow more than the one that makes it.")
    if "review" in chosen and "read" not in chosen:
        raise ValidationError("Whoever reviews sees the document: choose the scope read, too.")
    return chosen


async def _check_end(conn: Conn, parent_id: UUID, expires_at: datetime | None) -> None:
    """Check that a key ends no later than the one that makes it. Raises ValidationError."""
    holds, end = await api_keys.lock(conn, parent_id)
    if not holds:
        raise ValidationError("The key that makes this one has just ended.")
    if end is not None and (expires_at is None or expires_at > end):
        raise ValidationError(
            f"A key cannot outlive the one that makes it, which ends on {end:%Y-%m-%d %H:%M} UTC. Choose an"
            " earlier end."
        )


async def _add(
    conn: Conn,
    access: Access,
    name: str,
    scopes: Sequence[Scope],
    expires_at: datetime | None,
    *,
    kind: KeyKind = "program",
) -> NewKey:
    assert access.tenant_id is not None, "checked by the caller"
    secret = new_key()
    row = NewKeyRow(
        tenant_id=access.tenant_id,
        name=clean_name(name, "a name for the key"),
        prefix=key_prefix(secret),
        secret_hash=hash_token(secret),
        scopes=scopes,
        created_by=access.user_id,
        expires_at=expires_at,
        kind=kind,
        parent_id=access.api_key_id,
    )
    key_id = await api_keys.add(conn, row)
    return NewKey(key_id, key_prefix(secret), scopes, secret)
