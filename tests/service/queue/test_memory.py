import pytest

from contracts.queue import MAX_RECEIVES, MAX_WAITING_RECEIVES, VISIBILITY_S, QueueContract
from docmill.service.ports import Queue
from docmill.testing.queue import MemoryQueue


class TestMemoryQueue(QueueContract):
    now = 1000.0

    async def let_pass(self, seconds: float) -> None:
        self.now += seconds

    @pytest.fixture
    def queue(self) -> Queue:
        return MemoryQueue(visibility_s=VISIBILITY_S, max_receives=MAX_RECEIVES, clock=lambda: self.now)

    @pytest.fixture
    def patient_queue(self) -> Queue:
        return MemoryQueue(max_receives=MAX_WAITING_RECEIVES, clock=lambda: self.now)


async def test_a_receiver_waits_no_longer_than_it_was_told() -> None:
    assert await MemoryQueue().receive(limit=1, wait_s=0.01) == []
