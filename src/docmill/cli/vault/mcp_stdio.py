"""The command `mcp`: the MCP server on standard input and output, for an assistant on this machine."""

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path
from threading import Thread

import anyio
from mcp.server.stdio import stdio_server

from docmill.cli.vault.access import existing_service, system_user
from docmill.errors import MisconfiguredError
from docmill.reading.child.render import LocalRenderer
from docmill.reading.convert import PooledUnlocker
from docmill.resilience.concurrency import stop_signals
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.observe.logs import configure_logs
from docmill.service.people.access import Scope, machine_access
from docmill.service.probes import Probes
from docmill.web.context import Vault
from docmill.web.mcp.protocol_server import build_server
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.page_images import PageImages
from docmill.web.templating import Templates
from docmill.workers.pool import Pool

_CHUNK_BYTES = 1 << 16


async def serve_stdio(settings: Settings, *, may_write: bool, folders: Sequence[Path]) -> int:
    """Answer one client until it closes its end, or until told to stop; the exit code.

    Standard output belongs to the protocol: logs go to standard error. folders: from which files may be filed
    by their path. Raises MisconfiguredError for one that is no folder.
    """
    configure_logs(level=settings.logs.level, form=settings.logs.format)
    for folder in folders:
        if not folder.is_dir():
            raise MisconfiguredError(f"{str(folder)!r} is no folder; --files-from takes one that exists")
    async with existing_service(settings) as service, _vault(service, settings) as vault:
        scopes: set[Scope] = {"read", "write"} if may_write else {"read"}
        access = replace(machine_access(service.default_tenant_id), allows=frozenset(scopes))
        caller = replace(
            vault, bound_to=access, audit_details={"command": True, "system_user": system_user()}
        )
        server = build_server(ToolContext(caller, folders=tuple(folders)))
        with stop_signals() as (stop, _), _interruptible_input(stop) as lines:
            async with stdio_server(lines) as (received, sent):
                await server.run(received, sent, server.create_initialization_options())
    return 0


@asynccontextmanager
async def _vault(service: Service, settings: Settings) -> AsyncGenerator[Vault]:
    """The vault as the routes of the web server have it."""
    closing = asyncio.Event()
    async with Pool(1, niceness=5) as drawing:  # a pool without tasks costs nothing
        yield Vault(
            service,
            settings,
            PageImages(service.blobs, LocalRenderer(drawing)),
            Templates(),
            Probes.of(service, closing).metrics,
            closing,
            PooledUnlocker(drawing),
        )


@contextmanager
def _interruptible_input(stop: asyncio.Event) -> Generator[anyio.AsyncFile[str]]:
    """Standard input, which ends when `stop` is set, too.

    A thread that waits for input cannot be cancelled, and the SDK waits for its own thread to end: that one
    reads from a pipe here, which is closed.
    """
    given = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # child processes must not read what is for us
    os.close(nothing)
    inner, outer = os.pipe()
    target = FileIO(outer, "wb")
    Thread(target=_copy, args=(given, target), daemon=True).start()
    closing = asyncio.create_task(_close_when(stop, target))
    with os.fdopen(inner, encoding="utf-8", errors="replace") as lines:
        try:
            yield anyio.wrap_file(lines)
        finally:
            closing.cancel()


def _copy(source: int, target: FileIO) -> None:
    """Copy until the source ends, or the target was closed."""
    with target, suppress(OSError, ValueError):  # nobody reads any more; closed
        while chunk := os.read(source, _CHUNK_BYTES):
            rest = memoryview(chunk)
            while rest:
                rest = rest[target.write(rest) :]


async def _close_when(stop: asyncio.Event, target: FileIO) -> None:
    await stop.wait()
    target.close()
