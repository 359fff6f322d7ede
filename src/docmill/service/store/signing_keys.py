"""Keys that sign addresses of files. They are the same for all tenants, and never leave the service."""

import secrets
from dataclasses import dataclass, field
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id

_BYTES = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key of HMAC-SHA256."""

    id: UUID
    secret: bytes = field(repr=False)


async def newest(conn: Conn) -> SigningKey:
    """The key that signs; made when there is none."""
    key = await _newest(conn)
    if key is None:
        await add(conn)
        key = await _newest(conn)
    assert key is not None, "one was added"
    return key


async def _newest(conn: Conn) -> SigningKey | None:
    async with conn.cursor(row_factory=class_row(SigningKey)) as cur:
        await cur.execute(
            "SELECT id, secret FROM signing_key WHERE retired_at IS NULL ORDER BY id DESC LIMIT 1"
        )
        return await cur.fetchone()


async def get(conn: Conn, key_id: UUID) -> SigningKey | None:
    """The key of that id; None if it was removed."""
    async with conn.cursor(row_factory=class_row(SigningKey)) as cur:
        await cur.execute("SELECT id, secret FROM signing_key WHERE id = %(id)s", {"id": key_id})
        return await cur.fetchone()


async def add(conn: Conn) -> None:
    """Add a key, which signs from now on."""
    await conn.execute(
        "INSERT INTO signing_key (id, secret) VALUES (%(id)s, %(secret)s)",
        {"id": new_id(), "secret": secrets.token_bytes(_BYTES)},
    )


async def retire(conn: Conn, *, kept_s: float) -> None:
    """Let no key of now sign any more; remove those that were retired more than `kept_s` ago."""
    await conn.execute("UPDATE signing_key SET retired_at = clock_timestamp() WHERE retired_at IS NULL")
    await conn.execute(
        "DELETE FROM signing_key WHERE retired_at <= clock_timestamp() - make_interval(secs => %(kept_s)s)",
        {"kept_s": kept_s},
    )
