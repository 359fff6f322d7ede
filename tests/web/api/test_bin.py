"""Deleting documents, the bin, restoring and removing."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import numpy as np
import pytest

from docmill.service.app import Service
from docmill.service.intake.orphaned_files import remove_orphaned_files
from docmill.service.store import near_duplicates, reviewed_documents
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.understanding.duplicates import Signature

_DAY = timedelta(days=1)
Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]
SIGNATURE = Signature(
    "receipt",
    {"number": "7", "day": "2026-11-03", "total": "12.90", "party": "corner bakery"},
    np.zeros(0, np.uint32),
    np.arange(12, dtype=np.uint32),
)
Hold = Callable[..., Awaitable[None]]


async def _ids(client: httpx.AsyncClient, address: str = "/api/v1/documents") -> list[str]:
    return [document["id"] for document in (await client.get(address)).json()["documents"]]


async def _run(service: Service, statement: str, *values: object) -> list[tuple[Any, ...]]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("SELECT set_config('docmill.bin', 'on', true)")
        cur = await conn.execute(statement, values)  # pyright: ignore[reportArgumentType]  literal at each call
        return await cur.fetchall() if cur.description else []


async def test_a_deleted_document_is_nowhere_but_in_the_bin(client: httpx.AsyncClient, read: Read) -> None:
    document_id, other = await read("a.png"), await read("b.png")
    address = f"/api/v1/documents/{document_id}"

    deleted = await client.delete(address)

    assert (deleted.status_code, deleted.json()) == (
        200,
        {"document_ids": [str(document_id)], "kept_days": 30},
    )
    assert await _ids(client) == [str(other)]
    assert await _ids(client, "/api/v1/documents?q=Bakery") == [str(other)]
    assert await _ids(client, "/api/v1/documents?state=ready") == [str(other)]
    assert ">1 document<" in " ".join((await client.get("/")).text.split()).replace("> ", ">").replace(
        " <", "<"
    )
    for path in ("", "/file", "/pages/1.webp", "/pages", "/ingestions", "/reviews"):
        assert (await client.get(address + path)).status_code == 404, path
    for path in ("/reprocess", "/unlock"):
        body = {"password": "x"} if path == "/unlock" else None
        assert (await client.post(address + path, json=body)).status_code == 404, path
    assert (await client.patch(address, json={"title": "x"})).status_code == 404
    assert (await client.delete(address)).status_code == 404
    (row,) = (await client.get("/api/v1/bin")).json()["documents"]
    assert (row["id"], row["title"], row["parts"]) == (str(document_id), "Corner Bakery", 0)
    assert "Corner Bakery" in (await client.get("/bin")).text


async def test_a_restored_document_is_as_it_was(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    await client.patch(address, json={"title": "Lunch"})
    before = (await client.get(address)).json()

    await client.delete(address)
    restored = await client.post(f"{address}/restore")

    after = (await client.get(address)).json()
    changing = {"updated_at", "version"}
    assert restored.json() == {"document_ids": [str(document_id)]}
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert after["version"] > before["version"]
    assert (await client.get("/api/v1/bin")).json()["documents"] == []
    assert (await client.post(f"{address}/restore")).status_code == 404


async def test_the_same_content_uploaded_again_restores_the_document(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("a.pdf", b"one")
    await finish(document_id)
    await client.delete(f"/api/v1/documents/{document_id}")

    response = await client.post("/api/v1/documents", files={"file": ("b.pdf", b"one")})

    (result,) = response.json()["results"]
    assert response.status_code == 200
    assert (result["status"], result["document_id"], result["ingestion_id"]) == (
        "restored",
        str(document_id),
        None,
    )
    assert await _ids(client) == [str(document_id)]


async def test_work_that_a_deletion_ended_begins_again(
    client: httpx.AsyncClient, service: Service, add: Add
) -> None:
    document_id = await add()

    await client.delete(f"/api/v1/documents/{document_id}")
    ended = await _run(service, "SELECT status, error_code FROM ingestion")
    await client.post(f"/api/v1/documents/{document_id}/restore")

    assert ended == [("failed", "cancelled")]
    assert (await client.get("/api/v1/dead-letters")).json()["dead_letters"] == []
    (ingestion,) = (await client.get(f"/api/v1/documents/{document_id}/ingestions")).json()["ingestions"]
    assert (ingestion["status"], ingestion["error"]) == ("in-progress", None)


async def test_a_failed_document_has_its_dead_letter_again_when_it_is_restored(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("broken.pdf")
    await finish(
        document_id, status="failed", classification=None, error_code="corrupt", error_message="it is broken"
    )
    await client.delete(f"/api/v1/documents/{document_id}")
    in_bin = (await client.get("/api/v1/dead-letters")).json()["dead_letters"]
    await client.post(f"/api/v1/documents/{document_id}/restore")

    (letter,) = (await client.get("/api/v1/dead-letters")).json()["dead_letters"]
    assert in_bin == []
    assert letter["document_id"] == str(document_id)


async def test_a_deletion_of_another_version_is_refused(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    seen = (await client.get(address)).headers["etag"]
    await client.patch(address, json={"title": "Lunch"})

    response = await client.delete(address, headers={"if-match": seen})

    assert (response.status_code, response.json()["code"]) == (412, "changed")
    assert await _ids(client) == [str(document_id)]


async def test_parts_go_to_the_bin_with_their_mail_and_come_back_with_it(
    client: httpx.AsyncClient, service: Service, add: Add, hold: Hold
) -> None:
    mail, other_mail = await add("mail.eml"), await add("other.eml")
    inner, shared, own = await add("inner.pdf"), await add("shared.pdf"), await add("own.pdf")
    await _run(service, "UPDATE document SET is_part = true WHERE id = ANY(%s)", [inner, shared])
    await hold(mail, {"inner.pdf": inner, "shared.pdf": shared, "own.pdf": own})
    await hold(other_mail, {"shared.pdf": shared})

    deleted = (await client.delete(f"/api/v1/documents/{mail}")).json()["document_ids"]
    listed = await _ids(client)
    (row,) = (await client.get("/api/v1/bin")).json()["documents"]
    restored = (await client.post(f"/api/v1/documents/{mail}/restore")).json()["document_ids"]

    assert set(deleted) == {str(mail), str(inner)}
    assert set(listed) == {str(other_mail), str(shared), str(own)}
    assert (row["id"], row["parts"]) == (str(mail), 1)
    assert set(restored) == {str(mail), str(inner)}


async def test_a_part_in_the_bin_is_told_by_its_whole(
    client: httpx.AsyncClient, add: Add, finish: Finish, hold: Hold
) -> None:
    mail, inner = await add("mail.eml"), await add("inner.pdf")
    await hold(mail, {"inner.pdf": inner})
    await finish(mail)

    await client.delete(f"/api/v1/documents/{inner}")

    (part,) = (await client.get(f"/api/v1/documents/{mail}")).json()["parts"]
    assert (part["document_id"], part["problem"], part["name"]) == (None, "it is in the bin", "inner.pdf")
    assert "It is in the bin." in (await client.get(f"/docs/{mail}")).text


async def test_an_emptied_bin_leaves_no_row_and_no_file(
    client: httpx.AsyncClient, service: Service, read: Read, add: Add
) -> None:
    kept, document_id = await add("kept.pdf"), await read()
    address = f"/api/v1/documents/{document_id}"
    assert (await client.get(f"{address}/pages/1.webp")).status_code == 200
    ((ingestion_id,),) = await _run(service, "SELECT id FROM ingestion WHERE document_id = %s", document_id)
    await service.blobs.put(f"ingestions/{ingestion_id}/transcription.json.zst", b"x")
    await client.patch(address, json={"title": "Lunch"})  # with a review
    await client.delete(address)

    emptied = await client.delete("/api/v1/bin")

    assert emptied.json() == {"removed": 1}
    for folder in ("pages", "readable", "ingestions"):
        assert await service.blobs.keys(folder) == [], folder
    assert len(await service.blobs.keys("documents")) == 1
    assert await _run(service, "SELECT id FROM document") == [(kept,)]
    assert await _run(service, "SELECT FROM ingestion WHERE id = %s", ingestion_id) == []
    assert (await client.post(f"{address}/restore")).status_code == 404


async def test_one_document_is_removed_for_good(client: httpx.AsyncClient, read: Read) -> None:
    one, other = await read("a.png"), await read("b.png")
    for document_id in (one, other):
        await client.delete(f"/api/v1/documents/{document_id}")

    here = await client.delete(f"/api/v1/bin/{one}")
    gone = await client.delete(f"/api/v1/bin/{one}")

    assert (here.json(), gone.status_code) == ({"removed": 1}, 404)
    assert await _ids(client, "/api/v1/bin") == [str(other)]


async def test_a_document_outside_of_the_bin_is_never_removed(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    response = await client.delete(f"/api/v1/bin/{document_id}")

    assert response.status_code == 404
    assert await _ids(client) == [str(document_id)]


async def test_content_that_was_uploaded_again_keeps_its_file(client: httpx.AsyncClient, add: Add) -> None:
    first = await add("a.pdf", b"one")
    await client.delete(f"/api/v1/documents/{first}")
    await client.delete("/api/v1/bin")

    second = await add("a.pdf", b"one")

    assert second != first
    assert (await client.get(f"/api/v1/documents/{second}/file")).content == b"one"


async def test_files_of_deleted_documents_are_no_orphans(
    client: httpx.AsyncClient, service: Service, add: Add, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.service.intake.orphaned_files.LEFT_AFTER", -_DAY)
    document_id = await add("a.pdf", b"one")
    await client.delete(f"/api/v1/documents/{document_id}")

    await remove_orphaned_files(service.database, service.blobs)
    await client.post(f"/api/v1/documents/{document_id}/restore")

    assert (await client.get(f"/api/v1/documents/{document_id}/file")).content == b"one"


async def test_documents_are_removed_when_their_days_are_over(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    old, young = await read("a.png"), await read("b.png")
    for document_id in (old, young):
        await client.delete(f"/api/v1/documents/{document_id}")
    await _run(service, "UPDATE document SET deleted_at = now() - interval '31 days' WHERE id = %s", old)

    await service.bin.remove_expired()

    assert await _ids(client, "/api/v1/bin") == [str(young)]
    assert len(await service.blobs.keys("documents")) == 1


async def test_near_duplicates_of_a_deleted_document_are_none(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    first, second = await read("a.png"), await read("b.png")
    for document_id in (first, second):
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute("SELECT result_ingestion_id FROM document WHERE id = %s", [document_id])
            (result,) = await cur.fetchone() or (None,)
            assert result
            await near_duplicates.register(
                conn, document_id, SIGNATURE, tenant_id=service.default_tenant_id, ingestion_id=result
            )

    async def pairs(document_id: UUID) -> list[str]:
        detail = (await client.get(f"/api/v1/documents/{document_id}")).json()
        return [pair["document_id"] for pair in detail["near_duplicates"]] + [detail["state"]]

    assert await pairs(second) == [str(first), "needs_review"]
    await client.delete(f"/api/v1/documents/{first}")
    assert await pairs(second) == ["ready"]
    await client.post(f"/api/v1/documents/{first}/restore")
    assert await pairs(first) == [str(second), "needs_review"]


async def test_nothing_is_learned_from_a_deleted_document(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    state = (await client.get(f"{address}/reviews")).json()
    review = {"path": "seller.name", "action": "confirm"}
    await client.post(f"{address}/reviews", json={"ingestion_id": state["ingestion_id"], "reviews": [review]})
    await _run(
        service,
        "INSERT INTO lesson (document_id, tenant_id, schema_name, ingestion_id, reviewed, made_by, content)"
        " VALUES (%s, %s, 'receipt', %s, 1, 'me', '{}')",
        document_id,
        service.default_tenant_id,
        state["ingestion_id"],
    )

    async def learned() -> tuple[object, int]:
        async with service.database.tenant(service.default_tenant_id) as conn:
            rows = await reviewed_documents.reviewed_documents(conn, "receipt", made_by="me", limit=9)
            await reviewed_documents.delete_others(
                conn, "receipt", [row.document_id for row in rows], made_by="me"
            )
            return await reviewed_documents.version(conn, "receipt", made_by="me"), len(rows)

    before = await learned()
    await client.delete(address)
    deleted = await learned()
    await client.post(f"{address}/restore")
    restored = await learned()

    assert (before[1], deleted[1], restored[1]) == (1, 0, 1)
    assert len({before[0], deleted[0], restored[0]}) == 3


async def test_the_bin_of_another_tenant_is_out_of_reach(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()
    elsewhere = uuid4()

    assert await service.bin.delete(document_id, tenant_id=elsewhere, deleted_by=DEFAULT_USER_ID) == []
    await client.delete(f"/api/v1/documents/{document_id}")
    assert await service.bin.page(tenant_id=elsewhere) == []
    assert await service.bin.restore(document_id, tenant_id=elsewhere) == []
    assert await service.bin.remove(document_id, tenant_id=elsewhere) == 0
    assert await service.bin.empty(tenant_id=elsewhere) == 0
    assert await _ids(client, "/api/v1/bin") == [str(document_id)]


async def test_the_bin_is_listed_page_by_page(client: httpx.AsyncClient, add: Add) -> None:
    added = [await add(f"{n}.pdf") for n in range(3)]
    for document_id in (added[1], added[0], added[2]):
        await client.delete(f"/api/v1/documents/{document_id}")

    first = (await client.get("/api/v1/bin?limit=2")).json()
    second = (await client.get(first["next"])).json()

    found = [row["id"] for page in (first, second) for row in page["documents"]]
    assert (found, second["next"]) == ([str(added[2]), str(added[0]), str(added[1])], None)


async def test_events_tell_of_deletion_and_restoration(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()

    await client.delete(f"/api/v1/documents/{document_id}")
    await client.post(f"/api/v1/documents/{document_id}/restore")

    rows = await _run(service, "SELECT kind FROM event WHERE document_id = %s ORDER BY id", document_id)
    assert [kind for (kind,) in rows][-2:] == ["deleted", "created"]


async def test_the_page_deletes_and_undoes(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    deleted = await client.post(f"/docs/{document_id}/delete")
    told = (await client.get(deleted.headers["location"])).text
    undone = await client.post("/restore", data={"id": str(document_id), "next": "/"})

    assert deleted.headers["location"] == f"/?deleted={document_id}"
    assert "1 document is in the" in told
    assert f'name="id" value="{document_id}"' in told
    assert (undone.status_code, undone.headers["location"]) == (303, "/")
    assert await _ids(client) == [str(document_id)]


async def test_marked_documents_are_changed_together(client: httpx.AsyncClient, read: Read) -> None:
    one, other, third = await read("a.png"), await read("b.png"), await read("c.png")
    gone = uuid4()
    form = {"id": [str(one), str(other), str(gone)], "next": "/?state=ready"}

    retried = await client.post("/bulk", data={**form, "action": "retry"})
    typed = await client.post("/bulk", data={**form, "action": "type", "document_type": "invoice"})
    strange = await client.post("/bulk", data={**form, "action": "type", "document_type": "no such type"})
    deleted = await client.post("/bulk", data={**form, "action": "delete"})
    nothing = await client.post("/bulk", data={"action": "delete"})
    abroad = await client.post("/bulk", data={"action": "retry", "next": "//evil.example"})

    assert retried.headers["location"] == "/?state=ready&sent=2&refused=1"
    assert typed.headers["location"] == "/?state=ready&sent=2&refused=1"
    assert strange.headers["location"] == "/?state=ready&sent=0&refused=3"
    assert deleted.headers["location"] == f"/?state=ready&deleted={one}%2C{other}&refused=1"
    assert nothing.headers["location"] == "/?deleted="
    assert abroad.headers["location"] == "/?sent=0"
    assert "2 documents are in the" in (await client.get(deleted.headers["location"])).text
    assert await _ids(client) == [str(third)]


async def test_the_page_of_the_bin_restores_and_removes(client: httpx.AsyncClient, read: Read) -> None:
    one, other, third = await read("a.png"), await read("b.png"), await read("c.png")
    for document_id in (one, other, third):
        await client.delete(f"/api/v1/documents/{document_id}")

    await client.post("/restore", data={"id": [str(one)], "next": "/bin"})
    removed = await client.post(f"/bin/{other}/remove")
    emptied = await client.post("/bin/empty")

    assert await _ids(client) == [str(one)]
    assert (removed.headers["location"], emptied.headers["location"]) == ("/bin?removed=1", "/bin?removed=1")
    page = (await client.get("/bin?removed=1")).text
    assert "1 document removed for good" in page
    assert "The bin is empty" in page


async def test_the_address_of_a_deleted_document_says_where_it_is(
    client: httpx.AsyncClient, read: Callable[..., Awaitable[UUID]]
) -> None:
    document_id = await read()
    await client.delete(f"/api/v1/documents/{document_id}")

    answers = [await client.get(f"{base}/{document_id}") for base in ("/docs", "/api/v1/documents")]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert all("This document is in the bin" in answer.text for answer in answers)
