"""The stages of a pipeline, put together for one run."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.runs.context import Context
from docmill.runs.definition import Kind, PipelineDefinition
from docmill.runs.fingerprints import schema_fingerprint
from docmill.runs.flow import OTHER, Flow, Route, StageJournal
from docmill.runs.policy import RunPolicy, StageName
from docmill.runs.processes import Processes
from docmill.runs.stages import Stage, call_if_there, opened, place_of
from docmill.runs.threads import Threads
from docmill.workers.capacity import capacity


@asynccontextmanager
async def opened_flow(
    pipeline: PipelineDefinition[Any], context: Context[Any], journal: StageJournal
) -> AsyncGenerator[Flow]:
    """The flow of a pipeline, with its components opened.

    Raises MisconfiguredError for a component that has not the method of its role.
    """
    async with AsyncExitStack() as stack:
        stages = _Stages(pipeline.policy, pipeline.processes)
        stack.callback(stages.close)
        for component in pipeline.components:
            await stack.enter_async_context(opened(component, context))
        routes: dict[str, Route] = {}
        for name, kind in {OTHER: Kind(schema=pipeline.schema), **pipeline.kinds}.items():
            routes[name] = Route(
                kind.schema,
                schema_fingerprint(kind.schema),
                stages.of("extract", kind.extractor or pipeline.extractor),
                stages.of("export", kind.exporter or pipeline.exporter),
            )
        classifier = pipeline.classifier
        yield Flow(
            read=stages.of("read", pipeline.reader),
            convert=stages.of("convert", pipeline.converter),
            classify=None if classifier is None else stages.of("classify", classifier),
            routes=routes,
            journal=journal,
            context=context,
            flushes=[
                partial(call_if_there, exporter, "flush")
                for exporter in pipeline.exporters
                if hasattr(exporter, "flush")
            ],
        )


class _Stages:
    """Makes the stages of a run, which share its threads and its processes; one for each component."""

    def __init__(self, policy: RunPolicy, processes: int) -> None:
        self._policy = policy
        self._threads = Threads(policy.concurrency)
        self._count = processes or capacity().cores
        self._processes: Processes | None = None
        self._made: dict[tuple[StageName, int], Stage] = {}

    def of(self, name: StageName, component: object) -> Stage:
        """The stage that calls the method of this name. Raises MisconfiguredError if there is none."""
        made = self._made.get((name, id(component)))
        if made is not None:
            return made
        method = getattr(component, name, None)
        if not callable(method):
            raise MisconfiguredError(f"{type(component).__name__} has no method {name!r}")
        place = place_of(component, method)
        if place == "process" and self._processes is None:
            self._processes = Processes(self._count)
        stage = self._made[name, id(component)] = Stage(
            name,
            method,
            place=place,
            policy=self._policy,
            threads=self._threads,
            processes=self._processes,
        )
        return stage

    def close(self) -> None:
        """End the threads."""
        self._threads.close()
