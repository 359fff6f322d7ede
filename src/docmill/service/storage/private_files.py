"""Files and folders of a vault, which no other user of this machine may read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

CONTENT = ("addresses", "blobs", "postgres", "samples", "secrets.key", "work", ".restoring")
"""What docmill keeps in a data folder. A person may keep other things beside it."""

_OTHERS = 0o077
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above it that are missing; other users may use none of them.

    Raises OSError if it cannot be made.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    return folder


def private_file(path: Path) -> IO[bytes]:
    """A new file to write, for this user alone; what was at `path` is removed. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def close_to_others(path: Path, *, keep: int = 0) -> bool:
    """Take the rights of other users from a file or folder of this user; True if they had any.

    keep: bits of the mode that stay. Links and what belongs to others stay as they are.
    """
    if not _is_open_to_others(path, keep):
        return False
    descriptor = os.open(path, _OPEN)
    try:
        status = os.fstat(descriptor)  # of what was opened: another may stand at the path by now
        if status.st_uid != os.geteuid():
            return False
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~(_OTHERS & ~keep))
    finally:
        os.close(descriptor)
    return True


def close_content(data_dir: Path) -> list[str]:
    """Close what an older start left open in a data folder; the names of it.

    Who may not pass through a folder cannot reach what is below it, so nothing below is looked at. The
    folder of the database is closed by its server's start.
    """
    return [name for name in CONTENT if name != "postgres" and _is_closed_now(data_dir / name)]


def open_content(data_dir: Path) -> Iterator[Path]:
    """Everything of the vault in a data folder that other users could read or change if they got to it.

    The server of the database looks after its own files, and refuses to start on open ones.
    """
    for name in CONTENT:
        top = (data_dir / name).resolve()  # it may be a link to another disk
        if _is_open_to_others(top, _passage(top)):
            yield top
        for folder, folders, files in os.walk(top):
            if name == "postgres":
                folders.clear()
            paths = (Path(folder, entry) for entry in folders + files)
            yield from filter(_is_open_to_others, paths)


def _is_closed_now(path: Path) -> bool:
    return path.exists() and close_to_others(path)


def _is_open_to_others(path: Path, keep: int = 0) -> bool:
    """True for a file or folder that others have rights on. A link has none of its own."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_kept = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_kept and bool(status.st_mode & _OTHERS & ~keep)


def _passage(path: Path) -> int:
    """The right that the group of the database server has on its folder where docmill runs as root."""
    return stat.S_IXGRP if path.name == "postgres" else 0
