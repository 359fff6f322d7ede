"""A worker that is killed at any point of matching costs time: the document is matched, and written once."""

import asyncio
import signal
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.testing.matching import ScriptedMatcher
from faults.control import Control
from faults.roles import Heir, StartWorker, on_both_queues
from faults.worker_process import MATCHING
from support.papers_to_match import MatchingState, PapersToMatch

POINTS = [
    "after receive",
    "after the claim",
    "in prepare",
    "in decide",
    "before a heartbeat",
    "before the commit",
    "after the commit",
    "before the delete",
    "after the delete",
]


@pytest.fixture
def orders(orders: dict[str, Any]) -> dict[str, Any]:
    queues = {**orders.get("queues", {}), "matching": f"test-{uuid4()}"}
    return {**orders, "queues": queues, "matching": {"lease_s": 1.5, "heartbeat_s": 0.4}}


@pytest.fixture
def matcher() -> ScriptedMatcher:
    return ScriptedMatcher()


@pytest.fixture
async def service(settings: Settings, matcher: ScriptedMatcher) -> AsyncIterator[Service]:
    async with open_service(settings, matcher=matcher) as service:
        await asyncio.wait_for(service.wakeups.listening(), 10)
        yield service


@pytest.fixture
def papers(service: Service) -> PapersToMatch:
    return PapersToMatch(service)


async def matched(papers: PapersToMatch) -> MatchingState:
    """The only document, once it is matched and nothing of it is left in the queue."""
    async with papers.service.database.tenant(papers.service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT id FROM document")
        ((document_id,),) = await cur.fetchall()
    state = await papers.until(document_id, lambda state: state.status == "succeeded")
    async with asyncio.timeout(30):
        while await papers.messages():
            await papers.service.wakeups.wait(papers.service.wakeups.next("papers"), timeout_s=0.05)
    return state


@on_both_queues
@pytest.mark.parametrize("point", POINTS)
async def test_a_document_is_matched_once_though_its_worker_is_killed(
    point: str, papers: PapersToMatch, start_worker: StartWorker, control: Control, heir: Heir
) -> None:
    await papers.read()
    stops = [MATCHING + point]
    if point == "before a heartbeat":
        stops.append(MATCHING + "in decide")  # it stands there until a heartbeat is due
    victim = await start_worker(*stops)

    await control.reached(MATCHING + point)
    await victim.kill()
    async with heir():
        state = await matched(papers)

    assert state.written == 1
    assert state.error is None
    assert state.attempts == (2 if point in POINTS[1:6] else 1)


async def test_a_worker_that_stood_still_while_another_took_over_writes_nothing(
    papers: PapersToMatch, start_worker: StartWorker, control: Control, heir: Heir
) -> None:
    point = MATCHING + "in decide"
    document_id = await papers.read()
    first = await start_worker(point)

    standing = await control.reached(point)
    first.send(signal.SIGSTOP)
    async with heir():
        before = await matched(papers)
    first.send(signal.SIGCONT)
    standing.go()
    await first.stop()

    assert (before.written, before.attempts) == (1, 2)
    assert await papers.state(document_id) == before
    assert [line["status"] for line in first.log if line["event"] == "matching ended"] == ["lost"]
