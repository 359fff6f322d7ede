"""The commands on sources."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any
from uuid import UUID

import typer
from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo
from rich.table import Table

from docmill.cli.console import FAILED, counted, local_time, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.errors import SetupError, TransientError, ValidationError
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.sources import SOURCE_SECRET
from docmill.service.sources.registry import KINDS, kind_of
from docmill.service.store import doc_sources
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow, State


def list_kinds(*, as_json: bool) -> int:
    """Print the kinds of sources with what they need; the exit code."""
    schemas = {
        name: {"settings": kind.settings.model_json_schema(), "secrets": kind.secrets.model_json_schema()}
        for name, kind in sorted(KINDS.items())
    }
    if as_json:
        stdout.print_json(json.dumps(schemas, ensure_ascii=False))
        return 0
    for name, kind in sorted(KINDS.items()):
        stdout.print(name, style="bold")
        for option, model in (("--set", kind.settings), ("--secret", kind.secrets)):
            for field_name, info in _named_fields(model):
                if field_name in kind.generated:
                    continue
                needed = " (needed)" if info.is_required() else ""
                stdout.print(
                    f"  {option} {field_name}{needed}  {info.description or ''}".rstrip(), markup=False
                )
    return 0


def _named_fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """The fields as --set names them: those of a section have a dot."""
    for name, info in model.model_fields.items():
        section = info.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from ((f"{name}.{inner}", each) for inner, each in _named_fields(section))
        else:
            yield name, info


async def list_sources(settings: Settings, *, as_json: bool) -> int:
    """Print the sources of the tenant; the exit code."""
    async with existing_service(settings) as service:
        rows = await service.sources.every(tenant_id=service.default_tenant_id)
        content = [_as_json(row, service) for row in rows]
    if as_json:
        stdout.print_json(json.dumps(content, ensure_ascii=False))
        return 0
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "kind", "state", "documents", "refused", "last success"):
        table.add_column(column)
    for row in rows:
        last = local_time(row.last_success_at) if row.last_success_at else "never"
        counts = (str(row.arrivals), str(row.refusals))
        table.add_row(shown(row.name), row.kind, _state_of(row), *counts, last)
    stdout.print(table)
    for row in rows:
        if row.failures and row.last_error_message:
            stdout.print(f"{shown(row.name)}: {row.last_error_message}", markup=False)
    return 0


def _state_of(row: SourceRow) -> str:
    return "failing" if row.state == "active" and row.failures else row.state


def _as_json(row: SourceRow, service: Service) -> dict[str, Any]:
    hidden = {"secrets", "position", "tenant_id", "removed_at", "created_by"}
    values = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in hidden}
    plain: dict[str, Any] = json.loads(json.dumps(values, default=str))
    sources = service.sources
    return {**plain, "address": sources.address(row), "secrets_set": sources.secret_names(row)}


async def show_source(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print a source without its secrets; the exit code."""
    async with existing_service(settings) as service:
        content = _as_json(await source_called(service, name), service)
    if as_json:
        stdout.print_json(json.dumps(content, ensure_ascii=False))
        return 0
    for key, value in content.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        stdout.print(f"{key}: {shown(text)}", markup=False)
    return 0


async def add_source(
    settings: Settings,
    kind: str,
    name: str,
    assignments: Sequence[str],
    secret_names: Sequence[str],
    *,
    has_test: bool,
    as_json: bool,
) -> int:
    """Make a source, after a test; the exit code."""
    kind_of(kind)
    values, secrets = _assigned({}, assignments), _asked(secret_names)
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        if has_test:
            message = await service.sources.test_settings(kind, values, secrets, tenant_id=tenant_id)
            stderr.print(message, markup=False)
        row = await service.sources.add(
            kind, name, values, secrets, tenant_id=tenant_id, created_by=DEFAULT_USER_ID
        )
        await log_command(service, "create_source", str(row.id), {"kind": kind, "name": row.name})
        content = _as_json(row, service)
    if as_json:
        stdout.print_json(json.dumps(content, ensure_ascii=False))
    else:
        stdout.print(f"{row.id}  {row.name}", markup=False)
        if content["address"]:
            stdout.print(f"address: {content['address']}", markup=False)
    return 0


async def change_source(
    settings: Settings,
    name: str,
    new_name: str | None,
    assignments: Sequence[str],
    secret_names: Sequence[str],
    *,
    has_test: bool,
) -> int:
    """Change a source, after a test; the exit code."""
    secrets = _asked(secret_names)
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        values = _assigned(row.settings, assignments)
        if has_test and (assignments or secrets):
            stderr.print(await service.sources.test_change(row, values, secrets), markup=False)
        row = await service.sources.change(row, name=new_name, settings=values, secrets=secrets)
        await log_command(service, "change_source", str(row.id), {"name": row.name})
    stdout.print(f"{row.name} was changed", markup=False)
    return 0


