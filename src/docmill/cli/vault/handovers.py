"""The commands on what people who are no owners any more have left, and keys that were revoked."""

import json
import sys
from dataclasses import asdict
from uuid import UUID

import typer
from rich.table import Table

from docmill.cli.console import FAILED, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.errors import ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import handovers, memberships
from docmill.service.store.handovers import HandoverRow


async def list_handovers(settings: Settings, *, as_json: bool) -> int:
    """Print what waits for an owner; the exit code."""
    async with existing_service(settings) as service:
        rows = await _waiting(service)
    if as_json:
        content = [{**asdict(row), "id": str(row.id)} for row in rows]
        stdout.print_json(json.dumps(content, ensure_ascii=False))
        return 0
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("id", "kind", "name", "of", ""):
        table.add_column(column)
    for row in rows:
        note = "stands still" if row.stays_stopped else ""
        table.add_row(str(row.id), row.kind, row.name, row.api_key or row.person or "", note)
    stdout.print(table)
    return 0


async def keep_handover(settings: Settings, thing_id: str, owner: str) -> int:
    """Have an owner answer for a thing from now on; the exit code."""
    async with existing_service(settings) as service:
        row = await _waiting_called(service, thing_id)
        tenant_id = service.default_tenant_id
        user = await service.accounts.by_email(owner)
        async with service.database.tenant(tenant_id) as conn:
            role = user and await memberships.present_role(conn, tenant_id, user.id)
            if user is None or role != "owner":
                raise ValidationError(f"{owner!r} is no owner of this organisation")
            await handovers.keep(conn, row.kind, row.id, user.id)
        await log_command(service, "keep_handover", f"{row.kind} {row.id}", {"owner": user.email})
    stdout.print(f"{user.email} answers for the {row.kind} {row.name} now", markup=False)
    if row.stays_stopped:
        stdout.print(f"The {row.kind} stands still until somebody resumes it.")
    return 0


async def end_handover(settings: Settings, thing_id: str, *, yes: bool) -> int:
    """Revoke a key that waits, or remove a webhook or source, after asking; the exit code."""
    async with existing_service(settings) as service:
        row = await _waiting_called(service, thing_id)
        if not yes:
            if not sys.stdin.isatty():
                raise ValidationError(f"cannot ask for confirmation here: give --yes to end the {row.kind}")
            if not typer.confirm(f"end the {row.kind} {row.name}?", err=True):
                stderr.print("nothing was ended")
                return FAILED
        tenant_id = service.default_tenant_id
        if row.kind == "key":
            await service.api_keys.revoke(row.id, tenant_id=tenant_id)
        elif row.kind == "webhook":
            await service.webhooks.remove(row.id, tenant_id=tenant_id)
        else:
            await service.sources.remove(row.id, tenant_id=tenant_id)
        await log_command(service, "end_handover", f"{row.kind} {row.id}", {"name": row.name})
    stdout.print(f"the {row.kind} {row.name} has ended", markup=False)
    return 0


async def _waiting(service: Service) -> list[HandoverRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await handovers.waiting(conn)


async def _waiting_called(service: Service, thing_id: str) -> HandoverRow:
    try:
        wanted = UUID(thing_id)
    except ValueError:
        wanted = None
    for row in await _waiting(service):
        if row.id == wanted:
            return row
    raise ValidationError(
        f"nothing with the id {thing_id!r} waits for an owner; `docmill users handovers list` shows what does"
    )
