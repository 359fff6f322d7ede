"""The documents of the API."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

from docmill.schemas.document_types import DEFINITIONS
from docmill.service.app import Service
from docmill.service.config.settings import Settings

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]


async def test_uploading_makes_a_document(client: httpx.AsyncClient) -> None:
    response = await client.post("/api/v1/documents", files={"file": ("a.pdf", b"one")})

    (result,) = response.json()["results"]
    assert response.status_code == 201
    assert (result["file_name"], result["status"], result["error"]) == ("a.pdf", "accepted", None)
    listed = (await client.get("/api/v1/documents")).json()["documents"]
    assert [document["id"] for document in listed] == [result["document_id"]]


async def test_the_same_content_is_already_here(client: httpx.AsyncClient, add: Add) -> None:
    document_id = await add("a.pdf", b"one")

    response = await client.post("/api/v1/documents", files={"file": ("b.pdf", b"one")})

    (result,) = response.json()["results"]
    assert response.status_code == 200
    assert (result["status"], result["document_id"]) == ("already_here", str(document_id))


async def test_known_content_is_processed_again_when_forced(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("a.pdf", b"one")
    await finish(document_id)

    again = await client.post("/api/v1/documents", files={"file": ("a.pdf", b"one")})
    forced = await client.post("/api/v1/documents?force=true", files={"file": ("a.pdf", b"one")})

    assert again.json()["results"][0]["ingestion_id"] is None
    assert forced.json()["results"][0]["ingestion_id"] is not None


async def test_one_refused_file_does_not_stop_the_others(
    client: httpx.AsyncClient, small_files: None
) -> None:
    del small_files
    files = [("file", ("big.pdf", b"x" * 11)), ("file", ("small.pdf", b"x")), ("file", ("empty.pdf", b""))]

    response = await client.post("/api/v1/documents", files=files)

    results = response.json()["results"]
    assert response.status_code == 201
    assert [result["status"] for result in results] == ["refused", "accepted", "refused"]
    assert results[0]["error"]["code"] == "too_large"
    assert results[2]["error"]["code"] == "corrupt"


async def test_a_file_that_is_too_large_is_a_problem_that_says_so(
    client: httpx.AsyncClient, small_files: None
) -> None:
    del small_files
    response = await client.post("/api/v1/documents", files={"file": ("big.pdf", b"x" * 11)})

    problem = response.json()
    assert response.status_code == 413
    assert response.headers["content-type"] == "application/problem+json"
    assert (problem["code"], problem["status"]) == ("too_large", 413)
    assert "limits.file_mb" in problem["detail"]
    assert problem["results"][0]["status"] == "refused"


async def test_large_files_pass_in_pieces(client: httpx.AsyncClient, service: Service) -> None:
    content = bytes(range(256)) * 16_384  # 4 MB

    response = await client.post("/api/v1/documents", files={"file": ("large.bin", content)})

    document_id = response.json()["results"][0]["document_id"]
    stored = await client.get(f"/api/v1/documents/{document_id}/file")
    assert stored.content == content
    assert await service.blobs.size(
        f"documents/{service.default_tenant_id}/{hashlib.sha256(content).hexdigest()}"
    ) == len(content)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=" + 300 * "b", b"--b"),
        ("multipart/form-data; boundary=b", b"no form at all"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"',
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nabc',
        ),
        ("multipart/form-data; boundary=b", b"--b\r\nX: " + b"x" * 9000 + b"\r\n\r\nabc\r\n--b--\r\n"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="note"\r\n\r\nabc\r\n--b--\r\n',
        ),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--b--\r\n',
        ),
    ],
)
async def test_a_body_without_files_is_a_validation_problem(
    client: httpx.AsyncClient, content_type: str, body: bytes
) -> None:
    response = await client.post("/api/v1/documents", content=body, headers={"content-type": content_type})

    assert response.status_code == 422
    assert response.json()["code"] == "validation"


async def test_the_list_is_newest_first_and_comes_in_pages(client: httpx.AsyncClient, add: Add) -> None:
    ids = [str(await add(f"{number}.pdf")) for number in range(5)]

    first = (await client.get("/api/v1/documents?limit=3")).json()
    second = (await client.get(first["next"])).json()

    assert [document["id"] for document in first["documents"]] == ids[:1:-1]
    assert [document["id"] for document in second["documents"]] == ids[1::-1]
    assert second["next"] is None


async def test_the_list_can_be_filtered(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    new, done, kept = await add("new.pdf"), await add("done.pdf"), await add("kept.exe")
    await finish(done)
    await finish(
        kept,
        classification={"document_type": "other", "title": "kept.exe"},
        error_code="unsupported_file_type",
        error_message="It is a program.",
    )

    for query, expected in [
        ("state=not_read", kept),
        ("state=ready", done),
        ("state=processing", new),
        ("document_type=receipt", done),
        ("q=NEW", new),
    ]:
        found = (await client.get(f"/api/v1/documents?{query}")).json()["documents"]
        assert [document["id"] for document in found] == [str(expected)]


async def test_the_list_can_be_filtered_by_every_document_type(client: httpx.AsyncClient) -> None:
    schema = (await client.get("/api/v1/openapi.json")).json()
    parameters = schema["paths"]["/api/v1/documents"]["get"]["parameters"]
    (kinds,) = (one["schema"]["anyOf"][0] for one in parameters if one["name"] == "document_type")

    answers = [await client.get("/api/v1/documents", params={"document_type": kind}) for kind in DEFINITIONS]

    assert kinds["enum"] == list(DEFINITIONS)
    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.parametrize("query", ["state=lost", "document_type=poem", "limit=0", "after=x"])
async def test_a_filter_that_does_not_exist_is_a_validation_problem(
    client: httpx.AsyncClient, query: str
) -> None:
    response = await client.get(f"/api/v1/documents?{query}")

    assert response.status_code == 422
    assert response.json()["faults"][0]["where"].startswith("query.")


async def test_a_document_shows_its_data_their_places_and_the_verdict(
    client: httpx.AsyncClient, read: Callable[..., Awaitable[UUID]]
) -> None:
    verdict = {"failures": [{"check": "sums", "message": "The sums differ.", "fields": ["gross_total"]}]}
    document_id = await read(verdict=verdict, valid_structured_data=False)

    document = (await client.get(f"/api/v1/documents/{document_id}")).json()

    assert document["state"] == "needs_review"
    assert document["data"]["gross_total"] == "12.90"
    assert document["evidence"]["gross_total"]["page"] == 1
    assert document["verdict"]["failures"][0]["message"] == "The sums differ."
    assert document["original"] == f"/api/v1/documents/{document_id}/file"
    assert document["pages"][1] == f"/api/v1/documents/{document_id}/pages/2.webp"


async def test_a_document_shows_its_tags(client: httpx.AsyncClient, read: Read, add: Add) -> None:
    tagged = await read(
        classification={"document_type": "receipt", "title": "Corner Bakery", "tags": ["Bakery", "2026"]}
    )
    untagged, unread = (
        await read("b.png", classification={"document_type": "receipt", "tags": None}),
        await add("c.png"),
    )

    shown = [(await client.get(f"/api/v1/documents/{one}")).json() for one in (tagged, untagged, unread)]
    listed = (await client.get("/api/v1/documents")).json()["documents"]

    assert [one["tags"] for one in shown] == [["Bakery", "2026"], [], []]
    assert {one["id"]: one["tags"] for one in listed} == {one["id"]: one["tags"] for one in shown}


async def test_a_failed_document_says_why(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    document_id = await add()
    await finish(document_id, status="failed", error_code="corrupt", error_message="It is damaged.")

    document = (await client.get(f"/api/v1/documents/{document_id}")).json()
    history = (await client.get(f"/api/v1/documents/{document_id}/ingestions")).json()["ingestions"]

    assert document["error"] == {"code": "corrupt", "message": "It is damaged."}
    assert document["data"] is None
    assert document["verdict"] is None
    assert history[0]["error"] == document["error"]


async def test_processing_again_begins_one_ingestion_however_often_asked(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add()
    await finish(document_id)

    answers = [await client.post(f"/api/v1/documents/{document_id}/reprocess") for _ in range(3)]

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["ingestion_id"] for answer in answers}) == 1
    history = (await client.get(f"/api/v1/documents/{document_id}/ingestions")).json()["ingestions"]
    assert [ingestion["status"] for ingestion in history] == ["in-progress", "completed"]


ROUTES = [
    ("GET", ""),
    ("GET", "/file"),
    ("GET", "/pages/1.webp"),
    ("GET", "/ingestions"),
    ("POST", "/reprocess"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_document_that_does_not_exist_is_not_found(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    response = await client.request(method, f"/api/v1/documents/{uuid4()}{path}")

    assert response.status_code == 404
    assert response.json()["code"] == "not_found"


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_document_of_another_tenant_is_not_found(
    client: httpx.AsyncClient, foreign_document: UUID, method: str, path: str
) -> None:
    response = await client.request(method, f"/api/v1/documents/{foreign_document}{path}")

    assert response.status_code == 404


@pytest.fixture
async def foreign_document(service: Service, settings: Settings) -> UUID:
    """A document of somebody else."""
    other = uuid4()
    assert settings.database_owner_url is not None
    url = settings.database_owner_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("INSERT INTO tenant (id, name) VALUES (%s, 'another')", [other])

    async def chunks() -> AsyncIterator[bytes]:
        yield b"secret"

    accepted = await service.intake.accept(chunks(), tenant_id=other, file_name="secret.pdf")
    return accepted.document_id


async def test_how_each_page_was_read_is_told(client: httpx.AsyncClient, read: Read, add: Add) -> None:
    unread = await client.get(f"/api/v1/documents/{await add('new.pdf')}/pages")

    told = await client.get(f"/api/v1/documents/{await read()}/pages")

    assert unread.json() == {"pages": []}
    assert [page["number"] for page in told.json()["pages"]] == [1, 2]
    assert told.json()["pages"][0] == {
        "number": 1,
        "source": "text",
        "engine": None,
        "quality": 1.0,
        "rotation": 0,
        "problem": None,
        "preprocessed": False,
    }
