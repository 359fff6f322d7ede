"""What is paused, as people see it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
import pytest

from docmill.errors import MisconfiguredError, ServerError
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.processing.pause_records import PauseRecords
from docmill.service.protocol.pause import Cause, paused_part
from docmill.service.store import events, pauses
from docmill.service.store.database import DEFAULT_TENANT_ID, Conn, Database, new_id
from docmill.service.store.pauses import PauseRow
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload

CAUSE = Cause("small model", "extract", "unauthorized", "the key is refused; set another")


class Refusing:
    """A converter whose engine is not set up until it is mended."""

    def __init__(self) -> None:
        self.mended = False

    async def __call__(self, _original: Original) -> None:
        async with paused_part("engine"):
            if not self.mended:
                raise MisconfiguredError("the engine is absent; install it")


async def paused(service: Service) -> list[PauseRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await pauses.current(conn)


async def kinds(service: Service) -> list[str]:
    """Of the events without a document, in their order."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        return [row.kind for row in await events.since(conn, 0, limit=500) if row.document_id is None]


async def when_told(service: Service, kind: str) -> None:
    async with asyncio.timeout(20):
        async for batch in service.feed.follow(service.default_tenant_id, 0):
            if any(event.kind == kind for event in batch):
                return


async def test_a_pause_is_seen_with_what_to_do_until_it_is_mended(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = converter = Refusing()
    accepted = await upload()

    async with working():
        await when_told(service, "paused")
        (row,) = await paused(service)
        converter.mended = True
        await observer.until(accepted, "ready")
        await when_told(service, "resumed")
        afterwards = await paused(service)

    assert (row.part, row.step, row.code) == ("engine", "transcribe", "misconfigured")
    assert row.message == "the engine is absent; install it"
    assert afterwards == []
    assert await kinds(service) == ["paused", "resumed"]


async def test_a_worker_that_ends_takes_its_pauses_with_it(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker
) -> None:
    script.convert = Refusing()
    await upload()

    async with working():
        await when_told(service, "paused")

    assert await paused(service) == []


async def test_every_tenant_is_told_once_however_many_workers_wait(
    service: Service, database_url: str
) -> None:
    other = new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Other')", [other])
    async with service.database.connection() as conn:
        for worker in ("one", "two"):
            await pauses.record(conn, worker, [CAUSE])
        for worker in ("one", "two"):
            await pauses.record(conn, worker, [])

    told: list[list[str]] = []
    for tenant_id in (service.default_tenant_id, other):
        async with service.database.tenant(tenant_id) as conn:
            told.append([row.kind for row in await events.since(conn, 0, limit=500)])

    assert told == [["paused", "resumed"]] * 2


async def test_a_cause_that_changes_is_shown_as_it_is_now_and_since_it_began(service: Service) -> None:
    changed = Cause("small model", "classify", "misconfigured", "there is no such model")
    async with service.database.connection() as conn:
        await pauses.record(conn, "one", [CAUSE])
        (before,) = await pauses.current(conn)
        await pauses.record(conn, "one", [changed])
        (after,) = await pauses.current(conn)

    assert (after.step, after.code, after.message) == ("classify", "misconfigured", "there is no such model")
    assert after.since == before.since


async def test_what_a_killed_worker_waited_for_goes_out_of_date(service: Service) -> None:
    async with service.database.connection() as conn:
        await pauses.record(conn, "killed", [CAUSE])
        await conn.execute("UPDATE pause SET seen_at = clock_timestamp() - interval '4 minutes'")

        out_of_date = await pauses.current(conn)
        await pauses.record(conn, "another", [])
        cur = await conn.execute("SELECT count(*) FROM pause")

        assert out_of_date == []
        assert await cur.fetchone() == (0,)


async def test_rows_are_confirmed_while_something_is_paused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.processing.pause_records.CONFIRM_S", 0.01)
    records = PauseRecords(
        service.database, "one", lambda: [CAUSE], lambda: None, tenant_id=DEFAULT_TENANT_ID
    )
    records.note_change()
    await records.write_next()
    async with service.database.connection() as conn:
        await conn.execute("UPDATE pause SET seen_at = clock_timestamp() - interval '4 minutes'")

    await records.write_next()

    assert [row.part for row in await paused(service)] == ["small model"]


class Failing(Database):
    """A database that is gone for one question."""

    has_failed = False

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        if not self.has_failed:
            self.has_failed = True
            raise ServerError("the database is gone")
        async with super().transaction() as conn:
            yield conn


async def test_a_change_that_could_not_be_written_is_written_when_it_can_be(
    service: Service, database_url: str
) -> None:
    told: list[str] = []
    async with Failing(database_url) as database:
        records = PauseRecords(
            database, "one", lambda: [CAUSE], lambda: told.append("told"), tenant_id=DEFAULT_TENANT_ID
        )
        records.note_change()
        with pytest.raises(ServerError):
            await records.write_next()

        await records.write_next()

    assert told == ["told"]
    assert [row.part for row in await paused(service)] == ["small model"]


async def test_a_worker_that_ends_without_its_database_ends(
    service: Service, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Failing(database_url) as database:
        database.has_failed = True
        records = PauseRecords(database, "one", lambda: [CAUSE], lambda: None, tenant_id=DEFAULT_TENANT_ID)
        records.note_change()
        await records.write_next()
        database.has_failed = False

        await records.remove()

    assert "cannot remove what was paused" in caplog.text
    assert len(await paused(service)) == 1
