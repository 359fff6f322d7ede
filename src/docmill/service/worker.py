"""The worker: takes ingestions from the queue and sees each through, whatever happens to it or to us."""

import asyncio
import gc
import logging
import os
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol

from structlog.contextvars import bound_contextvars

from docmill.errors import DocmillError
from docmill.pipeline import Steps
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import CorrectionMaker
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.processing.job import LETTING_GO_S, Attempt, Jobs
from docmill.service.processing.pause_records import PauseRecords
from docmill.service.processing.process import DocumentProcessor, TagsInUse
from docmill.service.processing.work_folders import worker_folder
from docmill.service.protocol.pause import Pauses
from docmill.service.review.corrections import CorrectionFinder
from docmill.service.steps import LearnedModels, open_steps, reading_options
from docmill.service.store.database import new_id
from docmill.service.sweeper import WORK_FOLDER, sweep_for_ever
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.workers.pool import Pool

log = logging.getLogger(__name__)

_POLL_RETRY_S = 5.0
_BATCHES_PER_POLL = 5
_MOST_POLLS = 4

_AHEAD = 20
"""How many documents are claimed that have not been begun. Enough for the pool never to wait for one; more
would be kept from other workers, and be lost with this one."""


async def run_worker(
    service: Service,
    steps: Steps,
    stop: asyncio.Event,
    abort: asyncio.Event | None = None,
    metrics: Metrics | None = None,
    *,
    corrections: CorrectionMaker | None = None,
) -> None:
    """Work until `stop` is set and the running documents are done, or given back after the grace time.

    abort: set to give them back at once. metrics: where to count what is done. corrections:
    makes them from reviewed documents; without it, reviews change nothing on other documents.
    """
    # Names this process and no other, on any machine, before or after it.
    worker_id = f"{socket.gethostname()}-{os.getpid()}-{new_id().hex[-6:]}"
    async with worker_folder(service.settings.folder / WORK_FOLDER, worker_id) as place:
        processor = DocumentProcessor(
            steps=replace(steps, limits=service.settings.limits.times),
            blobs=service.blobs,
            database=service.database,
            intake=service.intake,
            reviews=service.reviews,
            place=place,
            fingerprint=service.fingerprint,
            tags=TagsInUse(service.database),
            parts=service.settings.limits.parts_of_upload,
            corrections=CorrectionFinder(service.database, service.blobs, corrections)
            if corrections
            else None,
            tracer=service.tracer,
            max_attempts=service.settings.worker.max_attempts,
        )
        with bound_contextvars(worker_id=worker_id):
            worker = Worker(
                service,
                processor.process,
                worker_id,
                metrics,
                most_ahead=_AHEAD if steps.reads_in_turns else None,
            )
            sweeping = asyncio.create_task(sweep_for_ever(service, metrics))
            embedding = asyncio.create_task(service.meaning.work_for_ever())
            notifying = asyncio.create_task(service.notifier.work_for_ever(metrics))
        try:
            await worker.run(stop, abort or asyncio.Event())
        finally:
            await cancel_and_wait([sweeping, embedding, notifying])


