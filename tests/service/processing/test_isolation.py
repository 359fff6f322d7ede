"""Documents whose worker died are worked on with nothing else in work, and everything else goes on after."""

import asyncio
from dataclasses import replace

import pytest

from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.processing import job
from docmill.service.processing.job import Isolation
from docmill.service.worker import run_worker
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload


class Room:
    """A converter that knows who is in it. together: by file name, who was there when that document came.

    `long.pdf` stays until the room is `open`.
    """

    def __init__(self) -> None:
        self.together: dict[str, set[str]] = {}
        self.long_came = asyncio.Event()
        self.open = asyncio.Event()
        self._present: set[str] = set()

    async def __call__(self, original: Original) -> None:
        name = original.name
        self._present.add(name)
        self.together[name] = set(self._present)
        if name == "long.pdf":
            self.long_came.set()
            await self.open.wait()
        self._present.remove(name)


@pytest.fixture
def room(script: ScriptedSteps) -> Room:
    script.convert = room = Room()
    return room


async def suspected(service: Service, upload: Upload, name: str) -> Accepted:
    """A document whose worker died while it had it in work; its message is hidden."""
    accepted = await upload(name.encode(), file_name=name)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET deaths = 1 WHERE id = %s", [accepted.ingestion_id])
        await conn.execute(
            "UPDATE message SET visible_at = now() + interval '1 day' WHERE body = %s",
            [str(accepted.ingestion_id)],
        )
    return accepted


async def show_messages(service: Service) -> None:
    async with service.database.connection() as conn:
        await conn.execute("UPDATE message SET visible_at = now() WHERE receipt IS NULL")
    service.sender.announce()


async def until_given_back(service: Service, accepted: Accepted) -> None:
    async with asyncio.timeout(20):
        while True:
            async with service.database.connection() as conn:
                cur = await conn.execute(
                    "SELECT FROM message WHERE body = %s AND receiver <> '' AND receipt IS NULL",
                    [str(accepted.ingestion_id)],
                )
                if cur.rowcount:
                    return


async def test_while_a_suspect_waits_for_the_end_of_others_nothing_is_begun_and_after_it_all_goes_on(
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    observer: Observer,
    room: Room,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits, is_alone = asyncio.Event(), Isolation.is_alone

    async def told(isolation: Isolation, *, within_s: float) -> bool:
        waits.set()
        return await is_alone(isolation, within_s=within_s)

    monkeypatch.setattr(Isolation, "is_alone", told)
    # A poll that is under way when the suspect comes shall still be so when the next document does.
    worker = service.settings.worker.model_copy(update={"wait_s": 60.0})
    service = replace(service, settings=service.settings.model_copy(update={"worker": worker}))
    suspect = await suspected(service, upload, "suspect.pdf")
    stop = asyncio.Event()
    running = asyncio.create_task(run_worker(service, script.steps(), stop))
    try:
        long = await upload(b"long", file_name="long.pdf")
        await asyncio.wait_for(room.long_came.wait(), 20)
        await show_messages(service)
        await asyncio.wait_for(waits.wait(), 20)
        late = await upload(b"late", file_name="late.pdf")
        await until_given_back(service, late)
        before = dict(room.together)
        room.open.set()
        for each in (long, suspect, late):
            await observer.until(each, "ready")
    finally:
        room.open.set()
        stop.set()
        await running

    assert before == {"long.pdf": {"long.pdf"}}
    assert room.together["suspect.pdf"] == {"suspect.pdf"}
    assert [(await observer.ingestion(each)).attempt_count for each in (long, suspect, late)] == [1, 1, 1]


async def test_suspects_that_come_together_are_worked_on_one_after_the_other(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, room: Room
) -> None:
    names = [f"suspect {number}.pdf" for number in range(3)]
    suspects = [await suspected(service, upload, name) for name in names]
    await show_messages(service)

    async with working():
        for each in suspects:
            await observer.until(each, "ready")

    assert room.together == {name: {name} for name in names}


async def test_others_are_begun_beside_a_suspect_that_takes_long(
    service: Service,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    room: Room,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(job, "ALONE_S", 0.0)
    suspect = await suspected(service, upload, "long.pdf")
    await show_messages(service)

    async with working():
        await asyncio.wait_for(room.long_came.wait(), 20)
        other = await upload(b"other", file_name="other.pdf")
        await observer.until(other, "ready")
        room.open.set()
        await observer.until(suspect, "ready")

    assert room.together == {"long.pdf": {"long.pdf"}, "other.pdf": {"long.pdf", "other.pdf"}}
