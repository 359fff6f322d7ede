import asyncio
import os
import signal
from pathlib import Path

from docmill.resilience.concurrency import stop_signals
from docmill.service.processing.work_folders import dead_workers, folder_for, forget_worker, worker_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_folders_go_with_the_work(tmp_path: Path) -> None:
    async with worker_folder(tmp_path, "me") as place, folder_for(place, "job") as folder:
        (folder / "original").write_bytes(b"x")

    assert names(tmp_path) == ["lock"]


async def test_dead_workers_are_told_from_living_ones(tmp_path: Path) -> None:
    (tmp_path / "dead" / "job").mkdir(parents=True)
    (tmp_path / "also dead").mkdir()
    (tmp_path / "also dead" / "lock").touch()

    async with worker_folder(tmp_path, "living") as living, worker_folder(tmp_path, "me"):
        assert sorted(dead_workers(tmp_path)) == ["also dead", "dead"]
        forget_worker(tmp_path, "dead")
        assert living.is_dir()

    assert names(tmp_path) == ["also dead", "lock"]


def test_where_nobody_has_worked_nobody_has_died(tmp_path: Path) -> None:
    assert dead_workers(tmp_path / "work") == []


async def test_the_first_signal_asks_to_stop_and_the_second_at_once() -> None:
    with stop_signals() as (stop, abort):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 10)
        assert not abort.is_set()

        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(abort.wait(), 10)
