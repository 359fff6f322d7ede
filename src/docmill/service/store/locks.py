"""Agreements between processes, kept by the database until the transaction ends, however that comes."""

from docmill.service.store.database import Conn


async def lock_file(conn: Conn, path: str) -> None:
    """Be the only one who makes or removes the stored file `path`, after waiting for that."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%(path)s, 0))", {"path": path})


async def try_lock(conn: Conn, name: str) -> bool:
    """As `lock_file`, for a file or anything else, but without waiting: whether it was free."""
    cur = await conn.execute(
        "SELECT pg_try_advisory_xact_lock(hashtextextended(%(name)s, 0))", {"name": name}
    )
    (is_ours,) = await cur.fetchone() or (False,)
    return is_ours
