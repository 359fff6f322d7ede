"""A worker whose clock is an hour wrong: that of the database rules."""

import sysconfig
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from docmill.service.app import Service
from faults.control import Control
from faults.processes import Mother, WorkerProcess
from faults.roles import Finished, Put, StartWorker
from faults.steps import paper
from support.scripted_steps import Observer

LIBRARY = Path("/usr/lib") / str(sysconfig.get_config_var("MULTIARCH")) / "faketime" / "libfaketime.so.1"


@pytest.fixture(params=["-1h", "+1h"])
def wrong(request: pytest.FixtureRequest) -> Iterator[Mother]:
    """Forks workers that live in another hour."""
    if not LIBRARY.exists():
        pytest.skip("libfaketime is not installed")
    mother = Mother(LD_PRELOAD=str(LIBRARY), FAKETIME=request.param, FAKETIME_DONT_FAKE_MONOTONIC="1")
    yield mother
    mother.close()


async def test_a_worker_with_a_wrong_clock_takes_what_is_free_and_nothing_else(
    wrong: Mother,
    service: Service,
    orders: dict[str, Any],
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    finished: Finished,
) -> None:
    held = await put(paper("held"))
    holder = await start_worker("after read", worker={**orders["worker"], "concurrency": 1})
    await control.reached("after read")
    await service.queue.send([str(held.ingestion_id)])
    free = await put(paper("free"))

    stranger = await WorkerProcess.start(wrong, orders, control.path)
    try:
        started = datetime.fromisoformat((await stranger.logged("worker started"))["timestamp"])
        await observer.until(free, "ready")
        untouched = await observer.ingestion(held)
        await holder.kill()
        await observer.until(held, "ready")
        await finished(stranger)
    finally:
        await stranger.kill()

    assert abs(datetime.now(UTC) - started) > timedelta(minutes=50)
    assert (untouched.attempt_count, f"-{holder.pid}-" in (untouched.worker_id or "")) == (1, True)
    assert f"-{stranger.pid}-" in ((await observer.ingestion(held)).worker_id or "")
