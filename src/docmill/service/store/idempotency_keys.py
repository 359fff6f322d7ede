"""Keys that clients give requests, with the answers that they got."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.service.store.database import Conn, new_id


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to the first request with a key. All is None while that request is being answered."""

    request_hash: str | None
    status: int | None
    headers: dict[str, str] | None
    body: bytes | None


async def begin(conn: Conn, key: str, *, tenant_id: UUID) -> UUID | StoredAnswer:
    """Take a key for a request; the token of it, or what is known of an earlier request with this key.

    A key is forgotten after 24 hours, and after 10 minutes if its request was never answered.
    """
    await conn.execute(
        """
        DELETE FROM idempotency_key
         WHERE key = %(key)s
           AND started_at < now() - CASE WHEN status IS NULL THEN interval '10 minutes'
                                         ELSE interval '24 hours' END
        """,
        {"key": key},
    )
    token = new_id()
    cur = await conn.execute(
        """
        INSERT INTO idempotency_key (tenant_id, key, token) VALUES (%(tenant_id)s, %(key)s, %(token)s)
            ON CONFLICT DO NOTHING
        """,
        {"tenant_id": tenant_id, "key": key, "token": token},
    )
    if cur.rowcount == 1:
        return token
    async with conn.cursor(row_factory=class_row(StoredAnswer)) as rows:
        await rows.execute(
            "SELECT request_hash, status, headers, body FROM idempotency_key WHERE key = %(key)s",
            {"key": key},
        )
        return await rows.fetchone() or StoredAnswer(None, None, None, None)


async def finish(
    conn: Conn,
    key: str,
    token: UUID,
    *,
    request_hash: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
) -> None:
    """Store the answer to the request that holds the key."""
    await conn.execute(
        """
        UPDATE idempotency_key
           SET request_hash = %(request_hash)s, status = %(status)s, headers = %(headers)s, body = %(body)s
         WHERE key = %(key)s AND token = %(token)s
        """,
        {
            "key": key,
            "token": token,
            "request_hash": request_hash,
            "status": status,
            "headers": Jsonb(dict(headers)),
            "body": body,
        },
    )


async def give_back(conn: Conn, key: str, token: UUID) -> None:
    """Forget a request that was not answered, so that it can be repeated."""
    await conn.execute(
        "DELETE FROM idempotency_key WHERE key = %(key)s AND token = %(token)s", {"key": key, "token": token}
    )


async def forget_old(conn: Conn) -> None:
    """Forget the keys of all tenants that are older than 24 hours. It may be asked across tenants."""
    await conn.execute("SELECT forget_idempotency_keys()")
