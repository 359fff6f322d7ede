"""Backups of an embedded installation, made while it runs, and their restoration.

The database is dumped as it is at one moment. Files are copied after that: they are written before the rows
that name them and are never changed, so that every file that the dump names is among them.
"""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import psycopg
from psycopg import sql

from docmill.errors import CorruptError, MisconfiguredError
from docmill.service.exports.archive_files import CHUNK_BYTES, ArchiveWriter, members, read_json
from docmill.service.exports.catalogue import columns_of_type, file_keys, revision, roles
from docmill.service.storage.blobs import is_key
from docmill.service.storage.postgres_server import EmbeddedPostgres, programs
from docmill.service.storage.private_files import private_file, private_folder
from docmill.service.store.database import translating_errors
from docmill.service.store.migrate import newest_revision

log = logging.getLogger(__name__)

Progress = Callable[[int], None]
"""Is told how many more files are done."""

_FORMAT = "docmill backup"
_VERSION = 1
_DESCRIPTION, _DUMP, _BLOBS = "backup.json", "database.dump", "blobs/"
_UNFINISHED = "incoming/"
_RESTORING = ".restoring"
_FROZEN = "3"
"""The first number of a transaction that is not reserved: it has always ended."""


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The content of a backup. missing: keys of files that the database names and that are gone."""

    file_count: int
    byte_size: int
    missing: tuple[str, ...] = ()


def back_up(folder: Path, target: Path, progress: Progress) -> BackupReport:
    """Write a backup of the vault in `folder`, which may be in use, and compare it with its checksums.

    Raises MisconfiguredError if there is no vault, or the file cannot be written, CorruptError if what was
    written is not what is read.
    """
    if not (folder / "postgres" / "data").is_dir():
        raise MisconfiguredError(f"there is no vault in {str(folder)!r}; --data-dir names another")
    draft = target.with_name(f"{target.name}.partial")
    try:
        with _joined(EmbeddedPostgres(folder / "postgres")) as server, private_file(draft) as file:
            report = _write(server.url(), folder / "blobs", file, progress)
            file.flush()
            os.fsync(file.fileno())
        for _ in members(draft):
            pass
        draft.replace(target)
    except OSError as error:
        raise MisconfiguredError(f"cannot write {str(target)!r}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return report


def _write(url: str, blobs: Path, file: IO[bytes], progress: Progress) -> BackupReport:
    archive = ArchiveWriter(file)
    with TemporaryDirectory(prefix="docmill-backup-") as scratch:
        dump = Path(scratch) / _DUMP
        with translating_errors(), psycopg.connect(url) as conn:
            conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            (snapshot,) = conn.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            archive.add_json(_DESCRIPTION, _description(conn))
            named = set(file_keys(conn))
            _run("pg_dump", "--format=custom", f"--snapshot={snapshot}", f"--file={dump}", url)
        with dump.open("rb") as content:
            archive.add(_DUMP, content, dump.stat().st_size)
    progress(1)
    for key, path in _stored_files(blobs):
        try:
            content = path.open("rb")
        except FileNotFoundError:
            continue  # a file of no document any more
        with content:
            archive.add(f"{_BLOBS}{key}", content, os.fstat(content.fileno()).st_size)
        named.discard(key)
        progress(1)
    archive.end()
    return BackupReport(archive.count, archive.byte_size, tuple(sorted(named)))


def _description(conn: psycopg.Connection[Any]) -> dict[str, object]:
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "docmill": version("docmill"),
        "schema": revision(conn),
        "roles": roles(conn),
        "created_at": datetime.now(UTC).isoformat(),
    }


def _stored_files(blobs: Path) -> Iterator[tuple[str, Path]]:
    """Every complete file of the store with its key."""
    for folder, _, names in os.walk(blobs):
        for name in names:
            path = Path(folder, name)
            key = path.relative_to(blobs).as_posix()
            if is_key(key) and not key.startswith(_UNFINISHED):
                yield key, path


def restore(source: Path, folder: Path, progress: Progress) -> BackupReport:
    """Make a vault in `folder` from a backup. It appears when it is whole; a restoration may be repeated.

    Raises MisconfiguredError if there is a vault already, or the backup is of a later release; CorruptError
    for a damaged backup.
    """
    workshop = folder / _RESTORING
    if (folder / "postgres").exists() or (not workshop.exists() and _has_files(folder / "blobs")):
        raise MisconfiguredError(
            f"there is a vault in {str(folder)!r}: a backup is restored into an empty folder; give another"
            " --data-dir"
        )
    try:
        if workshop.exists():  # of a restoration that was killed
            _stop_left_running(workshop)
            shutil.rmtree(workshop)
            shutil.rmtree(folder / "blobs", ignore_errors=True)
        private_folder(workshop)
        report = _restore_beside(source, workshop, progress)
        os.sync()
        if (folder / "blobs").exists():
            (folder / "blobs").rmdir()
        (workshop / "blobs").rename(folder / "blobs")
        (workshop / "postgres").rename(folder / "postgres")
        workshop.rmdir()
    except FileNotFoundError as error:
        raise MisconfiguredError(f"there is no file {error.filename!r}") from error
    except OSError as error:
        raise MisconfiguredError(f"cannot restore into {str(folder)!r}: {error.strerror}") from error
    finally:
        if not (folder / "postgres").exists():
            shutil.rmtree(workshop, ignore_errors=True)
    return report


def _restore_beside(source: Path, workshop: Path, progress: Progress) -> BackupReport:
    count = byte_size = 0
    description: dict[str, Any] = {}
    private_folder(workshop / "blobs")
    dump = workshop / _DUMP
    for name, content in members(source):
        if name == _DESCRIPTION:
            description = read_json(content)
            _check_description(source, description)
            continue
        if not description:
            raise CorruptError(f"{str(source)!r} is no backup of docmill")
        path = dump if name == _DUMP else _place(workshop / "blobs", name.removeprefix(_BLOBS), source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(content, file, CHUNK_BYTES)
            byte_size += file.tell()
        count += 1
        progress(1)
    with _joined(EmbeddedPostgres(workshop / "postgres", data_dir=workshop.parent)) as server:
        _restore_database(server.url(), dump, description["roles"])
    dump.unlink()
    return BackupReport(count, byte_size)


def _check_description(source: Path, description: dict[str, Any]) -> None:
    if description.get("format") != _FORMAT or description.get("version") != _VERSION:
        raise CorruptError(f"{str(source)!r} is no backup that this release of docmill can read")
    if description["schema"] > newest_revision():
        raise MisconfiguredError(
            f"{str(source)!r} was made by a later release of docmill ({description['docmill']}); install that"
        )


def _place(blobs: Path, key: str, source: Path) -> Path:
    if not is_key(key):
        raise CorruptError(f"{str(source)!r} has a file {key!r}, which docmill cannot have written")
    return blobs / key


def _restore_database(url: str, dump: Path, role_names: list[str]) -> None:
    with translating_errors(), psycopg.connect(url, autocommit=True) as conn:
        for role in role_names:
            conn.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
    _run("pg_restore", "--exit-on-error", "--single-transaction", f"--dbname={url}", str(dump))
    with translating_errors(), psycopg.connect(url) as conn:
        # Numbers of transactions mean nothing in another server: those of events would be in the future.
        for table, column in columns_of_type(conn, "xid8"):
            conn.execute(
                sql.SQL("UPDATE {} SET {} = {}").format(
                    sql.Identifier(table), sql.Identifier(column), sql.Literal(_FROZEN)
                )
            )


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _stop_left_running(workshop: Path) -> None:
    if (workshop / "postgres").is_dir():
        EmbeddedPostgres(workshop / "postgres").stop_left_running()


@contextmanager
def _joined(server: EmbeddedPostgres) -> Generator[EmbeddedPostgres]:
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)
        yield server


def _run(program: str, *arguments: str) -> None:
    with TemporaryFile() as output:
        done = subprocess.run(  # noqa: S603  a program of the wheel with our own arguments
            [programs() / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
        if done.returncode:
            output.seek(0)
            text = output.read().decode(errors="replace").strip()
            # Rows that were refused stand behind the first line, and hold texts of documents.
            raise MisconfiguredError(f"{program!r} failed: {text.partition(chr(10))[0]}")
