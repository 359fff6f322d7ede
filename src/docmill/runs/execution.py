"""One runner's work on a run, from its inputs to the report."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from threading import current_thread, main_thread
from uuid import uuid4

from docmill.resilience.concurrency import cancel_and_wait, stop_signals
from docmill.runs.engine import DocumentFlow, Engine
from docmill.runs.events import Event, RunEnded, RunStarted
from docmill.runs.policy import RunPolicy
from docmill.runs.report import RunReport
from docmill.runs.reporting.listeners import guarded
from docmill.runs.roles import Inputs
from docmill.runs.states import Run, RunStatus, StateStore
from docmill.runs.write_behind import WriteBehindJournal

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Runner:
    """What one runner does for a run.

    opened: opens what takes a document through its stages. listed: the documents of the run; None for those
    that the store has. fingerprint: of what is done with them. owner: names this runner among others.
    stop_asked: returns when the runner is to stop in good order.
    """

    opened: Callable[[WriteBehindJournal], AbstractAsyncContextManager[DocumentFlow]]
    listed: Callable[[], Awaitable[Inputs | None]]
    policy: RunPolicy
    fingerprint: str
    owner: str = field(default_factory=lambda: uuid4().hex)
    on_event: Callable[[Event], None] | None = None
    handles_signals: bool = False
    stop_asked: Callable[[], Awaitable[object]] | None = None

    async def work_through(self, run: Run, store: StateStore, *, is_resumed: bool) -> RunReport:
        """Bring a run that the store has to its end; the store is closed afterwards.

        Raises as `Engine.run` does; then the run can be resumed.
        """
        notify = guarded(self.on_event)
        work = partial(self.take_part, run.run_id, store, notify)
        return await carry_out(
            run, store, work, fingerprint=self.fingerprint, notify=notify, is_resumed=is_resumed
        )

    async def take_part(self, run_id: str, store: StateStore, notify: Callable[[Event], None] | None) -> bool:
        """Work on the documents of a run, and leave the run itself as it is; True if stopped before the end.

        Raises as `Engine.run` does.
        """
        journal = WriteBehindJournal(store, run_id)
        async with self.opened(journal) as flow:
            engine = Engine(
                flow, store, journal, run_id=run_id, owner=self.owner, policy=self.policy, notify=notify
            )
            inputs = await self.listed()
            with stopping_on_signals(engine.stop) if self.handles_signals else nullcontext():
                if self.stop_asked is None:
                    return await engine.run(inputs)
                waiting = asyncio.create_task(_stop_when(self.stop_asked, engine))
                try:
                    return await engine.run(inputs)
                finally:
                    await cancel_and_wait([waiting])


async def _stop_when(stop_asked: Callable[[], Awaitable[object]], engine: Engine) -> None:
    await stop_asked()
    engine.stop()


async def carry_out(
    run: Run,
    store: StateStore,
    work: Callable[[], Awaitable[bool]],
    *,
    fingerprint: str,
    notify: Callable[[Event], None] | None,
    is_resumed: bool,
) -> RunReport:
    """Keep in the store, and tell, that the run goes on and how it ended; the store is closed afterwards.

    work: the work on its documents; True if it was stopped before the end. Raises what that raises.
    """
    started, run_id = time.monotonic(), run.run_id
    is_changed = is_resumed and run.fingerprint != fingerprint
    if is_changed:
        log.warning("the pipeline has changed since the run was begun", extra={"run_id": run_id})
    if notify is not None:
        notify(RunStarted(run_id, is_resumed, is_changed))
    await store.update_run(run_id, status="running", fingerprint=fingerprint)
    is_interrupted = True
    try:
        is_interrupted = await work()
    finally:
        status: RunStatus = "interrupted" if is_interrupted else "completed"
        completed_at = None if is_interrupted else datetime.now(UTC)
        await store.update_run(run_id, status=status, completed_at=completed_at)
        report = RunReport(
            await store.find_run(run_id),
            await store.count(run_id),
            time.monotonic() - started,
            is_interrupted,
            store=store,
        )
        await store.close()
        if notify is not None:
            notify(RunEnded(run_id, report.completed, report.failed, is_interrupted))
    return report


@contextmanager
def stopping_on_signals(stop_work: Callable[[], None]) -> Generator[None]:
    """Call `stop_work` at the first SIGINT or SIGTERM, and cancel this task at the second.

    Without effect outside of the main thread, since Python gives signals to that one alone.
    """
    if current_thread() is not main_thread():
        yield
        return
    task = asyncio.current_task()
    assert task is not None
    with stop_signals() as (stop, abort):

        async def watch() -> None:
            await stop.wait()
            log.warning("stopping; documents at work are brought to their end")
            stop_work()
            await abort.wait()
            task.cancel()

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
