import asyncio

import pytest

from docmill.errors import MisconfiguredError, NetworkError
from docmill.resilience.concurrency import cancel_and_wait, keep_doing, see_through


class Work:
    """Fails as often as it is told, succeeds once, then waits for ever."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.done = asyncio.Event()
        self.again = asyncio.Event()

    async def __call__(self) -> None:
        if self.failures:
            raise self.failures.pop()
        if self.done.is_set():
            self.again.set()
            await asyncio.Event().wait()
        self.done.set()


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmill.resilience.concurrency.FIRST_PAUSE_S", 0.001)


async def test_an_outage_is_waited_out_and_told_once_at_each_end(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(*[NetworkError("gone")] * 5, TimeoutError())
    task = asyncio.create_task(keep_doing(work, what="the work"))

    await asyncio.wait_for(work.again.wait(), 10)
    await cancel_and_wait([task])

    assert [record.message for record in caplog.records] == ["does not work now", "works again"]
    assert caplog.records[0].exc_info is None


async def test_what_a_person_must_set_up_is_logged_in_words(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(MisconfiguredError("there is no queue 'mails'; create it"))
    task = asyncio.create_task(keep_doing(work, what="the work"))

    await asyncio.wait_for(work.done.wait(), 10)
    await cancel_and_wait([task])

    assert vars(caplog.records[0])["detail"] == "there is no queue 'mails'; create it"


async def test_a_fault_of_ours_is_logged_with_its_place_and_does_not_end_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Work(ZeroDivisionError())
    task = asyncio.create_task(keep_doing(work, what="the work"))

    await asyncio.wait_for(work.done.wait(), 10)
    await cancel_and_wait([task])

    assert "ZeroDivisionError" in caplog.text


async def test_what_is_seen_through_ends_before_its_caller_is_cancelled() -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    task = asyncio.create_task(see_through(work()))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    asyncio.get_running_loop().call_soon(may_end.set)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_what_fails_while_it_is_seen_through_fails_its_caller() -> None:
    async def work() -> None:
        raise NetworkError("gone")

    with pytest.raises(NetworkError):
        await see_through(work())
