"""Taking ingestions from the queue and seeing each through, whatever happens to it or to us."""

import asyncio
import logging
import os
import random
import socket
import time
from collections.abc import Awaitable
from pathlib import Path
from uuid import UUID

from structlog.contextvars import bound_contextvars

from docmill.errors import CrashedError, DocmillError, InternalError
from docmill.ports import Message
from docmill.service.ingest import Stages, ingest
from docmill.service.lease import Lease
from docmill.service.protocol import (
    ClaimLostError,
    Delete,
    GiveUp,
    GiveUpCrashed,
    Leave,
    Retry,
    Wait,
    settlement,
    turned_away,
)
from docmill.service.stack import Service
from docmill.service.store import claims
from docmill.service.store.claims import Claim
from docmill.service.store.ids import new_id
from docmill.service.tasks import end
from docmill.service.workplace import folder_for, workplace

log = logging.getLogger(__name__)

_POLL_RETRY_S = 5.0
_LETTING_GO_S = 10.0
"""How long a stopped job may take to give its document back; after that its lease has to run out."""


async def run_worker(
    service: Service, stages: Stages, stop: asyncio.Event, abort: asyncio.Event | None = None
) -> None:
    """Work until `stop` is set and the running documents are done, or given back after the grace time.

    abort: set to give them back at once.
    """
    worker_id = f"{socket.gethostname()}-{os.getpid()}-{new_id().hex[-6:]}"
    async with workplace(service.settings.folder / "work", worker_id) as place:
        with bound_contextvars(worker_id=worker_id):
            await Worker(service, stages, place, worker_id).run(stop, abort or asyncio.Event())


