"""`SqsQueue` against two emulators, whose treatment of stale receipts brackets that of Amazon."""

import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from contracts.queue import MAX_RECEIVES, VISIBILITY_S, QueueContract
from docmill.ports import Queue
from docmill.service.aws.client import Operations, Session, opened
from docmill.service.queue.channel import Channel
from docmill.service.queue.sqs import SqsQueue
from emulators import Emulator


@pytest.fixture
async def sqs(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with opened(aws_session, "sqs", region="eu-central-1", endpoint=emulator.endpoint) as sqs:
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
