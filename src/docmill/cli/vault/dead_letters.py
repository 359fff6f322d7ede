"""Lists, redrives and purges documents that failed for good."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

import typer

from docmill.cli.console import FAILED, counted, local_time, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.errors import ValidationError
from docmill.service.config.settings import Settings
from docmill.service.dead_letters import Selection
from docmill.service.store import dead_letters


def build_selection(ids: Sequence[UUID] | None, *, code: str | None, every: bool) -> Selection:
    """Select dead letters. Raises ValidationError unless they are given in exactly one way."""
    if sum((bool(ids), code is not None, every)) != 1:
        raise ValidationError("select them in one of these ways: ids, --code CODE, --all")
    return Selection(ids=ids or None, code=code)


async def list_letters(
    settings: Settings, *, code: str | None, step: str | None, limit: int, as_json: bool
) -> int:
    """Print dead letters; the exit code."""
    async with (
        existing_service(settings) as service,
        service.database.tenant(service.default_tenant_id) as conn,
    ):
        rows = await dead_letters.page(conn, code=code, step=step, limit=limit + 1)
    if as_json:
        _print_json([asdict(row) for row in rows[:limit]])
        return 0
    if not rows:
        stdout.print("no dead letters" if code is None and step is None else "no such dead letters")
    for row in rows[:limit]:
        stdout.print(f"{row.id}  {local_time(row.died_at)}  {shown(row.file_name)}", markup=False)
        step_name = f" at {row.step}" if row.step else ""
        tries = counted(row.attempts, "try", "tries")
        reason = f"    {row.error_code}{step_name} after {tries}: {shown(row.error_message)}"
        stdout.print(reason, markup=False, style="dim")
    if len(rows) > limit:
        stdout.print(f"these are the latest {limit}; --limit shows more")
    return 0


async def redrive(settings: Settings, selection: Selection, *, dry_run: bool, as_json: bool) -> int:
    """Have dead letters tried again; the exit code."""
    async with existing_service(settings) as service:
        if dry_run:
            found = await service.dead_letters.find(selection, tenant_id=service.default_tenant_id)
            return _print_selected(found, selection, as_json=as_json)
        result = await service.dead_letters.redrive(selection, tenant_id=service.default_tenant_id)
        await log_command(service, "redrive", details={"documents": result.redriven})
    if as_json:
        _print_json(asdict(result))
        return FAILED if result.unknown else 0
    stdout.print(f"{result.redriven} tried again")
    if result.dropped:
        stdout.print(f"{result.dropped} dropped: their documents have been processed anew since")
    return _print_unknown(result.unknown)


async def purge(settings: Settings, selection: Selection, *, dry_run: bool, as_json: bool, yes: bool) -> int:
    """Delete dead letters, after asking; the exit code."""
    async with existing_service(settings) as service:
        found = await service.dead_letters.find(selection, tenant_id=service.default_tenant_id)
        if dry_run:
            return _print_selected(found, selection, as_json=as_json)
        if found and not yes:
            if not sys.stdin.isatty():
                raise ValidationError("cannot ask for confirmation here: give --yes to delete dead letters")
            if not typer.confirm(f"delete {counted(len(found), 'dead letter')}?", err=True):
                stderr.print("nothing was deleted")
                return FAILED
        purged = 0
        if found:  # those that were shown, and none that came since
            shown_letters = Selection(ids=found)
            purged = await service.dead_letters.purge(shown_letters, tenant_id=service.default_tenant_id)
            await log_command(service, "purge", details={"dead_letters": purged})
    unknown = _unknown_count(found, selection)
    if as_json:
        _print_json({"purged": purged, "unknown": unknown})
        return FAILED if unknown else 0
    stdout.print(f"{purged} deleted; their documents stay, as failed")
    return _print_unknown(unknown)


def _print_selected(found: Sequence[UUID], selection: Selection, *, as_json: bool) -> int:
    """Print the selected letters of a dry run; the exit code."""
    unknown = _unknown_count(found, selection)
    if as_json:
        _print_json({"ids": found, "unknown": unknown})
        return FAILED if unknown else 0
    for letter_id in found:
        stdout.print(str(letter_id))
    stdout.print(f"{counted(len(found), 'dead letter')} selected; nothing was changed")
    return _print_unknown(unknown)


def _unknown_count(found: Sequence[UUID], selection: Selection) -> int:
    return len(set(selection.ids or ()) - set(found))


def _print_unknown(count: int) -> int:
    """Print how many of the given ids do not exist; the exit code."""
    if count:
        stderr.print(f"{count} not there (any more)", style="yellow")
    return FAILED if count else 0


def _print_json(content: object) -> None:
    text = json.dumps(
        content,
        default=lambda value: value.isoformat() if isinstance(value, datetime) else str(value),
        ensure_ascii=False,
    )
    stdout.print_json(text)
