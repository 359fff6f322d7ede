"""Files of backups: members with checksums in an uncompressed tar archive, written and read in one pass."""

import hashlib
import io
import json
import tarfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from docmill.errors import CorruptError

CHUNK_BYTES = 1 << 20
SUMS = "SHA256SUMS"
"""The last member: a line for each other one, as `sha256sum` writes it."""


class HashingFile:
    """A file whose SHA-256 hash is known when it has been read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read as the file does. Raises CorruptError if it is a member of an archive that is cut off."""
        try:
            data = self._file.read(size)
        except tarfile.TarError as error:
            raise CorruptError("the backup is cut off; take another one") from error
        self._digest.update(data)
        return data

    @property
    def content_hash(self) -> str:
        """The hash of what was read."""
        return self._digest.hexdigest()


class ArchiveWriter:
    """Writes an archive. count, byte_size: of its members so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115  see `end`
        self._sums: list[str] = []
        self.count = 0
        self.byte_size = 0

    def add(self, name: str, file: IO[bytes], byte_size: int) -> None:
        """Add a member. Raises OSError if the file has fewer bytes, or the disk is full."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = byte_size, 0o600
        hashing = HashingFile(file)
        self._tar.addfile(info, cast("IO[bytes]", hashing))
        self._sums.append(f"{hashing.content_hash}  {name}\n")
        self.count += 1
        self.byte_size += byte_size

    def add_json(self, name: str, value: object) -> None:
        """Add a small member."""
        data = json.dumps(value, indent=1).encode()
        self.add(name, io.BytesIO(data), len(data))

    def end(self) -> None:
        """Write the checksums and the end of the archive."""
        data = "".join(self._sums).encode()
        info = tarfile.TarInfo(SUMS)
        info.size, info.mode = len(data), 0o600
        self._tar.addfile(info, io.BytesIO(data))
        self._tar.close()


def members(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Each member of an archive with its content, in order; at the end the checksums are compared.

    Raises CorruptError for a file that is no archive, is cut off, or has a member with another content.
    """
    hashes: dict[str, str] = {}
    sums: dict[str, str] | None = None
    with _explained(path), path.open("rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for info in tar:
            content = tar.extractfile(info)
            if not info.isreg() or content is None:
                raise CorruptError(f"{str(path)!r} has {info.name!r}, which is no file; it is no backup")
            if info.name == SUMS:
                sums = _parse_sums(content.read())
                continue
            hashing = HashingFile(content)
            yield info.name, cast("IO[bytes]", hashing)
            while hashing.read(CHUNK_BYTES):  # what the caller has not read
                pass
            hashes[info.name] = hashing.content_hash
    if sums is None:
        raise CorruptError(f"{str(path)!r} is cut off: its checksums are missing; make another backup")
    differing = sorted(name for name in hashes.keys() | sums.keys() if hashes.get(name) != sums.get(name))
    if differing:
        raise CorruptError(
            f"{str(path)!r} is damaged: {len(differing)} of its files differ from their checksums,"
            f" the first is {differing[0]!r}; take another backup"
        )


def _parse_sums(data: bytes) -> dict[str, str]:
    sums: dict[str, str] = {}
    for line in data.decode().splitlines():
        content_hash, _, name = line.partition("  ")
        sums[name] = content_hash
    return sums


def read_json(file: IO[bytes]) -> dict[str, Any]:
    """A small member's content. Raises CorruptError if it is no JSON."""
    try:
        return cast("dict[str, Any]", json.loads(file.read()))
    except ValueError as error:
        raise CorruptError("the backup cannot be read: its description is damaged") from error


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, UnicodeDecodeError) as error:
        raise CorruptError(f"{str(path)!r} is no backup of docmill, or is damaged") from error
