"""The worker: takes ingestions from the queue and sees each through, whatever happens to it or to us."""

import asyncio
import gc
import logging
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from structlog.contextvars import bound_contextvars

from docmill.pipeline import Steps
from docmill.reading.child.tasks import load_rapid_engine, load_readers
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.match_learning import MatchLearning
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import CorrectionMaker
from docmill.service.processing.claim_writer import ClaimWriter
from docmill.service.processing.job import Attempt, Isolation, Jobs
from docmill.service.processing.matching_claims import MatchingClaims
from docmill.service.processing.matching_work import MatchingHandler
from docmill.service.processing.pause_records import PauseRecords
from docmill.service.processing.polling import Poller, PollingLimits
from docmill.service.processing.process import DocumentProcessor, TagsInUse
from docmill.service.processing.work_folders import worker_folder
from docmill.service.protocol.pause import Pauses
from docmill.service.review.corrections import CorrectionFinder
from docmill.service.sources.ses.ses_source import missing_extra
from docmill.service.sources.smtp.receiver import receiving_mails
from docmill.service.sources.watching import SourceWatching
from docmill.service.steps import LearnedModels, open_steps, reading_options
from docmill.service.store.database import new_id
from docmill.service.sweeper import WORK_FOLDER, sweep_for_ever
from docmill.understanding.pooled import PooledCorrectionMaker, load_vocabularies
from docmill.workers.capacity import capacity
from docmill.workers.pool import Pool

if TYPE_CHECKING:
    from docmill.service.sources.ses.acquisition import Acquisition

log = logging.getLogger(__name__)

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
    acquisition = mail_acquisition(service)
    # Names this process and no other, on any machine, before or after it.
    worker_id = f"{socket.gethostname()}-{os.getpid()}-{new_id().hex[-6:]}"
    async with (
        worker_folder(service.settings.folder / WORK_FOLDER, worker_id) as place,
        receiving_mails(service.database, service.sources, service.settings, place),
    ):
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
            asn_prefix=service.settings.reading.asn_prefix,
            max_attempts=service.settings.worker.max_attempts,
            patience_s=service.settings.worker.patience_s,
        )
        with bound_contextvars(worker_id=worker_id):
            worker = Worker(
                service,
                processor.process,
                worker_id,
                metrics,
                most_ahead=_AHEAD if steps.reads_in_turns else None,
            )
            matching = matching_poller(service, worker_id, metrics or Metrics(), pauses=worker.pauses)
            sweeping = asyncio.create_task(sweep_for_ever(service, metrics))
            embedding = asyncio.create_task(service.meaning.work_for_ever())
            notifying = asyncio.create_task(service.notifier.work_for_ever(metrics))
            telling = asyncio.create_task(service.webhook_deliverer.work_for_ever(metrics))
            learning = asyncio.create_task(
                MatchLearning(service.database, service.matching_requests).work_for_ever(service.wakeups)
            )
            watching = asyncio.create_task(source_watching(service, worker_id).work_for_ever())
            acquiring = [asyncio.create_task(acquisition.work_for_ever())] if acquisition else []
        try:
            await worker.run(stop, abort or asyncio.Event(), beside=matching)
        finally:
            await cancel_and_wait([sweeping, embedding, notifying, telling, learning, watching, *acquiring])


def source_watching(service: Service, worker_id: str) -> SourceWatching:
    """The watch over the sources that this process takes."""
    settings = service.settings.sources
    return SourceWatching(
        service.sources,
        service.database,
        worker_id,
        lease_s=settings.lease_s,
        concurrency=settings.concurrency,
    )


def mail_acquisition(service: Service) -> "Acquisition | None":
    """The one that takes mails from Amazon SES; None if the settings do not say so.

    Raises MisconfiguredError if what it needs is not installed.
    """
    if service.settings.sources.ses_domain is None:
        return None
    try:
        from docmill.service.sources.ses.acquisition import Acquisition  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    return Acquisition(service.sources, service.database, service.settings)


def matching_poller(service: Service, worker_id: str, metrics: Metrics, *, pauses: Pauses) -> Poller | None:
    """The poller of documents to be matched; None without a matcher. pauses: those of the whole worker."""
    if service.matching is None:
        return None
    settings, worker = service.settings.matching, service.settings.worker
    claims = MatchingClaims(service.database, service.matching, worker_id, lease_s=settings.lease_s)
    return Poller(
        service.matching.queue,
        worker_id,
        MatchingHandler(
            service.matching,
            claims,
            settings,
            metrics,
            pauses=pauses,
            patience_s=worker.patience_s,
            announce=service.feed.announce,
            tracer=service.tracer,
        ),
        PollingLimits(settings.concurrency, worker.batch, worker.wait_s, worker.grace_s),
        Isolation(),
    )


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
            outages=lambda: self.pauses.outages,
        )
        self.pauses = Pauses(settings.pause_s, on_pause=metrics.paused, on_change=self._records.note_change)
        metrics.watch_pauses(lambda: [(cause.code, cause.part) for cause in self.pauses.causes])
        self._worker_id = worker_id
        self._claim_writer = ClaimWriter(
            service.database,
            worker_id,
            lease_s=settings.lease_s,
            max_attempts=settings.max_attempts,
            matching=service.matching_requests,
        )
        jobs = Jobs(
            service.queue,
            self._claim_writer,
            attempt,
            settings,
            metrics,
            announce=service.feed.announce,
            pauses=self.pauses,
            tracer=service.tracer,
        )
        ahead = settings.concurrency if most_ahead is None else most_ahead
        self._poller = Poller(
            service.queue,
            worker_id,
            jobs,
            PollingLimits(settings.concurrency, settings.batch, settings.wait_s, settings.grace_s),
            jobs.isolation,
            most=lambda: ahead - (len(jobs.isolation.jobs) - len(jobs.begun)),
        )
        jobs.on_begun = self._poller.wake

    async def run(self, stop: asyncio.Event, abort: asyncio.Event, *, beside: Poller | None = None) -> None:
        """See `run_worker`. beside: works as long as this one."""
        with bound_contextvars(worker_id=self._worker_id):
            log.info("worker started")
            gc.freeze()  # what was loaded so far stays: to look through it again took a tenth of the time
            try:
                async with (
                    self._records.keep_up_to_date(),
                    self._claim_writer,
                    asyncio.TaskGroup() as pollers,
                ):
                    for poller in filter(None, (self._poller, beside)):
                        pollers.create_task(poller.run(stop, abort))
            except BaseExceptionGroup:
                log.critical("the worker ends: a fault in docmill, see the log before this")
                raise
            log.info("worker stopped")


class Work(Protocol):
    """See `run_worker`."""

    async def __call__(self, stop: asyncio.Event, abort: asyncio.Event | None = None) -> None: ...  # noqa: D102


@asynccontextmanager
async def ready_worker(service: Service, metrics: Metrics | None = None) -> AsyncGenerator[Work]:
    """A worker to be run until `stop` is set, with a pool and connections that end with the block.

    Raises MisconfiguredError if the settings name what is not installed.
    """
    settings = service.settings
    # Pages and the database come first.
    workers = settings.worker.processes or capacity().processes(reserved_cores=settings.worker.reserved_cores)
    load_reading = load_rapid_engine if "rapidocr" in settings.ocr.engines else load_readers
    preload = [load_reading, load_vocabularies]
    async with Pool(workers, niceness=10, many_tenants=True, preload=preload) as pool:
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
