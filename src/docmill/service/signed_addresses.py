"""Signed addresses of files, which work for a while without signing in.

Each names who signed it, and works only as long as they may share files: a person by their role, a key until
it ends.
"""

import base64
import hmac
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from docmill.service.people.access import SCOPES, Access, scopes_of
from docmill.service.people.permissions import RULES
from docmill.service.store import api_keys, memberships, signing_keys
from docmill.service.store.database import Database
from docmill.service.store.signing_keys import SigningKey

LONGEST_S = 7 * 86400
"""No signature is valid for longer, so that a key of before a rotation can be removed then."""

_HEAD = struct.Struct(">16s16sQ?16s")
"""The key that signs, the tenant, the end, and who signed: whether an API key, and its or the user's id."""
_MAC_BYTES = 32


class Signature(NamedTuple):
    """A valid signature. expires_at: seconds since 1970."""

    tenant_id: UUID
    expires_at: int


class SignedAddresses:
    """Signs the paths of files, and verifies signatures, also those of other web servers of the vault."""

    def __init__(self, database: Database, keys: Sequence[bytes] = ()) -> None:
        """keys: of the installation, the one that signs first; without them the database alone can sign."""
        self._database = database
        self._keys = keys

    async def sign(self, paths: Sequence[str], access: Access, *, expires_at: int) -> list[str]:
        """Tokens that permit GET of each path, with any query, until then. access: of who signs."""
        tenant_id, key_id = access.tenant_id, access.api_key_id
        assert tenant_id is not None, "who has files is in a tenant"
        async with self._database.tenant(tenant_id) as conn:
            key = await signing_keys.newest(conn, tenant_id=tenant_id)
        secret = self._secrets(key)[0]
        signer = key_id or access.user_id
        head = _HEAD.pack(key.id.bytes, tenant_id.bytes, expires_at, key_id is not None, signer.bytes)
        return [
            base64.urlsafe_b64encode(head + _mac(secret, head, path)).decode().rstrip("=") for path in paths
        ]

    async def verify(self, path: str, token: str) -> Signature | None:
        """The signature of a token; None if it is not valid for this path, or not any more."""
        try:
            data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except ValueError:
            return None
        if len(data) != _HEAD.size + _MAC_BYTES:
            return None
        head, mac = data[: _HEAD.size], data[_HEAD.size :]
        key_id, tenant_id, expires_at, is_by_key, signer = _HEAD.unpack(head)
        async with self._database.tenant(UUID(bytes=tenant_id)) as conn:
            key = await signing_keys.get(conn, UUID(bytes=key_id))
        if key is None or not any(
            hmac.compare_digest(mac, _mac(secret, head, path)) for secret in self._secrets(key)
        ):
            return None
        if time.time() >= expires_at or not await self._may_share(
            UUID(bytes=tenant_id), UUID(bytes=signer), is_key=is_by_key
        ):
            return None
        return Signature(UUID(bytes=tenant_id), expires_at)

    async def _may_share(self, tenant_id: UUID, signer: UUID, *, is_key: bool) -> bool:
        """Return whether who signed may share files now."""
        async with self._database.tenant(tenant_id) as conn:
            limits = await api_keys.limits(conn, signer) if is_key else (SCOPES, signer)
            if limits is None:
                return False
            scopes, user_id = limits
            role = await memberships.present_role(conn, tenant_id, user_id)
        return RULES["share files"].scopes <= scopes_of(user_id, role) & frozenset(scopes)

    async def rotate(self, *, tenant_id: UUID, revoke: bool) -> None:
        """Sign with a new key of the tenant. revoke: those of before end now, not when they expire."""
        async with self._database.tenant(tenant_id) as conn:
            await signing_keys.retire(conn, kept_s=0 if revoke else LONGEST_S)
            await signing_keys.add(conn, tenant_id=tenant_id)

    def _secrets(self, key: SigningKey) -> list[bytes]:
        """The secrets that sign, or have signed, with a key: the database has one half of each."""
        return [hmac.digest(ours, key.secret, "sha256") for ours in self._keys] or [key.secret]


def _mac(secret: bytes, head: bytes, path: str) -> bytes:
    return hmac.digest(secret, head + path.encode(), "sha256")
