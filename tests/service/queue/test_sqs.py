"""`SqsQueue` against two emulators, whose treatment of stale receipts brackets that of Amazon."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from contracts.queue import MAX_RECEIVES, MAX_WAITING_RECEIVES, VISIBILITY_S, QueueContract
from docmill.errors import NetworkError
from docmill.service.aws.client import AwsRefusedError, Operations, Session, open_operations
from docmill.service.aws.sqs import Channel, SqsQueue
from docmill.service.ports import ExpectedMessage, Queue
from support.aws_emulators import Emulator
from support.message_groups import receive_groups


@pytest.fixture
async def sqs(emulator: Emulator, aws_session: Session) -> AsyncIterator[Operations]:
    async with open_operations(aws_session, "sqs", region="eu-central-1", endpoint=emulator.endpoint) as sqs:
        yield sqs


class TestSqsQueue(QueueContract):
    knows_receivers = False

    @pytest.fixture
    async def queue(self, emulator: Emulator, sqs: Operations) -> Queue:
        return await self.new_queue(emulator, sqs, max_receives=MAX_RECEIVES)

    @pytest.fixture
    async def patient_queue(self, emulator: Emulator, sqs: Operations) -> Queue:
        return await self.new_queue(emulator, sqs, max_receives=MAX_WAITING_RECEIVES)

    async def new_queue(self, emulator: Emulator, sqs: Operations, *, max_receives: int) -> Queue:
        self.emulator = emulator
        name = f"test-{uuid4()}"
        self.sqs = sqs
        dead = await sqs.call("create_queue", QueueName=f"{name}-dead")
        arn = f"arn:aws:sqs:eu-central-1:{dead['QueueUrl'].split('/')[-2]}:{name}-dead"
        policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": {max_receives}}}'
        queue = await sqs.call("create_queue", QueueName=name, Attributes={"RedrivePolicy": policy})
        self.url = queue["QueueUrl"]
        return SqsQueue(
            Channel(sqs, self.url),
            Channel(sqs, dead["QueueUrl"]),
            visibility_s=VISIBILITY_S,
            max_receives=max_receives,
            clock=lambda: time.time() + emulator.ahead_s,
        )

    async def let_pass(self, seconds: float) -> None:
        self.emulator.ahead_s += seconds

    async def test_each_tenant_has_a_group_and_a_message_of_none_has_none(self, queue: Queue) -> None:
        one, other = uuid4(), uuid4()

        await queue.send(["a", "b", "c", "d"], tenant_ids=[one, other, None, one])
        await queue.send(["e"])

        assert await receive_groups(self.sqs, self.url, 5) == [
            ("a", str(one)),
            ("b", str(other)),
            ("c", None),
            ("d", str(one)),
            ("e", None),
        ]

    async def test_a_message_that_is_replaced_since_it_waits_keeps_its_group(
        self, patient_queue: Queue
    ) -> None:
        tenant_id = uuid4()
        await patient_queue.send(["a"], tenant_ids=[tenant_id])
        for _ in range(MAX_WAITING_RECEIVES):
            await patient_queue.release(await self.receive_one(patient_queue), counts=False)

        assert await receive_groups(self.sqs, self.url, 1) == [("a", str(tenant_id))]

    async def test_a_lost_message_is_known_by_a_later_one_of_its_tenant_while_others_wait(
        self, queue: Queue
    ) -> None:
        tenant_id, other_id = uuid4(), uuid4()
        await queue.send(["waits", "waits, too"], tenant_ids=[other_id, other_id])
        await self.let_pass(600)
        await queue.send(["later"], tenant_ids=[tenant_id])
        expected = [ExpectedMessage("lost", tenant_id, 500), ExpectedMessage("waits", other_id, 500)]
        before = await queue.unsent(expected)
        received = [message for _ in range(3) for message in await queue.receive(limit=1, wait_s=0)]
        for message in received:
            await queue.release(message)

        assert before == []
        assert {message.body for message in received} == {"waits", "waits, too", "later"}
        assert await queue.unsent(expected) == ["lost"]
        assert await queue.unsent([ExpectedMessage("waits", other_id, 3700)]) == ["waits"]

    async def test_a_redriven_message_keeps_its_group(self, queue: Queue) -> None:
        tenant_id = uuid4()
        await queue.send(["a", "b"], tenant_ids=[tenant_id, None])
        for _ in range(MAX_RECEIVES):
            for message in await queue.receive(limit=10, wait_s=0):
                await queue.release(message)
        assert await queue.receive(limit=10, wait_s=0) == []
        dead = await queue.dead_messages(limit=10)

        assert await queue.redrive([message.id for message in dead]) == 2

        assert await receive_groups(self.sqs, self.url, 2) == [("a", str(tenant_id)), ("b", None)]


async def test_what_a_stale_receipt_does_differs(emulator: Emulator, sqs: Operations) -> None:
    """Why nobody may rely on it: the emulators stand on both sides of Amazon."""
    url = (await sqs.call("create_queue", QueueName=f"test-{uuid4()}"))["QueueUrl"]

    async def receive() -> str:
        answer = await sqs.call("receive_message", QueueUrl=url, VisibilityTimeout=60)
        return answer["Messages"][0]["ReceiptHandle"]

    async def refusal(operation: str, receipt: str, **visibility: int) -> str | None:
        try:
            await sqs.call(operation, QueueUrl=url, ReceiptHandle=receipt, **visibility)
        except AwsRefusedError as error:
            return error.refusal
        return None

    await sqs.call("send_message", QueueUrl=url, MessageBody="a")
    stale = await receive()
    emulator.ahead_s += 61
    current = await receive()

    found = {
        "too long": await refusal("change_message_visibility", current, VisibilityTimeout=43200),
        "stale hides": await refusal("change_message_visibility", stale, VisibilityTimeout=60),
        "stale deletes": await refusal("delete_message", stale),
        "current deletes": await refusal("delete_message", current),
        "deletes again": await refusal("delete_message", current),
    }

    invalid = "ReceiptHandleIsInvalid"
    assert found == (
        {
            "too long": None,
            "stale hides": invalid,
            "stale deletes": invalid,
            "current deletes": None,
            "deletes again": invalid,
        }
        if emulator.name == "ministack"
        else {
            "too long": "InvalidParameterValue",
            "stale hides": None,
            "stale deletes": None,
            "current deletes": None,
            "deletes again": None,
        }
    )


async def test_a_queue_recovers_by_itself_from_an_outage(emulator: Emulator, sqs: Operations) -> None:
    url = (await sqs.call("create_queue", QueueName="outage"))["QueueUrl"]
    queue = SqsQueue(Channel(sqs, url), Channel(sqs, url))
    await queue.send(["before"])
    await asyncio.to_thread(emulator.stop)

    with pytest.raises(NetworkError):
        await queue.send(["during"])
    with pytest.raises(NetworkError):
        await queue.receive(limit=1, wait_s=20)
    await asyncio.to_thread(emulator.start)
    if emulator.name == "moto":  # has forgotten it
        await sqs.call("create_queue", QueueName="outage")
    await queue.send(["after"])

    bodies = {message.body for message in await queue.receive(limit=10, wait_s=1)}
    assert "after" in bodies
