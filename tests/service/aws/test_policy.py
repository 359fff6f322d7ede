"""The IAM policy, compared with what the service asks of two emulators."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import JsonValue

from docmill.errors import TooLargeError
from docmill.service.app import Service
from docmill.service.aws.client import Operations, Session, open_operations
from docmill.service.aws.policy import iam_policy
from docmill.service.aws.sqs import SqsQueue
from docmill.service.config.settings import Aws, Buckets, Queues, Settings
from docmill.service.dead_messages import open_dead_messages
from docmill.service.sources.bucket.bucket_source import BucketSource
from docmill.service.sources.ses.acquisition import Acquisition, open_acquisition
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from docmill.service.sweeper import Sweeper
from support.aws_emulators import Emulator
from support.aws_recorder import Recorder, recording
from support.commands import run_docmill
from support.scripted_steps import Observer, RunWorker, Upload

GUIDE = Path(__file__).parents[3] / "docs/how-to/deploy-on-aws.md"
REGION = "eu-central-1"
MAIL = b"From: Anna <anna@example.com>\r\nSubject: Bill 7\r\n\r\nHello"
UNSEEN = {"s3:GetObjectVersion"}
"""Needed for buckets that keep versions; emulators' events name none."""


@pytest.fixture
def recorder(emulator: Emulator) -> Iterator[Recorder]:
    with recording(emulator.port) as recorder:
        yield recorder


@pytest.fixture
def settings(settings: Settings, recorder: Recorder) -> Settings:
    name = f"test-{uuid4()}"
    sources = {"ses_domain": "in.example.com", "buckets": (f"{name}-scans",), "queues": (f"{name}-scans",)}
    return settings.model_copy(
        update={
            "aws": Aws(enabled=True, endpoint=recorder.endpoint, create=True),
            "queues": Queues(ingestion=f"{name}-i", matching=f"{name}-m", acquisition=f"{name}-a"),
            "buckets": Buckets(storage=f"{name}-s", emails=f"{name}-e"),
            "sources": settings.sources.model_copy(update=sources),
        }
    )


@dataclass(frozen=True)
class Elsewhere:
    """Other clients of the same emulator, whose requests are not recorded."""

    s3: Operations
    sqs: Operations


@pytest.fixture
async def elsewhere(emulator: Emulator, aws_session: Session) -> AsyncIterator[Elsewhere]:
    async with (
        open_operations(aws_session, "s3", region=REGION, endpoint=emulator.endpoint) as s3,
        open_operations(aws_session, "sqs", region=REGION, endpoint=emulator.endpoint) as sqs,
    ):
        yield Elsewhere(s3, sqs)


def permissions(policy: dict[str, Any]) -> set[tuple[str, str]]:
    """Each permission with a resource, as the last part of its ARN."""
    return {
        (action, resource.split(":", 5)[5])
        for statement in policy["Statement"]
        for action in statement["Action"]
        for resource in statement["Resource"]
    }


def is_allowed(use: tuple[str, str], allowed: set[tuple[str, str]]) -> bool:
    return any(action == use[0] and fnmatchcase(use[1], resource) for action, resource in allowed)


def uses_any(recorder: Recorder, action: str, resource: str) -> bool:
    return any(is_allowed(use, {(action, resource)}) for use in recorder.uses)


async def refuse_a_file_in_the_middle(service: Service) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield bytes(1_000_000)

    with pytest.raises(TooLargeError):
        await service.blobs.put_stream("incoming/large", parts(), max_bytes=25_000_000)


async def fill_dead_queue(queue: object) -> None:
    """A message that nobody understands, received once too often."""
    assert isinstance(queue, SqsQueue)
    await queue.send(["nonsense"])
    for _ in range(5):
        for message in await queue.receive(limit=10, wait_s=1):
            await queue.release(message)


async def take_mails(service: Service, s3: Operations, emulator: Emulator) -> None:
    """One is filed, one waits for a paused source until it is sent anew, one is dead."""
    row = await add_source(service, "ses")
    recipient = service.sources.address(row)
    acquisition = Acquisition(service.sources, service.database, service.settings)
    async with open_acquisition(service.settings) as places:
        await s3.call("put_object", Bucket=places.bucket.name, Key="mail", Body=MAIL)
        entry = {"bucket": {"name": places.bucket.name}, "object": {"key": "mail"}}
        event: dict[str, Any] = {"Records": [{"eventName": "ObjectCreated:Put", "s3": entry}]}
        receipt = {
            "recipients": [recipient],
            "action": {"type": "S3", "bucketName": places.bucket.name, "objectKey": "mail"},
        }
        told = json.dumps({"notificationType": "Received", "mail": {}, "receipt": receipt})
        await places.channel.send([told])
        await acquisition.take_batch(places, wait_s=1)
        await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)
        await places.channel.send([told, json.dumps(event)])
        for _ in range(places.max_receives + 2):
            await acquisition.take_batch(places, wait_s=1)
            emulator.ahead_s += 7 * 3600
    async with open_dead_messages(service, "acquisition") as dead:
        messages = await dead.find(limit=10)
        assert await dead.redrive(messages) == len(messages) == 1


