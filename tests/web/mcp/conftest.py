"""Assistants: clients of the SDK, by HTTP at a real server, and beside the vault in this process."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.service.people.access import Scope, machine_access
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.store.database import new_id
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.server import serve
from support.people import PASSWORD

if TYPE_CHECKING:
    from mcp import Client

    from docmill.web.context import Vault

if find_spec("mcp") is None:
    collect_ignore_glob = ["test_*.py"]

Context = Callable[..., ToolContext]
MakeKey = Callable[..., Awaitable[str]]
Connect = Callable[..., "AbstractAsyncContextManager[Client]"]


@pytest.fixture
def context(app: FastAPI, service: Service) -> Context:
    """The context of a caller on this machine: with which scopes, folders and tenant."""

    def make(*scopes: Scope, folders: tuple[Path, ...] = (), tenant_id: UUID | None = None) -> ToolContext:
        vault: Vault = app.state.vault
        access = machine_access(tenant_id or service.default_tenant_id)
        access = replace(access, allows=frozenset(scopes))
        return ToolContext(replace(vault, bound_to=access, audit_details={"command": True}), None, folders)

    return make


@pytest.fixture
async def address(app: FastAPI, settings: Settings) -> AsyncIterator[str]:
    """The address of a real web server of the vault, with a slash at its end."""
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    somewhere = settings.model_copy(update={"web": Web(host="127.0.0.1", port=0)})
    serving = asyncio.create_task(serve(app, somewhere, stop, ready.set_result))
    yield await asyncio.wait_for(ready, 10)
    stop.set()
    await asyncio.wait_for(serving, 10)


@pytest.fixture
async def make_key(service: Service) -> MakeKey:
    """Makes an API key with scopes, of the vault's tenant or another one."""
    await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")

    async def make(*scopes: Scope, tenant_id: UUID | None = None) -> str:
        user_id, _ = await service.accounts.add(
            f"{new_id()}@example.org", "Owner", "owner", tenant_id=tenant_id or service.default_tenant_id
        )
        session = await service.sign_in.begin_session(user_id, Visitor())
        access = await service.sign_in.of_session(session.token)
        assert access is not None
        return (await service.api_keys.create(access, "assistant", scopes, None)).secret

    return make


@pytest.fixture
def connect(address: str) -> Connect:
    """Connects an assistant that sends a key, by the newest protocol or by that with a handshake."""
    from httpx2 import AsyncClient  # noqa: PLC0415  this file is loaded without the extra, too
    from mcp import Client  # noqa: PLC0415
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    @asynccontextmanager
    async def connected(key: str, mode: str = "auto") -> AsyncGenerator[Client]:
        headers = {"authorization": f"Bearer {key}"}
        async with AsyncClient(headers=headers, trust_env=False, timeout=20) as http:
            transport = streamable_http_client(f"{address}mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    return connected
