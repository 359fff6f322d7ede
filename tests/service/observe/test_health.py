"""A process tells what it misses, in time, whatever is gone."""

import asyncio
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from docmill.errors import ServerError
from docmill.service.observe.health import HealthChecks
from docmill.service.ports import Depth
from docmill.service.storage.blobs import Blobs
from docmill.service.storage.postgres_server import EmbeddedPostgres
from docmill.testing.queue import MemoryQueue


class OddQueue(MemoryQueue):
    """A queue whose answers a test decides."""

    def __init__(self, answer: Callable[[], Awaitable[None]]) -> None:
        super().__init__()
        self._answer = answer

    async def ping(self) -> None:
        await self._answer()


class UncountableQueue(MemoryQueue):
    """A queue that answers, and takes too long to be counted."""

    async def depth(self) -> Depth:
        raise ServerError("too many")


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        yield Path(name) / "postgres"


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedPostgres]:
    """A server of the test's own, to be stopped."""
    server = EmbeddedPostgres(folder)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def postmaster(folder: Path, server: EmbeddedPostgres) -> int:
    del server  # it has to run
    return int((folder / "data" / "postmaster.pid").read_text().split("\n", 1)[0])


def health_of(
    database_url: str, *, queue: MemoryQueue | None = None, blobs: Blobs | None = None, limit_s: float = 20
) -> HealthChecks:
    return HealthChecks(
        database_url,
        {"ingestion": queue or MemoryQueue()},
        blobs or Blobs(MemoryStore()),
        asyncio.Event(),
        limit_s=limit_s,
    )


async def test_a_process_that_has_all_it_needs_is_ready(database_url: str) -> None:
    health = health_of(database_url)

    report = await health.ready()

    assert (report.ok, report.status) == (True, "ok")
    assert report.checks == {"database": "ok", "queue": "ok", "files": "ok"}
    assert await health.depths(["ingestion"]) == {"ingestion": Depth(0, 0, 0, 0)}


async def test_a_database_that_is_stopped_is_missed_and_found_again(server: EmbeddedPostgres) -> None:
    health = health_of(server.url())
    before = await health.alive()

    await asyncio.to_thread(server.stop)
    gone = await health.alive()
    not_ready = await health.ready()
    await asyncio.to_thread(server.start)
    after = await health.alive()

    assert (before.ok, gone.ok, after.ok) == (True, False, True)
    assert not_ready.checks == {"database": "failing", "queue": "ok", "files": "ok"}


async def test_a_database_that_hangs_is_not_waited_for(server: EmbeddedPostgres, postmaster: int) -> None:
    health = health_of(server.url(), limit_s=0.2)
    os.kill(postmaster, signal.SIGSTOP)
    try:
        report = await health.alive()
    finally:
        os.kill(postmaster, signal.SIGCONT)

    assert (report.status, report.checks) == ("failing", {"database": "silent"})


async def test_a_queue_that_fails_is_named_and_its_words_are_not(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer() -> None:
        raise ServerError("sqs.example?secret=abc")

    health = health_of(database_url, queue=OddQueue(answer))

    report = await health.ready()

    assert report.checks["queue"] == "failing"
    assert "secret" not in caplog.text


async def test_a_process_is_ready_whose_queue_is_too_deep_to_be_counted(database_url: str) -> None:
    health = health_of(database_url, queue=UncountableQueue())

    assert (await health.ready()).ok
    assert await health.depths(["ingestion"]) == {}


async def test_the_log_tells_when_a_state_changes_and_not_at_each_question(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [ServerError("gone"), ServerError("gone"), None, None]

    async def answer() -> None:
        error = answers.pop(0)
        if error:
            raise error

    caplog.set_level("INFO", "docmill.service.observe.health")
    health = health_of(database_url, queue=OddQueue(answer))

    for _ in range(4):
        await health.ready()

    changes = [vars(record) for record in caplog.records]
    assert [(change["check"], change["state"], change["code"]) for change in changes] == [
        ("queue", "failing", "server_error"),
        ("queue", "ok", None),
    ]


async def test_a_queue_that_never_answers_and_ignores_its_end_is_left_behind(database_url: str) -> None:
    asked: list[int] = []
    over = asyncio.Event()

    async def answer() -> None:
        asked.append(1)
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue

    health = health_of(database_url, queue=OddQueue(answer), limit_s=0.05)

    first, second = await health.ready(), await health.ready()

    assert (first.checks["queue"], second.checks["queue"]) == ("silent", "silent")
    assert len(asked) == 1
    over.set()


async def test_many_who_ask_at_once_ask_once(database_url: str) -> None:
    asked: list[int] = []

    async def answer() -> None:
        asked.append(1)

    health = health_of(database_url, queue=OddQueue(answer))

    reports = await asyncio.gather(*(health.ready() for _ in range(50)))

    assert all(report.ok for report in reports)
    assert len(asked) == 1


async def test_files_that_are_gone_are_missed_though_the_store_could_be_written(
    database_url: str, tmp_path: Path
) -> None:
    health = health_of(database_url, blobs=Blobs.in_folder(tmp_path / "blobs"))
    before = await health.ready()

    shutil.rmtree(tmp_path / "blobs")

    assert before.ok
    assert (await health.ready()).checks["files"] == "failing"
    assert (await health.ready()).checks["files"] == "failing"


async def test_files_that_cannot_be_written_are_missed(database_url: str, tmp_path: Path) -> None:
    blobs = Blobs.in_folder(tmp_path / "blobs")
    shutil.rmtree(tmp_path / "blobs")
    (tmp_path / "blobs").write_text("in the way")

    report = await health_of(database_url, blobs=blobs).ready()

    assert report.checks["files"] == "failing"


async def test_a_process_that_stops_is_alive_and_not_ready(database_url: str) -> None:
    stopping = asyncio.Event()
    health = HealthChecks(
        database_url, {"ingestion": MemoryQueue()}, Blobs(MemoryStore()), stopping, limit_s=20
    )

    stopping.set()

    assert (await health.alive()).ok
    report = await health.ready()
    assert (report.ok, report.status) == (False, "stopping")


async def test_a_database_address_that_makes_no_sense_is_failing(caplog: pytest.LogCaptureFixture) -> None:
    report = await health_of("postgresql://user:hunter2@[broken/").alive()

    assert report.checks == {"database": "failing"}
    assert "hunter2" not in caplog.text
