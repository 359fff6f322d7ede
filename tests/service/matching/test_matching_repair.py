"""The sweeper sends what was lost, leaves dead messages where they are, and warns of what is stuck."""

import asyncio
import logging
from dataclasses import replace

import pytest

from docmill.errors import CrashedError, ServerError
from docmill.service.app import Service
from docmill.service.events.matching_requests import MatchingRequests
from docmill.service.ports import Message
from docmill.service.probes import Probes
from docmill.service.processing.matching_repair import MatchingRepair
from docmill.service.store import matching_jobs, operations
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.testing.matching import RecordingNotifier, ScriptedMatcher
from support.matched_papers import INVOICE, Papers
from support.papers_to_match import PapersToMatch
from support.scripted_steps import RunWorker


@pytest.fixture
def repair(service: Service) -> MatchingRepair:
    assert service.matching is not None
    return MatchingRepair(service.database, service.matching, grace_s=30)


async def age(service: Service, minutes: float) -> None:
    """Make every job as old as if it had been asked for, and claimed, so long ago."""
    async with service.database.connection() as conn:
        await conn.execute(
            """
            UPDATE matching_job
               SET progress_at = progress_at - make_interval(secs => %(seconds)s),
                   started_at = started_at - make_interval(secs => %(seconds)s),
                   lease_until = lease_until - make_interval(secs => %(seconds)s),
                   sent_at = sent_at - make_interval(secs => %(seconds)s)
            """,
            {"seconds": minutes * 60},
        )


async def received(service: Service) -> Message:
    assert service.matching is not None
    (message,) = await service.matching.queue.receive(limit=1, wait_s=5)
    return message


async def lose_message(service: Service) -> None:
    assert service.matching is not None
    await service.matching.queue.delete([await received(service)])


async def test_a_document_without_a_message_gets_one_and_is_matched(
    service: Service, papers: PapersToMatch, repair: MatchingRepair, working: RunWorker
) -> None:
    document_id = await papers.read()
    await lose_message(service)
    await repair.repair()
    assert await papers.messages() == 0  # not for long enough

    await age(service, 1)
    await repair.repair()
    await repair.repair()

    assert await papers.messages() == 1
    async with working():
        await papers.until(document_id, lambda state: state.status == "succeeded")


async def test_documents_that_were_read_while_nothing_was_matched_are_asked_for(
    service: Service, papers: PapersToMatch, repair: MatchingRepair, working: RunWorker
) -> None:
    without_matching = replace(service, matching_requests=MatchingRequests())
    before = PapersToMatch(without_matching)
    invoice, letter = await before.read(), await before.read("other")
    deleted = await before.read("receipt")
    await service.bin.delete(deleted, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)
    assert await papers.messages() == 0

    await repair.repair()
    await repair.repair()

    assert await papers.messages() == 1
    assert (await papers.state(invoice)).status == "pending"
    assert (await papers.state(letter)).status is None
    async with working():
        await papers.until(invoice, lambda state: state.status == "succeeded")


async def test_documents_that_an_earlier_version_matched_are_asked_for_once(
    service: Service, repair: MatchingRepair
) -> None:
    papers = Papers(service, service.default_tenant_id)
    old, new = [await papers.add(name, INVOICE) for name in ("old", "new")]
    for document_id in (old, new):
        await papers.match(document_id)
    async with service.database.tenant(papers.tenant_id) as conn:
        await conn.execute(
            """
            UPDATE document
               SET matching_status = 'succeeded', result_ingestion_id = ingestion.id
              FROM ingestion
             WHERE document_id = document.id
            """
        )
        await conn.execute("UPDATE match_record SET version = 0 WHERE document_id = %s", [old])

    await repair.repair()
    await repair.repair()

    waiting = PapersToMatch(service)
    assert (await waiting.state(old)).status == "pending"
    assert (await waiting.state(new)).status == "succeeded"
    assert await waiting.messages() == 1


async def test_a_document_that_waits_or_is_in_work_gets_no_other_message(
    service: Service, papers: PapersToMatch, repair: MatchingRepair
) -> None:
    waiting, held = await papers.read(), await papers.read()
    for document_id in (waiting, held):
        await lose_message(service)
        async with service.database.tenant(service.default_tenant_id) as conn:
            claim = await matching_jobs.take(conn, document_id, worker_id="w", lease_s=3600, token=new_id())
            assert claim is not None
            if document_id == waiting:
                await matching_jobs.set_back(
                    conn, claim, error=ServerError("down"), delay_s=1800, counts=True
                )
    await age(service, 5)

    await repair.repair()

    assert await papers.messages() == 0


async def test_what_no_worker_survives_fails_and_its_message_stays_dead(
    service: Service,
    papers: PapersToMatch,
    repair: MatchingRepair,
    matcher: ScriptedMatcher,
    notifier: RecordingNotifier,
    working: RunWorker,
) -> None:
    document_id = await papers.read()
    assert service.matching is not None
    queue = service.matching.queue
    for _ in range(3):  # as by workers that die
        message = await received(service)
        async with service.database.tenant(service.default_tenant_id) as conn:
            assert await matching_jobs.take(conn, document_id, worker_id="w", lease_s=0, token=new_id())
        await queue.release(message)
    assert await queue.receive(limit=1, wait_s=0) == []
    assert len(await queue.dead_messages(limit=10)) == 1

    await age(service, 1)
    await repair.repair()

    async with working():
        state = await papers.until(document_id, lambda state: state.status == "failed")
    assert state.attempts == 3
    assert matcher.phases == []
    assert [notification.attempts for notification in notifier.notifications] == [3]
    assert CrashedError.code in {failure.error_code for failure in await _failures(service)}
    assert len(await queue.dead_messages(limit=10)) == 1


async def _failures(service: Service) -> list[operations.FailureRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        return await operations.failures(conn)


async def test_what_is_in_progress_for_too_long_is_an_alarm(
    service: Service,
    papers: PapersToMatch,
    repair: MatchingRepair,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stuck, _pending = await papers.read(), await papers.read()
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert await matching_jobs.take(conn, stuck, worker_id="w", lease_s=60, token=new_id())
    await age(service, 11)

    with caplog.at_level(logging.WARNING):
        await repair.warn_of_stuck()

    assert [vars(record)["document_id"] for record in caplog.records if "stuck" in record.message] == [
        str(stuck)
    ]
    async with service.database.tenant(service.default_tenant_id) as conn:
        figures = (await operations.operations(conn)).matching
    assert (figures.pending, figures.in_progress, figures.stuck) == (1, 1, 1)
    async with service.database.connection() as conn:
        assert await matching_jobs.count_stuck(conn) == 1


async def test_metrics_name_both_queues(service: Service, papers: PapersToMatch) -> None:
    await papers.read()

    text = (await Probes.of(service, asyncio.Event()).scrape()).decode()

    assert 'docmill_queue_messages{queue="matching",state="due"} 1.0' in text
    assert 'docmill_queue_messages{queue="ingestion",state="due"}' in text
    assert 'docmill_up{component="matching_queue"} 1.0' in text
    assert 'docmill_dead_letters{queue="matching"} 0.0' in text
    assert "docmill_matching_stuck 0.0" in text
