"""The sweeper: repairs the loss of messages and workers. It runs in every worker process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from docmill.errors import CrashedError, DocmillError
from docmill.resilience.concurrency import keep_doing
from docmill.service.app import Service
from docmill.service.intake.orphaned_files import remove_orphaned_files
from docmill.service.observe.metrics import Metrics
from docmill.service.ports import DeadMessage
from docmill.service.processing.matching_repair import MatchingRepair, expected_messages
from docmill.service.processing.outage_notices import tell_of_outages
from docmill.service.processing.work_folders import begun_work, dead_workers, forget_worker
from docmill.service.store import claims, idempotency_keys, pauses, sweeps
from docmill.service.store.database import Conn
from docmill.service.store.sweeps import IngestionId, by_tenant

log = logging.getLogger(__name__)

WORK_FOLDER = "work"

_NEIGHBOURS_S = 1.0
"""Interval at which a worker checks for dead workers on its machine. It lists one small folder."""

_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S

_PAGE = 1000
_PAGES = 5
"""How much one sweep looks at; the next goes on from there, so that a deep queue costs no more than this."""

_NAMED = 100
"""Most ingestions of a tenant that each sweep logs by id."""

_DEAD = 100
_EVENTS = 1000
_DOCUMENTS = 100
_AT_ONCE = 4
"""Rules that are followed at the same time. Each holds a connection for its lock while its work asks for
another: if rules took all connections of a pool, none could go on."""
_FIRST_ID = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Rule:
    """A chore of the sweeper. repair: does it once; every_s: its interval, of all processes together."""

    name: str
    every_s: float
    repair: Callable[[], Awaitable[None]]


async def sweep_for_ever(service: Service, metrics: Metrics | None = None) -> None:
    """Run the sweeper's chores until cancelled. An outage of anything is waited out.

    metrics: where failed documents are counted.
    """
    sweeper, sweep_s = Sweeper(service, metrics), service.settings.worker.sweep_s
    async with asyncio.TaskGroup() as group:
        group.create_task(
            keep_doing(
                sweeper.relieve_dead_workers,
                what="looking for dead workers",
                pause_s=min(_NEIGHBOURS_S, sweep_s),
            )
        )
        for rule in sweeper.rules:
            follow = partial(sweeper.follow, rule)
            group.create_task(keep_doing(follow, what=f"sweeping: {rule.name}", pause_s=sweep_s))


class Sweeper:
    """The rules, and whose turn it is.

    Every worker of every machine may run one. A rule is followed by one at a time per database; were it
    followed by two, that would cost work and do no harm.
    """

    def __init__(self, service: Service, metrics: Metrics | None = None) -> None:
        self._service = service
        self._metrics = metrics or Metrics()
        self._database = service.database
        self._queue = service.queue
        self._work = service.settings.folder / WORK_FOLDER
        self._looked_up_to = _FIRST_ID
        self._sweep_s = service.settings.worker.sweep_s
        self._guards = asyncio.Semaphore(_AT_ONCE)
        self.rules = (
            Rule("clock", self._sweep_s, self.pull_back),
            Rule("lost messages", self._sweep_s, self.send_lost_again),
            Rule("dead messages", self._sweep_s, self.empty_dead_messages),
            Rule("files", _DAY_S, partial(remove_orphaned_files, service.database, service.blobs)),
            Rule("reviews", self._sweep_s, self.judge_reviews),
            Rule(
                "outages",
                self._sweep_s,
                partial(tell_of_outages, service.database, tenant_id=service.default_tenant_id),
            ),
            Rule("events", _HOUR_S, self.forget_old_events),
            Rule("bin", _HOUR_S, service.bin.remove_expired),
            Rule("idempotency keys", _HOUR_S, self.forget_old_keys),
            Rule("partial uploads", _HOUR_S, service.resumable_uploads.remove_expired),
            Rule("embeddings", _HOUR_S, service.meaning.ask_for_missing),
            Rule("notifications", _HOUR_S, service.notifier.forget_old),
            Rule("webhooks", _HOUR_S, service.webhook_deliverer.forget_old),
        )
        if service.matching is not None:
            repair = MatchingRepair(service.database, service.matching, grace_s=self._sweep_s).repair
            self.rules += (Rule("matching", self._sweep_s, repair),)

    async def follow(self, rule: Rule) -> bool:
        """Follow a rule if it is due and no other process is at it; whether that was so.

        The lock is that of an open transaction that writes nothing: it ends with this process, and delays
        nobody's events.
        """
        async with self._guards, self._database.transaction() as guard:
            if not await sweeps.is_our_turn(guard, rule.name, again_s=rule.every_s):
                return False
            await rule.repair()
            async with self._database.connection() as conn:
                await sweeps.note_done(conn, rule.name, again_s=rule.every_s)
        return True

    async def relieve_dead_workers(self) -> None:
        """Free the ingestions and messages of dead workers of this machine, and remove their folders."""
        dead = await asyncio.to_thread(dead_workers, self._work)
        for worker_id in dead:
            async with self._database.connection() as conn:
                held = await sweeps.held_by(conn, worker_id)
            begun = await asyncio.to_thread(begun_work, self._work, worker_id)
            freed: list[IngestionId] = []
            for tenant_id, ids in by_tenant(held).items():
                async with self._database.tenant(tenant_id) as conn:
                    given = await sweeps.give_back(conn, ids, worker_id=worker_id, begun=begun)
                    await self._log_some(conn, tenant_id, given, "taken back from a dead worker")
                freed += [IngestionId(id_, tenant_id) for id_ in given]
            # After the claims, so that who receives a message now can claim what it names.
            carried = set(await self._queue.release_received(worker_id))
            unsent = [ingestion for ingestion in freed if str(ingestion.id) not in carried]
            for tenant_id, ids in by_tenant(unsent).items():
                await self._send(tenant_id, ids)
            async with self._database.connection() as conn:
                await pauses.record(conn, worker_id, ())
            await asyncio.to_thread(forget_worker, self._work, worker_id)
            log.warning("a worker has died", extra={"dead_worker_id": worker_id, "held": len(held)})
        if dead:
            await self.judge_reviews()

    async def pull_back(self) -> None:
        """Let nothing wait for times that were written while the clock was ahead, by more than a sweep."""
        lease_s = self._service.settings.worker.lease_s
        for _ in range(_PAGES):
            async with self._database.connection() as conn:
                ahead = await sweeps.ahead(conn, by_s=self._sweep_s, limit=_PAGE)
            for tenant_id, ids in by_tenant(ahead).items():
                async with self._database.tenant(tenant_id) as conn:
                    moved = await sweeps.pull_back(conn, ids, lease_s=lease_s)
                    await self._log_some(conn, tenant_id, moved, "due again: the clock was ahead")
            if ahead:
                self._service.sender.announce()
            if len(ahead) < _PAGE:
                return

    async def send_lost_again(self) -> None:
        """Send the messages of unfinished ingestions again that have neither a worker nor a message."""
        for _ in range(_PAGES):
            async with self._database.connection() as conn:
                idle = await sweeps.idle(conn, grace_s=self._sweep_s, after=self._looked_up_to, limit=_PAGE)
            unsent: set[str] = set()
            if idle:
                unsent.update(await self._queue.unsent(expected_messages(idle)))
            lost = by_tenant(ingestion for ingestion in idle if str(ingestion.id) in unsent)
            for tenant_id, ids in lost.items():
                sent = await self._send(tenant_id, ids)
                async with self._database.tenant(tenant_id) as conn:
                    await self._log_some(conn, tenant_id, sent, "message sent again")
            if lost:
                log.warning("messages were lost", extra={"count": len(unsent)})
            if len(idle) < _PAGE:
                self._looked_up_to = _FIRST_ID
                return
            self._looked_up_to = idle[-1].id

    async def _send(self, tenant_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
        """Send messages again for those of the ingestions that are still to be worked on."""
        async with self._database.tenant(tenant_id) as conn:
            sent = await sweeps.note_sent(conn, ids)
            await self._service.sender.send_in(conn, [str(ingestion_id) for ingestion_id in sent])
        self._service.sender.announce()
        return sent

    async def _log_some(self, conn: Conn, tenant_id: UUID, ids: Sequence[UUID], event: str) -> None:
        """Log an event for each ingestion, of many for the first only: all messages may be lost at once."""
        documents = await sweeps.documents_of(conn, list(ids[:_NAMED]))
        for ingestion_id, document_id in documents.items():
            log.warning(event, extra=_ids(tenant_id, document_id, ingestion_id))

    async def empty_dead_messages(self) -> None:
        """Turn messages that were received too often into dead letters of their owners."""
        while dead := await self._queue.dead_messages(limit=_DEAD):
            messages: dict[UUID, DeadMessage] = {}
            for message in dead:
                try:
                    messages.setdefault(UUID(message.body), message)
                except ValueError:  # its text may be anything
                    log.error("dead message is not an ingestion id", extra={"message_id": message.id})  # noqa: TRY400
            async with self._database.connection() as conn:
                tenants = await claims.tenants_of(conn, list(messages))
            for ingestion_id, message in messages.items():
                if ingestion_id in tenants:
                    await self._fail(ingestion_id, tenants[ingestion_id], message)
            await self._queue.purge([message.id for message in dead])
            if len(dead) < _DEAD:
                return

    async def _fail(self, ingestion_id: UUID, tenant_id: UUID, message: DeadMessage) -> None:
        """Fail the ingestion of a dead message, unless it has ended or a worker has it after all."""
        error = CrashedError(
            f"delivered to workers {message.receive_count} times, and none could finish or refuse it"
        )
        async with self._database.tenant(tenant_id) as conn:
            failed = await claims.give_up(
                conn, ingestion_id, max_attempts=0, error=error, receive_count=message.receive_count
            )
            documents = await sweeps.documents_of(conn, [ingestion_id])
        if failed:
            log.error(
                "ingestion failed",
                extra={
                    **_ids(tenant_id, documents[ingestion_id], ingestion_id),
                    "code": error.code,
                    "status": "failed",
                },
            )
            self._metrics.documents_failed(error.code)
            self._service.feed.announce()

    async def judge_reviews(self) -> None:
        """Apply earlier reviews to results whose worker died before it did."""
        after = _FIRST_ID
        while True:
            async with self._database.connection() as conn:
                due = await sweeps.to_judge(conn, after=after, limit=_DOCUMENTS)
            for document in due:
                extra = {"document_id": str(document.id), "tenant_id": str(document.tenant_id)}
                try:
                    await self._service.reviews.settle(document.id, tenant_id=document.tenant_id)
                except DocmillError as error:  # it is tried again with the next sweep
                    log.warning("reviews are not judged", extra={**extra, "code": error.code})
                else:
                    log.warning("reviews are judged that a worker had left", extra=extra)
            if len(due) < _DOCUMENTS:
                return
            after = due[-1].id

    async def forget_old_keys(self) -> None:
        """Forget the keys of requests past their time."""
        async with self._database.connection() as conn:
            await idempotency_keys.forget_old(conn)

    async def forget_old_events(self) -> None:
        """Forget events past their time, in small steps."""
        days = self._service.settings.limits.events_days
        while True:
            async with self._database.connection() as conn:
                tenants = await sweeps.tenants_with_old_events(conn, days=days, limit=_EVENTS)
            for tenant_id in tenants:
                async with self._database.tenant(tenant_id) as conn:
                    await sweeps.purge_events(conn, days=days, limit=_EVENTS)
            if not tenants:
                return


def _ids(tenant_id: UUID, document_id: UUID, ingestion_id: UUID) -> dict[str, str]:
    """The ids for a line of the log."""
    return {
        "tenant_id": str(tenant_id),
        "document_id": str(document_id),
        "ingestion_id": str(ingestion_id),
    }
