"""Runs on a Ray cluster: many runners, which share the state store of the run."""

import asyncio
import logging
import os
import pickle
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from docmill.errors import DocmillError, MisconfiguredError, ServerError
from docmill.resilience.concurrency import cancel_and_wait
from docmill.runs.components.libraries import required
from docmill.runs.distributed.assignment import Assignment, is_of_one_machine
from docmill.runs.distributed.ray_conductor import RayConductor
from docmill.runs.engine import POLL_S, add_listed
from docmill.runs.events import DocumentEnded, DocumentStarted, Event, RetryScheduled
from docmill.runs.execution import stopping_on_signals
from docmill.runs.progress import ProgressMeter
from docmill.runs.reporting.listeners import Listener
from docmill.runs.roles import Inputs
from docmill.runs.states import StateStore

log = logging.getLogger(__name__)

REACH_S = 10.0
"""A cluster must answer within this time."""
WARN_S = 30.0
"""If no runner has begun after so long, the log says so."""
RayModule: TypeAlias = Any
"""Loaded by name, since only an extra installs it."""
ActorHandle: TypeAlias = Any


@dataclass(frozen=True, kw_only=True)
class RayEngine:
    """Where a run is worked on: a Ray cluster.

    address: of the cluster, HOST:PORT; None for the one that this process is connected to, that
    of the variable RAY_ADDRESS, or one on this machine that lasts as long as the run. runners: their number,
    each with a CPU of the cluster; one for each node unless given.
    """

    address: str | None = None
    runners: int | None = None

    def __post_init__(self) -> None:
        if self.runners is not None and self.runners < 1:
            raise MisconfiguredError(f"there must be at least one runner, not {self.runners}")


@dataclass(frozen=True, kw_only=True)
class RayRun:
    """The work on a run on a Ray cluster.

    listed: opens what names the documents of the run; None for those that the store has. lease_s: see
    `RunPolicy`.
    """

    engine: RayEngine
    assignment: Assignment
    store: StateStore
    listed: Callable[[], AbstractAsyncContextManager[Inputs | None]]
    lease_s: float
    notify: Listener | None
    handles_signals: bool

    async def work(self) -> bool:
        """List the documents, then have runners work on them; True if it was stopped before the end.

        Raises what ended a runner, as `Engine.run` does, and ServerError if Ray fails. Then the run can be
        resumed, on Ray or without it.
        """
        stop = asyncio.Event()
        meter = ProgressMeter(self.notify)
        async with connected(self.engine) as ray:
            refuse_files_of_one_machine(ray, self.assignment.store)
            with stopping_on_signals(stop.set) if self.handles_signals else nullcontext():
                await self._list(meter, stop)
                if not stop.is_set():
                    await self._conduct(ray, meter, stop)
        meter.end()
        is_done = await self.store.next_due_s(self.assignment.run_id) is None
        return stop.is_set() or not is_done

    async def _list(self, meter: ProgressMeter, stop: asyncio.Event) -> None:
        run_id = self.assignment.run_id
        meter.begin(await self.store.count(run_id))
        async with self.listed() as inputs:
            if inputs is not None:
                listing = await self.store.begin_listing(run_id)
                async for added in add_listed(self.store, run_id, inputs, listing=listing):
                    meter.add(added.new, again=added.changed)
                    meter.tell()
                    if stop.is_set():
                        return  # what is not listed yet has not vanished
                await self.store.end_listing(run_id, listing=listing)
        meter.end_listing(await self.store.count(run_id))

    async def _conduct(self, ray: RayModule, meter: ProgressMeter, stop: asyncio.Event) -> None:
        """Start a conductor near this process, and stay until its runners have done what there was."""
        runners = self.engine.runners or len(_living_nodes(ray))
        strategies: Any = required("ray.util.scheduling_strategies", "ray")
        here = ray.get_runtime_context().get_node_id()
        conductor = (
            ray.remote(RayConductor)
            .options(
                num_cpus=0,
                max_concurrency=1000,
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(here, soft=False),
            )
            .remote(replace(self.assignment, is_heard=self.notify is not None), runners)
        )
        working = asyncio.create_task(_result_of(conductor.work.remote()))
        passing_on = asyncio.create_task(_pass_on(stop, conductor))
        is_over = asyncio.Event()
        hearing = asyncio.create_task(self._hear(conductor, meter, is_over))
        try:
            with _translated(ray):
                await self._wait(ray, conductor, working, stop)
                is_over.set()
                await hearing
                errors = await conductor.errors.remote()
            if errors:
                raise _loaded(errors[0])
        finally:
            await cancel_and_wait([working, passing_on, hearing])
            ray.kill(conductor)

    async def _wait(
        self,
        ray: RayModule,
        conductor: ActorHandle,
        working: "asyncio.Task[object]",
        stop: asyncio.Event,
    ) -> None:
        """Wait until all runners have ended, or none is left that could do anything.

        Ray waits for ever for a place for the tickets of a node that is lost; the state store says whether
        somebody has done their work.
        """
        run_id = self.assignment.run_id
        began, idle_since = time.monotonic(), None
        is_warned = False
        while not working.done():
            await asyncio.wait([working], timeout=POLL_S)
            if not is_warned and time.monotonic() - began > WARN_S and not await conductor.has_begun.remote():
                log.warning("no runner has begun yet; Ray waits for a free CPU", extra={"run_id": run_id})
                is_warned = True
            is_stopping = stop.is_set() or bool(await conductor.errors.remote())
            if not is_stopping and await self.store.next_due_s(run_id) is not None:
                idle_since = None
                continue
            idle_since = idle_since or time.monotonic()
            busy = set(await conductor.busy_nodes.remote()) & _living_nodes(ray)
            is_overdue = not is_stopping and time.monotonic() - idle_since > self.lease_s
            if not busy or is_overdue:
                return
        await working

    async def _hear(self, conductor: ActorHandle, meter: ProgressMeter, is_over: asyncio.Event) -> None:
        """Tell what the runners tell, until `is_over`, and everything up to then."""
        is_last = False
        while not is_last:
            is_last = is_over.is_set()
            self._note(await conductor.news.remote(), meter)

    def _note(self, events: list[Event], meter: ProgressMeter) -> None:
        for event in events:
            match event:
                case DocumentStarted():
                    meter.start(event.path)
                case DocumentEnded():
                    meter.finish(event.status)
                case RetryScheduled():
                    meter.finish("pending")
                    meter.postpone(event.delay_s)
                case _:
                    pass
            if self.notify is not None:
                self.notify(event)
        meter.tell()


