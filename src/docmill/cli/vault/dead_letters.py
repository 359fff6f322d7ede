"""Lists, redrives and purges documents that failed for good."""

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

import typer

from docmill.cli.console import FAILED, counted, shown, stderr, stdout
from docmill.cli.vault.contents import existing_service
from docmill.errors import ValidationError
from docmill.service.config.settings import Settings
from docmill.service.dead_letters import RedriveResult, Selection
from docmill.service.store import dead_letters
from docmill.service.store.dead_letters import DeadLetterRow


def chosen(ids: Sequence[UUID] | None, *, code: str | None, every: bool) -> Selection:
    """The letters that were named. Raises ValidationError unless they were named in one way."""
    if sum((bool(ids), code is not None, every)) != 1:
        raise ValidationError("say which, in one of these ways: ids, --code CODE, --all")
    return Selection(ids=ids or None, code=code)


def list_letters(settings: Settings, *, code: str | None, step: str | None, limit: int, as_json: bool) -> int:
    """Print letters; the exit code."""
    rows = asyncio.run(_listed(settings, code, step, limit=limit + 1))
    if as_json:
        _print_json([asdict(row) for row in rows[:limit]])
        return 0
    if not rows:
        stdout.print("no dead letters" if code is None and step is None else "no such dead letters")
        return 0
    for row in rows[:limit]:
        _print_letter(row)
    if len(rows) > limit:
        stdout.print(f"these are the latest {limit}; --limit shows more")
    return 0


async def _listed(
    settings: Settings, code: str | None, step: str | None, *, limit: int
) -> list[DeadLetterRow]:
    async with (
        existing_service(settings) as service,
        service.database.tenant(service.default_tenant_id) as conn,
    ):
        return await dead_letters.page(conn, code=code, step=step, limit=limit)


def _print_letter(row: DeadLetterRow) -> None:
    stdout.print(f"{row.id}  {row.died_at.astimezone():%Y-%m-%d %H:%M}  {shown(row.file_name)}", markup=False)
    tries = counted(row.attempts, "try", "tries")
    at = f" at {row.step}" if row.step else ""
    why = f"    {row.error_code}{at} after {tries}: {shown(row.error_message)}"
    stdout.print(why, markup=False, style="dim")


def redrive(settings: Settings, selection: Selection, *, dry_run: bool, as_json: bool) -> int:
    """Have letters tried again; the exit code."""
    if dry_run:
        return _print_meant(asyncio.run(_found(settings, selection)), selection, as_json=as_json)
    done = asyncio.run(_redriven(settings, selection))
    if as_json:
        _print_json(asdict(done))
    else:
        stdout.print(f"{done.redriven} tried again")
        if done.dropped:
            stdout.print(f"{done.dropped} dropped: their documents have been processed anew since")
        _print_unknown(done.unknown)
    return FAILED if done.unknown else 0


async def _redriven(settings: Settings, selection: Selection) -> RedriveResult:
    async with existing_service(settings) as service:
        return await service.dead_letters.redrive(selection, tenant_id=service.default_tenant_id)


def purge(settings: Settings, selection: Selection, *, dry_run: bool, as_json: bool, yes: bool) -> int:
    """Forget letters, after asking; the exit code."""
    found = asyncio.run(_found(settings, selection))
    if dry_run:
        return _print_meant(found, selection, as_json=as_json)
    if found and not yes and not _confirmed(len(found)):
        stderr.print("nothing was forgotten")
        return FAILED
    # What was found and shown is forgotten, and nothing that has come since.
    purged = asyncio.run(_purged(settings, found)) if found else 0
    unknown = _unknown(found, selection)
    if as_json:
        _print_json({"purged": purged, "unknown": unknown})
    else:
        stdout.print(f"{purged} forgotten; their documents stay, as failed")
        _print_unknown(unknown)
    return FAILED if unknown else 0


def _confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise ValidationError("there is nobody to ask: say --yes to forget dead letters")
    return typer.confirm(f"forget {counted(count, 'dead letter')}?", err=True)


async def _purged(settings: Settings, ids: Sequence[UUID]) -> int:
    async with existing_service(settings) as service:
        return await service.dead_letters.purge(Selection(ids=ids), tenant_id=service.default_tenant_id)


async def _found(settings: Settings, selection: Selection) -> list[UUID]:
    async with existing_service(settings) as service:
        return await service.dead_letters.find(selection, tenant_id=service.default_tenant_id)


def _unknown(found: Sequence[UUID], selection: Selection) -> int:
    return len(set(selection.ids or ()) - set(found))


def _print_meant(found: Sequence[UUID], selection: Selection, *, as_json: bool) -> int:
    unknown = _unknown(found, selection)
    if as_json:
        _print_json({"ids": found, "unknown": unknown})
    else:
        for letter_id in found:
            stdout.print(str(letter_id))
        stdout.print(f"{counted(len(found), 'dead letter')} meant; nothing was changed")
        _print_unknown(unknown)
    return FAILED if unknown else 0


def _print_unknown(count: int) -> None:
    if count:
        stderr.print(f"{count} not there (any more)", style="yellow")


def _print_json(content: object) -> None:
    stdout.print_json(json.dumps(content, default=_plain, ensure_ascii=False))


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
