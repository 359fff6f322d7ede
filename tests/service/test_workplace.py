import asyncio
import os
import signal
from pathlib import Path

from docmill.service.signals import stop_signals
from docmill.service.workplace import folder_for, workplace


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_folders_go_with_the_work(tmp_path: Path) -> None:
    async with workplace(tmp_path, "me") as place, folder_for(place, "job") as folder:
        (folder / "original").write_bytes(b"x")

    assert names(tmp_path) == ["lock"]


async def test_what_a_dead_worker_left_is_removed_and_a_living_ones_is_not(tmp_path: Path) -> None:
    (tmp_path / "dead" / "job").mkdir(parents=True)

    async with workplace(tmp_path, "living") as living, workplace(tmp_path, "me"):
        assert living.is_dir()
        assert not (tmp_path / "dead").exists()


async def test_the_first_signal_asks_to_stop_and_the_second_at_once() -> None:
    with stop_signals() as (stop, abort):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stop.wait(), 10)
        assert not abort.is_set()

        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(abort.wait(), 10)
