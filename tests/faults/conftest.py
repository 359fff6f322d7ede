import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from docmill.service.app import Service
from docmill.service.aws.sqs import LONGEST_VISIBILITY_S
from docmill.service.config.settings import Settings
from docmill.service.intake import orphaned_files
from docmill.service.intake.accept import Accepted
from docmill.service.processing.work_folders import dead_workers
from docmill.service.worker import run_worker
from docmill.workers.pool import Pool
from faults.audit import examine, is_quiet, open_books
from faults.control import Control
from faults.processes import Mother, WorkerProcess
from faults.roles import AllIsWell, Come, Finished, Heir, Inherited, Put, Settled, StartWorker
from faults.steps import obedient_steps
from support.aws_emulators import CREDENTIALS, Emulator
from support.scripted_steps import Observer, once

# What a worker's life is measured in; no test waits for anything but the end of a lease.
WORKER: dict[str, Any] = {
    "lease_s": 1.5,
    "heartbeat_s": 0.4,
    "wait_s": 1.0,
    "pause_s": 0.05,
    "concurrency": 4,
    "max_attempts": 5,
    "sweep_s": 3600.0,
}


@pytest.fixture(scope="session")
def mother() -> Iterator[Mother]:
    mother = Mother(**CREDENTIALS)
    yield mother
    mother.close()


@pytest.fixture
def worker_settings() -> dict[str, Any]:
    return WORKER


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator | None]:
    """The emulator of AWS that a test asks for, as `on_both_queues` does; None: all is in the database."""
    name: str | None = getattr(request, "param", None)
    if name is None:
        yield None
        return
    request.getfixturevalue("aws_credentials")
    emulator: Emulator = request.getfixturevalue(name)
    yield emulator
    emulator.resume()
    emulator.ahead_s = 0


@pytest.fixture
def orders(
    database_url: str, tmp_path: Path, worker_settings: dict[str, Any], emulator: Emulator | None
) -> dict[str, Any]:
    """Settings as plain values: they cross into other processes.

    Nothing is matched: a delivery of matching that ended with its worker comes again after a minute, and its
    retries after several. Its own faults are in `test_matching_killed.py`.
    """
    orders = {
        "data_dir": str(tmp_path),
        "database_url": database_url,
        "worker": worker_settings,
        "matching": {"enabled": False},
    }
    return orders | emulator.settings() if emulator else orders


@pytest.fixture
def settings(orders: dict[str, Any]) -> Settings:
    open_books(orders["database_url"])
    return Settings(**orders)


@pytest.fixture
async def control() -> AsyncIterator[Control]:
    # Not pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        async with Control(Path(folder) / "control") as control:
            yield control


@pytest.fixture
async def start_worker(
    mother: Mother, orders: dict[str, Any], control: Control
) -> AsyncIterator[StartWorker]:
    """Worker processes that stop at points, with changed settings; none outlives the test."""
    started: list[WorkerProcess] = []

    async def start(*points: str, hurry: float = 0.02, **changes: Any) -> WorkerProcess:  # noqa: ANN401  settings
        process = await WorkerProcess.start(
            mother, {**orders, **changes}, control.path, points=points, hurry=hurry
        )
        started.append(process)
        return process

    yield start
    for process in started:
        await process.kill()


@pytest.fixture
def heir(service: Service, control: Control) -> Heir:
    """A healthy worker in this process for the length of a `with`, stopped as by a signal."""

    @asynccontextmanager
    async def run() -> AsyncGenerator[None]:
        stop = asyncio.Event()
        async with Pool(1) as pool:
            steps = obedient_steps(control.path, pool)
            task = asyncio.create_task(run_worker(service, steps, stop))
            try:
                yield
            finally:
                stop.set()
                async with asyncio.timeout(20):
                    await task

    return run


@pytest.fixture
def put(service: Service, accepted: list[Accepted]) -> Put:
    """Uploads a paper."""

    async def put(paper: bytes) -> Accepted:
        one = await service.intake.accept(
            once(paper), tenant_id=service.default_tenant_id, file_name="paper.pdf"
        )
        accepted.append(one)
        return one

    return put


@pytest.fixture
def accepted() -> list[Accepted]:
    """What `put` has uploaded."""
    return []


@pytest.fixture
def observer(service: Service) -> Observer:
    return Observer(service)


@pytest.fixture
def held_come_again(service: Service, emulator: Emulator | None) -> Come:
    """Ends the time of every delivery, however long it was to be."""

    async def end() -> None:
        if emulator:
            emulator.ahead_s += LONGEST_VISIBILITY_S
            return
        async with service.database.connection() as conn:
            await conn.execute("UPDATE message SET visible_at = now()")

    return end


@pytest.fixture
def settled(service: Service, database_url: str) -> Settled:
    """Waits until nothing is under way and no dead worker is unnoticed; for use while somebody works."""
    work = service.settings.folder / "work"

    async def wait() -> None:
        async with asyncio.timeout(30):
            while dead_workers(work) or not await is_quiet(database_url, service.queue):
                await service.wakeups.wait(service.wakeups.next("queue:ingestion"), timeout_s=0.1)

    return wait


@pytest.fixture
def all_is_well(
    service: Service, database_url: str, accepted: list[Accepted], monkeypatch: pytest.MonkeyPatch
) -> AllIsWell:
    """Fails unless everything uploaded has come to exactly one end and nothing is left over.

    What the sweeper removes after a day it removes now.
    """
    monkeypatch.setattr(orphaned_files, "LEFT_AFTER", timedelta(0))
    monkeypatch.setattr(orphaned_files, "_GIVEN_UP_AFTER", timedelta(0))

    async def check() -> None:
        await orphaned_files.remove_orphaned_files(service.database, service.blobs)
        assert await is_quiet(database_url, service.queue)
        ids = [one.ingestion_id for one in accepted if one.ingestion_id]
        assert ids
        work = service.settings.folder / "work"
        findings = await examine(database_url, service.queue, service.blobs, work, ids)
        assert findings.wrong == {}

    return check


@pytest.fixture
def inherited(heir: Heir, observer: Observer, settled: Settled) -> Inherited:
    """Has a healthy worker bring a document to its end and tidy up, and stops it."""

    async def inherit(accepted: Accepted) -> None:
        async with heir():
            await observer.until(accepted, "ready")
            await settled()

    return inherit


@pytest.fixture
def finished(settled: Settled, all_is_well: AllIsWell) -> Finished:
    """Waits until nothing is under way, stops the workers, and fails unless all is well."""

    async def finish(*workers: WorkerProcess) -> None:
        await settled()
        for worker in workers:
            await worker.stop()
        await all_is_well()

    return finish
