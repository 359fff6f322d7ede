"""Work folders, each locked by its worker; a folder without a lock is that of a dead worker."""

import asyncio
import fcntl
import shutil
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import IO

from docmill.errors import room_in
from docmill.service.storage.private_files import private_folder

_LOCK = "lock"
_BEGUN = "begun"


@asynccontextmanager
async def worker_folder(root: Path, worker_id: str) -> AsyncGenerator[Path]:
    """Make a worker's own folder below `root`, removed at the end unless the worker is killed.

    Raises ServerError if there is no room for it.
    """
    with room_in("the work folder"):
        lock = await asyncio.to_thread(_open, root, worker_id)
    try:
        yield root / worker_id
    finally:
        await asyncio.to_thread(shutil.rmtree, root / worker_id, ignore_errors=True)
        lock.close()


@asynccontextmanager
async def folder_for(place: Path, name: str) -> AsyncGenerator[Path]:
    """A folder for one piece of work. Raises ServerError if there is no room for it."""
    folder = place / name
    with room_in("the work folder"):
        await asyncio.to_thread(folder.mkdir)
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def note_begun(folder: Path) -> None:
    """Mark the work of this folder as begun, for the sweeper after the death of its worker."""
    with suppress(OSError):  # a full disk: then the work counts as not begun
        (folder / _BEGUN).touch()


def begun_work(root: Path, worker_id: str) -> set[str]:
    """The names of the work that a dead worker had begun."""
    return {mark.parent.name for mark in (root / worker_id).glob(f"*/{_BEGUN}")}


def dead_workers(root: Path) -> list[str]:
    """The ids of workers that had a folder below `root` when they died."""
    if not root.is_dir():
        return []
    dead: list[str] = []
    with _entrance(root):
        for folder in filter(Path.is_dir, root.iterdir()):
            try:
                with (folder / _LOCK).open("r+b") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # its worker lives
                continue
            except FileNotFoundError:  # its worker died early, or is done and just removing it
                pass
            dead.append(folder.name)
    return dead


def forget_worker(root: Path, worker_id: str) -> None:
    """Remove a dead worker's folder."""
    shutil.rmtree(root / worker_id, ignore_errors=True)


def _open(root: Path, worker_id: str) -> IO[bytes]:
    """Make the folder of a living worker, with a lock that the kernel frees when the process ends."""
    private_folder(root)
    with _entrance(root):
        folder = root / worker_id
        folder.mkdir(mode=0o700)
        lock = (folder / _LOCK).open("ab")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


@contextmanager
def _entrance(root: Path) -> Generator[None]:
    """Exclude other workers of this machine during the block, so that none sees a folder without its lock."""
    with (root / _LOCK).open("ab") as entrance:
        fcntl.flock(entrance, fcntl.LOCK_EX)
        yield
