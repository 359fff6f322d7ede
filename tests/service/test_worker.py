import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

import pytest

from docmill.errors import (
    CorruptError,
    MisconfiguredError,
    SetupError,
    UnsupportedFileTypeError,
)
from docmill.model.result import Classification, Failure
from docmill.ports import Original
from docmill.reading.child.tasks import load_rapid_engine, load_readers
from docmill.service.app import Service
from docmill.service.observe.metrics import Metrics, PoolUse
from docmill.service.ports import Message
from docmill.service.protocol.pause import paused_part
from docmill.service.sources.smtp.signature_check import load_verifier
from docmill.service.worker import ready_worker, run_worker
from docmill.testing.queue import MemoryQueue
from docmill.understanding.pooled import load_vocabularies
from docmill.workers.capacity import capacity
from docmill.workers.fair_semaphore import FairSemaphore
from docmill.workers.launching import Preload
from docmill.workers.pool import Pool
from support.scripted_steps import AtOnceError, Observer, RunWorker, ScriptedSteps, Upload


def failing(error: Exception, *, times: int = 1_000) -> Callable[[Original], Awaitable[None]]:
    left = [error] * times

    async def convert(_original: Original) -> None:
        if left:
            raise left.pop()

    return convert


def refusing(name: str) -> Callable[[Original], Awaitable[None]]:
    """A converter one of whose engines, which only the document of this name needs, is not set up."""

    async def convert(original: Original) -> None:
        if original.name == name:
            async with paused_part("engine"):
                raise MisconfiguredError("the engine is not set up")

    return convert


async def test_a_document_is_read_understood_and_stored(
    upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "ready")

    assert (document.document_type, document.title, document.page_count) == ("invoice", "Invoice 7", 1)
    assert document.media_type == "application/pdf"
    assert document.structured_data is not None
    assert document.structured_data["gross_total"] == "119.00"
    assert not document.needs_human_review
    ingestion = await observer.ingestion(accepted)
    assert (ingestion.status, ingestion.attempt_count, ingestion.step) == ("completed", 1, None)
    assert ingestion.evidence is not None
    assert ingestion.evidence["number"]["match"] == "exact"
    assert (ingestion.extraction_model, ingestion.extraction_input_tokens) == ("scripted", 10)
    assert (ingestion.extraction_reason or "").startswith("rules; asked small model")
    assert ingestion.lease_until is None


