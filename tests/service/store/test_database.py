import asyncio

import psycopg
import pytest

from docmill.errors import ServerError
from docmill.service.store import database
from docmill.service.store.database import Database, translating_errors


async def test_a_statement_without_an_answer_ends_in_an_error(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(database, "ANSWER_S", 0.2)

    async with Database(database_url) as silent:
        with pytest.raises(ServerError):
            async with silent.connection() as conn:
                await conn.execute("SELECT pg_sleep(60)")
        async with silent.connection() as conn:
            answer = await (await conn.execute("SELECT 42")).fetchone()

    assert answer == (42,)
    assert "the database does not answer: hanging up" in caplog.messages


async def test_a_transaction_that_idles_too_long_is_ended_by_the_server(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "ANSWER_S", 0.2)

    async with Database(database_url) as sleepy, Database(database_url) as watching:
        with pytest.raises(ServerError):
            await doze(sleepy, watching)


async def doze(sleepy: Database, watching: Database) -> None:
    async with sleepy.transaction() as conn:
        (pid,) = await (await conn.execute("SELECT pg_backend_pid()")).fetchone() or (0,)
        await until_gone(watching, pid)
        await conn.execute("SELECT 42")


async def until_gone(watching: Database, pid: int) -> None:
    async with asyncio.timeout(20), watching.connection() as conn:
        while (await conn.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid])).rowcount:
            pass


async def test_a_server_that_became_a_standby_is_tried_again_later(database_url: str) -> None:
    async with Database(database_url) as standby, standby.connection() as conn:
        await conn.execute("SET default_transaction_read_only = on")
        with pytest.raises(ServerError), translating_errors():
            await conn.execute("DELETE FROM outbox")


def test_a_full_disk_of_the_database_is_told_as_that() -> None:
    with pytest.raises(ServerError, match="the disk of the database is full"), translating_errors():
        raise psycopg.errors.DiskFull
