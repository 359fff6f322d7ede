"""Processes that serve: web server, worker, or both in one event loop, reading in a pool beside it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from docmill.cli.console import stderr, stdout
from docmill.cli.vault.addresses import address_of, announced
from docmill.errors import DocmillError, MisconfiguredError, first_of
from docmill.reading.child.render import LocalRenderer
from docmill.reading.unpack import PooledUnlocker
from docmill.resilience.concurrency import stop_signals
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.observe.logs import configure_logs
from docmill.service.probes import Probes
from docmill.service.worker import ready_worker
from docmill.web.app import create_app
from docmill.web.probes import create_probe_app
from docmill.web.security import check_host
from docmill.web.server import answer, listen, serve
from docmill.workers.pool import Pool

T = TypeVar("T")

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class RunningVault:
    """A running vault with its address."""

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
async def running_vault(settings: Settings) -> AsyncGenerator[RunningVault]:
    """Web server and worker, ending with the block; SIGTERM and SIGINT set `stop`, a second one drops work.

    Raises SetupError if it cannot start, or if a web server runs on this data folder already.
    """
    check_host(settings.web.host)
    if running := await asyncio.to_thread(address_of, settings.folder):
        raise MisconfiguredError(
            f"a vault on {str(settings.folder)!r} runs already, at {running}; give another --data-dir"
        )
    async with _process(settings) as process, _web(process) as address, _worker(process):
        yield RunningVault(address, process.service, process.stop)
        process.stop.set()


async def run_web_alone(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """A web server until a signal; any number may run on one database.

    on_ready: called with the address. Raises SetupError if it cannot start.
    """
    check_host(settings.web.host)
    async with _process(settings) as process, _web(process) as address:
        on_ready(address)
        await process.stop.wait()


async def run_worker_alone(settings: Settings, on_ready: Callable[[str | None], None]) -> None:
    """A worker until a signal; any number may run on one database.

    on_ready: called with the address of its probes, which answer until the last document is done; None
    without `worker.port`. Raises SetupError if it cannot start.
    """
    async with _process(settings) as process, _probes(process) as address, _worker(process):
        on_ready(address)
        await process.stop.wait()


@asynccontextmanager
async def _process(settings: Settings) -> AsyncGenerator[_Process]:
    with stop_signals() as (stop, abort):
        async with open_service(settings) as service:
            probes = Probes.of(service, stop)
            async with probes.metrics.watching_the_loop():
                yield _Process(settings, service, probes, stop, abort)


@asynccontextmanager
async def _web(process: _Process) -> AsyncGenerator[str]:
    """The web server during the block, which must not end before `stop`; its address."""
    # Pages are drawn in a process of their own: a person who looks must not wait behind recognition.
    async with Pool(1) as drawing:
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
            with announced(process.settings.folder, address, str(process.service.vault_id)):
                yield address


@asynccontextmanager
async def _worker(process: _Process) -> AsyncGenerator[None]:
    """A worker during the block, which must not end before `stop`."""
    async with (
        ready_worker(process.service, process.probes.metrics) as work,
        _alongside(work(process.stop, process.abort)),
    ):
        yield


@asynccontextmanager
async def _probes(process: _Process) -> AsyncGenerator[str | None]:
    """The routes that a worker is watched by, during the block; their address."""
    port = process.settings.worker.port
    if port is None:
        yield None
        return
    listener = listen(_LOOPBACK, port, setting="worker.port")
    over, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with _alongside(answer(create_probe_app(process.probes), listener, over, ready.set_result)):
        yield await ready
        over.set()


@asynccontextmanager
async def _alongside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """`work` during the block, whose end waits for it; an error of either ends both."""
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(work)
            yield
    except* DocmillError as errors:
        raise first_of(errors) from errors


def up(settings: Settings) -> int:
    """Run the vault until it is told to stop; the exit code."""
    _configure_logs(settings)
    asyncio.run(_up(settings))
    return 0


def web(settings: Settings) -> int:
    """Run pages and API until told to stop; the exit code."""
    _configure_logs(settings)

    def on_ready(address: str) -> None:
        stdout.print(f"docmill is at {address}", markup=False)

    asyncio.run(run_web_alone(settings, on_ready))
    return 0


def worker(settings: Settings) -> int:
    """Run a worker until told to stop; the exit code."""
    _configure_logs(settings)

    def on_ready(address: str | None) -> None:
        stdout.print(f"the worker takes documents{f', and is watched at {address}' if address else ''}")

    asyncio.run(run_worker_alone(settings, on_ready))
    return 0


def _configure_logs(settings: Settings) -> None:
    usual = "WARNING" if stderr.is_terminal else "INFO"
    configure_logs(level=settings.logs.level.upper() if settings.logs.level else usual)


async def _up(settings: Settings) -> None:
    if stderr.is_terminal:  # making the database takes a while, and silence looks like a failure
        stderr.print("starting; the first time makes the database, which can take half a minute")
    async with running_vault(settings) as vault:
        stdout.print(f"docmill is at {vault.address}", markup=False)
        stdout.print(
            "It listens on this machine only, because signing in does not exist yet. Ctrl-C stops it."
        )
        await vault.stop.wait()
        stdout.print("stopping: finishing the documents in work (Ctrl-C again to leave them for later)")
