"""Documents are matched by the worker, and every outcome is settled by the class of its error."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest
import stamina

from docmill.errors import (
    BadModelOutputError,
    ContextTooLongError,
    DocmillError,
    ServerError,
    UnauthorizedError,
)
from docmill.pipeline import Steps
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.observe.metrics import Metrics
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.processing import matching_phases
from docmill.service.protocol import matching_rules
from docmill.service.store import dead_letters, pauses
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.notifications import Notification
from docmill.service.sweeper import Sweeper
from docmill.service.worker import run_worker
from docmill.testing.matching import RecordingNotifier, ScriptedMatcher
from support.papers_to_match import MatchingState, PapersToMatch
from support.scripted_steps import RunWorker, Upload

SUCCEEDED = MatchingState("succeeded", 1, None, is_failed_at=False, written=1)


def raising(*errors: DocmillError | None) -> Callable[[DocumentToMatch], Awaitable[None]]:
    """A phase that raises these errors, one at a time; None: it works. After them it works."""
    left = list(errors)

    async def phase(_document: DocumentToMatch) -> None:
        if left and (error := left.pop(0)):
            raise error

    return phase


@pytest.fixture
def settings(settings: Settings) -> Settings:
    matching = settings.matching.model_copy(update={"lease_s": 2.0, "heartbeat_s": 0.5})
    return settings.model_copy(update={"matching": matching})


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is waited for between tries and deliveries."""
    monkeypatch.setattr(matching_rules, "RETRY_DELAYS_S", (0.0, 0.0))
    monkeypatch.setattr(matching_phases, "DECISION_WAIT_S", 0.001)
    yield
    assert not stamina.is_testing()


async def letters(service: Service) -> list[tuple[str, int]]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return [(letter.error_code, letter.attempts) for letter in await dead_letters.page(conn, limit=10)]


def is_succeeded(state: MatchingState) -> bool:
    return state.status == "succeeded"


def is_failed(state: MatchingState) -> bool:
    return state.status == "failed"


async def until_no_message(papers: PapersToMatch) -> None:
    async with asyncio.timeout(20):
        while await papers.messages():
            await papers.service.wakeups.wait(papers.service.wakeups.next("papers"), timeout_s=0.05)


