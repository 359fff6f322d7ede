"""The files of an export of paperless-ngx, in a folder or a zip archive; only those below its root."""

import hashlib
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from docmill.errors import CorruptError, EncryptedError, TooLargeError, ValidationError

MANIFEST = "manifest.json"
SPLIT_MANIFEST_END = "-manifest.json"

_CHUNK_BYTES = 1 << 20
_ENCRYPTED = 0x1
_MOST_RATIO = 500
"""Documents are compressed a few times at most; a member that grows more is made to fill the disk."""
_BIG_BYTES = 10_000_000
"""A smaller member harms nobody, however well it is compressed."""


class ExportFiles(Protocol):
    """The files of an export, by their names in its manifest."""

    def names(self) -> list[str]:
        """Every file."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """Open a file. Raises CorruptError, EncryptedError or TooLargeError, each with what to do."""
        ...


class FolderFiles:
    """`ExportFiles` of a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def names(self) -> list[str]:
        """See `ExportFiles`."""
        paths = (path for path in self._root.rglob("*") if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in paths)

    def open(self, name: str) -> IO[bytes]:
        """See `ExportFiles`. A link that leads out of the folder is refused, too."""
        path = (self._root / checked_name(name)).resolve()
        if not path.is_relative_to(self._root):
            raise CorruptError(f"{name!r} is a link that leads out of the export")
        if not path.is_file():
            raise CorruptError(f"{name!r} is missing in the export; export again")
        try:
            return path.open("rb")
        except OSError as error:
            raise CorruptError(f"{name!r} cannot be read: {error.strerror}") from error


class ZipFiles:
    """`ExportFiles` of an archive. Nothing is unpacked to the disk."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def names(self) -> list[str]:
        """See `ExportFiles`."""
        return sorted(name for name in self._archive.namelist() if not name.endswith("/"))

    def open(self, name: str) -> IO[bytes]:
        """See `ExportFiles`."""
        try:
            member = self._archive.getinfo(checked_name(name))
        except KeyError as error:
            raise CorruptError(f"{name!r} is missing in the export; export again") from error
        if member.flag_bits & _ENCRYPTED:
            raise EncryptedError(
                f"{name!r} is protected by a password; unpack the archive, and import the folder"
            )
        if member.file_size > max(_BIG_BYTES, _MOST_RATIO * member.compress_size):
            raise TooLargeError(f"{name!r} is compressed so much that it is no document")
        with explained(name):
            return self._archive.open(member)


@contextmanager
def open_export(path: Path) -> Generator[ExportFiles]:
    """Open an export. Raises ValidationError if there is none, CorruptError for a damaged archive."""
    if path.is_dir():
        files = FolderFiles(path)
        _check_manifest(path, files)
        yield files
        return
    if not path.exists():
        raise ValidationError(f"there is no {str(path)!r}")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise CorruptError(f"{str(path)!r} is neither a folder nor a zip archive that can be read") from error
    with archive:
        files = ZipFiles(archive)
        _check_manifest(path, files)
        yield files


def _check_manifest(path: Path, files: ExportFiles) -> None:
    if MANIFEST not in files.names():
        raise ValidationError(
            f"{str(path)!r} has no {MANIFEST}, so it is no export of paperless-ngx; make one with its"
            " command document_exporter"
        )


def checked_name(name: str) -> str:
    """The name of a file below the root of the export. Raises CorruptError for any other."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or "\0" in name:
        raise CorruptError(f"the manifest names {name!r}, which is no file of the export")
    return str(PurePosixPath(*parts))


@dataclass(frozen=True, slots=True)
class FileSums:
    """The hashes of a file, in hexadecimal."""

    sha256: str
    md5: str

    def agree_with(self, checksum: str) -> bool:
        """True for a checksum of this file; releases of paperless-ngx differ in MD5 and SHA-256."""
        return checksum.lower() in (self.sha256, self.md5)


def sums_of(files: ExportFiles, name: str, *, max_bytes: int) -> FileSums:
    """The hashes of a file. Raises TooLargeError for more bytes, and as `ExportFiles.open`."""
    sha256, md5, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    with files.open(name) as file, explained(name):
        while chunk := file.read(_CHUNK_BYTES):
            sha256.update(chunk)
            md5.update(chunk)
            size += len(chunk)
            if size > max_bytes:
                raise TooLargeError(f"{name!r} is larger than {max_bytes:,} bytes")
    return FileSums(sha256.hexdigest(), md5.hexdigest())


@contextmanager
def explained(name: str) -> Generator[None]:
    """Errors of reading a file as ours."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise CorruptError(f"{name!r} is damaged in the export; export again") from error
