"""Scratch folder of one child: files lent to it to read, and a work folder where it may write."""

import contextlib
import fcntl
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

from docmill.errors import CorruptError
from docmill.workers import sandbox

log = logging.getLogger(__name__)

PREFIX = "docmill-desk-"
SCRATCH = "the temporary folder (TMPDIR)"
"""Name of the place of scratch folders in messages."""

MAX_BYTES = 500_000_000
MAX_FILES = 20_000
_OF_THE_SYSTEM = (("dev",), ("proc",), ("sys",))
_IN_MEMORY = ("dev", "shm")
"""A disk like any other, but that it is kept in memory."""
_NEW_S = 60
"""A folder younger than that may not be locked yet."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Original(NamedTuple):
    path: Path
    device: int
    inode: int
    size: int
    changed_ns: int

    @classmethod
    def at(cls, path: Path) -> "_Original":
        try:
            status = path.stat()
        except FileNotFoundError as error:
            raise CorruptError(f"{path.name!r} is gone") from error
        return cls(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class ScratchFolder:
    """`lent` and `work` in a folder that is locked for as long as its owner lives.

    All methods touch the disk: call them in a thread.
    """

    def __init__(self) -> None:
        self.user = sandbox.user_for_children()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.folder, _FOLDER)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.lent, self.work = self.folder / "lent", self.folder / "work"
        self._is_removed = False
        self._lent: dict[Path, _Original] = {}
        for folder in (self.lent, self.work, self.folder):
            folder.mkdir(mode=0o700, exist_ok=True)
            if os.geteuid() == 0:
                os.chown(folder, self.user, self.user)

    def lend(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Lend files to the child: the arguments, each file replaced by a link to it, or else by a copy.

        What was lent before and is not asked for again is taken back. Raises CorruptError for a file that is
        not there: a child cannot tell that from one it may not read.
        """
        files = {
            argument: _Original.at(argument)
            for argument in arguments
            if isinstance(argument, Path)
            and (argument.parts[1:2] not in _OF_THE_SYSTEM or argument.parts[1:3] == _IN_MEMORY)
            and not argument.is_dir()
        }
        wanted = {
            self.lent / (path.name if not number else f"{number}-{path.name}"[-255:]): original
            for number, (path, original) in enumerate(files.items())
        }
        for place in [place for place, original in self._lent.items() if wanted.get(place) != original]:
            place.unlink(missing_ok=True)
            del self._lent[place]
        for place, original in wanted.items():
            if place not in self._lent:
                self._put(original.path, place)
                self._lent[place] = original
        places: dict[Path, Path] = {original.path: place for place, original in wanted.items()}
        return tuple(
            places.get(argument, argument) if isinstance(argument, Path) else argument
            for argument in arguments
        )

    def clear(self) -> None:
        """Empty the work folder."""
        empty(self.work)

    def is_overfull(self) -> bool:
        """True if more lies in the work folder than a task may write."""
        size = count = 0
        for folder, _, names in os.walk(self.work):
            for name in names:
                count += 1
                with contextlib.suppress(OSError):
                    size += (Path(folder) / name).lstat().st_blocks * 512
            if size > MAX_BYTES or count > MAX_FILES:
                return True
        return False

    def remove(self) -> None:
        """Remove the folder, after the child has ended."""
        if self._is_removed:
            return
        self._is_removed = True
        try:
            empty(self.folder)
            self.folder.rmdir()
        except OSError as error:  # what is left will be removed as abandoned
            log.warning("a scratch folder could not be removed", extra={"error": error.strerror})
        finally:
            os.close(self._lock)

    def _put(self, original: Path, place: Path) -> None:
        """Link or copy a file so that the child can read it; the rights of the original stay as they are."""
        status = original.stat()
        readable = status.st_mode & (stat.S_IRUSR if status.st_uid == self.user else stat.S_IROTH)
        if readable or not stat.S_ISREG(status.st_mode):
            try:
                os.link(original.resolve(), place)  # a link to a link leads where no child may look
            except OSError:  # another file system, or not ours to link
                if not stat.S_ISREG(status.st_mode):
                    raise
            else:
                return
        shutil.copyfile(original, place)
        if os.geteuid() == 0:
            os.chown(place, self.user, self.user)


def remove_abandoned() -> None:
    """Remove the scratch folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _opened(folder) as descriptor:
            if os.fstat(descriptor).st_mtime > time.time() - _NEW_S:
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            empty(folder)
            folder.rmdir()


def empty(folder: Path) -> None:
    """Remove all that is in a folder, whatever it is: somebody may have put it there to do harm.

    By descriptors and without following links, however deep. Folders found in a folder are moved up first, so
    that no path grows.
    """
    with _opened(folder) as descriptor:
        waiting = _delete_files(descriptor)
        while waiting:
            name = waiting.pop()
            with _opened(name, within=descriptor) as inner:
                _open_up(inner)
                for child in _delete_files(inner):
                    with _opened(child, within=inner) as moving:
                        _open_up(moving)  # a folder that may not be written cannot be moved
                    moved = token_hex(16)
                    os.rename(child, moved, src_dir_fd=inner, dst_dir_fd=descriptor)
                    waiting.append(moved)
            os.rmdir(name, dir_fd=descriptor)


@contextlib.contextmanager
def _opened(folder: Path | str, *, within: int | None = None) -> Generator[int]:
    try:
        descriptor = os.open(folder, _FOLDER, dir_fd=within)
    except PermissionError:  # made so that its owner may not look
        closed = os.open(folder, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
        try:
            Path(f"/proc/self/fd/{closed}").chmod(0o700)
        finally:
            os.close(closed)
        descriptor = os.open(folder, _FOLDER, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_up(folder: int) -> None:
    with contextlib.suppress(PermissionError):  # a child may not, and does not make such folders for itself
        os.fchmod(folder, 0o700)


def _delete_files(folder: int) -> list[str]:
    """Delete everything in a folder but its folders, whose names are returned."""
    with os.scandir(folder) as entries:
        names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in names:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in names if is_folder]
