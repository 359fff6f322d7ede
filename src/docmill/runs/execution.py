"""One runner's work on a run, from its inputs to the report."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import current_thread, main_thread
from uuid import uuid4

from docmill.resilience.concurrency import stop_signals
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
    """

    opened: Callable[[WriteBehindJournal], AbstractAsyncContextManager[DocumentFlow]]
    listed: Callable[[], Awaitable[Inputs | None]]
    policy: RunPolicy
    fingerprint: str
    owner: str = field(default_factory=lambda: uuid4().hex)
    on_event: Callable[[Event], None] | None = None
    handles_signals: bool = False

    async def work_through(self, run: Run, store: StateStore, *, is_resumed: bool) -> RunReport:
        """Bring a run that the store has to its end; the store is closed afterwards.

        Raises as `Engine.run` does; then the run can be resumed.
        """
        started, run_id = time.monotonic(), run.run_id
        notify = guarded(self.on_event)
        is_changed = is_resumed and run.fingerprint != self.fingerprint
        if is_changed:
            log.warning("the pipeline has changed since the run was begun", extra={"run_id": run_id})
        notify(RunStarted(run_id, is_resumed, is_changed))
        await store.update_run(run_id, status="running", fingerprint=self.fingerprint)
        is_interrupted = True
        try:
            is_interrupted = await self._work(run_id, store, notify)
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
            notify(RunEnded(run_id, report.completed, report.failed, is_interrupted))
        return report

    async def _work(self, run_id: str, store: StateStore, notify: Callable[[Event], None]) -> bool:
        """True if it was stopped before the end."""
        journal = WriteBehindJournal(store, run_id)
        async with self.opened(journal) as flow:
            engine = Engine(
                flow, store, journal, run_id=run_id, owner=self.owner, policy=self.policy, notify=notify
            )
            inputs = await self.listed()
            # Python gives signals to the main thread alone.
            handles_signals = self.handles_signals and current_thread() is main_thread()
            with _stopping(engine) if handles_signals else nullcontext():
                return await engine.run(inputs)


@contextmanager
def _stopping(engine: Engine) -> Generator[None]:
    """Stop the engine in good order at the first SIGINT or SIGTERM, at once at the second."""
    task = asyncio.current_task()
    assert task is not None
    with stop_signals() as (stop, abort):

        async def watch() -> None:
            await stop.wait()
            log.warning("stopping; documents at work are brought to their end")
            engine.stop()
            await abort.wait()
            task.cancel()

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()
