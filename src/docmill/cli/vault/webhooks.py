"""The commands on webhooks."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

import typer
from pydantic_core import to_jsonable_python

from docmill.cli.console import FAILED, counted, local_time, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.errors import ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import webhook_deliveries
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.webhook_deliveries import DeliveryRow, DeliveryState
from docmill.service.webhooks.webhook_registry import NewWebhook


async def list_webhooks(settings: Settings, *, as_json: bool) -> int:
    """Print the webhooks of the tenant; the exit code."""
    async with existing_service(settings) as service:
        rows = await service.webhooks.page(tenant_id=service.default_tenant_id)
    if as_json:
        _print_json([asdict(row) for row in rows])
        return 0
    for row in rows:
        counts = f"{row.pending} waiting  {row.failed} failed"
        stdout.print(f"{row.id}  {row.state}  {counts}  {shown(row.url)}", markup=False)
        stdout.print(f"    {', '.join(row.events)}", markup=False)
    return 0


async def add_webhook(settings: Settings, url: str, events: Sequence[str], *, with_data: bool) -> int:
    """Make a webhook, and print its id and secret; the exit code."""
    async with existing_service(settings) as service:
        webhook = await service.webhooks.add(
            url,
            events,
            with_data=with_data,
            tenant_id=service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )
        await log_command(service, "add_webhook", str(webhook.id), {"events": list(events)})
    _print_secret(webhook)
    return 0


async def rotate_secret(settings: Settings, webhook_id: UUID, *, overlap_hours: float) -> int:
    """Give a webhook another secret, and print it; the exit code."""
    async with existing_service(settings) as service:
        webhook = await service.webhooks.rotate(
            webhook_id, tenant_id=service.default_tenant_id, overlap_hours=overlap_hours
        )
        if webhook is None:
            raise _unknown(webhook_id)
        await log_command(service, "rotate_webhook_secret", str(webhook_id))
    _print_secret(webhook)
    return 0


async def try_webhook(settings: Settings, webhook_id: UUID) -> int:
    """Send a test, and print what became of it; the exit code."""
    async with existing_service(settings) as service:
        attempt = await service.webhooks.test(webhook_id, tenant_id=service.default_tenant_id)
    if attempt is None:
        raise _unknown(webhook_id)
    if attempt.error is not None:
        stderr.print(f"docmill: {attempt.error}", markup=False)
        return FAILED
    stdout.print(f"the receiver answered with HTTP {attempt.status} after {attempt.duration_ms} ms")
    return 0


async def pause_webhook(settings: Settings, webhook_id: UUID) -> int:
    """Send nothing more; the exit code."""
    await _change(settings, webhook_id, "pause_webhook", lambda service: service.webhooks.pause)
    stdout.print("paused; what happens now waits until `docmill webhooks resume`")
    return 0


async def resume_webhook(settings: Settings, webhook_id: UUID) -> int:
    """Send again; the exit code."""
    await _change(settings, webhook_id, "resume_webhook", lambda service: service.webhooks.resume)
    stdout.print("resumed; what has waited is sent by the worker")
    return 0


async def remove_webhook(settings: Settings, webhook_id: UUID, *, yes: bool) -> int:
    """Remove a webhook, after asking; the exit code."""
    if not yes:
        if not sys.stdin.isatty():
            raise ValidationError("cannot ask for confirmation here: give --yes to remove the webhook")
        if not typer.confirm(f"remove the webhook {webhook_id}, and the log of its deliveries?", err=True):
            stderr.print("nothing was removed")
            return FAILED
    await _change(settings, webhook_id, "remove_webhook", lambda service: service.webhooks.remove)
    stdout.print("removed")
    return 0


async def list_deliveries(
    settings: Settings, webhook_id: UUID, *, state: DeliveryState | None, limit: int, as_json: bool
) -> int:
    """Print deliveries with their newest attempts; the exit code."""
    async with existing_service(settings) as service:
        if await service.webhooks.get(webhook_id, tenant_id=service.default_tenant_id) is None:
            raise _unknown(webhook_id)
        async with service.database.tenant(service.default_tenant_id) as conn:
            rows = await webhook_deliveries.page(conn, webhook_id, state=state, limit=limit)
    if as_json:
        _print_json([asdict(row) for row in rows])
        return 0
    for row in rows:
        stdout.print(f"{row.id}  {local_time(row.created_at)}  {row.type}  {row.state}", markup=False)
        if newest := _newest_attempt(row):
            stdout.print(f"    {newest}", markup=False)
    return 0


async def redeliver(
    settings: Settings,
    webhook_id: UUID,
    delivery_ids: Sequence[UUID],
    *,
    all_failed: bool,
    since: datetime | None,
) -> int:
    """Send deliveries again; the exit code."""
    if bool(delivery_ids) == all_failed:
        raise ValidationError("give the ids of deliveries, or --failed for all that have failed for good")
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        missing: list[UUID] = []
        count = 0
        if all_failed:
            since = since.astimezone() if since else None
            found = await service.webhooks.send_failed_again(webhook_id, tenant_id=tenant_id, since=since)
            if found is None:
                raise _unknown(webhook_id)
            count = found
        for delivery_id in delivery_ids:
            if await service.webhooks.send_again(webhook_id, delivery_id, tenant_id=tenant_id):
                count += 1
            else:
                missing.append(delivery_id)
        await log_command(service, "redeliver_webhook_events", str(webhook_id), {"count": count})
    for delivery_id in missing:
        stderr.print(f"docmill: there is no delivery {delivery_id} of this webhook", markup=False)
    stdout.print(f"{counted(count, 'delivery', 'deliveries')} will be sent again by the worker")
    return FAILED if missing else 0


def _newest_attempt(row: DeliveryRow) -> str:
    if not row.tries:
        return ""
    newest = row.tries[-1]
    outcome = newest.error or f"HTTP {newest.status}"
    return shown(f"attempt {len(row.tries)} at {local_time(newest.at)}: {outcome}, {newest.duration_ms} ms")


async def _change(
    settings: Settings,
    webhook_id: UUID,
    action: str,
    method: Callable[[Service], Callable[..., Awaitable[bool]]],
) -> None:
    async with existing_service(settings) as service:
        if not await method(service)(webhook_id, tenant_id=service.default_tenant_id):
            raise _unknown(webhook_id)
        await log_command(service, action, str(webhook_id))


def _unknown(webhook_id: UUID) -> ValidationError:
    return ValidationError(f"there is no webhook {webhook_id}; `docmill webhooks list` shows them")


def _print_secret(webhook: NewWebhook) -> None:
    stdout.print(f"webhook {webhook.id}", markup=False)
    stdout.print("This secret is shown once. The receiver checks signatures with it:")
    stdout.print(webhook.secret, markup=False, soft_wrap=True)


def _print_json(rows: list[dict[str, Any]]) -> None:
    stdout.print_json(json.dumps(to_jsonable_python(rows), ensure_ascii=False))
