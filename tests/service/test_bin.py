"""The bin beside a running worker."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable

import pytest

from docmill.model.document import Document
from docmill.pipeline import Steps
from docmill.ports import Original
from docmill.service.app import Service
from docmill.service.intake.accept import Accepted
from docmill.service.store import document_list, parts
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.sweeper import Sweeper
from support.nested_documents import Content, NestedDocuments
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload, once

Put = Callable[[Content], Awaitable[Accepted]]


async def _deleted(service: Service, accepted: Accepted) -> None:
    assert await service.bin.delete(
        accepted.document_id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID
    )


async def test_work_on_a_deleted_document_ends_quietly(
    service: Service,
    script: ScriptedSteps,
    upload: Upload,
    working: RunWorker,
    observer: Observer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def wait(original: Original) -> None:
        del original
        begun.set()
        await may_end.wait()
        ended.set()

    script.convert = wait
    accepted = await upload()
    async with working():
        await asyncio.wait_for(begun.wait(), 20)
        await _deleted(service, accepted)
        may_end.set()
        await asyncio.wait_for(ended.wait(), 20)
        script.convert = None
        other = await upload(b"%PDF-1.7 other")
        await observer.until(other, "ready")

    await Sweeper(service).send_lost_again()
    assert (await service.queue.depth()).due <= 1  # that of the lost claim, which goes when it is received
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert await observer.letters() == []
    await service.bin.restore(accepted.document_id, tenant_id=service.default_tenant_id)
    assert (await observer.document(accepted)).state == "processing"
    async with working():
        assert (await observer.until(accepted, "ready")).title == "Invoice 7"


async def test_a_waiting_document_that_is_deleted_is_never_begun(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    accepted, other = await upload(), await upload(b"%PDF-1.7 other")
    await _deleted(service, accepted)

    async with working():
        await observer.until(other, "ready")

    assert len(script.converted) == 1
    depth = await service.queue.depth()
    assert (depth.due, depth.delayed, depth.in_flight) == (0, 0, 0)


async def test_deletions_and_uploads_of_one_file_at_once_leave_one_document(
    service: Service, upload: Upload, observer: Observer, working: RunWorker
) -> None:
    accepted = await upload()

    async def delete() -> None:
        await service.bin.delete(
            accepted.document_id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID
        )

    async def add() -> None:
        await upload()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for _ in range(10):
            tasks.create_task(delete())
            tasks.create_task(add())
    await upload()

    async with working():
        await observer.until(accepted, "ready")
    async with service.database.tenant(service.default_tenant_id) as conn:
        assert [row.id for row in (await document_list.page(conn)).rows] == [accepted.document_id]


class TestPartsOfDocuments:
    @pytest.fixture
    def boxes(self, make_document: Callable[..., Document]) -> NestedDocuments:
        return NestedDocuments(make_document("Total 1.00"))

    @pytest.fixture
    def steps(self, boxes: NestedDocuments) -> Steps:
        return boxes.steps()

    @pytest.fixture
    def put(self, upload: Upload) -> Put:
        async def accept(content: Content) -> Accepted:
            return await upload(json.dumps(content).encode(), file_name="a.zip", force=True)

        return accept

    async def _at_rest(self, service: Service, names: set[str]) -> None:
        async with asyncio.timeout(30):
            async for _ in service.feed.follow(service.default_tenant_id, 0):
                async with service.database.tenant(service.default_tenant_id) as conn:
                    rows = (await document_list.page(conn, limit=100)).rows
                if {row.file_name for row in rows} == names and all(
                    row.state != "processing" for row in rows
                ):
                    return

    async def test_a_deleted_part_stays_deleted_when_its_whole_is_read_again(
        self, put: Put, working: RunWorker, service: Service
    ) -> None:
        async with working():
            mail = await put({"b.pdf": "b", "c.pdf": "c"})
            await self._at_rest(service, {"a.zip", "b.pdf", "c.pdf"})
            async with service.database.tenant(service.default_tenant_id) as conn:
                inner = (await parts.of_document(conn, mail.document_id))[0].child_id
            assert inner
            await service.bin.delete(inner, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID)
            await put({"b.pdf": "b", "c.pdf": "c"})
            await self._at_rest(service, {"a.zip", "c.pdf"})
            again = await put({"x": {"b.pdf": "b"}})  # another document that holds it

            await self._at_rest(service, {"a.zip", "c.pdf", "x", "b.pdf"})

        assert again.document_id != mail.document_id

    async def test_a_mail_is_removed_with_what_came_with_it_alone(
        self, put: Put, upload: Upload, working: RunWorker, service: Service
    ) -> None:
        async with working():
            mail = await put({"b.pdf": "b", "c.pdf": "c", "deep": {"d.pdf": "d"}})
            await self._at_rest(service, {"a.zip", "b.pdf", "c.pdf", "deep", "d.pdf"})
            async with service.database.tenant(service.default_tenant_id) as conn:
                rows = {row.file_name: row for row in (await document_list.page(conn, limit=100)).rows}
            original = await service.blobs.get(rows["c.pdf"].file_path)
            await service.intake.accept(  # uploaded by itself, too
                once(original), tenant_id=service.default_tenant_id, file_name="c.pdf"
            )
        del upload

        deleted = await service.bin.delete(
            mail.document_id, tenant_id=service.default_tenant_id, deleted_by=DEFAULT_USER_ID
        )
        removed = await service.bin.empty(tenant_id=service.default_tenant_id)

        assert (len(deleted), removed) == (4, 4)
        async with service.database.tenant(service.default_tenant_id) as conn:
            assert [row.file_name for row in (await document_list.page(conn)).rows] == ["c.pdf"]
        assert len(await service.blobs.keys("documents")) == 1
