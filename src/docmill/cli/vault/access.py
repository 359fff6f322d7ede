"""Access of the commands to a vault: its settings and its service."""

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from getpass import getuser
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import JsonValue

from docmill.errors import MisconfiguredError
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.store import audit_log, tenants
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.tenants import TenantRow


def load_settings(
    config: Path | None,
    data_dir: Path | None = None,
    port: int | None = None,
    *,
    worker_port: int | None = None,
    tenant: str | None = None,
    aws: bool = False,
) -> Settings:
    """Load the settings of file and environment; the given arguments replace theirs."""
    settings = Settings.load(config)
    changes: dict[str, Any] = {}
    if data_dir is not None:
        changes["data_dir"] = data_dir
    if port is not None:
        changes["web"] = settings.web.model_copy(update={"port": port})
    if worker_port is not None:
        changes["worker"] = settings.worker.model_copy(update={"port": worker_port})
    if tenant is not None:
        changes["tenant"] = tenant
    if aws:
        changes["aws"] = settings.aws.model_copy(update={"enabled": True})
    return settings.model_copy(update=changes)


@asynccontextmanager
async def existing_service(settings: Settings) -> AsyncGenerator[Service]:
    """Open the service of a vault that exists. Raises MisconfiguredError instead of creating a vault."""
    if settings.database_url is None and not (settings.folder / "postgres").is_dir():
        raise MisconfiguredError(
            f"there is no vault in {str(settings.folder)!r}: `docmill up` makes one, --data-dir names another"
        )
    async with commanded_service(settings) as service:
        yield service


@asynccontextmanager
async def commanded_service(settings: Settings) -> AsyncGenerator[Service]:
    """Open the service for a command, which acts for the tenant of the settings.

    Raises MisconfiguredError if there is no such tenant.
    """
    async with open_service(settings) as service:
        if settings.tenant is None:
            yield service
        else:
            tenant = await find_tenant(service, settings.tenant)
            yield replace(service, default_tenant_id=tenant.id)


async def find_tenant(service: Service, name: str) -> TenantRow:
    """Return the tenant that a person names. Raises MisconfiguredError if there is none, or more than one."""
    async with service.database.accounts() as conn:
        rows = await tenants.all_tenants(conn)
    fitting = [row for row in rows if str(row.id) == name.lower()]
    fitting = fitting or [row for row in rows if row.name.lower() == name.lower()]
    if len(fitting) > 1:
        ids = ", ".join(str(row.id) for row in fitting)
        raise MisconfiguredError(f"more than one organisation is called {name!r}; give the id: {ids}")
    if not fitting:
        raise MisconfiguredError(f"there is no organisation {name!r}; `docmill tenants list` shows them")
    return fitting[0]


async def log_command(
    service: Service,
    action: str,
    target: str | None = None,
    details: Mapping[str, JsonValue] | None = None,
    *,
    tenant_id: UUID | None = None,
) -> None:
    """Write to the audit log what a command has changed, and which user of the machine called it."""
    tenant_id = tenant_id or service.default_tenant_id
    by = {"command": True, "system_user": system_user()}
    async with service.database.tenant(tenant_id) as conn:
        await audit_log.add(
            conn,
            tenant_id=tenant_id,
            user_id=DEFAULT_USER_ID,
            action=action,
            target=target,
            details={**by, **(details or {})},
        )


def system_user() -> str:
    """Return who calls a command: a user of this machine."""
    try:
        return getuser()
    except (KeyError, OSError):  # a container may run as a number that has no name
        return str(os.getuid())