@asynccontextmanager
async def connected(engine: RayEngine) -> AsyncGenerator[RayModule]:
    """Ray, connected to the cluster. Raises MisconfiguredError if there is none at that address."""
    ray: Any = required("ray", "ray")
    if ray.is_initialized():
        yield ray
        return
    # Ray sends statistics of its use to its makers unless this variable says otherwise.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    logging.getLogger("ray").setLevel(logging.ERROR)
    address = engine.address or os.environ.get("RAY_ADDRESS")
    if address is not None:
        await _reach(address)
    try:
        await asyncio.to_thread(
            ray.init,
            address or "local",
            log_to_driver=False,
            configure_logging=False,
            **({} if address else own),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        place = f" at {address!r}" if address else ""
        raise MisconfiguredError(f"Ray cannot be used{place}: {_line(error)}") from error
    try:
        yield ray
    finally:
        await asyncio.to_thread(ray.shutdown)


async def _reach(address: str) -> None:
    """Refuse an address at which nothing answers; Ray itself tries for minutes, and cannot be stopped."""
    host, colon, port = address.rpartition(":")
    if "://" in address or not (colon and port.isdigit()):
        raise MisconfiguredError(
            f"the address of a Ray cluster is HOST:PORT, such as 10.0.0.5:6379, not {address!r}"
        )
    try:
        async with asyncio.timeout(REACH_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except (OSError, TimeoutError) as error:
        raise MisconfiguredError(f"there is no Ray cluster at {address!r}: {error or 'no answer'}") from error
    writer.close()


def refuse_files_of_one_machine(ray: RayModule, store: str) -> None:
    """Raise MisconfiguredError if the states of a run are in a file, and the cluster has several machines."""
    machines = {node["NodeManagerHostname"] for node in ray.nodes() if node["Alive"]}
    if len(machines) > 1 and is_of_one_machine(store):
        raise MisconfiguredError(
            f"the states of this run are in a file, and the cluster has {len(machines)} machines; keep them"
            " on a server: --store postgresql://… or redis://…"
        )


def _living_nodes(ray: RayModule) -> set[str]:
    return {str(node["NodeID"]) for node in ray.nodes() if node["Alive"]}


async def _result_of(reference: Awaitable[object]) -> object:
    return await reference


async def _pass_on(stop: asyncio.Event, conductor: ActorHandle) -> None:
    await stop.wait()
    await conductor.stop.remote()


def _loaded(error: bytes) -> DocmillError:
    return cast("DocmillError", pickle.loads(error))  # noqa: S301  from runners of this run


@contextmanager
def _translated(ray: RayModule) -> Generator[None]:
    try:
        yield
    except ray.exceptions.RayError as error:
        raise ServerError(f"Ray cannot go on: {_line(error)}") from error


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
