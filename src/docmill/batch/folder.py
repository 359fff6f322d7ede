"""Originals in a folder."""

import asyncio
import os
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.files import digest, is_junk
from docmill.ports import Original, Ref

DEFAULT_MAX_BYTES = 50_000_000


class FolderLister:
    """Every file below a folder, or one file, in a stable order.

    passed_by: how many files were left out that programs and systems keep beside those of people.
    not_followed: links that lead out of the folder or nowhere, each with where it leads.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.passed_by = 0
        self.not_followed: list[str] = []

    def list(self) -> Iterator[Ref]:
        """One reference per file. Hidden files and folders are left out.

        A link is followed only within the folder, and only to what would not be listed otherwise: nothing
        comes twice, and loops end. Raises MisconfiguredError if the folder is not there or one in it cannot
        be looked into: what it holds would be missing without a word.
        """
        if self._root.is_file():
            yield Ref(key=self._root.name, name=self._root.name)
            return
        if not self._root.is_dir():
            raise MisconfiguredError(
                f"there is no folder {str(self._root)!r}; give a folder or a file that exists"
            )
        walk = _Walk(self._root)
        found = sorted(walk.files)
        kept = [path for path in found if not is_junk(path.name)]
        self.passed_by = len(found) - len(kept)
        self.not_followed = [
            f"{path.relative_to(self._root).as_posix()} -> {target}" for path, target in walk.not_followed
        ]
        for path in kept:
            yield Ref(key=path.relative_to(self._root).as_posix(), name=path.name)


class _Walk:
    """The files below a folder. Real files come first, so that a link never stands for one of them."""

    def __init__(self, root: Path) -> None:
        self.files: list[Path] = []
        self.not_followed: list[tuple[Path, str]] = []
        self._inside = Path(os.path.realpath(root))
        self._seen: set[str] = set()
        self._links: deque[Path] = deque()
        self._enter(root)
        while self._links:
            self._follow(self._links.popleft())

    def _enter(self, top: Path) -> None:
        for folder, folders, files in os.walk(top, onerror=_refuse):
            real = os.path.realpath(folder)
            if real in self._seen:
                folders.clear()
                continue
            self._seen.add(real)
            shown = [name for name in sorted(folders) if not name.startswith(".")]
            folders[:] = [name for name in shown if not Path(folder, name).is_symlink()]
            self._links.extend(Path(folder, name) for name in shown if name not in folders)
            for name in sorted(files):
                if not name.startswith(".") or is_junk(name):
                    self._take(Path(folder, name))

    def _take(self, path: Path) -> None:
        if path.is_symlink():
            self._links.append(path)
        elif path.is_file():
            self._seen.add(os.path.realpath(path))
            self.files.append(path)

    def _follow(self, link: Path) -> None:
        target = os.path.realpath(link)
        if not Path(target).is_relative_to(self._inside) or not link.exists():
            self.not_followed.append((link, target))
        elif link.is_dir():
            self._enter(link)
        elif link.is_file() and target not in self._seen:
            self._seen.add(target)
            self.files.append(link)


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
        with _translated(ref):
            size = path.stat().st_size
            if size > self._max_bytes:
                raise TooLargeError(
                    f"{ref.name!r} has {size / 1e6:.0f} MB; the limit is {self._max_bytes / 1e6:.0f} MB"
                    " (--max-mb or limits.file_mb raises it)"
                )
            return digest(path)


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
