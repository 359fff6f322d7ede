"""Matching with its queue in SQS, on emulators."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from docmill.errors import MisconfiguredError, ServerError
from docmill.pipeline import Steps
from docmill.service.app import Service, open_service
from docmill.service.aws.client import Operations, Session, open_operations
from docmill.service.config.settings import Aws, Buckets, Queues, Settings
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.processing.matching_repair import MatchingRepair
from docmill.service.protocol import matching_rules
from docmill.service.worker import run_worker
from docmill.testing.matching import RecordingNotifier, ScriptedMatcher
from support.aws_emulators import Emulator
from support.message_groups import receive_groups
from support.papers_to_match import PapersToMatch
from support.scripted_steps import RunWorker, Upload


@pytest.fixture
def settings(settings: Settings, emulator: Emulator) -> Settings:
    name = f"test-{uuid4()}"
    return settings.model_copy(
        update={
            "aws": Aws(enabled=True, endpoint=emulator.endpoint, create=True),
            "queues": Queues(ingestion=name, matching=f"{name}-matching"),
            "buckets": Buckets(storage=name),
        }
    )


@pytest.fixture
async def sqs(settings: Settings, aws_session: Session) -> AsyncIterator[Operations]:
    aws = settings.aws
    async with open_operations(aws_session, "sqs", region=aws.region, endpoint=aws.endpoint) as sqs:
        yield sqs


async def until_no_message(papers: PapersToMatch) -> None:
    async with asyncio.timeout(20):
        while await papers.messages():
            await papers.service.wakeups.wait(papers.service.wakeups.next("papers"), timeout_s=0.05)


async def test_an_upload_is_read_and_matched(
    papers: PapersToMatch, upload: Upload, working: RunWorker
) -> None:
    accepted = await upload()

    async with working():
        state = await papers.until(accepted.document_id, lambda state: state.status == "succeeded")
        await until_no_message(papers)

    assert (state.written, state.attempts) == (1, 1)


async def test_the_third_failure_leaves_its_message_to_the_dead_letter_queue(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    notifier: RecordingNotifier,
    working: RunWorker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matching_rules, "RETRY_DELAYS_S", (0.0, 0.0))

    async def prepare(_document: DocumentToMatch) -> None:
        raise ServerError("down")

    matcher.preparing = prepare
    document_id = await papers.read()

    async with working():
        state = await papers.until(document_id, lambda state: state.status == "failed")
        await until_no_message(papers)

    assert (state.attempts, len(notifier.notifications)) == (3, 1)
    assert service.matching is not None
    async with asyncio.timeout(20):
        while not (dead := await service.matching.queue.dead_messages(limit=10)):
            pass
    assert [message.body for message in dead] == [str(document_id)]


@pytest.fixture
async def queue_url(settings: Settings, service: Service, sqs: Operations) -> str:
    """Of the queue of matching, which the service has made."""
    assert service.matching is not None
    return (await sqs.call("get_queue_url", QueueName=settings.queues.matching))["QueueUrl"]


async def test_a_message_that_a_stopped_worker_replaced_keeps_its_tenant(
    service: Service,
    papers: PapersToMatch,
    matcher: ScriptedMatcher,
    steps: Steps,
    sqs: Operations,
    queue_url: str,
) -> None:
    begun = asyncio.Event()

    async def prepare(_document: DocumentToMatch) -> None:
        begun.set()
        await asyncio.Event().wait()

    matcher.preparing = prepare
    document_id = await papers.read()

    stop, abort = asyncio.Event(), asyncio.Event()
    worker = asyncio.create_task(run_worker(service, steps, stop, abort=abort))
    await asyncio.wait_for(begun.wait(), 20)
    stop.set()
    abort.set()
    await asyncio.wait_for(worker, 30)

    groups = await receive_groups(sqs, queue_url, 1)
    assert groups == [(str(document_id), str(service.default_tenant_id))]


async def test_a_message_that_sqs_has_lost_is_sent_again_with_its_tenant(
    service: Service, papers: PapersToMatch, sqs: Operations, queue_url: str
) -> None:
    document_id = await papers.read()
    assert service.matching is not None
    in_group = [(str(document_id), str(service.default_tenant_id))]
    assert await receive_groups(sqs, queue_url, 1) == in_group  # and nobody has it then
    async with service.database.connection() as conn:
        await conn.execute("UPDATE matching_job SET progress_at = progress_at - interval '1 min'")

    await MatchingRepair(service.database, service.matching, grace_s=30).repair()

    assert await receive_groups(sqs, queue_url, 1) == in_group


async def test_a_message_that_sqs_has_lost_is_sent_again(
    service: Service, papers: PapersToMatch, working: RunWorker
) -> None:
    document_id = await papers.read()
    assert service.matching is not None
    (message,) = await service.matching.queue.receive(limit=1, wait_s=20)
    await service.matching.queue.delete([message])
    async with service.database.connection() as conn:
        await conn.execute("UPDATE matching_job SET progress_at = progress_at - interval '1 min'")

    await MatchingRepair(service.database, service.matching, grace_s=30).repair()

    async with working():
        assert (await papers.until(document_id, lambda state: state.status == "succeeded")).written == 1


@pytest.mark.parametrize("emulator", ["ministack"], indirect=True)
async def test_the_queue_is_needed_only_where_documents_are_matched(
    service: Service, settings: Settings
) -> None:
    assert service.matching is not None
    aws = settings.aws.model_copy(update={"create": False})
    queues = Queues(ingestion=settings.queues.ingestion, matching="missing")
    missing = settings.model_copy(update={"aws": aws, "queues": queues})
    no_matching = settings.matching.model_copy(update={"enabled": False})

    async with open_service(missing.model_copy(update={"matching": no_matching})) as other:
        assert other.matching is None
    with pytest.raises(
        MisconfiguredError, match=r"'missing-dead' does not exist.*queues\.matching.*matching\.enabled"
    ):
        await _opened(missing)


async def _opened(settings: Settings) -> None:
    async with open_service(settings):
        pass