class Worker:
    """One poller and the jobs it started."""

    def __init__(self, service: Service, stages: Stages, place: Path, worker_id: str) -> None:
        self._service = service
        self._settings = service.settings.worker
        self._queue = service.queue
        self._stages = stages
        self._place = place
        self._worker_id = worker_id
        self._jobs: set[asyncio.Task[None]] = set()
        self._paused_until = 0.0

    async def run(self, stop: asyncio.Event, abort: asyncio.Event) -> None:
        """See `run_worker`."""
        log.info("worker started")
        async with asyncio.TaskGroup() as group:
            polling = group.create_task(self._poll(group))
            await stop.wait()
            log.info("worker stopping", extra={"running": len(self._jobs)})
            await end([polling])
            await self._drain(abort)
        log.info("worker stopped")

    async def _poll(self, group: asyncio.TaskGroup) -> None:
        while True:
            if self._pause_s > 0:
                await asyncio.sleep(self._pause_s)
                continue
            if len(self._jobs) >= self._settings.concurrency:
                await asyncio.wait(self._jobs, return_when=asyncio.FIRST_COMPLETED)
                continue
            free = self._settings.concurrency - len(self._jobs)
            try:
                messages = await self._queue.receive(
                    limit=min(self._settings.batch, free), wait_s=self._settings.wait_s
                )
            except DocmillError as error:
                log.warning("cannot receive messages", extra={"code": error.code})
                await asyncio.sleep(_POLL_RETRY_S)
                continue
            for message in messages:
                job = group.create_task(self._job(message))
                self._jobs.add(job)
                job.add_done_callback(self._jobs.discard)

    @property
    def _pause_s(self) -> float:
        return self._paused_until - time.monotonic()

    async def _drain(self, abort: asyncio.Event) -> None:
        """Let the jobs finish; at the end of the grace time, or at once on `abort`, stop them."""
        aborting = asyncio.ensure_future(abort.wait())
        deadline = time.monotonic() + self._settings.grace_s
        while self._jobs and not aborting.done() and (left_s := deadline - time.monotonic()) > 0:
            await asyncio.wait({*self._jobs, aborting}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        aborting.cancel()
        await end(list(self._jobs), again_s=_LETTING_GO_S)

    async def _job(self, message: Message) -> None:
        error = await _outcome(self._handle(message))
        if error is not None:
            log.warning("message left to be delivered again", extra={"reason": type(error).__name__})

    async def _handle(self, message: Message) -> None:
        try:
            ingestion_id = UUID(message.body)
        except ValueError:
            log.error("message is not an ingestion id", extra={"message_id": str(message.id)})  # noqa: TRY400  its text may be anything
            await self._queue.delete([message])
            return
        with bound_contextvars(ingestion_id=str(ingestion_id)):
            async with self._service.database.connection() as conn:
                tenant_id = await claims.tenant_of(conn, ingestion_id)
            if tenant_id is None:
                log.info("ingestion is unknown")
                await self._queue.delete([message])
                return
            claim = await self._claim(ingestion_id, tenant_id, message)
            if claim is not None:
                await self._work(claim, message)

    async def _claim(self, ingestion_id: UUID, tenant_id: UUID, message: Message) -> Claim | None:
        async with self._service.database.tenant(tenant_id) as conn:
            claim = await claims.take(
                conn,
                ingestion_id,
                worker_id=self._worker_id,
                lease_s=self._settings.lease_s,
                max_attempts=self._settings.max_attempts,
            )
        if claim is None:
            await self._turn_away(ingestion_id, tenant_id, message)
        return claim

    async def _turn_away(self, ingestion_id: UUID, tenant_id: UUID, message: Message) -> None:
        """What to do with a message whose ingestion was not to be had."""
        async with self._service.database.tenant(tenant_id) as conn:
            obstacle = await claims.obstacle(conn, ingestion_id, max_attempts=self._settings.max_attempts)
        match turned_away(obstacle):
            case Delete():
                await self._queue.delete([message])
            case Wait(delay_s=delay_s):
                await self._queue.release(message, delay_s=delay_s)
            case GiveUpCrashed():
                await self._bury_crashed(ingestion_id, tenant_id, message)

    async def _bury_crashed(self, ingestion_id: UUID, tenant_id: UUID, message: Message) -> None:
        error = CrashedError("every attempt ended with the death of its worker; the file may be harmful")
        async with self._service.database.tenant(tenant_id) as conn:
            ended = await claims.give_up(
                conn,
                ingestion_id,
                max_attempts=self._settings.max_attempts,
                error=error,
                receive_count=message.receive_count,
            )
        if ended:
            log.error("ingestion failed", extra={"code": error.code, "status": "failed"})
            self._service.feed.announce()
            await self._queue.delete([message])
        else:
            await self._queue.release(message)

    async def _work(self, claim: Claim, message: Message) -> None:
        lease = Lease(
            self._service.database,
            self._queue,
            message,
            claim,
            lease_s=self._settings.lease_s,
            heartbeat_s=self._settings.heartbeat_s,
        )
        started = time.monotonic()
        with bound_contextvars(
            document_id=str(claim.document_id), tenant_id=str(claim.tenant_id), attempt=claim.attempt
        ):
            try:
                error = await _outcome(self._attempt(lease))
                status = await self._settle(lease, error)
            except asyncio.CancelledError:
                await self._let_go(lease)
                raise
            self._service.feed.announce()
            duration_ms = round((time.monotonic() - started) * 1000)
            log.info("attempt ended", extra={"duration_ms": duration_ms, "status": status})

    async def _attempt(self, lease: Lease) -> None:
        settings = self._service.settings
        async with folder_for(self._place, str(lease.claim.ingestion_id)) as folder:
            await lease.hold_during(
                ingest(
                    lease,
                    self._service.blobs,
                    self._stages,
                    folder=folder,
                    limits=settings.limits.times,
                    fingerprint=self._service.fingerprint,
                )
            )

    async def _settle(self, lease: Lease, error: DocmillError | ClaimLostError | None) -> str:
        """Do what follows from an attempt's outcome, and name it for the log."""
        follows = settlement(
            error,
            attempt=lease.claim.attempt,
            max_attempts=self._settings.max_attempts,
            pause_s=self._settings.pause_s,
            jitter=random.random(),  # noqa: S311  spreads load, guards nothing
        )
        match follows:
            case Delete():
                await self._queue.delete([lease.message])
                return "completed"
            case Leave():
                log.warning("claim lost: nothing is written or deleted")
                return "lost"
            case Retry(error=reason):
                return await self._retry(lease, reason, follows)
            case GiveUp(error=reason):
                return await self._give_up(lease, reason)

    async def _retry(self, lease: Lease, error: DocmillError, retry: Retry) -> str:
        log.warning("attempt failed", extra={"code": error.code, "step": error.step})
        if retry.pauses_intake:
            self._paused_until = time.monotonic() + retry.delay_s
            log.critical("a person must act: no documents are taken", extra={"code": error.code})
        async with self._service.database.tenant(lease.claim.tenant_id) as conn:
            held = await claims.set_back(
                conn, lease.claim, error=error, delay_s=retry.delay_s, counts=retry.counts
            )
        if not held:
            return "lost"
        await self._queue.release(lease.message, delay_s=retry.delay_s)
        return "retry"

    async def _give_up(self, lease: Lease, error: DocmillError) -> str:
        log.error("ingestion failed", extra={"code": error.code, "step": error.step})
        async with self._service.database.tenant(lease.claim.tenant_id) as conn:
            held = await claims.fail(conn, lease.claim, error, receive_count=lease.message.receive_count)
        if not held:
            return "lost"
        await self._queue.delete([lease.message])
        return "failed"

    async def _let_go(self, lease: Lease) -> None:
        """Give the document back so that another worker takes it at once; this was not an attempt."""
        try:
            async with asyncio.timeout(_LETTING_GO_S):
                async with self._service.database.tenant(lease.claim.tenant_id) as conn:
                    held = await claims.set_back(conn, lease.claim, error=None, delay_s=0, counts=False)
                if held:
                    await self._queue.release(lease.message)
        except (DocmillError, TimeoutError) as error:
            log.warning("could not give the document back", extra={"reason": type(error).__name__})


async def _outcome(work: Awaitable[None]) -> DocmillError | ClaimLostError | None:
    """What stopped `work`, None if nothing did."""
    try:
        await work
    except (DocmillError, ClaimLostError) as error:
        return error
    except Exception as error:
        log.exception("a fault in docmill")
        internal = InternalError(
            f"docmill failed on this document ({type(error).__name__}); it is in the log"
        )
        internal.__cause__ = error
        return internal
    return None