async def test_the_message_is_gone_and_the_work_folder_empty(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    depth = await service.queue.depth()
    assert (depth.due, depth.delayed, depth.in_flight) == (0, 0, 0)
    assert [path.name for path in (service.settings.folder / "work").iterdir()] == ["lock"]


async def test_a_failed_check_needs_a_person(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.failures = (Failure(check="sums", message="the lines do not add up"),)
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "needs_review")

    assert document.needs_human_review
    verdict = (await observer.ingestion(accepted)).verdict
    assert verdict is not None
    assert verdict["failures"][0]["check"] == "sums"


async def test_an_unclassified_document_is_usable_and_waits_for_a_type(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.classification = Classification()
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "needs_classification")

    assert document.title is None


async def test_an_unsupported_type_is_kept_under_its_file_name(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = failing(UnsupportedFileTypeError("no reader for films", media_type="video/mp4"))
    accepted = await upload(file_name="holiday.mp4")

    async with working():
        document = await observer.until(accepted, "ready")

    assert (document.title, document.media_type) == ("holiday.mp4", "video/mp4")
    assert document.error_code == "unsupported_file_type"
    assert not document.needs_human_review


async def test_a_transient_error_is_tried_again(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = failing(AtOnceError("gone for a moment"), times=2)
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.error_code) == (3, None)


async def test_after_the_last_attempt_a_person_must_look(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = failing(AtOnceError("down"))
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "failed")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, ingestion.error_code, ingestion.failed_step) == (
        3,
        "server_error",
        "transcribe",
    )
    assert document.needs_human_review


async def test_a_document_error_is_final_at_once(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = failing(CorruptError("the file ends too early"))
    accepted = await upload()

    async with working():
        document = await observer.until(accepted, "failed")

    assert (document.error_code, document.error_message) == ("corrupt", "the file ends too early")
    assert (await observer.ingestion(accepted)).attempt_count == 1


async def test_a_fault_of_ours_costs_one_document_and_not_the_worker(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def convert(original: Original) -> None:
        if original.name == "odd.pdf":
            raise ZeroDivisionError("secret text")

    script.convert = convert
    odd = await upload(b"odd", file_name="odd.pdf")
    fine = await upload()

    async with working():
        await observer.until(fine, "ready")
        document = await observer.when(odd, lambda document: document.error_code is not None)

    assert (document.state, document.error_code) == ("processing", "internal")
    assert document.error_message is not None
    assert "secret text" not in document.error_message
    assert "a fault in docmill" in caplog.text


async def test_a_setup_error_burns_no_attempt_and_work_goes_on_when_it_is_mended(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    script.convert = failing(MisconfiguredError("no key"), times=2)
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    assert (await observer.ingestion(accepted)).attempt_count == 1
    assert "a person must act" in caplog.text


async def test_a_retry_reuses_the_transcription(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        await observer.until(accepted, "ready")
    ingestion = await observer.ingestion(accepted)

    assert ingestion.transcription_file_path == f"ingestions/{ingestion.id}/transcription.json.zst"
    assert await service.blobs.find(f"ingestions/{ingestion.id}/transcription.json.zst")
    assert len(script.converted) == 1


async def test_the_pictures_that_pages_were_read_in_are_stored_once_beside_the_transcription(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    pages = [replace(page, preprocessed=True) for page in script.document.pages]
    script.document = replace(script.document, pages=pages)
    script.pictures = b"%PDF of the first attempt"
    script.extract_errors = [AtOnceError("away")]
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    ingestion = await observer.ingestion(accepted)
    assert (ingestion.attempt_count, len(script.converted)) == (2, 1)
    key = f"ingestions/{ingestion.id}/preprocessed.pdf"
    assert ingestion.preprocessed_file_path == key
    assert await service.blobs.get(key) == b"%PDF of the first attempt"


async def test_a_document_read_as_it_stands_has_no_preprocessed_file(
    upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    assert (await observer.ingestion(accepted)).preprocessed_file_path is None


async def test_a_message_that_names_nothing_is_dropped(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    await service.queue.send(["not a uuid", str(uuid4())])
    accepted = await upload()

    async with working():
        await observer.until(accepted, "ready")

    depth = await service.queue.depth()
    assert depth.due + depth.delayed + depth.in_flight == 0


async def test_a_second_message_of_a_finished_ingestion_is_dropped(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        await observer.until(accepted, "ready")
        await service.queue.send([str(accepted.ingestion_id)])
        last = await upload(b"after")
        await observer.until(last, "ready")

    assert (await service.queue.depth()).in_flight == 0
    assert len(script.converted) == 2


async def test_stopping_lets_running_documents_finish(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    started, may_end = asyncio.Event(), asyncio.Event()

    async def convert(_original: Original) -> None:
        started.set()
        await may_end.wait()

    script.convert = convert
    accepted = await upload()

    async with working():
        await asyncio.wait_for(started.wait(), 10)
        asyncio.get_running_loop().call_soon(may_end.set)

    assert (await observer.document(accepted)).state == "ready"


async def test_while_the_installation_is_wrong_one_document_at_a_time_is_tried(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    mended = asyncio.Event()
    together = 0
    most_together = 0
    refused = 0

    async def convert(_original: Original) -> None:
        nonlocal together, most_together, refused
        if mended.is_set():
            return
        together += 1
        if refused >= 4:  # as many as were taken before the first was refused
            most_together = max(most_together, together)
        await asyncio.sleep(0)
        together -= 1
        refused += 1
        if refused == 7:
            mended.set()
        raise MisconfiguredError("no key")

    script.convert = convert
    accepted = [await upload(f"{number}".encode()) for number in range(8)]

    async with working():
        for each in accepted:
            await observer.until(each, "ready")

    assert most_together == 1
    assert {(await observer.ingestion(each)).attempt_count for each in accepted} == {1}


async def test_documents_that_need_not_what_is_paused_go_on(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.convert = refusing("scan.pdf")
    waiting = await upload(b"scan", file_name="scan.pdf")
    others = [await upload(f"{number}".encode()) for number in range(6)]

    async with working():
        document = await observer.when(waiting, lambda document: document.error_code is not None)
        for each in others:
            await observer.until(each, "ready")
        calls = len([original for original in script.converted if original.name == "scan.pdf"])

    assert (document.state, document.error_code) == ("processing", "misconfigured")
    assert (await observer.ingestion(waiting)).attempt_count == 0
    assert calls >= 1


async def test_a_setup_error_that_others_do_not_have_ends_after_the_attempts(
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SetupError, "delays_s", (0.0,))

    async def convert(original: Original) -> None:
        if original.name == "odd.pdf":
            raise MisconfiguredError("the model of its schema cannot be read")

    script.convert = convert
    odd = await upload(b"odd", file_name="odd.pdf")

    async with working():
        await observer.when(odd, lambda document: document.error_code is not None)
        other = await upload()
        await observer.until(other, "ready")
        document = await observer.until(odd, "failed")
        last = await upload(b"last")
        await observer.until(last, "ready")

    ingestion = await observer.ingestion(odd)
    assert (ingestion.attempt_count, ingestion.failed_step) == (3, "transcribe")
    assert (document.error_code, document.error_message) == (
        "misconfigured",
        "the model of its schema cannot be read",
    )
    assert document.needs_human_review


class Slow(MemoryQueue):
    """A queue whose poll cannot be broken off, like a long poll of SQS."""

    def __init__(self) -> None:
        super().__init__()
        self.polled = asyncio.Event()
        self.over = asyncio.Event()

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        del limit, wait_s, receiver
        self.polled.set()
        while not self.over.is_set():
            with suppress(asyncio.CancelledError):
                await self.over.wait()
        raise asyncio.CancelledError


async def test_a_second_signal_does_not_wait_for_a_poll(service: Service, script: ScriptedSteps) -> None:
    queue = Slow()
    object.__setattr__(service, "queue", queue)
    stop, abort = asyncio.Event(), asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop, abort))
    await asyncio.wait_for(queue.polled.wait(), 10)

    stop.set()
    abort.set()

    await asyncio.wait_for(worker, 10)
    queue.over.set()


class Unequal(MemoryQueue):
    """A queue whose polls, broken off, take the longer to give back what they brought the later they came."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.ended = 0
        self.all_began = asyncio.Event()

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        del limit, wait_s, receiver
        self.begun += 1
        steps = 1000 * (self.begun - 1)
        if self.begun == 4:
            self.all_began.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(steps):
                await asyncio.sleep(0)
            self.ended += 1
        raise AssertionError


async def test_a_worker_that_stops_waits_for_each_of_its_polls(
    service: Service, script: ScriptedSteps
) -> None:
    queue = Unequal()
    many = service.settings.worker.model_copy(update={"concurrency": 200})
    settings = service.settings.model_copy(update={"worker": many})
    service = replace(service, queue=queue, settings=settings)
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop))
    await asyncio.wait_for(queue.all_began.wait(), 10)

    stop.set()
    await worker

    assert queue.ended == 4


class CountingQueue(MemoryQueue):
    """A queue that answers late and counts the messages that are given back."""

    def __init__(self) -> None:
        super().__init__()
        self.given_back = 0

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        await asyncio.sleep(0)  # the other poll sees meanwhile that there is no more room
        return await super().receive(limit=limit, wait_s=wait_s, receiver=receiver)

    async def release(self, message: Message, *, delay_s: float = 0, counts: bool = True) -> None:
        self.given_back += 1
        await super().release(message, delay_s=delay_s, counts=counts)


async def test_a_worker_asks_for_no_more_messages_than_it_has_room_for(
    service: Service, script: ScriptedSteps, upload: Upload
) -> None:
    held, full, gate = 0, asyncio.Event(), asyncio.Event()

    async def convert(_original: Original) -> None:
        nonlocal held
        held += 1
        if held == 22:
            full.set()
        await gate.wait()

    script.convert = convert
    queue = CountingQueue()
    accepted = [await upload(b"%PDF-1.7" + bytes([number])) for number in range(30)]
    await queue.send([str(one.ingestion_id) for one in accepted])
    roomy = service.settings.worker.model_copy(update={"concurrency": 22, "batch": 1})
    settings = service.settings.model_copy(update={"worker": roomy})
    service = replace(service, queue=queue, settings=settings)
    stop = asyncio.Event()
    worker = asyncio.create_task(run_worker(service, script.steps(), stop))

    await asyncio.wait_for(full.wait(), 20)

    assert queue.given_back == 0
    gate.set()
    stop.set()
    await worker


@pytest.mark.parametrize("have_turns", [False, True], ids=["all wait for a turn", "each has had a turn"])
async def test_no_more_is_claimed_than_can_be_begun_soon(
    service: Service, script: ScriptedSteps, upload: Upload, observer: Observer, *, have_turns: bool
) -> None:
    held, expected = 0, 30 if have_turns else 20
    full, gate, turns = asyncio.Event(), asyncio.Event(), FairSemaphore(100)

    async def convert(_original: Original) -> None:
        nonlocal held
        if have_turns:
            await turns.acquire()
        held += 1
        if held == expected:
            full.set()
        await gate.wait()

    script.convert = convert
    accepted = [await upload(b"%PDF-1.7" + bytes([number])) for number in range(30)]
    roomy = service.settings.worker.model_copy(update={"concurrency": 100, "batch": 5})
    service = replace(service, settings=service.settings.model_copy(update={"worker": roomy}))
    stop = asyncio.Event()
    steps = replace(script.steps(), reads_in_turns=True)
    worker = asyncio.create_task(run_worker(service, steps, stop))

    await asyncio.wait_for(full.wait(), 20)
    left = (await service.queue.depth()).due
    gate.set()
    for one in accepted:
        await observer.until(one, "ready")
    stop.set()
    await worker

    assert left == 30 - expected


@pytest.mark.parametrize(
    ("worker", "processes"),
    [({"processes": 3}, 3), ({}, capacity().processes(reserved_cores=2))],
)
async def test_the_number_of_reading_processes_is_set_or_found_out(
    service: Service, worker: dict[str, int], processes: int
) -> None:
    class Watched(Metrics):
        def watch_pool(self, name: str, pool: PoolUse) -> None:
            pools[name] = pool.workers

    pools: dict[str, int] = {}
    settings = service.settings.model_copy(
        update={"worker": service.settings.worker.model_copy(update=worker)}
    )

    async with ready_worker(replace(service, settings=settings), Watched()):
        assert pools == {"reading": processes}


@pytest.mark.parametrize("preload", [[load_rapid_engine, load_vocabularies], [load_readers], [load_verifier]])
async def test_what_the_processes_of_a_vault_load_leaves_a_template_that_can_be_forked(
    preload: list[Preload],
) -> None:
    async with Pool(1, preload=preload) as pool:
        assert await pool.run(os.getppid, limit_s=60) != os.getpid()
