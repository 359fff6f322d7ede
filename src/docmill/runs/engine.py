"""Works through the documents of a run: claims them, has each processed, keeps what became of it."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol, TypeVar

from docmill.errors import DocmillError, SetupError, TransientError
from docmill.ports import Ref
from docmill.resilience.attempts import internal_error
from docmill.resilience.concurrency import cancel_and_wait
from docmill.runs.context import CurrentDocument
from docmill.runs.events import (
    Cause,
    DocumentEnded,
    DocumentStarted,
    Event,
    RetryScheduled,
    StageEnded,
)
from docmill.runs.failures import error_type_of, is_quoting, traceback_of
from docmill.runs.flow import Outcome
from docmill.runs.inputs import in_batches
from docmill.runs.policy import RunPolicy
from docmill.runs.progress import ProgressMeter
from docmill.runs.roles import Inputs
from docmill.runs.stages import Work, late
from docmill.runs.states import Added, DeadLetter, DocumentState, NewDocument, Settlement, StateStore
from docmill.runs.write_behind import WriteBehindJournal

log = logging.getLogger(__name__)

LINGER_S = 0.02
"""Ends of attempts that come within this time are kept in one commit."""
MAX_UNSETTLED = 2000
"""Ends of attempts that may wait to be kept; beyond, no further document is begun."""
MAX_CLAIM = 500
CLAIM_S = 1.0
"""A claim takes as many documents as are done in about this time."""
POLL_S = 1.0
"""Longest wait before it is asked again whether a document may be claimed: other runners change that."""
WATCH_S = 0.1
STORE_DELAYS_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Waits before the state store or the place of the results is tried again."""


class DocumentFlow(Protocol):
    """Takes one document through all that is to be done with it."""

    async def process(self, state: DocumentState, work: Work) -> Outcome:
        """What became of the document. Raises DocmillError."""
        ...

    async def flush(self) -> None:
        """Make durable what was exported. Raises TransientError, SetupError."""
        ...

    def fail(self, state: DocumentState, work: Work, error: DocmillError) -> None:
        """Take down that the document has failed for good; must not block."""
        ...


