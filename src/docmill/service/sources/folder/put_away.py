"""Puts away a file that was taken: moves it to another folder, or deletes it."""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import PurePosixPath
from typing import Literal
from uuid import uuid4

from docmill.files import CHUNK_BYTES
from docmill.service.sources.folder.folder_files import FolderTree, FoundFile, Identity

After = Literal["keep", "move", "delete"]
_MOST_NAMES = 10_000
_NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
_BEYOND = frozenset({errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS})
"""Errors of a hard link between two file systems, or on one that has none."""


def delete_file(tree: FolderTree, file: FoundFile) -> bool:
    """Delete a file; False if it is not the one that was found any more. Raises OSError."""
    with tree.open_folder(file.folders) as folder:
        if not _is_same(folder, file):
            return False
        os.unlink(file.name, dir_fd=folder)
        return True


def move_file(tree: FolderTree, file: FoundFile, target: FolderTree) -> bool:
    """Move a file to the same place below another folder, under a name that is free there.

    Nothing is replaced: a file of the name gets a number, `bill (2).pdf`, unless it has the same content,
    such as the copy of a move that was cut off. False if the file is not the one that was found any more.
    Raises OSError.
    """
    with (
        tree.open_folder(file.folders) as source,
        target.open_folder(file.folders, create=True) as destination,
    ):
        if not _is_same(source, file):
            return False
        with _linked_or_copied(source, file, destination) as temporary:
            for name in _free_names(file.name):
                try:
                    _rename_unless_there(destination, temporary, name)
                except FileExistsError:
                    if not _has_same_content(destination, name, temporary):
                        continue
                break
            os.fsync(destination)
            if not _is_same(source, file, but_for_links=True):
                return False
            os.unlink(file.name, dir_fd=source)
            return True


@contextmanager
def _linked_or_copied(source: int, file: FoundFile, destination: int) -> Generator[str]:
    """A hidden name for the file in the other folder, as a link, or as a copy in another file system."""
    temporary = f".docmill-{uuid4().hex}"
    try:
        try:
            os.link(file.name, temporary, src_dir_fd=source, dst_dir_fd=destination, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _BEYOND:
                raise
            _copy(source, file, destination, temporary)
        yield temporary
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=destination)


def _copy(source: int, file: FoundFile, destination: int, name: str) -> None:
    reading = os.open(file.name, os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW, dir_fd=source)
    try:
        writing = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600, dir_fd=destination)
        try:
            status = os.fstat(reading)
            while chunk := os.read(reading, CHUNK_BYTES):
                left = memoryview(chunk)
                while left:
                    left = left[os.write(writing, left) :]
            with suppress(OSError):  # a share may have no modes of its own
                os.fchmod(writing, stat.S_IMODE(status.st_mode))
            os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(writing)
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _rename_unless_there(folder: int, temporary: str, name: str) -> None:
    """Raises FileExistsError."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _BEYOND:
            raise
        # Without links, the name is reserved first by an empty file, which is then replaced.
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, dir_fd=folder))
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _free_names(name: str) -> Generator[str]:
    yield name
    path = PurePosixPath(name)
    for number in count(2):
        if number > _MOST_NAMES:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
        yield f"{path.stem} ({number}){path.suffix}"


def _has_same_content(folder: int, name: str, other: str) -> bool:
    descriptors: list[int] = []
    try:
        for each in (name, other):
            flags = os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW
            descriptors.append(os.open(each, flags, dir_fd=folder))
        first, second = descriptors
        statuses = [os.fstat(descriptor) for descriptor in descriptors]
        if statuses[0].st_size != statuses[1].st_size or not stat.S_ISREG(statuses[0].st_mode):
            return False
        while chunk := os.read(first, CHUNK_BYTES):
            if chunk != os.read(second, CHUNK_BYTES):
                return False
    except OSError:  # a link, or what may not be read
        return False
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return True


def _is_same(folder: int, file: FoundFile, *, but_for_links: bool = False) -> bool:
    """True if the name still stands for the file. but_for_links: a link to it was made, which is a change."""
    try:
        identity = Identity.of(os.stat(file.name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False
    wanted = file.identity
    if but_for_links:
        return (identity.device, identity.inode, identity.size, identity.modified_ns) == (
            wanted.device,
            wanted.inode,
            wanted.size,
            wanted.modified_ns,
        )
    return identity == wanted
