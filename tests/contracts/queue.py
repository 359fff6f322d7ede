"""What every `Queue` does, whatever it is made of."""

import asyncio
from abc import ABC, abstractmethod
from uuid import uuid4

import pytest

from docmill.ports import Message, Queue

VISIBILITY_S = 300.0
MAX_RECEIVES = 3


class QueueContract(ABC):
    """A subclass brings the fixture `queue`: empty, with the visibility and maximum above."""

    @abstractmethod
    async def let_pass(self, seconds: float) -> None:
        """Make it later for the queue by so much."""

    @pytest.fixture
    @abstractmethod
    def queue(self) -> Queue: ...

    async def receive_one(self, queue: Queue) -> Message:
        (message,) = await queue.receive(limit=10, wait_s=0)
        return message

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

    async def test_a_stale_receipt_does_nothing(self, queue: Queue) -> None:
        await queue.send(["a"])
        stale = await self.receive_one(queue)
        await self.let_pass(VISIBILITY_S + 1)
        current = await self.receive_one(queue)

        assert not await queue.extend(stale, visibility_s=100)
        assert not await queue.release(stale)
        assert not await queue.bury(stale, reason="corrupt")
        assert not await queue.delete(stale)
        assert await queue.delete(current)

    async def test_a_deleted_message_never_comes_again(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        assert await queue.delete(message)
        assert not await queue.delete(message)
        await self.let_pass(VISIBILITY_S + 1)

        assert await queue.receive(limit=1, wait_s=0) == []

    async def test_a_released_message_comes_at_once(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        assert await queue.release(message)
        again = await self.receive_one(queue)

        assert again.id == message.id

    async def test_a_message_released_with_a_delay_waits(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        assert await queue.release(message, delay_s=30)
        assert await queue.receive(limit=1, wait_s=0) == []
        await self.let_pass(31)

        assert (await self.receive_one(queue)).id == message.id

    async def test_a_released_delivery_is_over(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)
        await queue.release(message, delay_s=30)

        assert not await queue.extend(message, visibility_s=100)
        assert not await queue.delete(message)

    async def test_a_message_received_too_often_dies(self, queue: Queue) -> None:
        await queue.send(["a"])
        for _ in range(MAX_RECEIVES):
            await queue.release(await self.receive_one(queue))

        assert await queue.receive(limit=1, wait_s=0) == []
        (letter,) = await queue.dead_letters(limit=10)

        assert (letter.body, letter.reason, letter.receive_count) == ("a", "max_receives", MAX_RECEIVES)

    async def test_dead_messages_do_not_hide_living_ones(self, queue: Queue) -> None:
        await queue.send(["dead"])
        for _ in range(MAX_RECEIVES):
            await queue.release(await self.receive_one(queue))
        await queue.send(["alive"])

        (message,) = await queue.receive(limit=1, wait_s=0)

        assert message.body == "alive"

    async def test_a_buried_message_keeps_its_reason(self, queue: Queue) -> None:
        await queue.send(["a"])
        message = await self.receive_one(queue)

        assert await queue.bury(message, reason="encrypted")
        (letter,) = await queue.dead_letters(limit=10)

        assert (letter.id, letter.reason, letter.receive_count) == (message.id, "encrypted", 1)

    async def test_the_newest_dead_letters_come_first(self, queue: Queue) -> None:
        for body in ("first", "second", "third"):
            await queue.send([body])
            await queue.bury(await self.receive_one(queue), reason="corrupt")

        letters = await queue.dead_letters(limit=2)

        assert [letter.body for letter in letters] == ["third", "second"]

    async def test_a_redriven_letter_is_due_with_a_fresh_count(self, queue: Queue) -> None:
        await queue.send(["a"])
        await queue.bury(await self.receive_one(queue), reason="corrupt")
        (letter,) = await queue.dead_letters(limit=1)

        assert await queue.redrive([letter.id, uuid4()]) == 1
        message = await self.receive_one(queue)

        assert (message.body, message.receive_count) == ("a", 1)
        assert await queue.dead_letters(limit=1) == []

    async def test_a_purged_letter_is_gone(self, queue: Queue) -> None:
        await queue.send(["a"])
        await queue.bury(await self.receive_one(queue), reason="corrupt")
        (letter,) = await queue.dead_letters(limit=1)

        assert await queue.purge_dead_letters([letter.id, uuid4()]) == 1
        assert await queue.dead_letters(limit=1) == []
        assert await queue.redrive([letter.id]) == 0

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
