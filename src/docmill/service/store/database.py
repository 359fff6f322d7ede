"""PostgreSQL: connections bound to one tenant at a time, and values as it takes them."""

import asyncio
import json
import logging
import os
import re
import select
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import UUID

import psycopg
import uuid_utils
from psycopg import AsyncConnection, OperationalError, errors
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from docmill.errors import ServerError, UnauthorizedError
from docmill.resilience.concurrency import TEXT_CHARACTERS, off_loop

Conn = AsyncConnection[TupleRow]

log = logging.getLogger(__name__)

ANSWER_S = 60.0
"""No statement of ours takes so long. One that does has lost its server, and a transaction that idles so long
has lost its client: a machine that was paused must not keep the rows it locked."""

RECONNECT_S = 5.0
"""How long a lost connection is tried for in a series. The waits between tries grow within a series, so that
after a long outage a new series finds the server again within two seconds."""

_CONNECT_S = 10

DEFAULT_TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
"""The tenant that the first migration makes, for an installation that serves one organisation."""

DEFAULT_USER_ID = UUID("00000000-0000-7000-8000-000000000002")
"""The user of uploads and reviews where nobody signs in: of commands, and of a vault without an account."""


class Database:
    """A pool of connections that act as the role `docmill_app`, which row-level security binds.

    Behind a pooler of connections, such as PgBouncer, each transaction may be on another connection to the
    server: there the role is taken in each transaction, since a session of our own does not exist.
    """

    def __init__(self, url: str, *, max_connections: int = 10) -> None:
        self.url = url
        self._pool = AsyncConnectionPool(
            url,
            connection_class=_ImpatientConnection,
            kwargs={"autocommit": True, "application_name": "docmill", "connect_timeout": _CONNECT_S},
            configure=_configure,
            check=self._check,
            min_size=1,
            max_size=max_connections,
            open=False,
            timeout=30,
            reconnect_timeout=RECONNECT_S,
            reconnect_failed=reconnect_waiting,
        )

    async def __aenter__(self) -> Self:
        with translating_errors():
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
        async with self._taken() as conn, conn.transaction():
            if conn.is_pooled:
                await _become_app(conn, for_transaction=True)
            yield conn

    @asynccontextmanager
    async def accounts(self, tenant_id: UUID | None = None) -> AsyncGenerator[Conn]:
        """One transaction that sees accounts and sessions, and changes the roles and keys of one tenant."""
        async with self.transaction() as conn:
            await conn.execute(
                """
                SELECT set_config('role', 'docmill_accounts', true),
                       set_config('docmill.tenant_id', %(tenant_id)s, true)
                """,
                {"tenant_id": str(tenant_id or "")},
            )
            yield conn

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Conn]:
        """A connection of no tenant whose statements commit one by one; behind a pooler, all at the end."""
        async with self._taken() as conn:
            if not conn.is_pooled:
                yield conn
                return
            async with conn.transaction():
                await _become_app(conn, for_transaction=True)
                yield conn

    @asynccontextmanager
    async def _taken(self) -> AsyncGenerator["_ImpatientConnection"]:
        """A connection of the pool. Raises CancelledError if this task was cancelled meanwhile.

        That is checked here, because `asyncio.wait_for` of Python 3.11, with which psycopg waits, can lose a
        cancellation.
        """
        task = asyncio.current_task()
        assert task is not None  # a coroutine runs in a task
        requests = task.cancelling()
        with translating_errors():
            async with self._pool.connection() as conn:
                if task.cancelling() > requests:
                    raise asyncio.CancelledError
                try:
                    yield conn
                finally:
                    if conn.hung_up:  # the others went the same way, and would be found out one by one
                        await self._pool.drain()
            if task.cancelling() > requests:
                raise asyncio.CancelledError

    async def _check(self, conn: Conn) -> None:
        """Raises psycopg.OperationalError for a connection whose server has gone while it was idle.

        A server that ends says so, or its kernel does: only where there is something to read is it worth a
        question. One system call costs a microsecond, a question to the server fifty.
        """
        line = select.poll()  # unlike select(), for descriptors of any number
        line.register(conn.fileno(), select.POLLIN)
        if not line.poll(0):
            return
        try:
            await conn.execute("")
        except OperationalError:
            await self._pool.drain()  # the others went the same way, and would be found out one by one
            raise


async def enter_tenant(conn: Conn, tenant_id: UUID | None) -> None:
    """Have the rest of a transaction see and write the rows of another tenant; of none without one."""
    await conn.execute(
        "SELECT set_config('docmill.tenant_id', %(tenant_id)s, true)", {"tenant_id": str(tenant_id or "")}
    )


async def reconnect_waiting(pool: AsyncConnectionPool[Any]) -> None:
    """Let the pool try to connect again for those who wait for a connection; it has given up on them."""
    await pool.check()