class Engine:
    """One runner of a run. owner: its name among the runners that share the run's store.

    notify: called in the event loop with every event; None if nobody is told, which saves a good part of the
    time that a document costs.
    """

    def __init__(
        self,
        flow: DocumentFlow,
        store: StateStore,
        journal: WriteBehindJournal,
        *,
        run_id: str,
        owner: str,
        policy: RunPolicy,
        notify: Callable[[Event], None] | None,
    ) -> None:
        self._flow = flow
        self._store = store
        self._journal = journal
        self._run_id = run_id
        self._owner = owner
        self._policy = policy
        self._notify = notify
        self._progress = ProgressMeter(notify)
        self._queue: asyncio.Queue[DocumentState | None] = asyncio.Queue()
        self._is_low = asyncio.Event()
        self._wake = asyncio.Event()
        self._has_ended = asyncio.Event()
        self._may_go_on = asyncio.Event()
        """Not set while too many ends of attempts wait to be kept."""
        self._may_go_on.set()
        self._ended: list[Settlement] = []
        self._active: set[Work] = set()
        self._listing = 0
        self._is_listed = False
        self._is_stopping = False
        self._is_over = False
        self._setup_error: SetupError | None = None

    def stop(self) -> None:
        """Begin no further document; those at work are brought to their end."""
        self._is_stopping = True
        self._wake.set()
        self._is_low.set()

    async def run(self, inputs: Inputs | None) -> bool:
        """Work until every document has come to its end; True if it was stopped before.

        inputs: the documents of the run; None for those that the store has. Raises SetupError where a person
        must act before the run can go on; then it can be resumed, as after any other error.
        """
        self._progress.begin(await self._store.count(self._run_id))
        self._listing = (await self._store.find_run(self._run_id)).listing
        background = [
            asyncio.create_task(work)
            for work in (self._journal.flush_again_and_again(), self._renew_leases(), self._watch())
        ]
        settling = asyncio.create_task(self._settle())
        foreground = [
            asyncio.create_task(work)
            for work in (
                self._list(inputs),
                self._claim(),
                *(self._work() for _ in range(self._policy.concurrency)),
            )
        ]
        try:
            await _first_error_of([*foreground, *background, settling], until=foreground)
        finally:
            await cancel_and_wait(foreground)
            try:
                await self._end(settling)
            finally:
                await cancel_and_wait([*background, settling])
        if self._setup_error is not None:
            raise self._setup_error
        return self._is_stopping

    async def _end(self, settling: "asyncio.Task[None]") -> None:
        """Keep what has ended, and give back what was claimed and not done."""
        self._is_over = True
        self._has_ended.set()
        try:
            await settling
        finally:
            await self._journal.flush([work.document.ref.key for work in self._active])
            await self._store.release(self._run_id, owner=self._owner)
            self._progress.end()

    async def _list(self, inputs: Inputs | None) -> None:
        if inputs is not None:
            listing = self._listing = await self._store.begin_listing(self._run_id)
            async for added in add_listed(self._store, self._run_id, inputs, listing=listing):
                self._progress.add(added.new, again=added.changed)
                self._wake.set()
                if self._is_stopping:
                    return  # what is not listed yet has not vanished
            await _persistently(partial(self._store.end_listing, self._run_id, listing=listing))
        self._is_listed = True
        self._progress.end_listing(await self._store.count(self._run_id))
        self._wake.set()

    async def _add(self, parts: Sequence[NewDocument]) -> None:
        """Add documents that were found within another one, before that one counts as done."""
        added = await _persistently(partial(self._store.add, self._run_id, parts, listing=self._listing))
        self._progress.add(added.new, again=added.changed)
        self._wake.set()

    async def _claim(self) -> None:
        """Keep the queue filled, until all documents have come to their end."""
        while not self._is_stopping:
            self._wake.clear()
            wanted = self._claim_size() - self._queue.qsize()
            claim = partial(
                self._store.claim,
                self._run_id,
                owner=self._owner,
                limit=max(1, wanted),
                lease_s=self._policy.lease_s,
            )
            claimed = await _persistently(claim)
            for state in claimed:
                self._queue.put_nowait(state)
            if claimed:
                self._is_low.clear()
                if self._queue.qsize() > self._low_mark():
                    await self._is_low.wait()
                continue
            is_listed = self._is_listed
            due_s = await _persistently(partial(self._store.next_due_s, self._run_id))
            if due_s is None and is_listed:
                break
            try:
                async with asyncio.timeout(POLL_S if due_s is None else min(max(due_s, 0.01), POLL_S)):
                    await self._wake.wait()
            except TimeoutError:
                pass
        for _ in range(self._policy.concurrency):
            self._queue.put_nowait(None)

    def _low_mark(self) -> int:
        """Documents in the queue at which more are claimed, so that they are there before it is empty."""
        return max(self._policy.concurrency, self._claim_size() // 2)

    def _claim_size(self) -> int:
        return max(2 * self._policy.concurrency, min(MAX_CLAIM, int(self._progress.rate * CLAIM_S)))

    async def _work(self) -> None:
        """Process one document after the other."""
        task = asyncio.current_task()
        assert task is not None
        while (state := await self._queue.get()) is not None:
            if self._queue.qsize() <= self._low_mark():
                self._is_low.set()
            if self._is_stopping:
                continue  # claimed, and given back at the end
            await self._may_go_on.wait()
            ref = Ref(state.path, state.name, state.metadata, state.version)
            document = CurrentDocument(
                ref,
                attempt=state.attempts + 1,
                max_attempts=self._policy.max_retries + 1,
                may_be_exported=state.is_uncertain or state.attempts > 0,
                is_changed=state.done_as is not None,
            )
            on_stage_end = None if self._notify is None else partial(_tell_stage, self._notify, state.path)
            await self._attempt(state, Work(task, document, on_stage_end))

    async def _attempt(self, state: DocumentState, work: Work) -> None:
        self._active.add(work)
        self._progress.start(state.path)
        if self._notify is not None:
            self._notify(DocumentStarted(state.path, state.attempts + 1))
        started = time.monotonic()
        error: DocmillError | None = None
        outcome = _NO_OUTCOME
        try:
            outcome = await self._flow.process(state, work)
        except asyncio.CancelledError:
            if not work.is_late:
                self._progress.abandon()
                raise
            work.task.uncancel()
            error = late(work)
        except DocmillError as raised:
            error = raised
        except Exception as fault:
            log.exception("fault in docmill", extra={"source": state.path})
            error = internal_error(fault, repr(state.name))
            error.step = work.stage
        self._active.discard(work)
        if work.parts:
            await self._add(work.parts)
        settlement = self._succeed(state, work, outcome) if error is None else self._fail(state, work, error)
        self._ended.append(settlement)
        self._has_ended.set()
        if len(self._ended) >= MAX_UNSETTLED:
            self._may_go_on.clear()
        self._progress.finish(settlement.status)
        if self._notify is not None and settlement.status != "pending":
            self._notify(
                DocumentEnded(
                    state.path,
                    settlement.status,
                    settlement.attempts,
                    time.monotonic() - started,
                    settlement.error,
                    outcome.is_unchanged,
                    None if error is None else _cause_of(error, error.step or work.stage),
                )
            )

    def _succeed(self, state: DocumentState, work: Work, outcome: Outcome) -> Settlement:
        self._journal.forget(state.path)
        # Where a kill came between export and settlement, the store has the content before the last one.
        is_known = outcome.content_hash == state.content_hash
        if outcome.is_unchanged and state.done_as is not None and is_known:
            return Settlement(state.path, state.done_as, state.attempts, datetime.now(UTC), is_unchanged=True)
        return Settlement(
            path=state.path,
            status="needs_review" if outcome.needs_review else "completed",
            attempts=state.attempts + 1,
            at=datetime.now(UTC),
            content_hash=outcome.content_hash,
            timings_s=work.timings_s,
            tokens=work.document.tokens,
            cost=work.document.cost,
        )

    def _fail(self, state: DocumentState, work: Work, error: DocmillError) -> Settlement:
        """What follows from a failed attempt: another one later, the end of the document, or of the run."""
        now, document = datetime.now(UTC), work.document
        stage = error.step or work.stage
        message = f"[{stage}] {error.message}"
        attempt = state.attempts + 1
        retry_at: datetime | None = None
        dead_letter: DeadLetter | None = None
        attempts = attempt
        max_attempts = self._policy.max_retries + 1
        if isinstance(error, SetupError):
            self._setup_error = self._setup_error or error
            self.stop()
            attempts = state.attempts
        elif isinstance(error, TransientError) and (not error.attempted or attempt < max_attempts):
            delay_s = self._policy.delay_s(error, attempt=attempt, jitter=random.random())  # noqa: S311  spreads load
            retry_at = now + timedelta(seconds=delay_s)
            self._progress.postpone(delay_s)
            if not error.attempted:
                attempts = state.attempts
            elif self._notify is not None:
                cause = _cause_of(error, stage)
                self._notify(
                    RetryScheduled(state.path, stage, message, attempt, max_attempts, delay_s, cause)
                )
        else:
            dead_letter = DeadLetter(
                path=state.path,
                stage=stage,
                error_type=error_type_of(error),
                code=error.code,
                message=error.message,
                traceback=traceback_of(error),
                attempts=attempt,
                failed_at=now,
                metadata=state.metadata,
            )
            self._flow.fail(state, work, error)
        return Settlement(
            path=state.path,
            status="pending" if dead_letter is None else "failed",
            attempts=attempts,
            at=now,
            content_hash=document.content_hash or None,
            error=message,
            retry_at=retry_at,
            dead_letter=dead_letter,
            timings_s=work.timings_s,
            tokens=document.tokens,
            cost=document.cost,
        )

    async def _settle(self) -> None:
        """Keep what became of documents, many in one commit, until the run is over."""
        while not self._is_over or self._ended:
            await self._has_ended.wait()
            if not self._is_over:
                await asyncio.sleep(LINGER_S)
            self._has_ended.clear()
            batch, self._ended = self._ended, []
            undone = [end.path for end in batch if end.status in ("pending", "failed")]
            await _persistently(self._flow.flush)
            await _persistently(partial(self._journal.flush, undone))
            settle = partial(self._store.settle, self._run_id, batch, owner=self._owner)
            lost = await _persistently(settle)
            if lost:
                log.warning("documents were taken over by another runner", extra={"count": len(lost)})
            self._may_go_on.set()
            self._wake.set()

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(self._policy.lease_s / 3)
            renew = partial(self._store.renew, self._run_id, owner=self._owner, lease_s=self._policy.lease_s)
            await _persistently(renew)

    async def _watch(self) -> None:
        """Cancel the work on documents whose stage takes too long, and tell how far the run is."""
        while True:
            await asyncio.sleep(WATCH_S)
            now = time.monotonic()
            for work in self._active:
                if work.deadline and work.deadline + work.document.allowed_s < now and not work.is_late:
                    work.is_late = True
                    work.task.cancel()
            self._progress.tell()


async def add_listed(
    store: StateStore, run_id: str, inputs: Inputs, *, listing: int
) -> AsyncGenerator[Added]:
    """Add the documents of a run to its store, in batches; what each of them has changed."""
    async for batch in in_batches(inputs):
        yield await _persistently(partial(store.add, run_id, batch, listing=listing))


def _tell_stage(
    notify: Callable[[Event], None], path: str, stage: str, seconds: float, error: DocmillError | None
) -> None:
    if error is None:
        notify(StageEnded(path, stage, seconds))
        return
    message = f"[{stage}] {error.message}"
    notify(StageEnded(path, stage, seconds, message, _cause_of(error, stage)))


def _cause_of(error: DocmillError, stage: str) -> Cause:
    return Cause(stage, error.code, error_type_of(error), is_quoting(error))


_NO_OUTCOME = Outcome("")
_Value = TypeVar("_Value")


async def _persistently(work: Callable[[], Awaitable[_Value]]) -> _Value:
    """The result of `work`, tried again for half a minute while the store cannot be reached."""
    for delay_s in STORE_DELAYS_S:
        try:
            return await work()
        except TransientError as error:
            log.warning("%s; tried again in %g s", error.message, delay_s, extra={"code": error.code})
            await asyncio.sleep(delay_s)
    return await work()


async def _first_error_of(tasks: "list[asyncio.Task[None]]", *, until: "list[asyncio.Task[None]]") -> None:
    """Wait until all of `until` have ended. Raises the first error of any of `tasks`."""
    left = set(until)
    watched = set(tasks)
    while left:
        done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        watched -= done
        left -= done
