"""Folders to work in, which disappear with the work, even when the worker was killed."""

import asyncio
import fcntl
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

_LOCK = "lock"


@asynccontextmanager
async def workplace(root: Path, worker_id: str) -> AsyncGenerator[Path]:
    """A worker's own folder below `root`. What dead workers of this machine left there is removed."""
    lock = await asyncio.to_thread(_open, root, worker_id)
    try:
        yield root / worker_id
    finally:
        await asyncio.to_thread(_close, root / worker_id, lock)


@asynccontextmanager
async def folder_for(place: Path, name: str) -> AsyncGenerator[Path]:
    """A folder for one piece of work."""
    folder = place / name
    await asyncio.to_thread(folder.mkdir)
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _open(root: Path, worker_id: str) -> IO[bytes]:
    """A living worker holds a lock in its folder; the kernel frees it when the process ends."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / _LOCK).open("ab") as entrance:
        fcntl.flock(entrance, fcntl.LOCK_EX)
        for folder in root.iterdir():
            if folder.is_dir() and not _is_in_use(folder):
                shutil.rmtree(folder)
        own = root / worker_id
        own.mkdir()
        lock = (own / _LOCK).open("ab")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _is_in_use(folder: Path) -> bool:
    with (folder / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _close(folder: Path, lock: IO[bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()
