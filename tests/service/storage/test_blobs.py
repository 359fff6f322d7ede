import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from obstore.store import LocalStore, MemoryStore

from contracts.blobs import BlobsContract, parts
from docmill.errors import ServerError
from docmill.service.storage.blobs import Blobs


class TestBlobsInAFolder(BlobsContract):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return Blobs.in_folder(tmp_path / "blobs")


class TestBlobsInMemory(BlobsContract):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return Blobs(MemoryStore())


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """What the disk was made to keep."""
    found: set[Path] = set()
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        found.add(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    return found


async def test_an_accepted_file_survives_a_power_cut(tmp_path: Path, settled: set[Path]) -> None:
    blobs = Blobs.in_folder(tmp_path)

    await blobs.put_stream("incoming/1", parts(b"x"), max_bytes=1)
    await blobs.copy("incoming/1", "a/b/c")

    assert {tmp_path, tmp_path / "a", tmp_path / "a/b", tmp_path / "incoming/1"} <= settled


@pytest.mark.parametrize("way", ["put_stream", "put_once"])
async def test_a_file_written_in_place_survives_a_power_cut(
    tmp_path: Path, settled: set[Path], way: str
) -> None:
    blobs = Blobs.in_folder(tmp_path)

    if way == "put_stream":
        await blobs.put_stream("a/b/c", parts(b"x"), max_bytes=1)
    else:
        await blobs.put_once("a/b/c", b"x")

    assert {tmp_path, tmp_path / "a", tmp_path / "a/b"} <= settled
    assert tmp_path / "a/b/c" in settled or any(path.parent.name == "incoming" for path in settled)


async def test_a_key_that_is_taken_leaves_nothing_behind(tmp_path: Path) -> None:
    blobs = Blobs.in_folder(tmp_path)
    await blobs.put_once("a", b"first")
    await blobs.put_once("a", b"second")

    assert await blobs.keys("incoming") == []


async def test_what_a_killed_writer_left_is_dropped_when_it_is_old(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, pathlib, signal
from docmill.service.storage.blobs import Blobs

async def dying():
    for _ in range(3):
        yield bytes(2 << 20)
    os.kill(os.getpid(), signal.SIGKILL)

blobs = Blobs.in_folder(pathlib.Path({str(tmp_path)!r}))
asyncio.run(blobs.put_stream("incoming/1", dying(), max_bytes=1 << 30))
"""
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program], check=False)
    blobs = Blobs.in_folder(tmp_path)
    now = datetime.now(UTC)

    assert await blobs.keys("incoming") == []
    assert len(list(tmp_path.rglob("*#*"))) == 1  # noqa: ASYNC240  a folder of one file
    assert await blobs.drop_unfinished(now - timedelta(days=1)) == 0
    assert await blobs.drop_unfinished(now + timedelta(minutes=1)) == 1
    assert await blobs.drop_unfinished(now + timedelta(minutes=1)) == 0


async def test_a_file_that_its_writer_finishes_meanwhile_does_not_stop_the_dropping(tmp_path: Path) -> None:
    (tmp_path / "b#1").symlink_to(tmp_path / "gone")

    assert await Blobs.in_folder(tmp_path).drop_unfinished(datetime.now(UTC)) == 0


async def test_a_store_that_fails_is_an_error_to_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_bytes(b"not a folder")
    blobs = Blobs(LocalStore(prefix=tmp_path))

    with pytest.raises(ServerError):
        await blobs.put_once("in-the-way/a", b"x")
