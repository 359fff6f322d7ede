"""Notes on documents, through the API and on the document's page."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import httpx

from docmill.service.app import Service
from docmill.service.store import notes
from docmill.service.store.notes import ImportedNote

Add = Callable[..., Awaitable[UUID]]


async def written(client: httpx.AsyncClient, document_id: UUID) -> list[str]:
    answer = await client.get(f"/api/v1/documents/{document_id}/notes")
    return [note["text"] for note in answer.json()["notes"]]


async def test_notes_are_written_listed_and_deleted(client: httpx.AsyncClient, add: Add) -> None:
    document_id, other = await add(), await add("other.png")
    address = f"/api/v1/documents/{document_id}/notes"

    first = await client.post(address, json={"text": "  Paid in cash.\r\nAsk Ada.  "})
    second = await client.post(address, json={"text": "Filed"})

    assert first.status_code == 201
    (note, _) = second.json()["notes"]
    assert (note["text"], note["author"]) == ("Paid in cash.\nAsk Ada.", "This machine")
    assert await written(client, other) == []
    elsewhere = await client.delete(f"/api/v1/documents/{other}/notes/{note['id']}")
    assert elsewhere.status_code == 404
    assert (await client.delete(f"{address}/{note['id']}")).status_code == 204
    assert (await client.delete(f"{address}/{note['id']}")).status_code == 404
    assert await written(client, document_id) == ["Filed"]


async def test_a_note_needs_a_text_and_a_document(client: httpx.AsyncClient, add: Add) -> None:
    address = f"/api/v1/documents/{await add()}/notes"

    blank = await client.post(address, json={"text": " \n "})
    long = await client.post(address, json={"text": "x" * 10_001})
    nowhere = await client.post(f"/api/v1/documents/{uuid4()}/notes", json={"text": "x"})

    assert (blank.status_code, blank.json()["code"]) == (422, "validation")
    assert (long.status_code, nowhere.status_code) == (422, 404)


async def test_a_note_is_a_change_that_people_see(client: httpx.AsyncClient, add: Add) -> None:
    address = f"/api/v1/documents/{await add()}"
    before = (await client.get(address)).json()["version"]

    await client.post(f"{address}/notes", json={"text": "Paid"})

    assert (await client.get(address)).json()["version"] > before


async def test_an_imported_note_that_was_deleted_does_not_come_back(
    client: httpx.AsyncClient, service: Service, add: Add
) -> None:
    document_id, tenant_id = await add(), service.default_tenant_id
    note = ImportedNote("elsewhere:7", "From there", "Ada", datetime(2024, 5, 1, tzinfo=UTC))
    async with service.database.tenant(tenant_id) as conn:
        assert await notes.bring(conn, document_id, [note], tenant_id=tenant_id) == 1
        (row,) = await notes.of_document(conn, document_id)
    await client.delete(f"/api/v1/documents/{document_id}/notes/{row.id}")

    async with service.database.tenant(tenant_id) as conn:
        assert await notes.bring(conn, document_id, [note], tenant_id=tenant_id) == 0
        cur = await conn.execute("SELECT text, author FROM document_note")
        assert await cur.fetchall() == [("", "")]
    assert (row.author, row.created_at) == ("Ada", note.created_at)
    assert await written(client, document_id) == []


async def test_the_page_of_a_document_shows_notes_and_takes_new_ones(
    client: httpx.AsyncClient, add: Add
) -> None:
    document_id = await add()
    address = f"/docs/{document_id}"

    answer = await client.post(f"{address}/notes", data={"text": "<b>Paid</b>"})
    page = (await client.get(address)).text

    assert (answer.status_code, answer.headers["location"]) == (303, f"{address}#notes")
    assert "&lt;b&gt;Paid&lt;/b&gt;" in page
    assert 'id="note-text"' in page
    note_id = (await client.get(f"/api/v1{address.replace('docs', 'documents')}/notes")).json()["notes"][0]
    await client.post(f"{address}/notes", data={"delete": note_id["id"]})
    assert "Paid" not in (await client.get(address)).text
