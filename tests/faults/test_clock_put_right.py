"""The clock of the database is an hour ahead, and is put right while documents wait."""

import asyncio
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.service.app import Service
from faults.roles import Finished, Put, Settled, StartWorker
from faults.server import KillableServer
from faults.steps import paper
from support.scripted_steps import Observer

LIBRARY = Path("/usr/lib") / str(sysconfig.get_config_var("MULTIARCH")) / "faketime" / "libfaketime.so.1"


@pytest.fixture
def clock() -> Iterator[Path]:
    """A file that says how wrong the database's clock is."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "clock"
        file.write_text("+1h")
        yield file


@pytest.fixture
def database_url(clock: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if not LIBRARY.exists():
        pytest.skip("libfaketime is not installed")
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder, monkeypatch.context() as environment:
        server = KillableServer(Path(folder) / "postgres")
        environment.setenv("LD_PRELOAD", str(LIBRARY))
        environment.setenv("FAKETIME_TIMESTAMP_FILE", str(clock))
        environment.setenv("FAKETIME_NO_CACHE", "1")
        environment.setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        server.start()
        environment.undo()
        yield server.url
        server.stop()


async def test_nothing_waits_for_the_hour_that_the_clock_was_ahead(
    clock: Path,
    service: Service,
    orders: dict[str, Any],
    put: Put,
    start_worker: StartWorker,
    observer: Observer,
    settled: Settled,
    finished: Finished,
) -> None:
    sweeping = {**orders["worker"], "sweep_s": 0.2}
    early = await start_worker(worker=sweeping)
    done = await put(paper("done before"))
    await observer.until(done, "ready")
    await settled()  # its message is deleted, too: of a finished ingestion, it may wait for that hour
    await early.stop()
    waiting = await put(paper("waits"))
    ahead_s = await time_of(service)

    await asyncio.to_thread(clock.write_text, "+0")
    again = await service.intake.reprocess(done.document_id, tenant_id=service.default_tenant_id)
    late = await start_worker(worker=sweeping)
    await observer.until(waiting, "ready")
    redone = await observer.when(done, lambda document: document.state == "ready")

    assert ahead_s - await time_of(service) > 3000
    assert redone.ingestion_id == again
    await finished(late)


async def time_of(service: Service) -> float:
    """What the database takes the time to be, in seconds."""
    async with service.database.connection() as conn:
        cur = await conn.execute("SELECT extract(epoch FROM now())::float8")
        (seconds,) = await cur.fetchone() or (0.0,)
    return seconds
