"""Connections to PostgreSQL, bound to one tenant at a time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Self
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from docmill.service.store.faults import translated

Conn = AsyncConnection[TupleRow]


class Database:
    """A pool of connections that act as the role `docmill_app`, which row-level security binds."""

    def __init__(self, url: str, *, max_connections: int = 10) -> None:
        self.url = url
        self._pool = AsyncConnectionPool(
            url,
            kwargs={"autocommit": True, "application_name": "docmill"},
            configure=_become_app,
            min_size=1,
            max_size=max_connections,
            open=False,
            timeout=30,
        )

    async def __aenter__(self) -> Self:
        with translated():
            await self._pool.open(wait=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def tenant(self, tenant_id: UUID) -> AsyncGenerator[Conn]:
        """One transaction that sees and writes the rows of one tenant and no others."""
        async with self.transaction() as conn:
            await conn.execute("SELECT set_config('docmill.tenant_id', %s, true)", [str(tenant_id)])
            yield conn

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """One transaction of no tenant: tables without a tenant, such as the queue's."""
        async with self.connection() as conn, conn.transaction():
            yield conn

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Conn]:
        """A connection of no tenant whose statements commit one by one."""
        with translated(), _heeding_cancellation() as check:
            async with self._pool.connection() as conn:
                check()
                yield conn


@contextmanager
def _heeding_cancellation() -> Generator[Callable[[], None]]:
    """A check, also made at the end, that raises CancelledError if this task was cancelled since the start.

    `asyncio.wait_for` of Python 3.11, with which psycopg waits, can lose a cancellation.
    """
    task = asyncio.current_task()
    assert task is not None  # a coroutine runs in a task
    requests = task.cancelling()

    def check() -> None:
        if task.cancelling() > requests:
            raise asyncio.CancelledError

    yield check
    check()


async def _become_app(conn: Conn) -> None:
    await conn.execute("SET ROLE docmill_app")
