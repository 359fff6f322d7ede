"""The work of `docmill backup`, `restore`, `export-tenant` and `import-tenant`."""

import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.progress import Progress, SpinnerColumn, TextColumn

from docmill.cli.console import FAILED, counted, stderr, stdout
from docmill.cli.vault.access import existing_service
from docmill.cli.vault.exports import Target
from docmill.errors import MisconfiguredError
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.exports import backup, tenant_export, tenant_import
from docmill.service.exports.tenant_folder import TenantFolder

_MEGABYTE = 1_000_000
_SHOWN = 10


def back_up(settings: Settings, target: Target) -> int:
    """Write a backup; the exit code."""
    _check_embedded(settings)
    target.check()
    with _spinner("files backed up") as progress:
        report = backup.back_up(settings.folder, target.path, progress)
    stdout.print(f"{_size(report)} → {target.path}, compared with its checksums", markup=False)
    return _tell_missing(report.missing)


def restore(settings: Settings, source: Path) -> int:
    """Make a vault from a backup; the exit code."""
    _check_embedded(settings)
    with _spinner("files restored") as progress:
        report = backup.restore(source, settings.folder, progress)
    stdout.print(f"{_size(report)} → {settings.folder}", markup=False)
    stdout.print(f"start it with: docmill up --data-dir {shlex.quote(str(settings.folder))}", markup=False)
    return 0


async def export_tenant(settings: Settings, folder: Path) -> int:
    """Take the tenant out; the exit code."""
    async with existing_service(settings) as service:
        with _spinner("files exported") as progress:
            description = await tenant_export.export_tenant(
                service.owner_url,
                service.blobs,
                TenantFolder(folder),
                tenant_id=service.default_tenant_id,
                vault_id=service.vault_id,
                progress=progress,
            )
    stdout.print(f"tenant {description.tenant_id} as of {description.taken_at} → {folder}", markup=False)
    return _tell_missing(description.missing)


async def import_tenant(settings: Settings, folder: Path) -> int:
    """Bring a tenant in; the exit code."""
    async with open_service(settings) as service:
        with _spinner("files imported") as progress:
            description = await tenant_import.import_tenant(
                service.owner_url, service.blobs, TenantFolder(folder), progress
            )
        service.feed.announce()
    stdout.print(f"{folder} → tenant {description.tenant_id}", markup=False)
    return _tell_missing(description.missing)


def _tell_missing(keys: Sequence[str]) -> int:
    """Tell which files were missing already; the exit code."""
    if not keys:
        return 0
    stderr.print(
        f"{counted(len(keys), 'file')} that the database names {'was' if len(keys) == 1 else 'were'} missing"
        " in the vault already:",
        style="yellow",
    )
    for key in keys[:_SHOWN]:
        stderr.print(f"  {key}", markup=False)
    return FAILED


def _check_embedded(settings: Settings) -> None:
    if settings.database_url is not None or settings.aws.enabled:
        raise MisconfiguredError(
            "this vault keeps its database or files elsewhere: back those up with their own means (pg_dump,"
            " versions of the bucket), or take one tenant out with `docmill export-tenant`"
        )


def _size(report: backup.BackupReport) -> str:
    return f"{counted(report.file_count, 'file')}, {report.byte_size / _MEGABYTE:,.1f} MB"


@contextmanager
def _spinner(what: str) -> Generator[Callable[[int], None]]:
    columns = (SpinnerColumn(), TextColumn("{task.completed} {task.description}"))
    with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)