async def add_source(service: Service, kind: str, **settings: JsonValue) -> SourceRow:
    return await service.sources.add(
        kind,
        f"{kind} {uuid4()}",
        settings,
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )


async def take_objects(service: Service, s3: Operations, sqs: Operations) -> None:
    """From a bucket as the installation: one is tagged, one moved, and one is deleted."""
    (name,) = service.settings.sources.buckets
    place = {"LocationConstraint": REGION}
    await s3.call("create_bucket", Bucket=name, CreateBucketConfiguration=place)
    url = (await sqs.call("create_queue", QueueName=name))["QueueUrl"]
    row = await add_object(service, s3, name, {"after": "tag", "prefix": "a/", "queue": name})
    entry = {"bucket": {"name": name}, "object": {"key": "a/bill.pdf"}}
    event = json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": entry}]})
    await sqs.call("send_message", QueueUrl=url, MessageBody=event)
    watch = asyncio.create_task(opened(service, row).watch(service.sources.item_intake(row)))
    try:
        await until_empty(sqs, url)
    finally:
        watch.cancel()
        await asyncio.wait([watch])
    for settings in (
        {"after": "move", "prefix": "b/", "move_to": "taken/"},
        {"after": "delete", "prefix": "c/"},
    ):
        row = await add_object(service, s3, name, settings)
        async with AsyncExitStack() as stack:
            connection = opened(service, row)
            await connection.sweep(service.sources.item_intake(row), await connection.open_bucket(stack))


async def add_object(
    service: Service, s3: Operations, bucket: str, settings: Mapping[str, JsonValue]
) -> SourceRow:
    """A source that takes objects as the installation, with one to take."""
    key = f"{settings['prefix']}bill.pdf"
    await s3.call("put_object", Bucket=bucket, Key=key, Body=b"%PDF " + key.encode())
    return await add_source(service, "bucket", bucket=bucket, identity="installation", **settings)


def opened(service: Service, row: SourceRow) -> BucketSource:
    connection = service.sources.open(row)
    assert isinstance(connection, BucketSource)
    return connection


async def until_empty(sqs: Operations, url: str) -> None:
    """Return when a queue has no message any more."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    async with asyncio.timeout(60):
        while True:
            answer = await sqs.call("get_queue_attributes", QueueUrl=url, AttributeNames=names)
            if not any(int(count) for count in answer["Attributes"].values()):
                return
            await asyncio.sleep(0.1)


async def test_the_policy_allows_what_is_asked_of_aws_and_nothing_else(
    service: Service,
    settings: Settings,
    recorder: Recorder,
    emulator: Emulator,
    elsewhere: Elsewhere,
    upload: Upload,
    working: RunWorker,
) -> None:
    assert service.matching is not None
    observer = Observer(service)
    async with working():
        await observer.until(await upload(), "ready")
    await refuse_a_file_in_the_middle(service)
    assert await service.blobs.keys("documents")
    await service.blobs.delete((await service.blobs.keys("documents"))[0])
    await service.queue.depth()
    await fill_dead_queue(service.matching.queue)
    async with open_dead_messages(service, "matching") as dead:
        await dead.purge(await dead.find(limit=10))
    await Sweeper(service).empty_dead_messages()
    await take_mails(service, elsewhere.s3, emulator)
    await take_objects(service, elsewhere.s3, elsewhere.sqs)

    allowed = permissions(iam_policy(settings, account="123456789012"))
    assert {use for use in recorder.uses if not is_allowed(use, allowed)} == set()
    used = {action for action, resource in allowed if uses_any(recorder, action, resource)}
    assert {action for action, _ in allowed} - used == UNSEEN


def test_the_guide_shows_the_policy_of_the_default_settings(settings: Settings) -> None:
    shown = GUIDE.read_text().partition("## Permissions")[2].partition("```json\n")[2].partition("```")[0]

    assert json.loads(shown) == iam_policy(Settings(data_dir=settings.data_dir), account="ACCOUNT")


def test_the_command_prints_the_policy_of_the_settings(tmp_path: Path) -> None:
    config = tmp_path / "docmill.toml"
    config.write_text('[aws]\nregion = "cn-north-1"\ncreate = true\n\n[matching]\nenabled = false\n')

    done = run_docmill("aws", "policy", "--config", config, "--account", "123456789012")
    refused = run_docmill("aws", "policy", "--account", "12")

    allowed = permissions(json.loads(done.stdout))
    resources = {resource for each in json.loads(done.stdout)["Statement"] for resource in each["Resource"]}
    assert "arn:aws-cn:sqs:cn-north-1:123456789012:docmill-ingestion-dead" in resources
    assert ("sqs:CreateQueue", "docmill-ingestion") in allowed
    assert ("s3:PutLifecycleConfiguration", "docmill-storage") in allowed
    assert not any("matching" in resource for resource in resources)
    assert refused.returncode == 2
    assert "twelve digits" in refused.stderr
