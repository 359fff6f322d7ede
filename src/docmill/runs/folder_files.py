"""Originals in a folder."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.files import digest, is_junk
from docmill.ports import Original, Ref

DEFAULT_MAX_BYTES = 50_000_000


class FolderLister:
    """Every file below a folder, or one file, in a stable order.

    junk_count: the number of files left out since programs or systems made them, see `is_junk`.
    skipped_links: links that lead out of the folder or nowhere, each with where it leads.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.junk_count = 0
        self.skipped_links: list[str] = []

    def list(self) -> Iterator[Ref]:
        """One reference per file. Hidden files and folders are left out.

        A link is followed only within the folder, and only to what would not be listed otherwise: nothing
        comes twice, and loops end. Raises MisconfiguredError if the folder does not exist or a folder in it
        cannot be read, since its files would be missing without notice.
        """
        if self._root.is_file():
            yield Ref(key=self._root.name, name=self._root.name)
            return
        if not self._root.is_dir():
            raise MisconfiguredError(
                f"there is no folder {str(self._root)!r}; give a folder or a file that exists"
            )
        seen: set[str] = set()
        files, links = _walk_folder(self._root, seen)
        self.skipped_links = []
        inside = os.path.realpath(self._root)
        for link in links:  # after all real files, so that none stands for one; grows meanwhile
            target = os.path.realpath(link)
            if not Path(target).is_relative_to(inside) or not link.exists():
                self.skipped_links.append(f"{link.relative_to(self._root).as_posix()} -> {target}")
            elif link.is_dir():
                more_files, more_links = _walk_folder(link, seen)
                files += more_files
                links += more_links
            elif link.is_file() and target not in seen:
                seen.add(target)
                files.append(link)
        kept = [path for path in sorted(files) if not is_junk(path.name)]
        self.junk_count = len(files) - len(kept)
        for path in kept:
            yield Ref(key=path.relative_to(self._root).as_posix(), name=path.name)


def _walk_folder(top: Path, seen: set[str]) -> tuple[list[Path], list[Path]]:
    """The files and the links below a folder, without entering links. seen: real paths, added to."""
    files: list[Path] = []
    links: list[Path] = []
    for folder, folders, names in os.walk(top, onerror=_raise_unreadable):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        shown = [name for name in sorted(folders) if not name.startswith(".")]
        folders[:] = [name for name in shown if not Path(folder, name).is_symlink()]
        links += [Path(folder, name) for name in shown if name not in folders]
        paths = [Path(folder, name) for name in sorted(names) if not name.startswith(".") or is_junk(name)]
        links += [path for path in paths if path.is_symlink()]
        real_files = [path for path in paths if not path.is_symlink() and path.is_file()]
        seen.update(map(os.path.realpath, real_files))
        files += real_files
    return files, links


def _raise_unreadable(error: OSError) -> None:
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
        return await asyncio.to_thread(self._read, ref)

    def _read(self, ref: Ref) -> Original:
        path = self._root / ref.key
        try:
            size = path.stat().st_size
            if size > self._max_bytes:
                raise TooLargeError(
                    f"{ref.name!r} has {size / 1e6:.0f} MB; the limit is {self._max_bytes / 1e6:.0f} MB"
                    " (--max-mb or limits.file_mb raises it)"
                )
            return Original(path, ref.name, digest(path))
        except FileNotFoundError as error:
            raise CorruptError(f"{ref.key!r} is gone") from error
        except PermissionError as error:
            # Not a SetupError: one closed file must not keep all the others from being read.
            raise CorruptError(f"no permission to read {ref.key!r}; change its mode or owner") from error
        except OSError as error:
            raise ServerError(f"cannot read {ref.key!r}: {error.strerror}") from error
