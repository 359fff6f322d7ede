from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from docmill.errors import MisconfiguredError
from docmill.service.aws.client import AwsRefusedError, Operations, Session, open_operations
from docmill.service.aws.resources import bucket, queue_pair
from docmill.service.protocol.queues import INGESTION, MATCHING, QueuePolicy
from support.aws_emulators import Emulator


@pytest.fixture(params=["eu-central-1", "us-east-1"])
def region(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def sqs(emulator: Emulator, aws_session: Session, region: str) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "sqs", region=region, endpoint=emulator.endpoint) as sqs:
        yield sqs


@pytest.fixture
async def s3(emulator: Emulator, aws_session: Session, region: str) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "s3", region=region, endpoint=emulator.endpoint) as s3:
        yield s3


@pytest.mark.parametrize("policy", [INGESTION, MATCHING])
async def test_queues_are_made_once_and_found_again(sqs: Operations, policy: QueuePolicy) -> None:
    name = f"test-{uuid4()}"

    made = await queue_pair(sqs, name, policy, create=True)
    found = await queue_pair(sqs, name, policy, create=False)

    assert made == found
    assert made.max_receives == policy.max_receives
    assert made.url.endswith(f"/{name}")
    assert made.dead_url.endswith(f"/{name}-dead")
    wanted = ["MessageRetentionPeriod"]
    for url in (made.url, made.dead_url):
        answer = await sqs.call("get_queue_attributes", QueueUrl=url, AttributeNames=wanted)
        assert answer["Attributes"] == {"MessageRetentionPeriod": str(14 * 24 * 3600)}


async def test_a_queue_that_keeps_its_dead_messages_is_refused(sqs: Operations) -> None:
    name = f"test-{uuid4()}"
    await sqs.call("create_queue", QueueName=name)

    with pytest.raises(MisconfiguredError, match="redrive policy"):
        await queue_pair(sqs, name, INGESTION, create=True)


async def test_a_bucket_is_made_once_and_found_again(s3: Operations, region: str) -> None:
    name = f"test-{uuid4()}"

    await bucket(s3, name, region=region, create=True)
    await bucket(s3, name, region=region, create=True)
    await bucket(s3, name, region=region, create=False)

    rules = (await s3.call("get_bucket_lifecycle_configuration", Bucket=name))["Rules"]
    assert [rule["AbortIncompleteMultipartUpload"] for rule in rules] == [{"DaysAfterInitiation": 1}]


class Refusing:
    """Every operation is refused as scripted; what is not, succeeds."""

    def __init__(self, **refusals: str) -> None:
        self._refusals = refusals

    async def call(self, operation: str, **_: object) -> dict[str, Any]:
        if operation in self._refusals:
            raise AwsRefusedError("refused", refusal=self._refusals[operation])
        return {}


async def test_a_bucket_that_another_process_makes_at_the_same_time_is_ours() -> None:
    s3: Any = Refusing(head_bucket="404", create_bucket="BucketAlreadyOwnedByYou")

    await bucket(s3, "test", region="eu-central-1", create=True)


@pytest.mark.parametrize(
    "refusals", [{"head_bucket": "Odd"}, {"head_bucket": "404", "create_bucket": "BucketAlreadyExists"}]
)
async def test_another_refusal_is_not_taken_for_a_missing_bucket(refusals: dict[str, str]) -> None:
    s3: Any = Refusing(**refusals)

    with pytest.raises(AwsRefusedError):
        await bucket(s3, "test", region="eu-central-1", create=True)


async def test_another_refusal_is_not_taken_for_a_missing_queue() -> None:
    sqs: Any = Refusing(get_queue_url="InvalidAddress")

    with pytest.raises(AwsRefusedError):
        await queue_pair(sqs, "test", INGESTION, create=True)
