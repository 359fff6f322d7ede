"""The files below a folder that others write to: found, and read without being led out of the folder.

Each step down is opened relative to the folder above it, and a symbolic link is never followed: a name that
is replaced by one between two looks leads nowhere.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from docmill.errors import MisconfiguredError, NetworkError
from docmill.files import CHUNK_BYTES, is_junk

_UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", ".download", ".filepart")
"""Endings that browsers and copying programs give to files until they are complete."""
_SYSTEM_FOLDERS = frozenset(
    {"@eadir", "#recycle", "#snapshot", "$recycle.bin", "system volume information", "lost+found"}
)
"""Folders in which file servers and systems keep copies of files and what was deleted; in lower case."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without waiting: a file that was replaced by a FIFO would hold the thread for ever."""


class FileChangedError(Exception):
    """A file is not the one that was found: it is still written, was replaced or removed."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A fingerprint of the content that a name stands for now, as far as the file system knows."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Identity":
        """The identity of a file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file. folders: the names of the folders from the root down to it, as the system spells them."""

    folders: tuple[str, ...]
    name: str
    identity: Identity

    @property
    def path(self) -> str:
        """The path below the root as text. Bytes that are no UTF-8 are written as their numbers."""
        path = os.fsencode("/".join((*self.folders, self.name)))
        return path.decode("utf-8", "backslashreplace")

    @property
    def shown_folders(self) -> tuple[str, ...]:
        """The names of the folders for people."""
        return tuple(map(_shown, self.folders))

    @property
    def shown_name(self) -> str:
        """The name for people."""
        return _shown(self.name)


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class FolderTree:
    """A folder whose files are taken. allowed: one of these holds it, whatever links lie on the way.

    with_subfolders: also files in the folders below it.
    """

    root: Path
    allowed: tuple[Path, ...]
    with_subfolders: bool = False

    @contextmanager
    def open_folder(self, folders: Sequence[str] = (), *, create: bool = False) -> Generator[int]:
        """The descriptor of a folder below the root. Raises OSError, MisconfiguredError."""
        with opened_in(self.root, self.allowed, folders, create=create) as descriptor:
            yield descriptor

    def files(
        self,
        *,
        skip: Iterable[tuple[int, int]] = (),
        unreadable: Callable[[str, OSError], None] = lambda _name, _error: None,
    ) -> Generator[FoundFile]:
        """The regular files, in no order, without hidden and unfinished ones; folders are read as they go.

        skip: device and inode of folders that are left out. unreadable: told of folders that cannot be read.
        Raises NetworkError if the root cannot be read, MisconfiguredError if it is not allowed.
        """
        skipped = set(skip)
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            folders = waiting.pop()
            try:
                with self.open_folder(folders) as descriptor:
                    status = os.fstat(descriptor)
                    if (status.st_dev, status.st_ino) in skipped:
                        continue
                    with os.scandir(descriptor) as entries:
                        yield from self._files_of(folders, entries, waiting)
            except OSError as error:
                if not folders:
                    raise NetworkError(f"the folder cannot be read: {error.strerror}") from error
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    unreadable("/".join(map(_shown, folders)), error)

    def _files_of(
        self, folders: tuple[str, ...], entries: "Iterable[os.DirEntry[str]]", waiting: list[tuple[str, ...]]
    ) -> Generator[FoundFile]:
        """The files of one folder; its folders are added to those that wait."""
        for entry in entries:
            if entry.name.startswith(".") or is_junk(entry.name):
                continue
            with suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    if self.with_subfolders and entry.name.casefold() not in _SYSTEM_FOLDERS:
                        waiting.append((*folders, entry.name))
                elif entry.is_file(follow_symlinks=False) and not is_unfinished(entry.name):
                    yield FoundFile(folders, entry.name, Identity.of(entry.stat(follow_symlinks=False)))

    def is_unchanged(self, file: FoundFile) -> bool:
        """True if the name still stands for the same file, and nothing was written to it."""
        with suppress(OSError), self.open_folder(file.folders) as folder:
            return Identity.of(os.stat(file.name, dir_fd=folder, follow_symlinks=False)) == file.identity
        return False

    async def chunks(self, file: FoundFile) -> AsyncGenerator[bytes]:
        """The content of a file. Raises FileChangedError if it is not the one found, OSError."""
        opening = asyncio.create_task(asyncio.to_thread(self._open, file))
        reading: asyncio.Task[bytes] | None = None
        try:
            descriptor = await asyncio.shield(opening)
            left = file.identity.size
            while True:
                reading = asyncio.create_task(asyncio.to_thread(os.read, descriptor, CHUNK_BYTES))
                chunk = await asyncio.shield(reading)
                left -= len(chunk)
                if left < 0:  # it grows, maybe faster than it is read
                    raise FileChangedError
                if not chunk:
                    break
                yield chunk
            if Identity.of(os.fstat(descriptor)) != file.identity:
                raise FileChangedError
        finally:
            # Cancelled, this leaves a thread behind, maybe for long on a share that is gone. The descriptor
            # is closed after it: until then its number must not come to mean another file.
            (reading or opening).add_done_callback(lambda _: _close(opening))

    def _open(self, file: FoundFile) -> int:
        try:
            with self.open_folder(file.folders) as folder:
                descriptor = os.open(file.name, _OPEN_FILE, dir_fd=folder)
        except FileNotFoundError as error:
            raise FileChangedError from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or Identity.of(status) != file.identity:
            os.close(descriptor)
            raise FileChangedError
        return descriptor


def _close(opening: asyncio.Task[int]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        os.close(opening.result())


def is_unfinished(name: str) -> bool:
    """True for the name of a file that is still being downloaded or copied."""
    return name.casefold().endswith(_UNFINISHED)


@contextmanager
def opened_in(
    path: Path, allowed: tuple[Path, ...], folders: Sequence[str] = (), *, create: bool = False
) -> Generator[int]:
    """The descriptor of a folder below `path`, itself opened step by step from the allowed one above it.

    create: make those of `folders` that are missing. Raises OSError, MisconfiguredError.
    """
    real = path.resolve()
    above = allowed_above(path, allowed)
    descriptor = os.open(above, _OPEN_FOLDER)
    try:
        for folder in (*real.relative_to(above).parts, *folders):
            is_new = create and _is_made(folder, descriptor)
            below = os.open(folder, _OPEN_FOLDER, dir_fd=descriptor)
            if is_new:  # whoever may use the watched folder may use what is in it
                os.fchmod(below, stat.S_IMODE(os.fstat(descriptor).st_mode))
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def _is_made(name: str, within: int) -> bool:
    try:
        os.mkdir(name, dir_fd=within)
    except FileExistsError:
        return False
    return True


def allowed_above(path: Path, allowed: tuple[Path, ...]) -> Path:
    """The allowed folder that holds a path. Raises MisconfiguredError if none does."""
    real = path.resolve()
    for folder in allowed:
        above = folder.expanduser().resolve()
        if real.is_relative_to(above):
            return above
    raise MisconfiguredError(
        f"the folder {str(path)!r} is not in one that sources.folders names; whoever runs this"
        " installation can add it there"
    )
