"""Files that appear whole or not at all, and survive a power cut."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from docmill.errors import MisconfiguredError, ServerError


@contextmanager
def atomic_file(path: Path) -> Generator[IO[bytes]]:
    """A file to be written in place of what is at `path`, which it replaces when the block ends well.

    Raises ServerError if the disk takes no more.
    """
    target = path.resolve()
    draft = target.with_name(f"{target.name[:_LONGEST]}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except OSError as error:
        raise ServerError(f"cannot write {str(path)!r}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


_LONGEST = 60
"""Characters of a name that the name of its draft has."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file as `atomic_file` does."""
    with atomic_file(path) as file:
        file.write(content)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk. Raises ServerError."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ServerError(f"cannot write {str(folder)!r}: {error.strerror}") from error


def make_folder(folder: Path) -> None:
    """Create a folder unless it exists. Raises MisconfiguredError if it cannot be created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisconfiguredError(f"cannot write {str(folder)!r}: {error.strerror}") from error