async def test_a_document_is_matched_once_and_its_message_is_gone(
    papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    document_id = await papers.read()

    async with working():
        assert await papers.until(document_id, is_succeeded) == SUCCEEDED
        await until_no_message(papers)

    assert matcher.phases == ["prepare", "decide", "write"]


async def test_an_upload_is_read_and_then_matched_by_the_same_worker(
    papers: PapersToMatch, upload: Upload, working: RunWorker
) -> None:
    accepted = await upload()

    async with working():
        assert await papers.until(accepted.document_id, is_succeeded) == SUCCEEDED


async def test_a_decision_is_tried_three_times_within_a_delivery(
    papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    matcher.deciding = raising(BadModelOutputError("odd"), ServerError("down"))
    document_id = await papers.read()

    async with working():
        assert await papers.until(document_id, is_succeeded) == SUCCEEDED

    assert matcher.phases == ["prepare", "decide", "decide", "decide", "write"]


async def test_a_transient_failure_is_delivered_again(
    papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker, notifier: RecordingNotifier
) -> None:
    matcher.preparing = raising(ServerError("down"), ServerError("down"))
    document_id = await papers.read()

    async with working():
        state = await papers.until(document_id, is_succeeded)

    assert state == MatchingState("succeeded", 3, None, is_failed_at=False, written=1)
    assert notifier.notifications == []


async def test_the_third_transient_failure_fails_and_leaves_its_message_to_the_dead(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    working: RunWorker,
    notifier: RecordingNotifier,
) -> None:
    matcher.preparing = raising(*[ServerError("down")] * 9)
    document_id = await papers.read()

    async with working():
        state = await papers.until(document_id, is_failed)
        await until_no_message(papers)

    assert state == MatchingState("failed", 3, "down", is_failed_at=True, written=0)
    assert notifier.notifications == [
        Notification(
            "matching_failed",
            tenant_id=service.default_tenant_id,
            document_id=document_id,
            error="down",
            attempts=3,
            link=f"/docs/{document_id}",
        )
    ]
    assert await letters(service) == [("server_error", 3)]
    assert service.matching is not None
    dead = await service.matching.queue.dead_messages(limit=10)
    assert [(message.body, message.receive_count) for message in dead] == [(str(document_id), 3)]
    await Sweeper(service).empty_dead_messages()
    assert await service.matching.queue.dead_messages(limit=10) == dead


async def test_an_error_of_the_document_fails_at_once(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    working: RunWorker,
    notifier: RecordingNotifier,
) -> None:
    matcher.deciding = raising(ContextTooLongError("too long"))
    document_id = await papers.read()

    async with working():
        state = await papers.until(document_id, is_failed)
        await until_no_message(papers)

    assert state == MatchingState("failed", 1, "too long", is_failed_at=True, written=0)
    assert matcher.phases == ["prepare", "decide"]
    assert len(notifier.notifications) == 1
    assert service.matching is not None
    assert await service.matching.queue.dead_messages(limit=10) == []


@pytest.mark.parametrize("error", [RuntimeError("a fault"), ServerError("down")])
async def test_a_notifier_that_fails_does_not_harm_the_document(
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    working: RunWorker,
    notifier: RecordingNotifier,
    error: Exception,
) -> None:
    notifier.error = error
    matcher.deciding = raising(ContextTooLongError("too long"))
    document_id = await papers.read()

    async with working():
        state = await papers.until(document_id, is_failed)

    assert state.error == "too long"


async def test_a_setup_error_pauses_the_step_and_loses_nothing(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    working: RunWorker,
    notifier: RecordingNotifier,
) -> None:
    repaired = asyncio.Event()
    refused: list[str] = []

    async def decide(document: DocumentToMatch) -> None:
        if not repaired.is_set():
            refused.append(str(document.id))
            raise UnauthorizedError("the key is wrong")

    matcher.deciding = decide
    document_ids = [await papers.read() for _ in range(3)]

    async with working():
        async with asyncio.timeout(20):
            while len(refused) < 5:  # more than there are deliveries
                await service.wakeups.wait(service.wakeups.next("papers"), timeout_s=0.05)
        async with service.database.connection() as conn:
            paused = [(row.part, row.code) for row in await pauses.current(conn)]
        repaired.set()
        states = [await papers.until(document_id, is_succeeded) for document_id in document_ids]

    assert paused == [("matching", "unauthorized")]
    assert states == [SUCCEEDED] * 3
    assert notifier.notifications == []


@pytest.mark.parametrize("body", ["not a uuid", "00000000-0000-7000-8000-000000000000"])
async def test_a_message_about_nothing_is_deleted(
    service: Service, papers: PapersToMatch, working: RunWorker, body: str
) -> None:
    assert service.matching is not None
    await service.matching.queue.send([body])

    async with working():
        await until_no_message(papers)

    assert await service.matching.queue.dead_messages(limit=10) == []


async def test_a_document_in_the_bin_is_not_matched(
    service: Service, papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    document_id = await papers.read()
    await service.bin.delete(document_id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)

    async with working():
        await until_no_message(papers)

    assert matcher.phases == []


async def test_a_request_during_the_work_is_matched_after_it(
    papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    document_id = await papers.read()

    async def request_once(document: DocumentToMatch) -> None:
        if matcher.phases.count("decide") == 1:
            await papers.request(document.id)

    matcher.deciding = request_once

    async with working():
        await papers.until(document_id, lambda state: is_succeeded(state) and state.written == 2)
        await until_no_message(papers)

    assert matcher.phases == ["prepare", "decide", "write"] * 2


async def test_long_work_keeps_its_lease_and_its_message(
    papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker, service: Service
) -> None:
    async def wait(_document: DocumentToMatch) -> None:
        async with asyncio.timeout(20):
            async with service.database.connection() as conn:
                cur = await conn.execute("SELECT lease_until FROM matching_job")
                (lease_until,) = await cur.fetchone() or (None,)
            while True:
                async with service.database.connection() as conn:
                    cur = await conn.execute(
                        "SELECT lease_until > %(until)s + interval '1.2 s' FROM matching_job",
                        {"until": lease_until},
                    )
                    if await cur.fetchone() == (True,):
                        return
                await service.wakeups.wait(service.wakeups.next("papers"), timeout_s=0.05)

    matcher.deciding = wait
    document_id = await papers.read()

    async with working():
        assert await papers.until(document_id, is_succeeded) == SUCCEEDED


async def test_work_whose_claim_is_lost_is_cancelled_and_writes_nothing(
    service: Service, papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    cancelled = asyncio.Event()

    async def wait(document: DocumentToMatch) -> None:
        await service.bin.delete(document.id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    matcher.deciding = wait
    document_id = await papers.read()

    async with working():
        await asyncio.wait_for(cancelled.wait(), 20)

    assert "write" not in matcher.phases
    await service.bin.restore(document_id, tenant_id=service.default_tenant_id)
    assert (await papers.state(document_id)).written == 0


async def test_a_delivery_that_takes_too_long_is_stopped(settings: Settings, steps: Steps) -> None:
    matching = settings.matching.model_copy(update={"limit_s": 0.05})
    matcher = ScriptedMatcher()

    async def wait(_document: DocumentToMatch) -> None:
        await asyncio.Event().wait()

    matcher.deciding = wait
    async with open_service(settings.model_copy(update={"matching": matching}), matcher=matcher) as service:
        papers = PapersToMatch(service)
        document_id = await papers.read()
        async with running(service, steps):
            state = await papers.until(document_id, is_failed)

    assert state.attempts == 3
    assert "took longer than 0.05 s" in (state.error or "")


@asynccontextmanager
async def running(
    service: Service, steps: Steps, metrics: Metrics | None = None
) -> AsyncGenerator[asyncio.Event]:
    """A worker for the length of the block, stopped as by a signal; set the event to abort it."""
    stop, abort = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(run_worker(service, steps, stop, abort, metrics))
    try:
        yield abort
    finally:
        stop.set()
        async with asyncio.timeout(20):
            await task


async def test_a_worker_that_stops_gives_the_document_back_uncounted(
    service: Service, papers: PapersToMatch, matcher: ScriptedMatcher, steps: Steps
) -> None:
    begun = asyncio.Event()

    async def wait(_document: DocumentToMatch) -> None:
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()

    matcher.deciding = wait
    document_id = await papers.read()

    async with running(service, steps) as abort:
        await asyncio.wait_for(begun.wait(), 20)
        abort.set()
    given_back = await papers.state(document_id)
    async with running(service, steps):
        state = await papers.until(document_id, is_succeeded)

    assert (given_back.status, given_back.attempts) == ("pending", 0)
    assert state == SUCCEEDED


async def test_outcomes_are_counted(
    service: Service, papers: PapersToMatch, matcher: ScriptedMatcher, steps: Steps
) -> None:
    matcher.preparing = raising(ServerError("down"))
    metrics = Metrics()
    document_id = await papers.read()

    async with running(service, steps, metrics):
        await papers.until(document_id, is_succeeded)
        await until_no_message(papers)

    text = metrics.exposition().decode()
    assert 'docmill_matchings_total{code="server_error",outcome="retried"} 1.0' in text
    assert 'docmill_matchings_total{code="",outcome="succeeded"} 1.0' in text
    assert "docmill_matching_duration_seconds_count 2.0" in text


async def test_links_by_rules_are_written_while_a_model_is_waited_for_and_count_in_the_end(
    service: Service, papers: PapersToMatch, matcher: ScriptedMatcher, working: RunWorker
) -> None:
    async def decide(_document: DocumentToMatch) -> None:
        raise ServerError("'small model' fails and is left alone", retry_after_s=3000, attempted=False)

    matcher.deciding = decide
    matcher.by_rules = "links by rules"
    document_id = await papers.read()

    async with working():
        waiting = await papers.until(document_id, lambda state: state.error is not None)
        async with service.database.tenant(service.default_tenant_id) as conn:
            await conn.execute(
                """
                UPDATE matching_job
                   SET next_attempt_at = NULL, waiting_since = waiting_since - interval '1 day'
                """
            )
        assert service.matching
        await service.matching.queue.send([str(document_id)])
        ended = await papers.until(document_id, is_succeeded)

    assert (waiting.status, waiting.attempts, waiting.written) == ("pending", 0, 1)
    assert (ended.attempts, ended.written) == (1, 2)
    assert ended.error is not None
    assert ended.error.startswith("linked by rules alone")
