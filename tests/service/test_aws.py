"""The whole service with its queue in SQS and its files in S3, on emulators."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from docmill.errors import DocmillError, MisconfiguredError, NetworkError, ServerError, UnauthorizedError
from docmill.service.app import Service, open_service
from docmill.service.aws.client import Operations, Session, open_operations
from docmill.service.aws.resources import queue_pair
from docmill.service.config.settings import Aws, Buckets, Queues, Settings
from docmill.service.ports import Message
from docmill.service.protocol.queues import INGESTION
from docmill.service.store import dead_letters, tenants
from docmill.service.sweeper import Sweeper
from support.aws_emulators import Emulator
from support.message_groups import receive_groups
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, once

on_one_emulator = pytest.mark.parametrize("emulator", ["ministack"], indirect=True)


@pytest.fixture
def settings(settings: Settings, emulator: Emulator) -> Settings:
    name = f"test-{uuid4()}"
    return settings.model_copy(
        update={
            "aws": Aws(enabled=True, endpoint=emulator.endpoint, create=True),
            "queues": Queues(ingestion=name),
            "buckets": Buckets(storage=name),
        }
    )


@pytest.fixture
async def other(settings: Settings) -> AsyncIterator[Service]:
    """Another process of the same service."""
    async with open_service(settings) as other:
        yield other


async def test_a_document_goes_all_the_way(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "ready")

    assert document.title == "Invoice 7"
    assert len(script.converted) == 1
    depth = await service.queue.depth()
    assert (depth.due, depth.delayed, depth.in_flight) == (0, 0, 0)
    assert await service.blobs.keys("incoming") == []
    assert await service.blobs.get(document.file_path) == b"%PDF-1.7"


async def test_what_one_process_takes_in_another_finishes(
    other: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working():
        accepted = [await upload(f"%PDF {number}".encode()) for number in range(5)]
        for one in accepted:
            await observer.until(one, "ready")

    assert (await other.queue.depth()).due == 0
    assert len(await other.blobs.keys("documents")) == 5


@on_one_emulator
async def test_after_an_outage_everything_goes_on_by_itself(
    service: Service, emulator: Emulator, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    before = await upload(b"%PDF before")
    async with working():
        await observer.until(before, "ready")
        await asyncio.to_thread(emulator.stop)
        with pytest.raises((NetworkError, ServerError)):
            await upload(b"%PDF during")
        with pytest.raises((NetworkError, ServerError)):
            await service.queue.depth()
        await asyncio.to_thread(emulator.start)
        after = await upload(b"%PDF after")
        await observer.until(after, "ready")

    assert await service.blobs.keys("incoming") == []


@pytest.fixture
async def sqs(settings: Settings, aws_session: Session) -> AsyncIterator[Operations]:
    aws = settings.aws
    async with open_operations(aws_session, "sqs", region=aws.region, endpoint=aws.endpoint) as sqs:
        yield sqs


async def received(service: Service) -> Message:
    """The next message, which may still be in the outbox."""
    (message,) = await service.queue.receive(limit=1, wait_s=20)
    return message


async def test_what_sqs_has_lost_is_sent_again(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    await service.queue.delete([await received(service)])
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion
               SET progress_at = progress_at - interval '1 min', sent_at = sent_at - interval '1 min'
            """
        )

    await Sweeper(service).send_lost_again()

    async with working():
        await observer.until(accepted, "ready")


async def test_documents_are_sent_in_the_group_of_their_tenant(
    service: Service, settings: Settings, sqs: Operations, upload: Upload
) -> None:
    async with service.database.accounts() as conn:
        other_id = await tenants.add(conn, "Other")
    url = (await sqs.call("get_queue_url", QueueName=settings.queues.ingestion))["QueueUrl"]
    mine = await upload()
    theirs = await service.intake.accept(once(b"%PDF other"), tenant_id=other_id, file_name="a.pdf")

    groups = await receive_groups(sqs, url, 2)

    assert groups == sorted(
        [(str(mine.ingestion_id), str(service.default_tenant_id)), (str(theirs.ingestion_id), str(other_id))]
    )


async def test_messages_of_before_the_upgrade_are_sent_without_a_group(
    service: Service, settings: Settings, sqs: Operations
) -> None:
    url = (await sqs.call("get_queue_url", QueueName=settings.queues.ingestion))["QueueUrl"]
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO outbox (id, queue, body, due_at, tenant_id)
            VALUES (gen_random_uuid(), 'ingestion', 'of before', now(), NULL)
            """
        )
    service.sender.announce()

    assert await receive_groups(sqs, url, 1) == [("of before", None)]


@pytest.fixture
async def short_lived_queue(settings: Settings, sqs: Operations) -> None:
    """A queue that was there before, and gives messages up after two receives."""
    name = settings.queues.ingestion
    pair = await queue_pair(sqs, name, INGESTION, create=True)
    answer = await sqs.call("get_queue_attributes", QueueUrl=pair.url, AttributeNames=["RedrivePolicy"])
    policy = json.loads(answer["Attributes"]["RedrivePolicy"]) | {"maxReceiveCount": 2}
    await sqs.call(
        "set_queue_attributes", QueueUrl=pair.url, Attributes={"RedrivePolicy": json.dumps(policy)}
    )


@pytest.mark.usefixtures("short_lived_queue")
async def test_what_sqs_gives_up_becomes_a_dead_letter(
    service: Service, upload: Upload, observer: Observer
) -> None:
    accepted = await upload()
    for _ in range(2):
        await service.queue.release(await received(service))
    assert await service.queue.receive(limit=1, wait_s=0) == []

    await Sweeper(service).empty_dead_messages()

    assert (await observer.document(accepted)).state == "failed"
    async with service.database.tenant(service.default_tenant_id) as conn:
        (letter_id,) = await dead_letters.ids(conn, code="crashed", after=None, limit=10)
        assert await dead_letters.existing(conn, [letter_id]) == [letter_id]
    assert await service.queue.dead_messages(limit=10) == []


@on_one_emulator
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"queues": Queues(ingestion="missing")}, "queue 'missing-dead' does not exist"),
        ({"buckets": Buckets(storage="missing")}, "bucket 'missing' does not exist"),
    ],
)
async def test_what_is_missing_is_named_with_what_to_do(
    service: Service, settings: Settings, change: dict[str, object], says: str
) -> None:
    assert service.settings.aws.create
    aws = settings.aws.model_copy(update={"create": False})

    with pytest.raises(MisconfiguredError, match=rf"{says}.*set aws\.create"):
        await _opened(settings.model_copy(update={"aws": aws, **change}))


@on_one_emulator
async def test_without_credentials_it_says_how_to_give_them(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")

    with pytest.raises(UnauthorizedError, match="AWS_PROFILE"):
        await _opened(settings)


@on_one_emulator
async def test_an_endpoint_where_nobody_answers_is_a_network_error(settings: Settings) -> None:
    aws = settings.aws.model_copy(update={"endpoint": "http://127.0.0.1:9"})

    with pytest.raises(NetworkError, match="cannot be reached"):
        await _opened(settings.model_copy(update={"aws": aws}))


@on_one_emulator
async def test_without_the_extra_it_says_what_to_install(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docmill.service.aws.resources", "docmill.service.aws.client"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "aiobotocore.config", None)

    with pytest.raises(MisconfiguredError, match=r"docmill\[aws\]"):
        await _opened(settings)


async def _opened(settings: Settings) -> DocmillError | None:
    async with open_service(settings):
        return None
