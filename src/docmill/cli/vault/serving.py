"""Processes that serve: web server, worker, or both in one event loop, reading in a pool beside it."""

import asyncio
import webbrowser
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from docmill.cli.console import stderr, stdout
from docmill.cli.vault.addresses import Announcement, announced
from docmill.errors import DocmillError, MisconfiguredError, ungrouped
from docmill.reading.child.render import LocalRenderer
from docmill.reading.child.tasks import load_readers
from docmill.reading.convert import PooledUnlocker
from docmill.resilience.concurrency import stop_signals
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.observe.logs import configure_logs
from docmill.service.probes import Probes
from docmill.service.worker import ready_worker
from docmill.web.app import create_app, create_probe_app
from docmill.web.security import check_host, is_this_machine
from docmill.web.server import answer, listen, serve
from docmill.workers.pool import Pool

T = TypeVar("T")

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class RunningVault:
    """A running vault. address: of its pages, or of its probes; empty for a worker without `worker.port`."""

    address: str
    service: Service
    stop: asyncio.Event

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`. Raises KeyboardInterrupt if the vault is stopped before."""
        working = asyncio.ensure_future(work)
        stopping = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise KeyboardInterrupt
            return working.result()
        finally:
            working.cancel()
            stopping.cancel()


@dataclass(frozen=True, slots=True)
class _Process:
    """Resources that the parts of this process share. stop, abort: see `stop_signals`."""

    settings: Settings
    service: Service
    probes: Probes
    stop: asyncio.Event
    abort: asyncio.Event


@asynccontextmanager
async def running_vault(
    settings: Settings, *, web: bool = True, worker: bool = True
) -> AsyncGenerator[RunningVault]:
    """Web server and worker, or one of them, which end with the block.

    SIGTERM and SIGINT set `stop`; a second signal gives up the documents in work. Any number of web servers
    or of workers may run on one database, each in a process of its own. Raises SetupError if it cannot start,
    or if a web server and a worker are to start on a data folder that has a web server already.
    """
    if web:
        check_host(settings.web)
    async with AsyncExitStack() as stack:
        announcement = stack.enter_context(announced(settings.folder, alone=worker)) if web else None
        stop, abort = stack.enter_context(stop_signals())
        service = await stack.enter_async_context(open_service(settings))
        if web and not is_this_machine(settings.web.host) and not await service.accounts.exist():
            raise MisconfiguredError(
                f"web.host is {settings.web.host!r}, but this vault has no account yet. Make the first one "
                "while it listens on this machine only, or by `docmill users add --role owner`"
            )
        probes = Probes.of(service, stop)
        await stack.enter_async_context(probes.metrics.watching_the_loop())
        process = _Process(settings, service, probes, stop, abort)
        serving = _probes(process) if announcement is None else _web(process, announcement)
        address = await stack.enter_async_context(serving)
        if worker:
            work = await stack.enter_async_context(ready_worker(service, probes.metrics))
            await stack.enter_async_context(_alongside(work(stop, abort)))
        yield RunningVault(address, service, stop)
        stop.set()


@asynccontextmanager
async def _web(process: _Process, announcement: Announcement) -> AsyncGenerator[str]:
    """The web server during the block, which must not end before `stop`; its address."""
    # Pages are drawn in a process of their own: a person who looks must not wait behind recognition. The web
    # server comes before it: a page is there sooner than its pictures.
    async with Pool(1, niceness=5, many_tenants=True, preload=[load_readers]) as drawing:
        process.probes.metrics.watch_pool("drawing", drawing)
        app = create_app(
            process.service,
            LocalRenderer(drawing),
            process.settings,
            process.probes,
            unlocker=PooledUnlocker(drawing),
        )
        ready = asyncio.get_running_loop().create_future()
        async with _alongside(serve(app, process.settings, process.stop, ready.set_result, process.abort)):
            address = await ready
            announcement.publish(address, str(process.service.vault_id))
            yield address


@asynccontextmanager
async def _probes(process: _Process) -> AsyncGenerator[str]:
    """The health and metrics routes of a worker during the block; their address, empty without a port."""
    port = process.settings.worker.port
    if port is None:
        yield ""
        return
    listener = listen(_LOOPBACK, port, setting="worker.port")
    over, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with _alongside(answer(create_probe_app(process.probes), listener, over, ready.set_result)):
        yield await ready
        over.set()


@asynccontextmanager
async def _alongside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run `work` during the block, whose end waits for it; an error of either ends both."""
    with ungrouped(DocmillError):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work)
            yield


async def up(settings: Settings, *, open_browser: bool = False) -> int:
    """Run web server and worker until told to stop; the exit code. open_browser: on the pages, once."""
    configure_logs(level=settings.logs.level, form=settings.logs.format)
    if stderr.is_terminal:  # making the database takes a while, and silence looks like a failure
        stderr.print("starting; the first start creates the database, which can take half a minute")
    async with running_vault(settings) as vault:
        token = await vault.service.accounts.first_link()
        stdout.print(f"docmill is at {vault.address}", markup=False)
        stdout.print("Ctrl-C stops it.")
        _print_first_link(settings.web.public_url or vault.address, token)
        if open_browser and not await asyncio.to_thread(webbrowser.open, vault.address):
            stderr.print("no browser could be opened; open the address above yourself", style="yellow")
        await vault.stop.wait()
        stdout.print(
            "stopping when the documents in work are done (press Ctrl-C again to leave them for later)"
        )
    return 0


def _print_first_link(address: str, token: str | None) -> None:
    """Print the link for the first account, if there is none."""
    if token is not None:
        stdout.print(
            "It has no account, so it is open to everybody on this machine, and to this machine only."
        )
        stdout.print("The first account closes it. This link makes it, also from elsewhere:")
        stdout.print(f"{address.rstrip('/')}/welcome?token={token}", markup=False, soft_wrap=True)


async def web(settings: Settings) -> int:
    """Run pages and API until told to stop; the exit code."""
    configure_logs(level=settings.logs.level, form=settings.logs.format)
    async with running_vault(settings, worker=False) as vault:
        token = await vault.service.accounts.first_link()
        stdout.print(f"docmill is at {vault.address}", markup=False)
        _print_first_link(settings.web.public_url or vault.address, token)
        await vault.stop.wait()
    return 0


async def worker(settings: Settings) -> int:
    """Run a worker until told to stop; the exit code."""
    configure_logs(level=settings.logs.level, form=settings.logs.format)
    async with running_vault(settings, web=False) as vault:
        probes = f"; health and metrics are at {vault.address}" if vault.address else ""
        stdout.print(f"the worker takes documents{probes}", markup=False)
        await vault.stop.wait()
    return 0
