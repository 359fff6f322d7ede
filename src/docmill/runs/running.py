"""Runs a pipeline: from its inputs to the report."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast
from uuid import uuid4

from pydantic import JsonValue

from docmill.errors import MisconfiguredError
from docmill.runs.assembly import opened_flow
from docmill.runs.context import Context
from docmill.runs.definition import Data, PipelineDefinition
from docmill.runs.distributed.assignment import Assignment, pack_assignment
from docmill.runs.distributed.ray_engine import RayEngine, RayRun
from docmill.runs.execution import Runner, carry_out
from docmill.runs.report import RunReport
from docmill.runs.reporting.listeners import Listener, ShownProgress, listening
from docmill.runs.roles import Inputs, Lister
from docmill.runs.stages import opened
from docmill.runs.states import Run, StateStore, new_run_id
from docmill.runs.stores.opening import open_store

Value = TypeVar("Value")


class RunOptions(TypedDict, total=False):
    """Options of a run.

    store: keeps its state, see `open_store`; that of the pipeline, or a SQLite file in the current folder,
    unless given. shared: an object for all components, see `Context`. metadata: of the run. progress: how it
    is shown how far the run is, see `ShownProgress`. on_event: is told of everything, in the event loop; its
    errors are logged and harm nothing. handles_signals: whether SIGINT and SIGTERM stop the run in good
    order. engine: where documents are worked on: in this process (`local`), or by runners on a Ray cluster,
    see `RayEngine`; the latter need the address of a store that they all can reach, and copies of `shared`.
    """

    store: StateStore | Path | str | None
    shared: object
    metadata: Mapping[str, JsonValue]
    progress: ShownProgress | None
    on_event: Listener | None
    handles_signals: bool
    engine: Literal["local", "ray"] | RayEngine


class Pipeline(PipelineDefinition[Data]):
    """A pipeline of your own, which runs over any number of documents.

    What became of each document, of failed ones too, is in the report that every call returns.
    """

    def run(
        self, inputs: Inputs | None = None, *, run_id: str | None = None, **options: Unpack[RunOptions]
    ) -> RunReport:
        """As `arun`, and wait for the end.

        SIGINT and SIGTERM stop it in good order: documents at work are brought to their end, the report says
        `is_interrupted`, and `resume` goes on. A second one stops it at once. In a terminal, a bar shows how
        far it is, unless `progress` says otherwise. Raises what `arun` raises, and MisconfiguredError where
        an event loop is running.
        """
        options.setdefault("handles_signals", True)
        options.setdefault("progress", "auto")
        return run_to_end(lambda: self.arun(inputs, run_id=run_id, **options), "pipeline.arun")

    async def arun(
        self, inputs: Inputs | None = None, *, run_id: str | None = None, **options: Unpack[RunOptions]
    ) -> RunReport:
        """Begin a run, and work through it.

        inputs: the documents, as paths, references or the like, of any length; None: those that the lister
        names. run_id: its name, eight letters and digits unless given. Raises RunExistsError for a name that
        is taken, SetupError where a person must act before the run can go on.
        """
        run = Run(
            run_id or new_run_id(),
            datetime.now(UTC),
            self.fingerprint,
            configuration=self.configuration,
        )
        assignment = _assignment(self, run.run_id, options)
        with listening(options.get("progress"), options.get("on_event")) as notify:
            store = open_store(options.get("store") or self.store)
            await store.create_run(run)
            listed = self.lister if inputs is None else inputs
            return await _work(self, run, store, listed, options, notify=notify, assignment=assignment)

    def resume(
        self,
        run_id: str,
        inputs: Inputs | None = None,
        *,
        retry_failed: bool = False,
        lists: bool = True,
        **options: Unpack[RunOptions],
    ) -> RunReport:
        """As `aresume`, and wait for the end, as `run` does."""
        options.setdefault("handles_signals", True)
        options.setdefault("progress", "auto")
        return run_to_end(
            lambda: self.aresume(run_id, inputs, retry_failed=retry_failed, lists=lists, **options),
            "pipeline.aresume",
        )

    async def aresume(
        self,
        run_id: str,
        inputs: Inputs | None = None,
        *,
        retry_failed: bool = False,
        lists: bool = True,
        **options: Unpack[RunOptions],
    ) -> RunReport:
        """Go on with a run: with what is left of it, and with what is new or has changed since.

        retry_failed: whether failed documents are tried again. lists: whether the documents are listed again;
        without, this runner takes part in what the store has, beside others. Raises UnknownRunError, and what
        `arun` raises.
        """
        assignment = _assignment(self, run_id, options)
        with listening(options.get("progress"), options.get("on_event")) as notify:
            store = open_store(options.get("store") or self.store)
            run = await store.find_run(run_id)
            if retry_failed:
                await store.requeue(run_id)
            listed = (self.lister if inputs is None else inputs) if lists else None
            return await _work(
                self,
                run,
                store,
                listed,
                options,
                notify=notify,
                assignment=assignment,
                is_resumed=True,
            )


async def _work(
    pipeline: PipelineDefinition[Any],
    run: Run,
    store: StateStore,
    inputs: Inputs | Lister | None,
    options: RunOptions,
    *,
    notify: Listener | None,
    assignment: Assignment | None,
    is_resumed: bool = False,
) -> RunReport:
    owner = uuid4().hex
    metadata = dict(options.get("metadata") or {})
    context = Context(run.run_id, options.get("shared"), metadata, pipeline.fingerprint, owner)
    handles_signals = options.get("handles_signals", False)
    if assignment is not None:
        engine = options.get("engine")
        ray_run = RayRun(
            engine=engine if isinstance(engine, RayEngine) else RayEngine(),
            assignment=assignment,
            store=store,
            listed=partial(_opened_list, pipeline, inputs, context),
            lease_s=pipeline.policy.lease_s,
            notify=notify,
            handles_signals=handles_signals,
        )
        return await carry_out(
            run, store, ray_run.work, fingerprint=pipeline.fingerprint, notify=notify, is_resumed=is_resumed
        )
    runner = Runner(
        opened=partial(opened_flow, pipeline, context),
        listed=partial(_listed, inputs, context),
        policy=pipeline.policy,
        fingerprint=pipeline.fingerprint,
        owner=owner,
        on_event=notify,
        handles_signals=handles_signals,
    )
    return await runner.work_through(run, store, is_resumed=is_resumed)


def _assignment(pipeline: PipelineDefinition[Any], run_id: str, options: RunOptions) -> Assignment | None:
    """What runners elsewhere are given; None if the work is done here. Raises MisconfiguredError."""
    engine = options.get("engine", "local")
    if engine == "local":
        return None
    if not isinstance(engine, RayEngine) and engine != "ray":
        raise MisconfiguredError(f"there is no engine {engine!r}; there are 'local' and 'ray'")
    return pack_assignment(
        pipeline,
        options.get("store") or pipeline.store,
        run_id=run_id,
        shared=options.get("shared"),
        metadata=dict(options.get("metadata") or {}),
    )


@asynccontextmanager
async def _opened_list(
    pipeline: PipelineDefinition[Any], inputs: Inputs | Lister | None, context: Context[Any]
) -> AsyncGenerator[Inputs | None]:
    """The documents of a run, with the lister opened that names them."""
    lister = pipeline.lister
    async with opened(lister, context) if inputs is lister and lister is not None else nullcontext():
        yield await _listed(inputs, context)


async def _listed(inputs: Inputs | Lister | None, context: Context[Any]) -> Inputs | None:
    lists = getattr(inputs, "list", None)
    if inputs is None or isinstance(inputs, list | tuple) or not callable(lists):
        return cast("Inputs | None", inputs)
    listed: Any = lists(context)
    return cast("Inputs", await listed if inspect.isawaitable(listed) else listed)


def run_to_end(work: Callable[[], Coroutine[Any, Any, Value]], alternative: str) -> Value:
    """The result of a coroutine, in an event loop of its own.

    Raises MisconfiguredError where an event loop is running; alternative: what to await there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise MisconfiguredError(
            f"an event loop is running here, as in a notebook; write: await {alternative}(…)"
        )
    return asyncio.run(work())
