"""What waits."""

from dataclasses import dataclass

from psycopg.rows import class_row

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class Backlog:
    """dead_letters: of the tenant, wait for a person; unsent: messages to be handed to an external queue."""

    dead_letters: int
    unsent: int


async def count(conn: Conn) -> Backlog:
    """What waits now."""
    async with conn.cursor(row_factory=class_row(Backlog)) as cur:
        await cur.execute(
            """
            SELECT (SELECT count(*) FROM dead_letter) AS dead_letters,
                   (SELECT count(*) FROM outbox) AS unsent
            """
        )
        backlog = await cur.fetchone()
    assert backlog is not None  # there is no FROM
    return backlog
