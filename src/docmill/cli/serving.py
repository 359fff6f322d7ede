"""A vault running in this process: pages, API and worker in one event loop, reading in a pool beside it."""

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.request import urlopen

from docmill.errors import DocmillError, MisconfiguredError, first_of
from docmill.pooled import PooledClassifier, PooledExtractor
from docmill.reading.converter import LocalConverter
from docmill.reading.options import ReadingOptions
from docmill.reading.pool import Pool
from docmill.reading.render import LocalRenderer
from docmill.service.ingest import Stages
from docmill.service.settings import Settings
from docmill.service.signals import stop_signals
from docmill.service.stack import Service, open_service
from docmill.service.worker import run_worker
from docmill.understanding.gate import RuleGate
from docmill.web.app import create_app
from docmill.web.security import check_host
from docmill.web.serve import serve

T = TypeVar("T")

_ADDRESS_FILE = "address"
_ANSWER_S = 2


@dataclass(frozen=True, slots=True)
class RunningVault:
    """Where the vault listens, and what it is made of."""

    address: str
    service: Service
    stop: asyncio.Event

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns. Raises KeyboardInterrupt if the vault is stopped before."""
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


@asynccontextmanager
async def running_vault(settings: Settings) -> AsyncGenerator[RunningVault]:
    """A vault that ends with the block; SIGTERM and SIGINT set `stop`, a second one drops running work.

    Raises SetupError if it cannot start, or if one runs on this data folder already.
    """
    check_host(settings.web.host)
    if running := await asyncio.to_thread(address_of, settings):
        raise MisconfiguredError(
            f"a vault on {str(settings.folder)!r} runs already, at {running}; give another --data-dir"
        )
    with stop_signals() as (stop, abort):
        # Pages are drawn in a process of their own: a person who looks must not wait behind recognition.
        async with (
            open_service(settings) as service,
            Pool(pool_workers(settings)) as pool,
            Pool(1) as drawing,
        ):
            app = create_app(service, LocalRenderer(drawing), settings)
            ready = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(serve(app, settings, stop, ready.set_result))
                    address = await ready
                    tasks.create_task(run_worker(service, stages(settings, pool), stop, abort))
                    with _announced(settings, address):
                        yield RunningVault(address, service, stop)
                    stop.set()
            except* DocmillError as errors:
                raise first_of(errors) from errors


def address_of(settings: Settings) -> str | None:
    """Where a vault on the same data folder listens now, or None."""
    try:
        address = (settings.folder / _ADDRESS_FILE).read_text()
        with urlopen(f"{address}healthz", timeout=_ANSWER_S) as answer:  # noqa: S310  written by ourselves
            return address if answer.status == HTTPStatus.OK else None
    except (FileNotFoundError, URLError, OSError):
        return None


@contextmanager
def _announced(settings: Settings, address: str) -> Generator[None]:
    """Other commands find the vault by this file; one that outlives its vault does no harm."""
    file = settings.folder / _ADDRESS_FILE
    file.write_text(address)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def stages(settings: Settings, pool: Pool) -> Stages:
    """How documents are read and understood: in `pool` and by rule, with nothing but this machine."""
    options = ReadingOptions(
        max_pages=settings.limits.pages, max_dimension_px=settings.image.max_dimension_px
    )
    return Stages(LocalConverter(pool, options), PooledClassifier(pool), PooledExtractor(pool), RuleGate())


def pool_workers(settings: Settings) -> int:
    """All cores but the reserved ones; at least half of them, and one."""
    cores = os.cpu_count() or 1
    return max(1, cores // 2, cores - settings.worker.reserved_cores)
