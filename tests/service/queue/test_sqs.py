"""`SqsQueue` against two emulators, whose treatment of stale receipts brackets that of Amazon."""

import time
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from contracts.queue import MAX_RECEIVES, VISIBILITY_S, QueueContract
from docmill.ports import Queue
from docmill.service.aws.client import Operations, Session, new_session, opened
from docmill.service.queue.channel import Channel
from docmill.service.queue.sqs import SqsQueue
from emulators import Emulator


@pytest.fixture(params=["ministack", "moto"])
def emulator(request: pytest.FixtureRequest, aws_credentials: None) -> Iterator[Emulator]:
    del aws_credentials
    emulator: Emulator = request.getfixturevalue(request.param)
    yield emulator
    emulator.ahead_s = 0


@pytest.fixture(scope="module")
def session() -> Session:
    return new_session()  # reads megabytes of Amazon's descriptions, once


@pytest.fixture
async def sqs(emulator: Emulator, session: Session) -> AsyncIterator[Operations]:
    async with opened(session, "sqs", region="eu-central-1", endpoint=emulator.endpoint) as sqs:
        yield sqs


class TestSqsQueue(QueueContract):
    @pytest.fixture
    async def queue(self, emulator: Emulator, sqs: Operations) -> Queue:
        self.emulator = emulator
        name = f"test-{uuid4()}"
        dead = await sqs.call("create_queue", QueueName=f"{name}-dead")
        arn = f"arn:aws:sqs:eu-central-1:{dead['QueueUrl'].split('/')[-2]}:{name}-dead"
        policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": {MAX_RECEIVES}}}'
        queue = await sqs.call("create_queue", QueueName=name, Attributes={"RedrivePolicy": policy})
        return SqsQueue(
            Channel(sqs, queue["QueueUrl"]),
            Channel(sqs, dead["QueueUrl"]),
            visibility_s=VISIBILITY_S,
            max_receives=MAX_RECEIVES,
            clock=lambda: time.time() + emulator.ahead_s,
        )

    async def let_pass(self, seconds: float) -> None:
        self.emulator.ahead_s += seconds