async def try_source(settings: Settings, name: str) -> int:
    """Try a source, and print what was found; the exit code."""
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        try:
            stdout.print(await service.sources.test(row), markup=False)
        except (SetupError, TransientError) as error:
            stderr.print(error.message, style="red", markup=False)
            return FAILED
    return 0


async def make_secret(settings: Settings, name: str) -> int:
    """Make the secrets that docmill makes for a source, and print them; the exit code."""
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        made = await service.sources.make_secrets(row)
        await log_command(service, "make_source_secrets", str(row.id), {"name": row.name})
    for secret in made.values():
        stdout.print(secret, markup=False)
    return 0


async def set_state(settings: Settings, name: str, state: State) -> int:
    """Pause or resume a source; the exit code."""
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        await service.sources.set_state(row.id, state, tenant_id=row.tenant_id)
        action = "pause_source" if state == "paused" else "resume_source"
        await log_command(service, action, str(row.id), {"name": row.name})
    stdout.print(f"{row.name} is {state} now", markup=False)
    return 0


async def remove_source(settings: Settings, name: str, *, yes: bool) -> int:
    """Remove a source, after asking; the exit code."""
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        if not yes:
            if not sys.stdin.isatty():
                raise ValidationError("cannot ask for confirmation here: give --yes to remove the source")
            if not typer.confirm(f"remove {row.name}, and its secrets?", err=True):
                stderr.print("nothing was removed")
                return FAILED
        await service.sources.remove(row.id, tenant_id=row.tenant_id)
        await log_command(service, "remove_source", str(row.id), {"name": row.name})
    stdout.print(f"{row.name} was removed; its documents stay", markup=False)
    return 0


async def list_items(
    settings: Settings, name: str, *, limit: int, refused: bool, retry: bool, as_json: bool
) -> int:
    """Print what arrived from a source, and have what was refused tried again; the exit code."""
    async with existing_service(settings) as service:
        row = await source_called(service, name)
        tenant_id = row.tenant_id
        items = await service.sources.items(row.id, tenant_id=tenant_id, refused_only=refused, limit=limit)
        if retry:
            for item in items:
                await service.sources.forget_refusal(row.id, item.id, tenant_id=tenant_id)
            await log_command(service, "retry_source_item", str(row.id), {"items": len(items)})
    if as_json:
        content = [{field.name: getattr(item, field.name) for field in fields(item)} for item in items]
        stdout.print_json(json.dumps(content, default=str, ensure_ascii=False))
        return 0
    for item in items:
        outcome = str(item.document_id or "gone") if item.error_code is None else item.error_message or ""
        told = ", ".join(f"{key}: {value}" for key, value in item.metadata.items())
        stdout.print(f"{local_time(item.arrived_at)}  {outcome}  {shown(told)}", markup=False)
    if retry:
        stderr.print(f"{counted(len(items), 'item')} will be tried again", markup=False)
    return 0


async def source_called(service: Service, name: str) -> SourceRow:
    """The source of a name or id. Raises ValidationError if there is none."""
    tenant_id = service.default_tenant_id
    async with service.database.tenant(tenant_id) as conn:
        row = await doc_sources.by_name(conn, name)
    if row is None:
        try:
            row = await service.sources.get(UUID(name), tenant_id=tenant_id)
        except ValueError:
            row = None
    if row is None:
        raise ValidationError(f"there is no source {name!r}; `docmill sources list` shows them")
    return row


def _assigned(before: dict[str, Any], assignments: Sequence[str]) -> dict[str, JsonValue]:
    """The settings with the given ones; a name may have dots. A value is JSON, or else a text."""
    values: dict[str, Any] = json.loads(json.dumps(before))
    for assignment in assignments:
        name, mark, text = assignment.partition("=")
        if not (name and mark):
            raise ValidationError(f"{assignment!r} is no setting: write NAME=VALUE")
        *outer, last = name.split(".")
        inner = values
        for part in outer:
            inner = inner.setdefault(part, {})
        if text:
            inner[last] = _value_of(text)
        else:
            inner.pop(last, None)
    return values


def _value_of(text: str) -> JsonValue:
    """A list or an object of JSON; whatever else stays a text, which the kind converts."""
    if text[:1] in "[{":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _asked(names: Sequence[str]) -> dict[str, JsonValue]:
    """The secrets of these names, from variables, the terminal or the lines of the standard input."""
    secrets: dict[str, JsonValue] = {}
    for name in names:
        value = os.environ.get(f"{SOURCE_SECRET}{name.upper()}")
        if value is None and sys.stdin.isatty():
            value = str(typer.prompt(name, hide_input=True, err=True))
        elif value is None:
            value = sys.stdin.readline().rstrip("\r\n")
        if not value:
            raise ValidationError(
                f"the secret {name!r} is empty: type it, or set {SOURCE_SECRET}{name.upper()}"
            )
        secrets[name] = value
    return secrets
