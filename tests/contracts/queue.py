"""What every `Queue` does, whatever it is made of."""

import asyncio
from abc import ABC, abstractmethod
from uuid import uuid4

import pytest

from docmill.service.ports import ExpectedMessage, Message, Queue

VISIBILITY_S = 300.0
MAX_RECEIVES = 3
MAX_WAITING_RECEIVES = 20


class QueueContract(ABC):
    """A subclass brings the fixture `queue`: empty, with the visibility and maximum above."""

    knows_receivers = True
    """Whether the queue can give back what a receiver has that is dead."""

    @abstractmethod
    async def let_pass(self, seconds: float) -> None:
        """Make it later for the queue by so much."""

    @pytest.fixture
    @abstractmethod
    def queue(self) -> Queue: ...

    @pytest.fixture
    @abstractmethod
    def patient_queue(self) -> Queue:
        """An empty queue whose maximum is `MAX_WAITING_RECEIVES`."""

    async def receive_one(self, queue: Queue) -> Message:
        (message,) = await queue.receive(limit=10, wait_s=0)
        return message

    async def kill(self, queue: Queue, body: str) -> None:
        """Send a message and receive it too often."""
        await queue.send([body])
        for _ in range(MAX_RECEIVES):
            await queue.release(await self.receive_one(queue))
        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_what_was_sent_is_received_once(self, queue: Queue) -> None:
        await queue.send(["a", "b", "not a uuid"])

        first = await queue.receive(limit=10, wait_s=0)
        second = await queue.receive(limit=10, wait_s=0)

        assert sorted(message.body for message in first) == ["a", "b", "not a uuid"]
        assert {message.receive_count for message in first} == {1}
        assert second == []

    async def test_no_more_than_the_limit_is_received(self, queue: Queue) -> None:
        await queue.send([str(number) for number in range(5)])

        batches = [await queue.receive(limit=2, wait_s=0) for _ in range(3)]

        assert [len(batch) for batch in batches] == [2, 2, 1]

    async def test_messages_of_several_tenants_and_of_none_are_sent_together(self, queue: Queue) -> None:
        one, other = uuid4(), uuid4()
        await queue.send(["a", "b", "c", "d"], tenant_ids=[one, other, None, one])

        messages = await queue.receive(limit=10, wait_s=0)

        assert sorted(message.body for message in messages) == ["a", "b", "c", "d"]

    async def test_nothing_sent_changes_nothing(self, queue: Queue) -> None:
        await queue.send([])

        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_a_delayed_message_comes_when_it_is_due(self, queue: Queue) -> None:
        await queue.send(["later"], delay_s=60)
        before = await queue.receive(limit=1, wait_s=0)

        await self.let_pass(61)
        after = await queue.receive(limit=1, wait_s=0)

        assert before == []
        assert [message.body for message in after] == ["later"]

    async def test_a_message_comes_again_when_its_time_is_over(self, queue: Queue) -> None:
        await queue.send(["a"])
        first = await self.receive_one(queue)

        await self.let_pass(VISIBILITY_S + 1)
        second = await self.receive_one(queue)

        assert second.id == first.id
        assert second.receipt != first.receipt
        assert second.receive_count == 2

    async def test_extending_keeps_a_message_hidden(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)
        await self.let_pass(VISIBILITY_S - 1)

        assert await queue.extend(message, visibility_s=100)
        await self.let_pass(99)

        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_an_expired_delivery_cannot_be_extended(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        await self.let_pass(VISIBILITY_S + 1)

        assert not await queue.extend(message, visibility_s=100)

    async def test_a_stale_receipt_extends_nothing(self, queue: Queue) -> None:
        await queue.send(["a"])
        stale = await self.receive_one(queue)
        await self.let_pass(VISIBILITY_S + 1)
        await self.receive_one(queue)

        assert not await queue.extend(stale, visibility_s=100)

    async def test_a_deleted_message_never_comes_again(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        await queue.delete([message])
        await queue.delete([message])
        await self.let_pass(VISIBILITY_S + 1)

        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_a_released_message_comes_at_once(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        await queue.release(message)
        again = await self.receive_one(queue)

        assert again.id == message.id

    async def test_a_message_released_with_a_delay_waits(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        await queue.release(message, delay_s=30)
        assert await queue.receive(limit=1, wait_s=0) == []
        await self.let_pass(31)

        assert (await self.receive_one(queue)).id == message.id

    async def test_a_released_delivery_is_over(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)
        await queue.release(message, delay_s=30)

        assert not await queue.extend(message, visibility_s=100)

    async def test_what_a_dead_receiver_has_comes_at_once_if_the_queue_knows_receivers(
        self, queue: Queue
    ) -> None:
        await queue.send(["a", "b"])
        await queue.receive(limit=10, wait_s=0, receiver="dead")
        await queue.send(["c"])
        await queue.receive(limit=10, wait_s=0, receiver="alive")

        bodies = await queue.release_received("dead")

        assert sorted(bodies) == (["a", "b"] if self.knows_receivers else [])
        again = await queue.receive(limit=10, wait_s=0, receiver="alive")
        assert sorted(message.body for message in again) == sorted(bodies)
        assert await queue.release_received("dead") == []

    async def test_what_a_dead_receiver_had_given_back_waits_for_its_time(self, queue: Queue) -> None:
        await queue.send(["a"])
        (message,) = await queue.receive(limit=10, wait_s=0, receiver="dead")
        await queue.release(message, delay_s=30)

        assert await queue.release_received("dead") == []
        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_a_message_that_waits_never_dies(self, patient_queue: Queue) -> None:
        await patient_queue.send(["a"])

        for _ in range(2 * MAX_WAITING_RECEIVES):
            await patient_queue.release(await self.receive_one(patient_queue), counts=False)

        message = await self.receive_one(patient_queue)
        assert message.body == "a"
        assert message.receive_count < MAX_WAITING_RECEIVES
        assert await patient_queue.dead_messages(limit=1) == []

    async def test_a_message_that_waits_is_not_doubled_and_keeps_its_delay(
        self, patient_queue: Queue
    ) -> None:
        await patient_queue.send(["a"])
        for _ in range(MAX_WAITING_RECEIVES):
            await patient_queue.release(await self.receive_one(patient_queue), delay_s=30, counts=False)
            assert await patient_queue.receive(limit=10, wait_s=0) == []
            await self.let_pass(31)

        assert len(await patient_queue.receive(limit=10, wait_s=0)) == 1

    async def test_a_message_received_too_often_dies(self, queue: Queue) -> None:
        await self.kill(queue, "a")

        (dead,) = await queue.dead_messages(limit=10)

        assert (dead.body, dead.receive_count) == ("a", MAX_RECEIVES)

    async def test_dead_messages_do_not_hide_living_ones(self, queue: Queue) -> None:
        await queue.send(["dead"])
        for _ in range(MAX_RECEIVES):
            await queue.release(await self.receive_one(queue))
        await queue.send(["alive"])

        (message,) = await queue.receive(limit=1, wait_s=0)

        assert message.body == "alive"

    async def test_the_newest_dead_messages_come_first(self, queue: Queue) -> None:
        for body in ("first", "second", "third"):
            await self.kill(queue, body)

        dead = await queue.dead_messages(limit=2)

        assert [message.body for message in dead] == ["third", "second"]

    async def test_a_redriven_message_is_due_with_a_fresh_count(self, queue: Queue) -> None:
        await self.kill(queue, "a")
        (dead,) = await queue.dead_messages(limit=1)

        assert await queue.redrive([dead.id, str(uuid4())]) == 1
        message = await self.receive_one(queue)

        assert (message.body, message.receive_count) == ("a", 1)
        assert await queue.dead_messages(limit=1) == []

    async def test_a_purged_message_is_gone(self, queue: Queue) -> None:
        await self.kill(queue, "a")
        (dead,) = await queue.dead_messages(limit=1)

        assert await queue.purge([dead.id, str(uuid4())]) == 1
        assert await queue.dead_messages(limit=1) == []
        assert await queue.redrive([dead.id]) == 0

    async def test_a_body_that_no_message_carries_is_unsent(self, queue: Queue) -> None:
        expected = [ExpectedMessage("a"), ExpectedMessage("b")]
        assert await queue.unsent(expected) == ["a", "b"]

        await queue.send(["a", "b"])

        assert await queue.unsent(expected) == []

    async def test_many_messages_are_deleted_at_once(self, queue: Queue) -> None:
        await queue.send([str(number) for number in range(25)])
        messages = [message for _ in range(5) for message in await queue.receive(limit=10, wait_s=0)]

        await queue.delete(messages)
        await self.let_pass(VISIBILITY_S + 1)

        assert len(messages) == 25
        assert await queue.receive(limit=10, wait_s=0) == []

    async def test_a_queue_that_is_there_answers(self, queue: Queue) -> None:
        await queue.ping()

    async def test_depth_tells_what_is_due_delayed_and_in_flight(self, queue: Queue) -> None:
        empty = await queue.depth()
        await queue.send(["in flight"])
        await self.receive_one(queue)
        await queue.send(["due"])
        await self.let_pass(50)
        await queue.send(["delayed"], delay_s=60)

        depth = await queue.depth()

        assert (empty.due, empty.delayed, empty.in_flight, empty.oldest_age_s) == (0, 0, 0, 0)
        assert (depth.due, depth.delayed, depth.in_flight) == (1, 1, 1)
        assert depth.oldest_age_s >= 50

    async def test_a_waiting_receiver_gets_what_is_sent_meanwhile(self, queue: Queue) -> None:
        receiving = asyncio.create_task(queue.receive(limit=1, wait_s=30))
        await asyncio.sleep(0)

        await queue.send(["a"])
        async with asyncio.timeout(10):
            (message,) = await receiving

        assert message.body == "a"

    async def test_concurrent_receivers_never_share_a_message(self, queue: Queue) -> None:
        await queue.send([str(number) for number in range(40)])

        batches = await asyncio.gather(*(queue.receive(limit=10, wait_s=0) for _ in range(8)))

        bodies = [message.body for batch in batches for message in batch]
        assert len(bodies) == len(set(bodies))

    async def test_a_cancelled_receiver_keeps_nothing(self, queue: Queue) -> None:
        await queue.send(["a"])
        receiving = asyncio.create_task(queue.receive(limit=1, wait_s=30))
        await asyncio.sleep(0)

        receiving.cancel()
        await asyncio.wait({receiving})
        async with asyncio.timeout(10):
            taken = [] if receiving.cancelled() else receiving.result()
            left = await queue.receive(limit=1, wait_s=0)

        assert len(taken) + len(left) == 1
