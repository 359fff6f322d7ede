"""A disk that is full: what cannot be stored is refused or tried again, and nothing is half there."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmill.errors import ServerError
from docmill.service.config.settings import Settings
from faults.audit import open_books
from faults.control import Control
from faults.roles import AllIsWell, Put, Settled, StartWorker
from faults.steps import paper
from support.scripted_steps import Observer


@pytest.fixture
def small() -> str:
    """Which folder of the vault is on a disk of 256 KB: that of stored files."""
    return "blobs"


@pytest.fixture
def disk(tmp_path: Path, small: str) -> Iterator[Path]:
    """The folder on a small disk."""
    folder = tmp_path / small
    folder.mkdir()
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "docmill-test", folder], check=False
    )
    if mounting.returncode:
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=2m", disk], check=True)


@pytest.fixture
def settings(disk: Path, orders: dict[str, Any]) -> Settings:
    assert disk.is_mount()
    open_books(orders["database_url"])
    return Settings(**orders)


async def test_an_upload_that_does_not_fit_leaves_nothing_and_a_smaller_one_is_taken(
    put: Put, start_worker: StartWorker, observer: Observer, settled: Settled, all_is_well: AllIsWell
) -> None:
    with pytest.raises(ServerError, match="is it full"):
        await put(paper("large", ballast=os.urandom(200_000).hex()))
    accepted = await put(paper("small"))

    worker = await start_worker()
    await observer.until(accepted, "ready")
    await settled()

    await worker.stop()
    await all_is_well()


async def test_a_transcription_that_does_not_fit_is_written_when_there_is_room(
    disk: Path,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("no room"))
    worker = await start_worker("after read")

    first = await control.reached("after read")
    ballast = disk / "ballast"
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(bytes(1 << 20))
    first.go()
    failure = await worker.logged("attempt failed")
    ballast.unlink()
    (await control.reached("after read")).go()
    await observer.until(accepted, "ready")
    await settled()

    assert failure["code"] == "server_error"
    assert (await observer.ingestion(accepted)).attempt_count == 2
    await worker.stop()
    await all_is_well()


@pytest.mark.parametrize("small", ["work"])
async def test_a_full_work_folder_is_said_and_the_document_read_when_there_is_room(
    disk: Path,
    put: Put,
    start_worker: StartWorker,
    control: Control,
    observer: Observer,
    settled: Settled,
    all_is_well: AllIsWell,
) -> None:
    accepted = await put(paper("large", ballast=os.urandom(200_000).hex()))

    worker = await start_worker("after read")
    failure = await worker.logged("attempt failed")
    said = await observer.when(accepted, lambda document: document.error_code is not None)
    await asyncio.to_thread(enlarge, disk)
    (await control.reached("after read")).go()
    await observer.until(accepted, "ready")
    await settled()

    assert (failure["code"], failure["step"]) == ("server_error", "read")
    assert said.error_message == "the work folder is full; free some space, then it is tried again"
    await worker.stop()
    await all_is_well()
