"""Buckets as sources, on two emulators of S3 and SQS."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import quote_plus
from uuid import uuid4

import pytest
from pydantic import JsonValue, SecretStr

from docmill.errors import MisconfiguredError, NetworkError, ValidationError
from docmill.service.app import Service
from docmill.service.aws.client import AccessKey, Operations, Session, open_operations
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Aws, Settings
from docmill.service.sources.bucket.bucket_source import BucketSource, open_bucket
from docmill.service.sources.bucket.s3_access import S3Access
from docmill.service.sources.bucket.s3_bucket import S3Bucket
from docmill.service.store import arrivals
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.aws_emulators import Emulator

REGION = "eu-central-1"
KEYS = {"access_key_id": "test", "secret_access_key": "test"}
Add = Callable[..., Awaitable["Source"]]


class Source:
    """A bucket as a source, looked at when a test says so."""

    def __init__(self, service: Service, row: SourceRow) -> None:
        self._service = service
        self.row = row
        connection = service.sources.open(row)
        assert isinstance(connection, BucketSource)
        self.connection = connection
        self.intake = service.sources.item_intake(row)

    async def sweep(self) -> None:
        async with AsyncExitStack() as stack:
            await self.connection.sweep(self.intake, await self.connection.open_bucket(stack))

    @asynccontextmanager
    async def watched(self) -> AsyncGenerator[asyncio.Task[None]]:
        task = asyncio.create_task(self.connection.watch(self.intake))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def current(self) -> SourceRow:
        row = await self._service.sources.get(self.row.id, tenant_id=self.row.tenant_id)
        assert row is not None
        return row

    async def until_arrived(self, count: int) -> SourceRow:
        async with asyncio.timeout(20):
            while True:
                row = await self.current()
                if row.arrivals >= count:
                    return row
                await asyncio.sleep(0.05)

    async def items(self) -> list[ArrivalRow]:
        async with self._service.database.tenant(self.row.tenant_id) as conn:
            return await arrivals.of_source(conn, self.row.id, limit=100)


@pytest.fixture
async def s3(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "s3", region=REGION, endpoint=emulator.endpoint) as s3:
        yield s3


@pytest.fixture
async def sqs(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "sqs", region=REGION, endpoint=emulator.endpoint) as sqs:
        yield sqs


@pytest.fixture
async def bucket(s3: Operations) -> str:
    name = f"scans-{uuid4()}"
    place = {"LocationConstraint": REGION}
    await s3.call("create_bucket", Bucket=name, CreateBucketConfiguration=place)
    return name


@pytest.fixture
async def queue(sqs: Operations) -> str:
    """The address of a queue whose name is its last part."""
    return (await sqs.call("create_queue", QueueName=f"scans-{uuid4()}"))["QueueUrl"]


@pytest.fixture
def settings(settings: Settings, emulator: Emulator) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True, "buckets": ("listed",)})
    limits = settings.limits.model_copy(update={"file_mb": 0.1})
    return settings.model_copy(
        update={
            "sources": sources,
            "limits": limits,
            "aws": Aws(endpoint=emulator.endpoint),
            "secrets": Secrets(key=SecretStr("0123456789" * 4)),
        }
    )


@pytest.fixture
def add(service: Service, bucket: str, emulator: Emulator) -> Add:
    async def add(secrets: dict[str, JsonValue] | None = None, **settings: JsonValue) -> Source:
        row = await service.sources.add(
            "bucket",
            f"Scans {uuid4()}",
            {"bucket": bucket, "endpoint": emulator.endpoint, **settings},
            KEYS if secrets is None else secrets,
            tenant_id=service.default_tenant_id,
            created_by=DEFAULT_USER_ID,
        )
        return Source(service, row)

    return add


async def put(s3: Operations, bucket: str, key: str, content: bytes = b"%PDF-1.7") -> str | None:
    answer = await s3.call("put_object", Bucket=bucket, Key=key, Body=content)
    return answer.get("VersionId")


async def keys(s3: Operations, bucket: str) -> set[str]:
    answer = await s3.call("list_objects_v2", Bucket=bucket)
    return {entry["Key"] for entry in answer.get("Contents", [])}


async def tell(sqs: Operations, queue: str, bucket: str, *keys: str, version: str | None = None) -> None:
    """Send the message that S3 sends for new objects."""
    entries = [
        {
            "eventName": "ObjectCreated:Put",
            "s3": {
                "bucket": {"name": bucket},
                "object": {"key": quote_plus(key), **({"versionId": version} if version else {})},
            },
        }
        for key in keys
    ]
    await send(sqs, queue, {"Records": entries})


async def send(sqs: Operations, queue: str, message: dict[str, Any]) -> None:
    await sqs.call("send_message", QueueUrl=queue, MessageBody=json.dumps(message))


async def until_left(sqs: Operations, queue: str, count: int) -> None:
    """Return when the queue has no more messages than this, visible or not."""
    async with asyncio.timeout(30):
        while True:
            if await left(sqs, queue) == count:
                return
            await asyncio.sleep(0.1)


async def left(sqs: Operations, queue: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = await sqs.call("get_queue_attributes", QueueUrl=queue, AttributeNames=names)
    return sum(int(answer["Attributes"][name]) for name in names)


def name_of(queue: str) -> str:
    return queue.rpartition("/")[2]


async def test_objects_below_the_prefix_are_taken_once(add: Add, s3: Operations, bucket: str) -> None:
    source = await add(prefix="in/")
    for number in range(5):
        await put(s3, bucket, f"in/Müller & Söhne/{number}+.pdf", b"%%PDF %d" % number)
    for key in ("out/a.pdf", "in/folder/"):
        await put(s3, bucket, key, b"")
    assert "objects that can be taken: 5" in await source.connection.test()

    for _ in range(2):
        await source.sweep()
    await put(s3, bucket, "in/Müller & Söhne/0+.pdf", b"%PDF other content")
    await source.sweep()

    current = await source.current()
    assert (current.arrivals, current.refusals) == (6, 0)
    metadata = {item.metadata["key"] for item in await source.items()}
    assert metadata == {f"in/Müller & Söhne/{number}+.pdf" for number in range(5)}


async def test_what_is_too_large_or_empty_is_refused_unread_and_stays(
    add: Add, s3: Operations, bucket: str
) -> None:
    source = await add(after="delete")
    await put(s3, bucket, "large.pdf", bytes(100_001))
    await put(s3, bucket, "empty.pdf", b"")
    await put(s3, bucket, "good.pdf")

    for _ in range(2):
        await source.sweep()

    current = await source.current()
    assert (current.arrivals, current.refusals) == (1, 2)
    assert await keys(s3, bucket) == {"large.pdf", "empty.pdf"}
    refused = {item.error_message for item in await source.items() if item.error_code}
    assert refused == {"the object is larger than 0.1 MB", "the file is empty"}


async def test_objects_are_moved_and_none_is_replaced(add: Add, s3: Operations, bucket: str) -> None:
    source = await add(after="move", move_to="done/")
    for content in (b"one", b"two", b"one"):
        await put(s3, bucket, "sub/a.pdf", content)
        await source.sweep()

    found = await keys(s3, bucket)
    assert len(found) == 2
    assert "done/sub/a.pdf" in found
    assert all(key.startswith("done/sub/a") for key in found)
    assert (await source.current()).arrivals == 2


async def test_an_object_is_tagged_beside_the_tags_that_it_has(add: Add, s3: Operations, bucket: str) -> None:
    source = await add(after="tag")
    await s3.call("put_object", Bucket=bucket, Key="a.pdf", Body=b"a", Tagging="project=x")

    await source.sweep()

    tags = (await s3.call("get_object_tagging", Bucket=bucket, Key="a.pdf"))["TagSet"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"project": "x", "docmill": "taken"}


async def test_a_queue_tells_of_objects_and_its_messages_are_deleted(
    add: Add, s3: Operations, sqs: Operations, bucket: str, queue: str
) -> None:
    source = await add(queue=name_of(queue), poll_s=3600, prefix="in/")
    await send(sqs, queue, {"Service": "Amazon S3", "Event": "s3:TestEvent"})
    await tell(sqs, queue, bucket, "in/gone.pdf")
    async with source.watched():
        await asyncio.sleep(0.5)  # the first listing
        for key in ("in/a b+c.pdf", "in/ü.pdf", "other/d.pdf"):
            await put(s3, bucket, key, key.encode())
        await tell(sqs, queue, bucket, "in/a b+c.pdf", "in/ü.pdf", "other/d.pdf")
        await tell(sqs, queue, bucket, "in/ü.pdf")
        await source.until_arrived(2)
        await until_left(sqs, queue, 0)

    assert {item.metadata["key"] for item in await source.items()} == {"in/a b+c.pdf", "in/ü.pdf"}


async def test_each_version_that_is_told_of_is_taken(
    add: Add, s3: Operations, sqs: Operations, bucket: str, queue: str
) -> None:
    await s3.call("put_bucket_versioning", Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    source = await add(queue=name_of(queue), poll_s=3600)
    old = await put(s3, bucket, "a.pdf", b"old")
    new = await put(s3, bucket, "a.pdf", b"new")
    assert old
    for version in (new, old):  # out of their order
        await tell(sqs, queue, bucket, "a.pdf", version=version)

    async with source.watched():
        await source.until_arrived(2)

    assert {item.metadata.get("version") for item in await source.items()} >= {old}


async def test_junk_is_left_to_the_dead_messages_and_stops_nothing(
    add: Add, s3: Operations, sqs: Operations, bucket: str, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    source = await add(queue=name_of(queue), poll_s=3600)
    await send(sqs, queue, {"secret": "s3cret"})
    await tell(sqs, queue, "bucket-of-others", "a.pdf")
    await put(s3, bucket, "a.pdf")
    await tell(sqs, queue, bucket, "a.pdf")

    async with source.watched():
        await source.until_arrived(1)
        await until_left(sqs, queue, 2)

    assert "no events of this bucket" in str((await source.current()).last_error_message)
    assert "s3cret" not in caplog.text


async def test_killed_between_filing_and_deleting_the_message_it_is_taken_once(
    add: Add,
    s3: Operations,
    sqs: Operations,
    bucket: str,
    queue: str,
    emulator: Emulator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = await add(queue=name_of(queue), poll_s=3600, after="delete")
    deleting = asyncio.Event()

    async def hang(*_: object) -> None:
        deleting.set()
        await asyncio.Event().wait()

    with monkeypatch.context() as patch:
        patch.setattr("docmill.service.sources.bucket.s3_bucket.S3Bucket.delete", hang)
        async with source.watched():
            await asyncio.sleep(0.5)
            await put(s3, bucket, "a.pdf")
            await tell(sqs, queue, bucket, "a.pdf")
            async with asyncio.timeout(20):
                await deleting.wait()
    assert await keys(s3, bucket) == {"a.pdf"}
    emulator.ahead_s += 130  # the message is visible again

    async with source.watched():
        await until_left(sqs, queue, 0)

    assert await keys(s3, bucket) == set()
    assert (await source.current()).arrivals == 1


async def test_what_a_bucket_may_reach_is_bounded(add: Add, service: Service, settings: Settings) -> None:
    with pytest.raises(MisconfiguredError, match=r"sources\.buckets"):
        await add(identity="installation", endpoint=None)
    with pytest.raises(MisconfiguredError, match=r"sources\.queues"):
        await add(identity="installation", endpoint=None, bucket="listed", queue="docmill-ingestion")
    with pytest.raises(MisconfiguredError, match="access_key_id"):
        await add(secrets={})
    for wrong, reason in (
        ({"after": "move"}, "move_to"),
        ({"after": "move", "move_to": "in/", "prefix": "in/a/"}, "move_to"),
        ({"endpoint": "http://user:password@host"}, "endpoint"),
        ({"identity": "installation"}, "endpoint"),
        ({"bucket": "Not_A_Bucket"}, "bucket"),
    ):
        with pytest.raises(ValidationError, match=reason):
            await add(**wrong)

    source = await add()
    closed = settings.model_copy(
        update={"sources": settings.sources.model_copy(update={"allow_private_addresses": False})}
    )
    refused = open_bucket(service.sources.opened(source.row), closed)
    with pytest.raises(MisconfiguredError, match="private network"):
        await refused.test()


async def test_a_bucket_or_a_service_that_is_not_there_is_told(add: Add) -> None:
    missing = await add(bucket=f"missing-{uuid4()}")
    with pytest.raises(MisconfiguredError, match="there is no bucket"):
        await missing.connection.test()
    with pytest.raises(MisconfiguredError, match="cannot be opened"):
        await (await add(queue="missing")).connection.test()
    nowhere = await add(endpoint="http://127.0.0.1:9")
    with pytest.raises(NetworkError):
        await nowhere.connection.test()


async def test_an_object_that_is_cut_off_is_not_taken(aws_credentials: None) -> None:
    del aws_credentials

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nETag: "e"\r\nContent-Length: 100\r\n\r\n0123456789')
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        access = S3Access(REGION, endpoint, AccessKey("test", "test"), allow_private=True)
        async with access.operations("s3") as s3:
            content = await S3Bucket(s3, "scans").open("a.pdf")
            assert (content.etag, content.size) == ("e", 100)
            with pytest.raises(NetworkError, match="cut off"):
                _ = [chunk async for chunk in content.chunks()]
            content.close()
