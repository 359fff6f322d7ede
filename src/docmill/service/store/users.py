"""Users: the accounts of people. All but `names` needs a transaction of accounts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from docmill.service.store.database import Conn, new_id


@dataclass(frozen=True, slots=True)
class UserRow:
    """An account. password_hash: None while no password was chosen. language: see `choose_language`.

    verified_at: since when it is proven that the e-mail address is the person's; None before.
    """

    id: UUID
    email: str
    name: str
    password_hash: str | None = field(repr=False)
    created_at: datetime
    language: str | None = None
    verified_at: datetime | None = None


async def any_exist(conn: Conn) -> bool:
    """True if there is an account of a person."""
    cur = await conn.execute("SELECT EXISTS (SELECT FROM users WHERE email IS NOT NULL)")
    (exists,) = await cur.fetchone() or (False,)
    return exists


async def by_email(conn: Conn, email: str) -> UserRow | None:
    """The account with this e-mail address, which is in lower case."""
    async with conn.cursor(row_factory=class_row(UserRow)) as cur:
        await cur.execute(
            """
            SELECT id, email, name, password_hash, created_at, language, verified_at
              FROM users
             WHERE email = %(email)s
            """,
            {"email": email},
        )
        return await cur.fetchone()


async def by_id(conn: Conn, user_id: UUID) -> UserRow | None:
    """The account of a person with this id."""
    async with conn.cursor(row_factory=class_row(UserRow)) as cur:
        await cur.execute(
            """
            SELECT id, email, name, password_hash, created_at, language, verified_at
              FROM users
             WHERE id = %(id)s AND email IS NOT NULL
            """,
            {"id": user_id},
        )
        return await cur.fetchone()


async def all_users(conn: Conn) -> list[UserRow]:
    """Every account of a person, by e-mail address."""
    async with conn.cursor(row_factory=class_row(UserRow)) as cur:
        await cur.execute(
            """
            SELECT id, email, name, password_hash, created_at, language, verified_at
              FROM users
             WHERE email IS NOT NULL
             ORDER BY email
            """
        )
        return await cur.fetchall()


async def add(
    conn: Conn, *, email: str, name: str, password_hash: str | None, is_verified: bool
) -> UUID | None:
    """Add an account; its id, or None if the e-mail address has one."""
    cur = await conn.execute(
        """
        INSERT INTO users (id, email, name, password_hash, verified_at)
        VALUES (%(id)s, %(email)s, %(name)s, %(password_hash)s,
                CASE WHEN %(is_verified)s THEN clock_timestamp() END)
        ON CONFLICT (email) DO NOTHING
        RETURNING id
        """,
        {
            "id": new_id(),
            "email": email,
            "name": name,
            "password_hash": password_hash,
            "is_verified": is_verified,
        },
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def set_password(conn: Conn, user_id: UUID, password_hash: str | None) -> None:
    """Replace the password of an account, or take it away."""
    await conn.execute(
        "UPDATE users SET password_hash = %(password_hash)s WHERE id = %(id)s",
        {"id": user_id, "password_hash": password_hash},
    )


async def verify(conn: Conn, user_id: UUID) -> None:
    """Note that the e-mail address of an account is proven to be the person's."""
    await conn.execute(
        "UPDATE users SET verified_at = coalesce(verified_at, clock_timestamp()) WHERE id = %(id)s",
        {"id": user_id},
    )


async def rename(conn: Conn, user_id: UUID, name: str) -> None:
    """Give a person another name."""
    await conn.execute("UPDATE users SET name = %(name)s WHERE id = %(id)s", {"id": user_id, "name": name})


async def choose_language(conn: Conn, user_id: UUID, language: str | None) -> None:
    """Set the language in which a person reads the pages; None for that of the browser."""
    await conn.execute(
        "UPDATE users SET language = %(language)s WHERE id = %(id)s", {"id": user_id, "language": language}
    )


async def names(conn: Conn, ids: Collection[UUID]) -> dict[UUID, str]:
    """The names of those users who are or were members of the transaction's tenant."""
    cur = await conn.execute("SELECT id, name FROM users WHERE id = ANY(%(ids)s)", {"ids": list(ids)})
    return dict(await cur.fetchall())
