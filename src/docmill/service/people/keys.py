"""API keys: made, listed and revoked for one tenant."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.people.access import SCOPES, Access
from docmill.service.people.accounts import clean_name
from docmill.service.people.tokens import hash_token, key_prefix, new_key
from docmill.service.store import api_keys
from docmill.service.store.api_keys import ApiKeyRow
from docmill.service.store.database import Database


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made. secret: shown once; it cannot be read again."""

    id: UUID
    prefix: str
    secret: str = field(repr=False)


class ApiKeys:
    """Makes, lists and revokes the API keys of a tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, *, tenant_id: UUID) -> list[ApiKeyRow]:
        """Return the keys of a tenant, those that hold first."""
        async with self._database.tenant(tenant_id) as conn:
            return await api_keys.page(conn)

    async def create(
        self, access: Access, name: str, scopes: Collection[str], expires_at: datetime | None
    ) -> NewKey:
        """Make a key, which allows no more than its maker may. Raises ValidationError."""
        assert access.tenant_id is not None, "who administers a tenant is in one"
        name = clean_name(name, "a name for the key")
        chosen = [scope for scope in SCOPES if scope in scopes]
        if not chosen or set(scopes) - set(SCOPES):
            raise ValidationError(f"Choose at least one scope of {', '.join(SCOPES)}.")
        if set(chosen) - access.allows:
            raise ValidationError("A key cannot allow more than the one that makes it.")
        if expires_at is not None and expires_at.tzinfo is None:
            raise ValidationError("The expiry needs a time zone, such as 2027-01-31T00:00:00Z.")
        if expires_at is not None and expires_at <= datetime.now(UTC):
            raise ValidationError("The key would have expired already. Choose a day in the future.")
        secret = new_key()
        async with self._database.tenant(access.tenant_id) as conn:
            key_id = await api_keys.add(
                conn,
                tenant_id=access.tenant_id,
                name=name,
                prefix=key_prefix(secret),
                secret_hash=hash_token(secret),
                scopes=chosen,
                created_by=access.user_id,
                expires_at=expires_at,
            )
        return NewKey(key_id, key_prefix(secret), secret)

    async def revoke(self, key_id: UUID, *, tenant_id: UUID) -> bool:
        """End a key at once. False if the tenant has none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            return await api_keys.revoke(conn, key_id)
