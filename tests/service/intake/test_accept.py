import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from docmill.errors import CorruptError, ServerError, TooLargeError
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.config.fingerprint import Fingerprint
from docmill.service.config.settings import Ocr, Settings
from docmill.service.queue.postgres import PostgresQueue
from docmill.service.storage.blobs import Blobs
from docmill.service.store import document_list, documents
from docmill.service.store.database import Conn
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, once


async def test_an_upload_becomes_a_document_in_progress(service: Service) -> None:
    tenant = service.default_tenant_id

    accepted = await service.intake.accept(once(b"%PDF-1.7"), tenant_id=tenant, file_name="a/b/bill.pdf")

    async with service.database.tenant(tenant) as conn:
        document = await documents.get(conn, accepted.document_id)
    assert document is not None
    assert (document.state, document.file_name, document.byte_size) == ("processing", "bill.pdf", 8)
    assert document.ingestion_id == accepted.ingestion_id
    assert await service.blobs.get(document.file_path) == b"%PDF-1.7"
    (message,) = await service.queue.receive(limit=10, wait_s=5)
    assert message.body == str(accepted.ingestion_id)


async def in_parts(data: bytes, *, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def breaking() -> AsyncIterator[bytes]:
    yield b"%PDF"
    raise ServerError("the connection broke")


async def test_a_file_above_the_limit_leaves_nothing(service: Service) -> None:
    too_much = b"x" * (service.settings.limits.file_bytes + 1)

    with pytest.raises(TooLargeError):
        await service.intake.accept(
            in_parts(too_much, size=1 << 20), tenant_id=service.default_tenant_id, file_name="big.pdf"
        )

    await assert_nothing_is_kept(service)


@pytest.mark.parametrize(
    ("chunks", "error"), [(lambda: once(b""), CorruptError), (breaking, ServerError)], ids=["empty", "broken"]
)
async def test_a_file_that_does_not_arrive_leaves_nothing(
    service: Service, chunks: Callable[[], AsyncIterator[bytes]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await service.intake.accept(chunks(), tenant_id=service.default_tenant_id, file_name="a.pdf")

    await assert_nothing_is_kept(service)


async def assert_nothing_is_kept(service: Service) -> None:
    assert [path for path in (service.settings.folder / "blobs").rglob("*") if path.is_file()] == []
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert (await document_list.page(conn)).rows == []
    assert (await service.queue.depth()).due == 0


async def test_fifty_uploads_of_one_file_at_once_are_one_document(service: Service, upload: Upload) -> None:
    accepted = await asyncio.gather(*(upload(b"same" * 1000) for _ in range(50)))

    assert len({one.document_id for one in accepted}) == 1
    assert len({one.ingestion_id for one in accepted}) == 1
    assert sum(one.is_new for one in accepted) == 1
    assert (await service.queue.depth()).due == 1
    assert len([path for path in (service.settings.folder / "blobs").rglob("*") if path.is_file()]) == 1


async def test_the_same_content_again_uses_the_result(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    first = await upload()
    async with working():
        await observer.until(first, "ready")

    again = await upload(file_name="copy.pdf")
    forced = await upload(force=True)

    assert (again.document_id, again.ingestion_id, again.is_new) == (first.document_id, None, False)
    assert forced.ingestion_id not in (None, first.ingestion_id)
    assert (await observer.document(first)).file_name == "bill.pdf"
    assert (await service.queue.depth()).due == 1


async def test_a_failed_document_is_tried_again_when_it_is_uploaded_again(
    script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async def convert(_original: Original) -> None:
        raise CorruptError("broken")

    script.convert = convert
    first = await upload()
    async with working():
        await observer.until(first, "failed")

    again = await upload()

    assert again.ingestion_id not in (None, first.ingestion_id)


async def test_pressing_retry_ten_times_makes_one(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()
    async with working():
        await observer.until(accepted, "ready")

    retries = await asyncio.gather(
        *(
            service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)
            for _ in range(10)
        )
    )

    assert len(set(retries)) == 1
    assert None not in retries
    assert (await service.queue.depth()).due == 1


async def test_retry_revives_a_stuck_document_whose_message_is_gone(service: Service, upload: Upload) -> None:
    accepted = await upload(b"%PDF stuck")
    (message,) = await service.queue.receive(limit=10, wait_s=5)
    await service.queue.delete([message])
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET progress_at = progress_at - interval '11 minutes'")

    revived = [
        await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)
        for _ in range(10)
    ]

    assert revived == [accepted.ingestion_id] * 10
    (again,) = await service.queue.receive(limit=10, wait_s=5)
    assert again.body == str(accepted.ingestion_id)


async def test_retry_frees_a_message_that_somebody_received_and_did_nothing_with(
    service: Service, upload: Upload
) -> None:
    accepted = await upload(b"%PDF forgotten")
    await service.queue.receive(limit=10, wait_s=5)

    await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)

    (again,) = await service.queue.receive(limit=10, wait_s=0)
    assert again.body == str(accepted.ingestion_id)
    assert (await service.queue.depth()).in_flight == 1


async def test_retry_does_not_touch_the_message_of_a_document_in_work(
    service: Service, upload: Upload
) -> None:
    accepted = await upload(b"%PDF in work")
    await service.queue.receive(limit=10, wait_s=5)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE ingestion SET lease_until = now() + interval '1 min'")

    await service.intake.reprocess(accepted.document_id, tenant_id=service.default_tenant_id)

    assert await service.queue.receive(limit=10, wait_s=0) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("..\\..\\a\0b.pdf", "ab.pdf"),
        ("/", "document"),
        ("x" * 300, "x" * 255),
        ("Ärzte 1.pdf", "Ärzte 1.pdf"),
    ],
)
async def test_a_file_name_is_only_a_name(upload: Upload, observer: Observer, given: str, kept: str) -> None:
    assert (await observer.document(await upload(file_name=given))).file_name == kept


def stored(service: Service) -> list[str]:
    root = service.settings.folder / "blobs"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def in_place(service: Service) -> list[str]:
    return [path for path in stored(service) if not path.startswith("incoming/")]


async def test_fifty_uploads_at_once_share_ten_connections_with_everything_else(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    async with working(), asyncio.timeout(60):
        accepted = await asyncio.gather(
            *(upload(b"same" * 100_000) for _ in range(50)),
            *(upload(str(number).encode()) for number in range(20)),
        )
        for one in accepted:
            await observer.until(one, "ready")

    assert len({one.document_id for one in accepted}) == 21
    assert sum(one.is_new for one in accepted) == 21
    assert len([key for key in stored(service) if key.startswith("documents/")]) == 21
    assert [key for key in stored(service) if key.startswith("incoming/")] == []


@pytest.mark.parametrize("size", [10, 30 << 20], ids=["small", "in parts"])
async def test_a_cancelled_upload_leaves_nothing(service: Service, size: int) -> None:
    sent = asyncio.Event()

    async def stalling() -> AsyncIterator[bytes]:
        for start in range(0, size, 1 << 20):
            yield b"x" * min(1 << 20, size - start)
        sent.set()
        await asyncio.Event().wait()

    uploading = asyncio.create_task(
        service.intake.accept(stalling(), tenant_id=service.default_tenant_id, file_name="a.pdf")
    )
    await asyncio.wait_for(sent.wait(), 20)
    uploading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await uploading

    await assert_nothing_is_kept(service)


async def test_an_upload_cancelled_while_its_rows_are_written_leaves_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = asyncio.Event()

    async def stall(*_arguments: object, **_options: object) -> None:
        reached.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(PostgresQueue, "send_in", stall)
    uploading = asyncio.create_task(
        service.intake.accept(once(b"%PDF"), tenant_id=service.default_tenant_id, file_name="a.pdf")
    )
    await asyncio.wait_for(reached.wait(), 10)
    uploading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await uploading

    await assert_nothing_is_kept(service)


async def test_a_file_that_cannot_be_put_in_its_place_leaves_no_row(
    service: Service, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_blobs: Blobs, key: str, target: str) -> None:
        raise ServerError(f"no space for {key!r} as {target!r}")

    monkeypatch.setattr(Blobs, "copy", full)

    with pytest.raises(ServerError):
        await upload()

    await assert_nothing_is_kept(service)


async def test_a_commit_that_fails_after_the_file_is_in_place_leaves_no_row(
    service: Service, upload: Upload, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_queue: PostgresQueue, _conn: Conn, _bodies: Sequence[str]) -> None:
        assert len(in_place(service)) == 1
        raise ServerError("the connection broke")

    monkeypatch.setattr(PostgresQueue, "send_in", fail)
    with pytest.raises(ServerError):
        await upload()
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert (await document_list.page(conn)).rows == []
    monkeypatch.undo()

    again = await upload()  # as the person is told to do

    assert again.is_new
    assert await service.blobs.get((await observer.document(again)).file_path) == b"%PDF-1.7"
    assert len(stored(service)) == 1


async def test_an_incoming_file_that_cannot_be_removed_does_not_fail_the_upload(
    service: Service, upload: Upload, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_blobs: Blobs, key: str) -> None:
        raise ServerError(f"cannot delete {key!r}")

    monkeypatch.setattr(Blobs, "delete", fail)

    assert (await upload()).is_new
    assert "could not remove an incoming file" in caplog.text
    assert len(in_place(service)) == 1


async def test_a_lost_file_is_mended_by_uploading_it_again(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    first = await upload()
    async with working():
        path = (await observer.until(first, "ready")).file_path
    await service.blobs.delete(path)

    again = await upload()

    assert (again.document_id, again.ingestion_id) == (first.document_id, None)
    assert await service.blobs.get(path) == b"%PDF-1.7"


async def test_a_damaged_file_is_mended_by_uploading_it_again_as_its_message_says(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    first = await upload()
    path = (await observer.document(first)).file_path
    await overwrite(service, path, b"%PDF-1.x")
    async with working():
        failed = await observer.until(first, "failed")

        again = await upload()
        await observer.until(again, "ready")

    assert (failed.error_code, "upload it again" in (failed.error_message or "")) == ("corrupt", True)
    assert again.document_id == first.document_id
    assert await service.blobs.get(path) == b"%PDF-1.7"


async def test_a_file_damaged_after_it_was_read_is_mended_by_uploading_it_again(
    service: Service, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    first = await upload()
    async with working():
        path = (await observer.until(first, "ready")).file_path
    await overwrite(service, path, b"%PDF-1.x")

    again = await upload()

    assert again.ingestion_id is None
    assert await service.blobs.get(path) == b"%PDF-1.7"


async def test_a_damaged_readable_copy_is_mended_by_its_password(
    service: Service, upload: Upload, observer: Observer
) -> None:
    async def unlock(_path: str) -> bytes:
        return b"readable"

    accepted = await upload()
    await service.intake.unlock(accepted.document_id, unlock, tenant_id=service.default_tenant_id)
    copy = (await observer.document(accepted)).readable_file_path
    assert copy is not None
    await overwrite(service, copy, b"damaged")

    await service.intake.unlock(accepted.document_id, unlock, tenant_id=service.default_tenant_id)

    assert await service.blobs.get(copy) == b"readable"


async def test_nobody_waits_for_a_document_whose_file_is_being_stored(
    service: Service, upload: Upload, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, begun, may_end = Blobs.copy, asyncio.Event(), asyncio.Event()

    async def slow_at_first(blobs: Blobs, key: str, target: str) -> None:
        if not begun.is_set():
            begun.set()
            await may_end.wait()
        await copy(blobs, key, target)

    monkeypatch.setattr(Blobs, "copy", slow_at_first)
    slow = asyncio.ensure_future(upload())
    await asyncio.wait_for(begun.wait(), 20)

    quick = await asyncio.wait_for(upload(), 20)

    may_end.set()
    assert quick.is_new
    assert (await slow).document_id == quick.document_id
    assert len(stored(service)) == 1


async def overwrite(service: Service, path: str, content: bytes) -> None:
    await service.blobs.put_stream(path, once(content), max_bytes=len(content))


async def test_a_result_of_another_pipeline_is_not_used_again(
    service: Service, upload: Upload, working: RunWorker, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await upload()
    async with working():
        await observer.until(first, "ready")
    monkeypatch.setattr(service.intake, "_fingerprint", Fingerprint(Settings(ocr=Ocr(languages=("de",)))))

    again = await upload()

    assert again.document_id == first.document_id
    assert again.ingestion_id not in (None, first.ingestion_id)


async def test_uploading_again_while_a_worker_ends_the_document_gets_nobody_stuck(
    upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted = await upload()

    async with working(), asyncio.timeout(60):
        for _ in range(20):
            await asyncio.gather(upload(force=True), upload(force=True))
        document = await observer.until(accepted, "ready")

    assert document.error_code is None
    assert (await observer.ingestion(accepted)).attempt_count == 1
