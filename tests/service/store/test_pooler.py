"""Behind PgBouncer in its transaction mode: each transaction may be on another connection to the server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from docmill.service.app import Service
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.service.store.database import DEFAULT_TENANT_ID, Conn, Database
from docmill.service.store.migrate import migrate
from support.poolers import SERVER_CONNECTIONS, pgbouncer, through
from support.scripted_steps import Observer, RunWorker, Upload


@pytest.fixture(scope="module")
def bouncer(postgres: EmbeddedPostgres) -> Iterator[Path]:
    with pgbouncer(postgres) as folder:
        yield folder


@pytest.fixture
async def pooled(bouncer: Path, database_url: str) -> AsyncIterator[Database]:
    async with Database(through(bouncer, database_url)) as database:
        yield database


async def facts(conn: Conn) -> tuple[str, str, str]:
    cur = await conn.execute(
        """
        SELECT current_user::text, current_setting('random_page_cost'),
               current_setting('idle_in_transaction_session_timeout')
        """
    )
    row = await cur.fetchone()
    assert row
    return row


async def test_every_transaction_is_bound_by_row_level_security(pooled: Database) -> None:
    all_at_once = asyncio.Barrier(SERVER_CONNECTIONS)

    async def one(*, tenant: bool) -> tuple[str, str, str]:
        opened = pooled.tenant(DEFAULT_TENANT_ID) if tenant else pooled.transaction()
        async with opened as conn:
            await all_at_once.wait()
            return await facts(conn)

    found = [
        await asyncio.gather(*(one(tenant=number % 2 == 0) for number in range(SERVER_CONNECTIONS)))
        for _ in range(2)
    ]
    async with pooled.connection() as conn:
        alone = await facts(conn)

    assert {*found[0], *found[1], alone} == {("docmill_app", "1.1", "1min")}
    async with await psycopg.AsyncConnection.connect(pooled.url) as stranger:
        cur = await stranger.execute("SELECT current_user::text")
        assert await cur.fetchone() == ("postgres",)


async def test_a_statement_that_is_often_made_is_understood_on_every_connection(pooled: Database) -> None:
    async def ask(number: int) -> int:
        async with pooled.transaction() as conn:
            cur = await conn.execute("SELECT %s::int", [number])
            (answer,) = await cur.fetchone() or (None,)
        assert isinstance(answer, int)
        return answer

    for _ in range(10):
        assert await asyncio.gather(*(ask(number) for number in range(20))) == list(range(20))


def test_many_may_migrate_at_once_and_leave_no_lock(postgres: EmbeddedPostgres, bouncer: Path) -> None:
    name = f"pooled_{uuid4().hex}"
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = through(bouncer, postgres.url(name))

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(migrate, [url] * 3))

        held = admin.execute(
            """
            SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
             WHERE locktype = 'advisory' AND datname = %s
            """,
            [name],
        ).fetchone()
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    assert held == (0,)


class TestTheVault:
    """A service whose `database_url` is that of PgBouncer."""

    @pytest.fixture
    def database_url(self, bouncer: Path, database_url: str) -> str:
        return through(bouncer, database_url)

    async def test_documents_are_taken_in_and_processed(
        self, service: Service, upload: Upload, working: RunWorker, observer: Observer
    ) -> None:
        accepted = [await upload(b"%%PDF-1.7 %d" % number) for number in range(20)]

        async with working():
            seen = [await observer.until(one, "ready") for one in accepted]

        assert {document.title for document in seen} == {"Invoice 7"}
        assert (await service.queue.depth()).due == 0

    async def test_those_who_wait_in_this_process_hear_at_once(self, service: Service) -> None:
        heard = service.wakeups.next("topic")

        service.wakeups.announce("topic")

        await asyncio.wait_for(heard.wait(), 20)
