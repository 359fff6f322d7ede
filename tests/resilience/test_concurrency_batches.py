import asyncio
from collections.abc import Sequence

import pytest
from structlog.contextvars import bind_contextvars, bound_contextvars, get_contextvars

from docmill.errors import ServerError
from docmill.resilience.concurrency import Batches, BrokenWorkerError


class Doubling:
    """Doubles numbers; refuses 13 and, while down, everything."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.down = False

    async def until_begun(self, count: int) -> None:
        """Return when so many batches have begun."""
        for _ in range(20):
            if len(self.batches) >= count:
                return
            await asyncio.sleep(0)
        raise AssertionError(self.batches)

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        await self.open.wait()
        if self.down:
            raise ServerError("down")
        if 13 in items:
            raise ValueError("unlucky")
        return [2 * item for item in items]


async def test_what_comes_together_goes_together() -> None:
    work = Doubling()
    batches = Batches(work, limit=3)

    answers = await asyncio.gather(*(batches.ask(item) for item in range(5)))

    assert answers == [0, 2, 4, 6, 8]
    assert work.batches == [[0, 1, 2], [3, 4]]


async def test_what_comes_while_a_batch_is_under_way_waits_for_the_next() -> None:
    work = Doubling()
    work.open.clear()
    batches = Batches(work)
    first = batches.ask(1)
    await asyncio.sleep(0)
    later = [batches.ask(2), batches.ask(3)]

    work.open.set()

    assert await asyncio.gather(first, *later) == [2, 4, 6]
    assert work.batches == [[1], [2, 3]]


async def test_a_full_batch_does_not_wait_for_more() -> None:
    work = Doubling()
    batches = Batches(work, limit=2, linger_s=3600)

    answers = await asyncio.gather(*(batches.ask(item) for item in range(4)))

    assert answers == [0, 2, 4, 6]
    assert work.batches == [[0, 1], [2, 3]]


async def test_a_full_batch_goes_beside_the_one_under_way_and_a_smaller_one_waits() -> None:
    work = Doubling()
    work.open.clear()
    batches = Batches(work, limit=2, at_once=2)
    answers = [batches.ask(0)]
    await work.until_begun(1)

    answers += [batches.ask(item) for item in (1, 2, 3)]
    await work.until_begun(2)

    assert work.batches == [[0], [1, 2]]
    work.open.set()
    assert await asyncio.gather(*answers) == [0, 2, 4, 6]
    assert work.batches == [[0], [1, 2], [3]]


async def test_what_is_asked_for_as_a_batch_ends_is_not_left_lying() -> None:
    batches = Batches(Doubling(), linger_s=0)
    answers = [await batches.ask(item) for item in range(5)]

    assert answers == [0, 2, 4, 6, 8]


async def test_one_bad_item_does_not_spoil_the_others() -> None:
    batches = Batches(Doubling())

    answers = await asyncio.gather(*(batches.ask(item) for item in (1, 13, 2)), return_exceptions=True)

    assert answers[0] == 2
    assert isinstance(answers[1], ValueError)
    assert answers[2] == 4


async def test_an_outage_is_everybodys() -> None:
    work = Doubling()
    work.down = True
    batches = Batches(work)

    answers = await asyncio.gather(batches.ask(1), batches.ask(2), return_exceptions=True)

    assert [type(answer) for answer in answers] == [ServerError, ServerError]
    assert work.batches == [[1, 2]]
    work.down = False
    assert await batches.ask(3) == 6


async def test_who_stops_waiting_does_not_disturb_the_others() -> None:
    work = Doubling()
    work.open.clear()
    batches = Batches(work)
    impatient, patient = batches.ask(1), batches.ask(2)
    await asyncio.sleep(0)

    impatient.cancel()
    work.open.set()

    assert await patient == 4
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_a_batch_does_not_speak_in_the_name_of_who_asked_first() -> None:
    speaking: list[dict[str, object]] = []

    async def work(items: Sequence[int]) -> Sequence[int]:
        speaking.append(get_contextvars())
        return items

    with bound_contextvars(worker_id="w"):
        batches = Batches(work)

    async def ask(item: int) -> int:
        bind_contextvars(ingestion_id=str(item))
        return await batches.ask(item)

    async with asyncio.TaskGroup() as tasks:
        for item in range(3):
            tasks.create_task(ask(item))

    assert speaking == [{"worker_id": "w"}]


async def test_who_gets_no_answer_by_a_fault_of_ours_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def answer_too_few(items: Sequence[int]) -> list[int]:
        return list(items)[1:]

    batches = Batches(answer_too_few)

    async with asyncio.timeout(10):
        with pytest.raises(BrokenWorkerError):
            await batches.ask(1)

    assert "not answered" in caplog.text
