"""A worker with all that it needs in one process: a pool that reads, and the steps of the settings."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Protocol

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.engines import reading_options
from docmill.service.learned import LearnedModels
from docmill.service.observe.metrics import Metrics
from docmill.service.steps import open_steps
from docmill.service.worker import run_worker
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.workers.pool import Pool


class Work(Protocol):
    """See `run_worker`."""

    async def __call__(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None: ...  # noqa: D102


@asynccontextmanager
async def ready_worker(service: Service, metrics: Metrics | None = None) -> AsyncGenerator[Work]:
    """A worker to be run until `stop` is set, with a pool and connections that end with the block.

    Raises MisconfiguredError if the settings name what is not installed.
    """
    settings = service.settings
    async with Pool(pool_workers(settings)) as pool:
        if metrics is not None:
            metrics.watch_pool("reading", pool)
        learned = LearnedModels(settings.own.models())
        reading = replace(reading_options(settings), keep_preprocessed=True)
        async with open_steps(
            settings, pool, reading=reading, learned=learned, tracer=service.tracer
        ) as steps:
            corrections = PooledCorrectionMaker(pool, learned)

            async def work(stop: asyncio.Event, abort: asyncio.Event | None = None) -> None:
                await run_worker(service, steps, stop, abort, metrics, corrections=corrections)

            yield work


def pool_workers(settings: Settings) -> int:
    """All cores but the reserved ones; at least half of them, and one."""
    cores = os.cpu_count() or 1
    return max(1, cores // 2, cores - settings.worker.reserved_cores)
