"""One runner of a run on Ray: a function of Ray Data in an actor of its own."""

import asyncio
import os
import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from docmill.errors import DocmillError, MisconfiguredError, UnknownRunError
from docmill.resilience.attempts import internal_error
from docmill.resilience.concurrency import cancel_and_wait
from docmill.runs.assembly import opened_flow
from docmill.runs.components.libraries import required
from docmill.runs.context import Context
from docmill.runs.definition import PipelineDefinition
from docmill.runs.distributed.assignment import Assignment
from docmill.runs.events import Event, Progress
from docmill.runs.execution import Runner
from docmill.runs.states import StateStore
from docmill.runs.stores.opening import open_store

TELL_S = 0.2
"""Events are sent together after so long."""


class RayRunner:
    """Works on the run of an assignment for each ticket that it is given, until no document is left.

    conductor: the handle of the actor that has given it the ticket.
    """

    def __init__(self, assignment: Assignment, conductor: Any) -> None:  # noqa: ANN401  Ray tells no types
        self._assignment = assignment
        self._conductor = conductor

    def __call__(self, batch: Mapping[str, Any]) -> Mapping[str, Sequence[object]]:
        """The tickets, with the node that has worked on them. Errors are told to the conductor."""
        tickets = [int(ticket) for ticket in batch["ticket"]]
        node = _node_id()
        for ticket in tickets:
            asyncio.run(self._work(ticket, node))
        return {"ticket": tickets, "node": [node] * len(tickets)}

    async def _work(self, ticket: int, node: str) -> None:
        await self._conductor.begin.remote(ticket, node)
        error: DocmillError | None = None
        try:
            await self._take_part()
        except DocmillError as raised:
            error = raised
        except Exception as fault:  # noqa: BLE001  of a component's open or close; told where the run was begun
            error = internal_error(fault, "the run")
        await self._conductor.end.remote(ticket, None if error is None else pickle.dumps(error))

    async def _take_part(self) -> None:
        assignment = self._assignment
        try:
            os.chdir(assignment.folder)
        except OSError as error:
            raise MisconfiguredError(
                f"{assignment.folder!r}, where the run was begun, is missing on a node: {error.strerror};"
                " begin the run in a folder that is the same on all nodes"
            ) from error
        pipeline, shared = assignment.unpack()
        store = open_store(assignment.store)
        try:
            await _check_run(store, assignment.run_id)
            await self._run(pipeline, shared, store)
        finally:
            await store.close()

    async def _run(self, pipeline: PipelineDefinition[Any], shared: object, store: StateStore) -> None:
        assignment, owner = self._assignment, uuid4().hex
        context = Context(assignment.run_id, shared, dict(assignment.metadata), assignment.fingerprint, owner)
        runner = Runner(
            opened=partial(opened_flow, pipeline, context),
            listed=_nothing_listed,
            policy=pipeline.policy,
            fingerprint=assignment.fingerprint,
            owner=owner,
            stop_asked=self._stop_asked,
        )
        events: list[Event] = []
        telling = asyncio.create_task(self._tell_again_and_again(events))
        try:
            await runner.take_part(assignment.run_id, store, events.append if assignment.is_heard else None)
        finally:
            await cancel_and_wait([telling])
            await self._tell(events)

    async def _stop_asked(self) -> None:
        await self._conductor.wait_for_stop.remote()

    async def _tell_again_and_again(self, events: list[Event]) -> None:
        while True:
            await asyncio.sleep(TELL_S)
            await self._tell(events)

    async def _tell(self, events: list[Event]) -> None:
        """Send events. Who began the run counts for itself how far all runners are."""
        told = [event for event in events if not isinstance(event, Progress)]
        events.clear()
        if told:
            await self._conductor.tell.remote(told)


async def _nothing_listed() -> None:
    return None


async def _check_run(store: StateStore, run_id: str) -> None:
    try:
        await store.find_run(run_id)
    except UnknownRunError as error:
        raise MisconfiguredError(
            "a node does not see the run in the state store; for several machines, give the address of a"
            " server, such as PostgreSQL"
        ) from error


def _node_id() -> str:
    ray: Any = required("ray", "ray")
    return str(ray.get_runtime_context().get_node_id())
