"""A worker's writes to the database: claims, progress, findings and ends of attempts."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

import psycopg
import stamina

from docmill.errors import DocmillError, ServerError
from docmill.model.document import Usage
from docmill.resilience.concurrency import Batches, cancel_and_wait
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.protocol.claim_rules import Obstacle
from docmill.service.store import claims, findings
from docmill.service.store.claims import Claim
from docmill.service.store.database import Conn, Database, new_id
from docmill.service.store.result_columns import StoredFindings, StoredResult, cost_values

log = logging.getLogger(__name__)

Value = TypeVar("Value")

_LONG_TEXT = 100_000
"""A longer one goes alone: many of them would make a statement larger than PostgreSQL takes."""

PROGRESS_S = 0.1
"""A step that is over sooner is not worth a write: nobody could have read it."""


@dataclass(frozen=True, slots=True)
class ClaimRefusal:
    """The reason why a claim was refused. tenant_id, obstacle: None if the ingestion does not exist."""

    tenant_id: UUID | None
    obstacle: Obstacle | None


class ClaimWriter:
    """Claims of one worker. Ends of many documents share a commit; every write names its fence."""

    def __init__(
        self,
        database: Database,
        worker_id: str,
        *,
        lease_s: float,
        max_attempts: int,
        matching: MatchingRequests = NO_MATCHING,
    ) -> None:
        self._matching = matching
        self._database = database
        self._worker_id = worker_id
        self._lease_s = lease_s
        self._max_attempts = max_attempts
        self._claiming = Batches(self._claim_all, at_once=2)
        self._claiming_alone = Batches(partial(self._claim_all, alone=True))
        self._finishing = Batches(self._finish_all, at_once=2)
        self._steps: dict[UUID, tuple[Claim, str]] = {}
        self._findings: dict[UUID, tuple[Claim, StoredFindings]] = {}
        self._moved = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._writing = asyncio.create_task(self._write_progress())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writing is not None:
            await cancel_and_wait([self._writing])

    def claim(self, ingestion_id: UUID, *, alone: bool = False) -> asyncio.Future[Claim | ClaimRefusal]:
        """The claim, or the reason for its refusal.

        alone: whether the worker has nothing else in work; it may then also get a suspect.
        """
        return (self._claiming_alone if alone else self._claiming).ask(ingestion_id)

    async def give_up(
        self, ingestion_id: UUID, tenant_id: UUID, error: DocmillError, *, receive_count: int
    ) -> bool:
        """See `claims.give_up`."""
        async with self._database.tenant(tenant_id) as conn:
            return await claims.give_up(
                conn,
                ingestion_id,
                max_attempts=self._max_attempts,
                error=error,
                receive_count=receive_count,
            )

    def step_started(self, claim: Claim, step: str) -> None:
        """Note that `step` is under way, to be written soon if it lasts."""
        self._steps[claim.ingestion_id] = (claim, step)
        self._moved.set()

    def record(self, claim: Claim, findings: StoredFindings) -> None:
        """Add findings of a document, to be stored soon, or with the end of its ingestion."""
        _, earlier = self._findings.get(claim.ingestion_id, (claim, StoredFindings()))
        self._findings[claim.ingestion_id] = (claim, earlier.updated(findings))
        self._moved.set()

    def spent(self, claim: Claim, usage: Usage) -> None:
        """Add the cost of a document in all its attempts to its findings."""
        self.record(claim, StoredFindings(**cost_values(usage)))

    async def store_findings(self) -> None:
        """Store the findings of documents under way now. If that fails, they are kept for the next time."""
        storing = dict(self._findings)
        for tenant_id, group in _grouped(list(storing.values()), _tenant):
            async with self._database.tenant(tenant_id) as conn:
                await findings.store(conn, group)
        self._forget(storing)

    async def extend(self, claim: Claim, *, step: str | None) -> bool:
        """Extend the claim to the length of a lease from now. step: under way. False if the claim is lost."""
        async with self._database.tenant(claim.tenant_id) as conn:
            return await claims.extend(conn, claim, lease_s=self._lease_s, step=step)

    async def finish(self, claim: Claim, result: StoredResult) -> bool:
        """Complete the ingestion. False if the claim is lost."""
        self._steps.pop(claim.ingestion_id, None)
        self._findings.pop(claim.ingestion_id, None)  # the result says as much
        if len(result.text or "") > _LONG_TEXT:
            (held,) = await self._finish_all([(claim, result)])
            return held
        return await self._finishing.ask((claim, result))

    async def fail(self, claim: Claim, error: DocmillError, *, receive_count: int) -> bool:
        """See `claims.fail`."""
        return await self._end(
            claim, partial(claims.fail, claim=claim, error=error, receive_count=receive_count)
        )

    async def set_back(
        self, claim: Claim, *, error: DocmillError | None, delay_s: float, counts: bool
    ) -> bool:
        """Let the ingestion be claimed again after `delay_s`. False if the claim is lost."""
        return await self._end(
            claim, partial(claims.set_back, claim=claim, error=error, delay_s=delay_s, counts=counts)
        )

    async def _end(self, claim: Claim, write_end: Callable[[Conn], Awaitable[bool]]) -> bool:
        """End a claim without a result, and store the findings of its document in the same transaction."""
        self._steps.pop(claim.ingestion_id, None)

        async def once() -> bool:
            async with self._database.tenant(claim.tenant_id) as conn:
                unsaved = self._findings.get(claim.ingestion_id)
                if unsaved is not None:
                    try:
                        async with conn.transaction():
                            await findings.store(conn, [unsaved])
                    except psycopg.OperationalError:
                        raise
                    except psycopg.DatabaseError:
                        # It must not keep the claim from ending: that would count as a death.
                        log.exception("a fault in docmill: what is known so far is not stored")
                return await write_end(conn)

        is_held = await persistently(once)
        self._findings.pop(claim.ingestion_id, None)
        return is_held

    async def _claim_all(
        self, ingestion_ids: Sequence[UUID], *, alone: bool = False
    ) -> list[Claim | ClaimRefusal]:
        """The answer for each message. The first one of an ingestion gets the claim.

        The database is asked for as long as the claims in question would last.
        """

        async def tenants_of() -> dict[UUID, UUID]:
            async with self._database.connection() as conn:
                return await claims.tenants_of(conn, ingestion_ids)

        tenants = await persistently(tenants_of, attempts=None, within_s=self._lease_s)
        answers: dict[UUID, Claim | ClaimRefusal] = {}
        for tenant_id, ids in _grouped(list(tenants), tenants.__getitem__):
            claiming = partial(self._claim_of_tenant, tenant_id, ids, alone=alone, token=new_id())
            answers |= await persistently(claiming, attempts=None, within_s=self._lease_s)
        in_order: list[Claim | ClaimRefusal] = []
        for id_ in ingestion_ids:
            answer = answers.get(id_) or ClaimRefusal(tenants.get(id_), None)
            if isinstance(answer, Claim):  # duplicates wait for the lease to end
                held = Obstacle("in-progress", self._lease_s, attempts_used_up=False)
                answers[id_] = ClaimRefusal(answer.tenant_id, held)
            in_order.append(answer)
        return in_order

    async def _claim_of_tenant(
        self, tenant_id: UUID, ingestion_ids: Sequence[UUID], *, alone: bool, token: UUID
    ) -> dict[UUID, Claim | ClaimRefusal]:
        """Claim ingestions of one tenant; repeated with the same token, it gives the same claims."""
        async with self._database.tenant(tenant_id) as conn:
            taken = await claims.take(
                conn,
                ingestion_ids,
                worker_id=self._worker_id,
                lease_s=self._lease_s,
                max_attempts=self._max_attempts,
                alone=alone,
                token=token,
            )
            answers: dict[UUID, Claim | ClaimRefusal] = {claim.ingestion_id: claim for claim in taken}
            left = [id_ for id_ in ingestion_ids if id_ not in answers]
            if left:
                before = await claims.taken_before(conn, left, token=token)
                answers |= {claim.ingestion_id: claim for claim in before}
                left = [id_ for id_ in left if id_ not in answers]
            if left:
                obstacles = await claims.obstacles(conn, left, max_attempts=self._max_attempts)
                answers |= {id_: ClaimRefusal(tenant_id, obstacles.get(id_)) for id_ in left}
        return answers

    async def _finish_all(self, finished: Sequence[tuple[Claim, StoredResult]]) -> list[bool]:
        async def once() -> set[UUID]:
            held: set[UUID] = set()
            for tenant_id, group in _grouped(finished, _tenant):
                async with self._database.tenant(tenant_id) as conn:
                    completed = await claims.finish(conn, group)
                    to_match = [claim.document_id for claim, _ in group if claim.ingestion_id in completed]
                    await self._matching.request(conn, to_match)
                    held |= completed
            return held

        held = await persistently(once)
        self._matching.announce()
        return [claim.ingestion_id in held for claim, _ in finished]

    async def _write_progress(self) -> None:
        while True:
            await self._moved.wait()
            await asyncio.sleep(PROGRESS_S)
            self._moved.clear()
            steps, self._steps = self._steps, {}
            storing = dict(self._findings)
            try:
                await self.store_findings()
                for tenant_id, group in _grouped(list(steps.values()), _tenant):
                    async with self._database.tenant(tenant_id) as conn:
                        await claims.progress(conn, group)
            except DocmillError as error:  # the next step brings both again; no work depends on this
                log.warning("cannot write progress", extra={"code": error.code})
            except Exception:  # one of them is at fault: it must not keep those of others from being stored
                log.exception("a fault in docmill: progress is not written")
                self._forget(storing)

    def _forget(self, stored: Mapping[UUID, tuple[Claim, StoredFindings]]) -> None:
        """Drop findings that are stored, unless more have been added to them meanwhile."""
        for ingestion_id, entry in stored.items():
            if self._findings.get(ingestion_id) is entry:
                del self._findings[ingestion_id]


async def persistently(
    work: Callable[[], Awaitable[Value]], *, attempts: int | None = 4, within_s: float = 60
) -> Value:
    """The result of `work`, which is tried again while the database fails.

    A restart of it must not cost the work of minutes. To ask twice is safe: what names a fence or a token
    takes effect once. A block and no decorator: stamina tells loggers the arguments of what it decorates.
    """
    async for attempt in stamina.retry_context(
        on=ServerError, attempts=attempts, wait_initial=0.5, wait_max=5, timeout=within_s
    ):
        with attempt:
            return await work()
    raise AssertionError  # the last attempt raises


def _tenant(entry: tuple[Claim, object]) -> UUID:
    return entry[0].tenant_id


def _grouped(items: Sequence[Value], key: Callable[[Value], UUID]) -> list[tuple[UUID, list[Value]]]:
    return [(value, list(group)) for value, group in groupby(sorted(items, key=key), key)]
