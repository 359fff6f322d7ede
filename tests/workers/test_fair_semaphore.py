"""Who comes next."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from docmill.workers.fair_semaphore import FairSemaphore, scheduled_for, urgently, with_turn_callback

Queue = Callable[..., Awaitable["asyncio.Task[None]"]]


@pytest.fixture
async def turns() -> FairSemaphore:
    """One place, and somebody has it."""
    turns = FairSemaphore(1)
    await turns.acquire()
    return turns


@pytest.fixture
def served() -> list[str]:
    """Whose turns have come, in order."""
    return []


@pytest.fixture
def queue(turns: FairSemaphore, served: list[str]) -> Queue:
    """Somebody who waits for a turn and gives it back at once."""

    async def wait(name: str) -> None:
        await turns.acquire()
        served.append(name)
        turns.release()

    async def start(name: str, tenant: str = "a", *, urgent: bool = False) -> "asyncio.Task[None]":
        with scheduled_for(tenant, name):
            if urgent:
                with urgently():
                    task = asyncio.create_task(wait(name))
            else:
                task = asyncio.create_task(wait(name))
        await asyncio.sleep(0)  # it has joined its row
        return task

    return start


async def test_a_document_of_many_pages_does_not_stand_before_one_of_one(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    tasks = [await queue("long") for _ in range(4)] + [await queue("short")]

    turns.release()
    await asyncio.gather(*tasks)

    assert served == ["long", "short", "long", "long", "long"]


async def test_tenants_take_turns_however_many_documents_they_have(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    tasks = [await queue(name, "greedy") for name in ("g1", "g2", "g3")]
    tasks += [await queue(name, "modest") for name in ("m1", "m2")]

    turns.release()
    await asyncio.gather(*tasks)

    assert served == ["g1", "m1", "g2", "m2", "g3"]


async def test_what_a_person_waits_for_comes_first(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    tasks = [await queue("background") for _ in range(2)] + [await queue("picture", urgent=True)]

    turns.release()
    await asyncio.gather(*tasks)

    assert served == ["picture", "background", "background"]


async def test_who_stops_waiting_is_passed_over(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    gone, patient = await queue("gone"), await queue("patient")

    gone.cancel()
    await asyncio.sleep(0)
    assert turns.waiting == 1
    turns.release()
    await patient

    assert served == ["patient"]


async def test_who_stops_waiting_while_the_turn_comes_is_passed_over(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    gone, patient = await queue("gone"), await queue("patient")

    gone.cancel()
    turns.release()  # before the one who is gone has noticed
    await patient

    assert served == ["patient"]
    assert turns.waiting == 0


async def test_a_turn_that_came_too_late_is_given_on(
    turns: FairSemaphore, queue: Queue, served: list[str]
) -> None:
    gone, patient = await queue("gone"), await queue("patient")

    turns.release()
    gone.cancel()  # its turn has come, and it does not know yet
    await patient

    assert served == ["patient"]


async def test_a_free_place_is_taken_without_waiting(served: list[str]) -> None:
    turns = FairSemaphore(2)

    await turns.acquire()
    await turns.acquire()

    assert turns.waiting == 0
    assert served == []


async def test_it_is_told_when_a_turn_comes_and_not_before(turns: FairSemaphore, queue: Queue) -> None:
    told: list[str] = []
    with with_turn_callback(lambda: told.append("it came")):
        waiting = await queue("a")
    before = told.copy()

    turns.release()
    await waiting

    assert (before, told) == ([], ["it came"])