class Worker:
    """One poller and the jobs it started. most_ahead: documents in work that have not been begun."""

    def __init__(
        self,
        service: Service,
        attempt: Attempt,
        worker_id: str,
        metrics: Metrics | None = None,
        *,
        most_ahead: int | None = None,
    ) -> None:
        settings = service.settings.worker
        metrics = metrics or Metrics()
        self._records = PauseRecords(
            service.database,
            worker_id,
            lambda: self.pauses.causes,
            service.feed.announce,
            tenant_id=service.default_tenant_id,
        )
        self.pauses = Pauses(settings.pause_s, on_pause=metrics.paused, on_change=self._records.note_change)
        metrics.watch_pauses(lambda: [(cause.code, cause.part) for cause in self.pauses.causes])
        self._settings = settings
        self._queue = service.queue
        self._most_ahead = settings.concurrency if most_ahead is None else most_ahead
        self._worker_id = worker_id
        self._claim_writer = ClaimWriter(
            service.database,
            worker_id,
            lease_s=settings.lease_s,
            max_attempts=settings.max_attempts,
            matching=service.matching_requests,
        )
        self._jobs = Jobs(
            service.queue,
            self._claim_writer,
            attempt,
            settings,
            metrics,
            announce=service.feed.announce,
            pauses=self.pauses,
            tracer=service.tracer,
        )
        self._isolation = self._jobs.isolation
        self._asked_for = 0
        self._room = asyncio.Event()
        self._jobs.on_begun = self._room.set
        self._isolation.on_open = self._room.set

    async def run(self, stop: asyncio.Event, abort: asyncio.Event) -> None:
        """See `run_worker`."""
        with bound_contextvars(worker_id=self._worker_id):
            log.info("worker started")
            gc.freeze()  # what was loaded so far stays: to look through it again took a tenth of the time
            try:
                async with self._records.keep_up_to_date(), self._claim_writer, asyncio.TaskGroup() as group:
                    polling = asyncio.create_task(self._poll_all(group))
                    try:
                        await _wait_for_first(polling, stop)
                        log.info("worker stopping", extra={"running": len(self._isolation.jobs)})
                        await _wait_for_first(asyncio.create_task(cancel_and_wait([polling])), abort)
                        await self._drain(abort)
                    except asyncio.CancelledError:  # a job of ours has broken the worker, or it is cancelled
                        await cancel_and_wait([polling])
                        raise
                if polling.done() and not polling.cancelled():
                    polling.result()  # a fault of ours ended it
            except BaseExceptionGroup:
                log.critical("the worker ends: a fault in docmill, see the log before this")
                raise
            finally:
                # Messages of jobs that were stopped before they could give them back.
                with suppress(DocmillError, TimeoutError):
                    async with asyncio.timeout(LETTING_GO_S):
                        await self._queue.release_received(self._worker_id)
            log.info("worker stopped")

    async def _poll_all(self, group: asyncio.TaskGroup) -> None:
        """Several polls at a time where one, with its ten messages, could not keep the jobs supplied."""
        polls = max(
            1, min(_MOST_POLLS, self._settings.concurrency // (_BATCHES_PER_POLL * self._settings.batch))
        )
        async with asyncio.TaskGroup() as polling:  # ends with the last of them, which may give messages back
            for _ in range(polls):
                polling.create_task(self._poll(group))

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        while True:
            ahead = len(self._isolation.jobs) - len(self._jobs.begun)
            free = min(self._free, self._most_ahead - ahead) - self._asked_for
            if free <= 0:
                self._room.clear()
                await self._room.wait()
                continue
            limit = min(self._settings.batch, free)
            self._asked_for += limit  # until they are taken: another poll must not ask for the same room
            try:
                messages = await self._queue.receive(
                    limit=limit, wait_s=self._settings.wait_s, receiver=self._worker_id
                )
                for message in messages:  # given back if nothing more may be begun since they were asked for
                    work = self._jobs.handle(message) if self._free > 0 else self._jobs.give_back(message)
                    job = group.create_task(work)
                    self._isolation.add(job)
                    job.add_done_callback(lambda _: self._room.set())
            except DocmillError as error:
                log.warning("cannot receive messages", extra={"code": error.code})
                await asyncio.sleep(_POLL_RETRY_S)
            finally:
                self._asked_for -= limit
                self._room.set()

    @property
    def _free(self) -> int:
        """The number of documents that may be taken now."""
        return 0 if self._isolation.closed else self._settings.concurrency - len(self._isolation.jobs)

    async def _drain(self, abort: asyncio.Event) -> None:
        """Let the jobs finish; at the end of the grace time, or at once on `abort`, stop them."""
        aborting = asyncio.ensure_future(abort.wait())
        deadline = time.monotonic() + self._settings.grace_s
        while self._isolation.jobs and not aborting.done() and (left_s := deadline - time.monotonic()) > 0:
            await asyncio.wait(
                {*self._isolation.jobs, aborting}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
            )
        aborting.cancel()
        await cancel_and_wait(list(self._isolation.jobs), again_s=LETTING_GO_S)


async def _wait_for_first(task: asyncio.Task[None], event: asyncio.Event) -> None:
    """Return when `task` has ended or `event` is set; the task goes on."""
    waiting = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


class Work(Protocol):
    """See `run_worker`."""

    async def __call__(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None: ...  # noqa: D102


@asynccontextmanager
async def ready_worker(service: Service, metrics: Metrics | None = None) -> AsyncGenerator[Work]:
    """A worker to be run until `stop` is set, with a pool and connections that end with the block.

    Raises MisconfiguredError if the settings name what is not installed.
    """
    settings = service.settings
    cores = os.cpu_count() or 1
    # All cores but the reserved ones; at least half of them, and one. Pages and the database come first.
    workers = max(1, cores // 2, cores - settings.worker.reserved_cores)
    async with Pool(workers, niceness=10) as pool:
        if metrics is not None:
            metrics.watch_pool("reading", pool)
        schema_models = LearnedModels(settings.own.models())
        reading = replace(reading_options(settings), keep_preprocessed=True)
        async with open_steps(
            settings, pool, reading=reading, schema_models=schema_models, tracer=service.tracer
        ) as steps:
            corrections = PooledCorrectionMaker(pool, schema_models)

            async def work(stop: asyncio.Event, abort: asyncio.Event | None = None) -> None:
                await run_worker(service, steps, stop, abort, metrics, corrections=corrections)

            yield work
