"""The ingestions of all documents, what is related, and matches."""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import httpx

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]
Hold = Callable[..., Awaitable[None]]


async def test_ingestions_are_listed_by_status_document_and_time(
    client: httpx.AsyncClient, add: Add, read: Read, finish: Finish
) -> None:
    done, failed, live = await read("a.png"), await add("b.pdf"), await add("c.pdf")
    await finish(failed, status="failed", classification=None, error_code="corrupt", error_message="broken")
    every = (await client.get("/api/v1/ingestions")).json()["ingestions"]

    async def found(**query: str) -> list[str]:
        answer = await client.get("/api/v1/ingestions", params=query)
        return [row["document_id"] for row in answer.json()["ingestions"]]

    assert [row["document_id"] for row in every] == [str(live), str(failed), str(done)]
    assert await found(status="failed") == [str(failed)]
    assert await found(status="in-progress") == [str(live)]
    assert await found(document=str(done)) == [str(done)]
    assert await found(since=every[1]["created_at"]) == [str(live), str(failed)]
    assert (await client.get("/api/v1/ingestions?status=lost")).status_code == 422
    one = await client.get(f"/api/v1/ingestions/{every[1]['id']}")
    assert one.json() == every[1]
    assert (await client.get(f"/api/v1/ingestions/{uuid4()}")).status_code == 404


async def test_ingestions_come_page_by_page(client: httpx.AsyncClient, add: Add) -> None:
    added = [str(await add(f"{n}.pdf")) for n in range(3)]

    first = (await client.get("/api/v1/ingestions?limit=2&status=in-progress")).json()
    second = (await client.get(first["next"])).json()

    rows = first["ingestions"] + second["ingestions"]
    assert [row["document_id"] for row in rows] == added[::-1]
    assert second["next"] is None


async def test_ingestions_of_a_deleted_document_are_hidden(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    (row,) = (await client.get("/api/v1/ingestions")).json()["ingestions"]

    await client.delete(f"/api/v1/documents/{document_id}")

    assert (await client.get("/api/v1/ingestions")).json()["ingestions"] == []
    assert (await client.get(f"/api/v1/ingestions/{row['id']}")).status_code == 404


async def test_related_names_parts_and_wholes(
    client: httpx.AsyncClient, add: Add, read: Read, hold: Hold
) -> None:
    mail, inner = await add("mail.eml"), await read()
    await hold(mail, {"receipt.png": inner})

    whole = (await client.get(f"/api/v1/documents/{mail}/related")).json()
    part = (await client.get(f"/api/v1/documents/{inner}/related")).json()

    assert [row["document_id"] for row in whole["parts"]] == [str(inner)]
    assert [row["document_id"] for row in part["part_of"]] == [str(mail)]
    assert (whole["near_duplicates"], whole["matches"], whole["part_of"]) == ([], [], [])
    assert (await client.get(f"/api/v1/documents/{uuid4()}/related")).status_code == 404


async def test_there_are_no_matches_yet(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/v1/matches", params={"document_id": str(uuid4())})

    assert answer.json() == {"matches": [], "next": None}


async def test_a_type_that_cannot_be_read_is_not_processed_again(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("film.mp4")
    kept = {"document_type": "other", "title": "film.mp4"}
    await finish(
        document_id,
        classification=kept,
        error_code="unsupported_file_type",
        error_message="films cannot be read",
        media_type="video/mp4",
    )
    address = f"/api/v1/documents/{document_id}/reprocess"

    skipped = await client.post(address)
    forced = await client.post(f"{address}?force=true")

    assert (skipped.status_code, skipped.json()) == (200, {"ingestion_id": None, "skipped": True})
    assert (forced.status_code, forced.json()["skipped"]) == (202, False)


async def test_a_type_that_another_release_could_not_read_is_processed_again(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("film.mp4")
    await finish(
        document_id, error_code="unsupported_file_type", error_message="no", pipeline_fingerprint="another"
    )

    answer = await client.post(f"/api/v1/documents/{document_id}/reprocess")

    assert (answer.status_code, answer.json()["skipped"]) == (202, False)
