"""A whole tenant as a folder: its rows, its files, and a description with checksums.

tenant.json          what it is; written when the rows are there, and again when it is complete
tables/NAME.copy     the rows of a table, as COPY writes them
files/KEY            the stored files
files.sha256         a line for each file that is complete, as `sha256sum` writes it
"""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from docmill.errors import CorruptError, MisconfiguredError
from docmill.service.storage.blobs import is_key

Progress = Callable[[int], None]
"""Is told how many more files are done."""

CHUNK_BYTES = 1 << 20
_FORMAT = "docmill tenant"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class TableDescription:
    """The rows of a table in the folder."""

    columns: tuple[str, ...]
    byte_size: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class TenantDescription:
    """The content of the folder. vault_id: of the installation that it comes from. schema: its revision.

    keys: of the files that the rows name. missing: those that were gone already.
    """

    tenant_id: str
    vault_id: str
    schema: str
    docmill: str
    taken_at: str
    tables: dict[str, TableDescription]
    keys: tuple[str, ...]
    missing: tuple[str, ...] = ()
    is_complete: bool = False


class TenantFolder:
    """The folder of an exported tenant."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tables = root / "tables"
        self.unfinished_tables = root / "tables.unfinished"
        self._description = root / "tenant.json"
        self._unfinished_description = root / "tenant.json.unfinished"
        self._journal = root / "files.sha256"

    def table(self, name: str) -> Path:
        """The file of a table."""
        return self.tables / f"{name}.copy"

    def file(self, key: str) -> Path:
        """The place of a stored file. Raises CorruptError for a key that leads elsewhere."""
        if not is_key(key):
            raise CorruptError(f"{str(self.root)!r} names a file {key!r}, which docmill cannot have written")
        return self.root / "files" / key

    def check_empty(self) -> None:
        """Raises MisconfiguredError if something else is in the folder."""
        ours = {self.unfinished_tables.name, self.tables.name, self._unfinished_description.name}
        if self.root.exists() and any(path.name not in ours for path in self.root.iterdir()):
            raise MisconfiguredError(f"{str(self.root)!r} holds something else; give an empty folder")

    def describe(self) -> TenantDescription | None:
        """The description; None if there is none. Raises CorruptError if it cannot be read."""
        try:
            data: dict[str, Any] = json.loads(self._description.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise CorruptError(f"{str(self._description)!r} is damaged; export the tenant again") from error
        if (data.pop("format", None), data.pop("version", None)) != (_FORMAT, _VERSION):
            raise CorruptError(f"{str(self.root)!r} is no export of a tenant that this release can read")
        try:
            data["tables"] = {
                name: TableDescription(tuple(table["columns"]), table["byte_size"], table["content_hash"])
                for name, table in data["tables"].items()
            }
            data["keys"], data["missing"] = tuple(data["keys"]), tuple(data["missing"])
            return TenantDescription(**data)
        except (KeyError, TypeError) as error:
            raise CorruptError(f"{str(self._description)!r} is damaged; export the tenant again") from error

    def write_description(self, description: TenantDescription) -> None:
        """Write it whole or not at all."""
        fresh = self._unfinished_description
        with fresh.open("w") as file:
            json.dump({"format": _FORMAT, "version": _VERSION, **asdict(description)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._description)

    def complete_files(self) -> dict[str, str]:
        """The hash of each file that is complete, by its key."""
        try:
            lines = self._journal.read_text().splitlines(keepends=True)
        except FileNotFoundError:
            return {}
        files: dict[str, str] = {}
        for line in lines:
            content_hash, separator, key = line.partition("  ")
            if separator and line.endswith("\n"):  # the last one may be half a line
                files[key.rstrip("\n")] = content_hash
        return files

    def note_complete(self, key: str, content_hash: str) -> None:
        """Note that a file is complete."""
        with self._journal.open("a+b") as file:
            if file.tell() and not _ends_line(file.fileno(), file.tell()):
                file.write(b"\n")
            file.write(f"{content_hash}  {key}\n".encode())


def _ends_line(descriptor: int, size: int) -> bool:
    return os.pread(descriptor, 1, size - 1) == b"\n"


def hash_of(path: Path) -> str:
    """The SHA-256 hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_tenant_id(description: TenantDescription) -> UUID:
    """The tenant of a description. Raises CorruptError if it is no id."""
    try:
        return UUID(description.tenant_id)
    except ValueError as error:
        raise CorruptError("the description of the exported tenant is damaged") from error
