"""The work of `docmill export`: files are written beside their place and moved there when they are whole."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Literal, cast, get_args
from uuid import UUID

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from docmill.cli.console import FAILED, counted, shown, stderr, stdout
from docmill.cli.vault.access import existing_service
from docmill.errors import MisconfiguredError, ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.exports.archive import Archive
from docmill.service.exports.bookings import BookingRules, Period
from docmill.service.exports.bookkeeping import Bookings
from docmill.service.exports.datev import check_period
from docmill.service.exports.datev import file_name as datev_name
from docmill.service.exports.table_files import TableFormat
from docmill.service.exports.tables import export_tables
from docmill.service.storage.private_files import private_file
from docmill.service.store import document_list
from docmill.service.store.document_list import DocumentFilters
from docmill.service.store.documents import NOT_READ, REJECTED, STATES

Export = Callable[[Callable[[int], None]], AsyncIterator[bytes]]
"""Begins an export, given whom to tell of its progress."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file to write. replace: also if it exists."""

    path: Path
    replace: bool = False

    def check(self) -> None:
        """Raises MisconfiguredError if the file may not be written."""
        if self.path.is_dir():
            raise MisconfiguredError(f"{str(self.path)!r} is a folder; give the name of a file")
        if self.path.exists() and not self.replace:
            raise MisconfiguredError(f"{str(self.path)!r} exists; --force replaces it")


def select(
    query: str | None, state: str | None, document_type: str | None, ids: Sequence[UUID] | None
) -> DocumentFilters:
    """The documents that the options name. Raises ValidationError for an unknown state."""
    states = (*STATES, NOT_READ, REJECTED)
    if state is not None and state not in states:
        raise ValidationError(f"there is no state {state!r}; there are {', '.join(states)}")
    return DocumentFilters(
        query=query or None, state=state, document_type=document_type, ids=tuple(ids) if ids else None
    )


async def write_table(
    settings: Settings, selection: DocumentFilters, target: Target, *, items_only: bool
) -> int:
    """Write the table of documents or of items; the exit code."""
    form = target.path.suffix.lower().removeprefix(".")
    if form not in get_args(TableFormat):
        endings = ", ".join(f".{name}" for name in get_args(TableFormat))
        raise ValidationError(f"{str(target.path)!r} must end in one of {endings}")
    target.check()
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id

        def export(progress: Callable[[int], None]) -> AsyncIterator[bytes]:
            return export_tables(
                service.database,
                settings.own.by_choice,
                selection,
                tenant_id=tenant_id,
                form=cast("TableFormat", form),
                table="items" if items_only else "documents",
                progress=progress,
            )

        await write_export(service, selection, target, export, tenant_id=tenant_id)
    return 0


async def write_zip(settings: Settings, selection: DocumentFilters, target: Target) -> int:
    """Write the archive of originals and records; the exit code."""
    target.check()
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        archive = Archive(service.database, service.blobs, service.reviews, tenant_id=tenant_id)
        await write_export(
            service,
            selection,
            target,
            lambda progress: archive.stream(selection, progress),
            tenant_id=tenant_id,
        )
    return 0


def rules_of(
    settings: Settings, first: datetime | None, last: datetime | None, *, every_state: bool
) -> BookingRules:
    """The rules of booking that the options and settings give."""
    period = Period(first and first.date(), last and last.date())
    return BookingRules(settings.bookkeeping, period, is_every_state=every_state)


async def write_bookings(
    settings: Settings,
    selection: DocumentFilters,
    rules: BookingRules,
    target: Target,
    *,
    form: Literal["datev", "ledger"],
) -> int:
    """Write a file of bookings, and list what is left out; the exit code."""
    if form == "datev":
        first, last = check_period(rules.period, rules.bookkeeping)
        if target.path.is_dir():
            target = replace(target, path=target.path / datev_name(first, last))
    target.check()
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        bookings = Bookings(service.database, selection, rules, tenant_id=tenant_id)
        if form == "ledger":
            make = bookings.ledger
        elif target.path.suffix.lower() == ".zip":
            make = partial(bookings.datev_archive, service.blobs)
        else:
            make = bookings.datev
        await write_export(service, selection, target, make, tenant_id=tenant_id)
    report = bookings.report
    stdout.print(
        f"{counted(report.booked_count, 'document')} booked, {report.outside_count} outside the period,"
        f" {len(report.left_out)} left out"
    )
    for document in report.left_out:
        stderr.print(
            f"- {document.document_id}  {shown(document.file_name)}: {document.reason}", markup=False
        )
    return FAILED if report.left_out else 0


async def write_export(
    service: Service, selection: DocumentFilters, target: Target, export: Export, *, tenant_id: UUID
) -> None:
    """Write an export to its file with a progress bar, and say how many documents are in it."""
    async with service.database.tenant(tenant_id) as conn:
        total = await document_list.number(conn, selection)
    with _bar() as bar:
        task = bar.add_task("exporting", total=total)
        await write_file(target.path, export(lambda count: bar.advance(task, count)))
    stdout.print(f"{counted(total, 'document')} → {target.path}", markup=False)


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal)


async def write_file(path: Path, chunks: AsyncIterator[bytes]) -> None:
    """Write a file that appears when it is whole. Raises MisconfiguredError if it cannot be written."""
    draft = path.with_name(f"{path.name}.partial")
    try:
        with await asyncio.to_thread(private_file, draft) as file:
            async for chunk in chunks:
                await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(_settle, file.fileno())
        await asyncio.to_thread(draft.replace, path)
    except OSError as error:
        raise MisconfiguredError(f"cannot write {str(path)!r}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _settle(descriptor: int) -> None:
    os.fsync(descriptor)
