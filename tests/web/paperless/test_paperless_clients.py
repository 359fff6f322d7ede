"""Devices for paperless-ngx against the running vault, through a client library of theirs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from fastapi import FastAPI
from pypaperless import Paperless
from pypaperless.exceptions import InitializationError, JsonResponseWithError

from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from docmill.service.people.accounts import NewPerson
from docmill.service.store import documents, ingestions, notes
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.documents import DocumentRow
from docmill.service.tagging import Tagging
from docmill.web.paperless.paperless_shapes import number_of
from docmill.web.server import serve
from support.people import PASSWORD

EMAIL = "anna@example.org"
Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]


@pytest.fixture
async def anna(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson(EMAIL, "Anna", PASSWORD), "Acme")


@pytest.fixture
async def address(app: FastAPI, settings: Settings) -> AsyncIterator[str]:
    """The address at which the vault answers."""
    stop, ready = asyncio.Event(), asyncio.Future[str]()
    settings = settings.model_copy(update={"web": Web(host="127.0.0.1", port=0)})
    task = asyncio.create_task(serve(app, settings, stop, ready.set_result))
    yield (await asyncio.wait_for(ready, 10)).rstrip("/")
    stop.set()
    await asyncio.wait_for(task, 10)


@pytest.fixture
async def paperless(address: str, anna: UUID) -> AsyncIterator[Paperless]:
    """A client that has signed in with name and password, as a phone app does."""
    del anna
    token = await Paperless.generate_api_token(address, EMAIL, PASSWORD)
    client = Paperless(address, token)
    await client.initialize()
    yield client
    await client.close()


async def only_document(service: Service) -> DocumentRow:
    async with service.database.tenant(service.default_tenant_id) as conn:
        ingestion, *_ = await ingestions.page(conn, limit=2)
        row = await documents.get(conn, ingestion.document_id)
    assert row is not None
    return row


async def upload(client: Paperless, **fields: object) -> str:
    draft = client.documents.draft(document=b"%PDF-1.7 letter", filename="scan 1.pdf", **fields)
    task_id = await draft.save()
    assert isinstance(task_id, str)
    return task_id


async def test_a_scan_is_uploaded_with_title_date_and_tags(paperless: Paperless, service: Service) -> None:
    draft = paperless.tags.draft(
        name="Tax 2024",
        color="#00ff00",
        match="",
        matching_algorithm=0,
        is_insensitive=True,
        is_inbox_tag=False,
    )
    tag_number = await draft.save()
    (tag,) = [tag async for tag in paperless.tags]
    types = {kind.name: kind.id async for kind in paperless.document_types}

    task_id = await upload(
        paperless,
        title="Letter of the tax office",
        created=datetime(2024, 5, 1, 6, 15, tzinfo=UTC),
        tags=[tag_number, 77],
        archive_serial_number=42,
        document_type=types["Invoice"],
        correspondent=5,
    )

    row = await only_document(service)
    assert (tag.id, tag.name, tag.color) == (tag_number, "Tax 2024", "#2c8a55")
    assert (row.file_name, row.title, row.document_date) == (
        "scan 1.pdf",
        "Letter of the tax office",
        date(2024, 5, 1),
    )
    assert row.tags == ["Tax 2024"]
    async with service.database.tenant(service.default_tenant_id) as conn:
        (note,) = await notes.of_document(conn, row.id)
    assert note.text == "From paperless-ngx:\nDocument type: invoice"
    assert row.archive_serial_number == 42
    assert UUID(task_id) == row.ingestion_id
    assert paperless.host_version == "2.20.0"


async def test_a_task_tells_what_became_of_the_upload(
    paperless: Paperless, service: Service, finish: Finish
) -> None:
    task_id = await upload(paperless)
    waiting = await paperless.tasks(task_id)
    row = await only_document(service)

    await finish(row.id)

    done = await paperless.tasks(task_id)
    assert (waiting.status and waiting.status.value, waiting.related_document) == ("PENDING", None)
    assert (done.status and done.status.value, done.task_file_name) == ("SUCCESS", "scan 1.pdf")
    assert done.related_document == number_of(row.id)
    assert await upload(paperless) == task_id, "read before: nothing is read again"


async def test_a_task_tells_why_a_document_failed(
    paperless: Paperless, service: Service, finish: Finish
) -> None:
    task_id = await upload(paperless)
    row = await only_document(service)

    await finish(row.id, status="failed", error_code="corrupt", error_message="the file is broken")

    task = await paperless.tasks(task_id)
    assert (task.status and task.status.value, task.result) == ("FAILURE", "the file is broken")
    assert [each.task_id async for each in paperless.tasks] == [task_id]


async def test_lists_come_in_pages(paperless: Paperless, add: Add, finish: Finish) -> None:
    for number in range(3):
        await finish(await add(f"{number}.pdf"), text=f"letter {number}")

    pages = paperless.documents.pages(page=1, page_size=2)
    found = [[document.original_file_name for document in page] async for page in pages]
    searched = [document.original_file_name async for document in paperless.documents.search("1.pdf")]

    assert (found, searched) == ([["2.pdf", "1.pdf"], ["0.pdf"]], ["1.pdf"])
    assert [each async for each in paperless.correspondents] == []
    assert [each async for each in paperless.storage_paths] == []
    assert [each async for each in paperless.custom_fields] == []


async def test_an_app_that_signed_in_by_password_sets_title_and_tags(
    paperless: Paperless, service: Service, add: Add, finish: Finish
) -> None:
    document_id = await add("first.pdf")
    await finish(document_id)
    tenant_id = service.default_tenant_id
    paid, due = [
        await Tagging(service.database, service.feed).create(name, tenant_id=tenant_id)
        for name in ("paid", "due")
    ]
    await Tagging(service.database, service.feed).assign(
        [document_id], add=["due"], tenant_id=tenant_id, assigned_by=DEFAULT_USER_ID
    )
    document = await paperless.documents(number_of(document_id))
    kept = [tag for tag in document.tags or [] if tag != number_of(due.id)]

    document.title = "Rent, November"
    document.tags = [*kept, number_of(paid.id)]
    assert await document.update()

    again = await paperless.documents(number_of(document_id))
    assert (again.title, sorted(again.tags or [])) == ("Rent, November", sorted([*kept, number_of(paid.id)]))
    document.tags = [7]
    with pytest.raises(JsonResponseWithError):
        await document.update()


async def test_a_number_is_looked_for_and_changed(paperless: Paperless, add: Add, finish: Finish) -> None:
    first = await add("first.pdf")
    await finish(first)
    await finish(await add("second.pdf"))
    assert await paperless.documents.get_next_asn() == 1
    document = await paperless.documents(number_of(first))
    document.archive_serial_number = 41
    assert await document.update()

    assert document.archive_serial_number == 41
    assert await paperless.documents.get_next_asn() == 42
    async with paperless.documents.reduce(archive_serial_number=41) as found:
        assert [each.id async for each in found] == [number_of(first)]
    async with paperless.documents.reduce(archive_serial_number__isnull="true") as found:
        assert [each.original_file_name async for each in found] == ["second.pdf"]
    document.archive_serial_number = None
    assert await document.update()
    assert (await paperless.documents(number_of(first))).archive_serial_number is None


async def test_a_number_that_another_document_has_stays_in_a_note(
    paperless: Paperless, service: Service, add: Add, finish: Finish
) -> None:
    other = await add("first.pdf")
    await finish(other)
    await service.edits.change(
        other,
        {":archive_serial_number": "42"},
        tenant_id=service.default_tenant_id,
        edited_by=DEFAULT_USER_ID,
    )

    await upload(paperless, archive_serial_number=42)

    row = await only_document(service)
    async with service.database.tenant(service.default_tenant_id) as conn:
        (note,) = await notes.of_document(conn, row.id)
    assert row.archive_serial_number is None
    assert "Archive serial number: 42. “Corner Bakery” has" in note.text


async def test_a_wrong_password_or_token_is_refused(address: str, anna: UUID) -> None:
    del anna
    with pytest.raises(JsonResponseWithError):
        await Paperless.generate_api_token(address, EMAIL, "guess")
    client = Paperless(address, "dm_guess")

    with pytest.raises(InitializationError):
        await client.initialize()
    await client.close()
