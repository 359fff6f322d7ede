"""Counts what waits, by the name of its queue."""

from collections.abc import Mapping
from dataclasses import dataclass

from docmill.service.store.database import Conn


@dataclass(frozen=True, slots=True)
class Backlog:
    """dead_letters: of all tenants, wait for a person; unsent: messages to be handed to an external queue.

    A queue of which nothing waits may be absent.
    """

    dead_letters: Mapping[str, int]
    unsent: Mapping[str, int]


async def count(conn: Conn) -> Backlog:
    """The numbers of what waits now, across tenants."""
    letters = await conn.execute("SELECT queue, letters FROM dead_letters_by_queue()")
    dead_letters = dict(await letters.fetchall())
    promised = await conn.execute("SELECT queue, count(*) FROM outbox GROUP BY queue")
    return Backlog(dead_letters, dict(await promised.fetchall()))
