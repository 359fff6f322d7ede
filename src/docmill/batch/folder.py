"""Originals in a folder."""

import asyncio
import hashlib
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.litter import is_litter
from docmill.ports import Original, Ref

DEFAULT_MAX_BYTES = 50_000_000


class FolderLister:
    """Every file below a folder, or one file, in a stable order.

    passed_by: how many files were left out that programs and systems keep beside those of people.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.passed_by = 0

    def list(self) -> Iterator[Ref]:
        """One reference per file; hidden files and folders are left out, linked ones are followed once.

        Raises MisconfiguredError if the folder is not there or one in it cannot be looked into: what it
        holds would be missing without a word.
        """
        if self._root.is_file():
            yield Ref(key=self._root.name, name=self._root.name)
            return
        if not self._root.is_dir():
            raise MisconfiguredError(
                f"there is no folder {str(self._root)!r}; give a folder or a file that exists"
            )
        found = sorted(_files(self._root))
        kept = [path for path in found if not is_litter(path.name)]
        self.passed_by = len(found) - len(kept)
        for path in kept:
            yield Ref(key=path.relative_to(self._root).as_posix(), name=path.name)


def _files(root: Path) -> Iterator[Path]:
    seen: set[str] = set()
    for folder, folders, files in os.walk(root, onerror=_refuse, followlinks=True):
        seen.add(os.path.realpath(folder))
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".") and os.path.realpath(os.path.join(folder, name)) not in seen  # noqa: PTH118  os.walk gives strings
        ]
        for name in files:
            path = Path(folder, name)
            if (not name.startswith(".") or is_litter(name)) and path.is_file():
                yield path


def _refuse(error: OSError) -> None:
    raise MisconfiguredError(
        f"cannot look into {error.filename!r}: {error.strerror}; change its mode or move it away"
    ) from error


class FolderReader:
    """`Reader` below one root. A file above `max_bytes` is refused before it is read."""

    def __init__(self, root: Path, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._root = root if root.is_dir() else root.parent
        self._max_bytes = max_bytes

    async def read(self, ref: Ref) -> Original:
        """See `Reader.read`."""
        path = self._root / ref.key
        return Original(path=path, name=ref.name, content_hash=await asyncio.to_thread(self._hash, path, ref))

    def _hash(self, path: Path, ref: Ref) -> str:
        with _translated(ref), path.open("rb") as file:
            size = path.stat().st_size
            if size > self._max_bytes:
                raise TooLargeError(
                    f"{ref.name!r} has {size / 1e6:.0f} MB; the limit is {self._max_bytes / 1e6:.0f} MB"
                    " (--max-mb or limits.file_mb raises it)"
                )
            return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _translated(ref: Ref) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise CorruptError(f"{ref.key!r} is gone") from error
    except PermissionError as error:
        # Not a SetupError: one closed file must not keep all the others from being read.
        raise CorruptError(f"no permission to read {ref.key!r}; change its mode or owner") from error
    except OSError as error:
        raise ServerError(f"cannot read {ref.key!r}: {error.strerror}") from error
