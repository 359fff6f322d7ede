"""`Blobs` in a bucket, on two emulators of S3."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from contracts.blobs import BlobsContract
from docmill.errors import MisconfiguredError, ServerError
from docmill.service.aws.client import Operations, Session, StoreCredentials, open_operations
from docmill.service.aws.resources import bucket
from docmill.service.storage.blobs import Blobs
from support.aws_emulators import Emulator

REGION = "eu-central-1"
PART = bytes(6 << 20)


@pytest.fixture
async def s3(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "s3", region=REGION, endpoint=emulator.endpoint) as s3:
        yield s3


@pytest.fixture
async def name(s3: Operations) -> str:
    name = f"test-{uuid4()}"
    await bucket(s3, name, region=REGION, create=True)
    return name


@pytest.fixture
def blobs(emulator: Emulator, name: str) -> Blobs:
    return Blobs.in_bucket(name, region=REGION, endpoint=emulator.endpoint, credentials=StoreCredentials())


class TestBlobsInABucket(BlobsContract):
    @pytest.fixture
    def blobs(self, blobs: Blobs) -> Blobs:
        return blobs


async def unfinished(s3: Operations, name: str) -> list[str]:
    answer = await s3.call("list_multipart_uploads", Bucket=name)
    return [upload["Key"] for upload in answer.get("Uploads", [])]


async def test_a_file_of_many_parts_comes_back(s3: Operations, name: str, blobs: Blobs) -> None:
    stored = await blobs.put_stream("a", parts(4), max_bytes=100_000_000)

    assert await blobs.size("a") == stored.byte_size == 4 * len(PART)
    assert await unfinished(s3, name) == []


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
async def test_a_failed_upload_leaves_no_parts(s3: Operations, name: str, blobs: Blobs, count: int) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        async for part in parts(count):
            yield part
        raise ServerError("gone")

    with pytest.raises(ServerError, match="gone"):
        await blobs.put_stream("a", breaking(), max_bytes=100_000_000)

    assert await unfinished(s3, name) == []
    assert await blobs.find("a") is None


async def test_a_cancelled_upload_leaves_no_parts(s3: Operations, name: str, blobs: Blobs) -> None:
    sent = asyncio.Event()

    async def stalling() -> AsyncIterator[bytes]:
        async for part in parts(3):
            yield part
        sent.set()
        await asyncio.Event().wait()

    uploading = asyncio.create_task(blobs.put_stream("a", stalling(), max_bytes=100_000_000))
    await sent.wait()
    uploading.cancel()
    await asyncio.wait({uploading})

    assert uploading.cancelled()
    assert await unfinished(s3, name) == []
    assert await blobs.find("a") is None


async def test_two_writers_at_once_have_one_winner(blobs: Blobs) -> None:
    written = await asyncio.gather(*(blobs.put_once("a", str(number).encode()) for number in range(8)))

    assert sum(written) == 1
    assert await blobs.get("a") == str(written.index(True)).encode()


async def test_without_credentials_a_person_must_act(
    emulator: Emulator, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    blobs = Blobs.in_bucket(name, region=REGION, endpoint=emulator.endpoint, credentials=StoreCredentials())

    with pytest.raises(MisconfiguredError, match="no permission"):
        await blobs.get("a")


@pytest.mark.usefixtures("aws_credentials")
async def test_without_its_bucket_nothing_is_wrong_with_the_file(emulator: Emulator) -> None:
    blobs = Blobs.in_bucket(
        "no-such-bucket", region=REGION, endpoint=emulator.endpoint, credentials=StoreCredentials()
    )

    with pytest.raises(MisconfiguredError, match="is its bucket or folder gone"):
        await blobs.put_once("a", b"x")
    with pytest.raises(MisconfiguredError, match="is its bucket or folder gone"):
        await blobs.put_stream("a", parts(1), max_bytes=len(PART))


@pytest.mark.usefixtures("aws_credentials")
async def test_a_store_out_of_reach_is_tried_again_later() -> None:
    nowhere = Blobs.in_bucket(
        "test", region=REGION, endpoint="http://127.0.0.1:9", credentials=StoreCredentials()
    )

    with pytest.raises(ServerError):
        await nowhere.get("a")


async def parts(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield PART