class _ImpatientConnection(AsyncConnection[TupleRow]):
    """Hangs up when an answer is overdue: a network may drop a connection without telling anyone.

    is_pooled: whether a pooler stands between us and the server.
    """

    hung_up = False
    is_pooled = False

    async def wait(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  whatever psycopg waits for
        overdue = asyncio.get_running_loop().call_later(ANSWER_S, self._hang_up)
        try:
            return await super().wait(*args, **kwargs)
        finally:
            overdue.cancel()

    def _hang_up(self) -> None:
        """Shut the socket down, so that the waiting task fails. A cancellation would ask the server first."""
        log.error("the database does not answer: hanging up", extra={"after_s": ANSWER_S})
        self.hung_up = True
        with socket.socket(fileno=os.dup(self.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)


async def _configure(conn: _ImpatientConnection) -> None:
    conn.is_pooled = await is_pooled(conn)
    if conn.is_pooled:
        conn.prepare_threshold = None  # the next transaction is on a connection that knows of none
    else:
        await _become_app(conn, for_transaction=False)


async def is_pooled(conn: Conn) -> bool:
    """True if a pooler stands between us and the server: it gives out process numbers of its own."""
    cur = await conn.execute("SELECT pg_backend_pid()")
    return await cur.fetchone() != (conn.info.backend_pid,)


async def _become_app(conn: Conn, *, for_transaction: bool) -> None:
    # The cost's default is for disks with heads. With it the planner, while it has no statistics, reads all
    # of a tenant's rows rather than ten by their keys.
    await conn.execute(
        """
        SELECT set_config('role', 'docmill_app', %(local)s),
               set_config('random_page_cost', '1.1', %(local)s),
               set_config('idle_in_transaction_session_timeout', %(idle)s, %(local)s)
        """,
        {"local": for_transaction, "idle": f"{ANSWER_S:g}s"},
    )


def new_id() -> UUID:
    """A UUIDv7: ids grow with time, so that new rows share index pages."""
    return UUID(bytes=uuid_utils.uuid7().bytes)


async def lock_file(conn: Conn, path: str) -> None:
    """Lock the stored file `path` until the transaction ends, after waiting for others to release it."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%(path)s, 0))", {"path": path})


async def lock_matches(conn: Conn, tenant_id: UUID) -> None:
    """Keep the matcher and people from changing the tenant's links until the transaction ends."""
    await lock_file(conn, f"matches of {tenant_id}")


async def try_lock(conn: Conn, name: str) -> bool:
    """Lock a name until the transaction ends, without waiting. Returns False if somebody else holds it."""
    cur = await conn.execute(
        "SELECT pg_try_advisory_xact_lock(hashtextextended(%(name)s, 0))", {"name": name}
    )
    (is_ours,) = await cur.fetchone() or (False,)
    return is_ours


@contextmanager
def translating_errors() -> Generator[None]:
    """Translate errors of the database into `docmill.errors`; a fault in our own SQL is not translated."""
    try:
        yield
    except (errors.InvalidPassword, errors.InvalidAuthorizationSpecification) as error:
        raise UnauthorizedError("the database refuses the user or password of database_url") from error
    except errors.DiskFull as error:
        raise ServerError(
            "the disk of the database is full; free some space there, and docmill goes on by itself"
        ) from error
    except (
        psycopg.OperationalError,  # those of the pool, too
        psycopg.InterfaceError,
        errors.IdleInTransactionSessionTimeout,
        errors.ReadOnlySqlTransaction,  # this server has just become the standby of another
    ) as error:
        raise ServerError(
            f"the database cannot be used now ({type(error).__name__}); if it stays so, see whether it runs,"
            " whether its disk has room, and whether database_url is right where it is set"
        ) from error


Text = TypeVar("Text", str, str | None)


def storable(text: Text) -> Text:
    """`text` as PostgreSQL takes it: without NUL and halves of characters, both of which files contain."""
    if text is None:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode()


async def to_jsonb(rows: list[dict[str, Any]]) -> Jsonb:
    """`rows` as a jsonb parameter; values that JSON does not have (decimals) as text."""
    characters = sum(len(row.get("text") or "") for row in rows)
    return await off_loop(_to_jsonb, rows, size=characters / TEXT_CHARACTERS)


def _to_jsonb(rows: list[dict[str, Any]]) -> Jsonb:
    try:
        data = to_json(rows)
    except PydanticSerializationError:  # a half of a character
        data = json.dumps(rows, default=str).encode()
    if _UNSTORABLE.search(data):  # rare, and cleaning takes longer than all the rest
        data = to_json(storable_values(json.loads(data)))
    return Jsonb(data, dumps=bytes)


_UNSTORABLE = re.compile(rb"\\u(?:0000|d[89a-f])")


def storable_values(value: JsonValue) -> JsonValue:
    """`value` with every text in it storable."""
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): storable_values(item) for key, item in value.items()}
        case list():
            return [storable_values(item) for item in value]
        case _:
            return value
