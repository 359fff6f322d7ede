"""Requests with an Idempotency-Key."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.people.access import machine_access
from docmill.service.sweeper import Sweeper
from docmill.web.idempotency import own_key

Add = Callable[..., Awaitable[UUID]]
Read = Callable[..., Awaitable[UUID]]

FILE = {"file": ("a.pdf", b"one")}


def _key(text: str) -> dict[str, str]:
    return {"idempotency-key": text}


async def _history(client: httpx.AsyncClient, document_id: UUID) -> int:
    return len((await client.get(f"/api/v1/documents/{document_id}/reviews")).json()["history"])


async def test_a_repeated_request_gets_the_first_answer_and_changes_nothing(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"

    first = await client.patch(address, json={"title": "One"}, headers=_key("k"))
    await client.patch(address, json={"title": "Two"})
    again = await client.patch(address, json={"title": "One"}, headers=_key("k"))

    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert again.headers["etag"] == first.headers["etag"]
    assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
    assert (await client.get(address)).json()["title"] == "Two"
    assert await _history(client, document_id) == 2


async def test_a_key_of_another_request_is_refused(client: httpx.AsyncClient, read: Read) -> None:
    document_id, other = await read("a.png"), await read("b.png")
    address = f"/api/v1/documents/{document_id}"
    await client.patch(address, json={"title": "One"}, headers=_key("k"))

    answers = [
        await client.patch(address, json={"title": "Two"}, headers=_key("k")),
        await client.patch(f"/api/v1/documents/{other}", json={"title": "One"}, headers=_key("k")),
        await client.delete(address, headers=_key("k")),
    ]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(422, "validation")] * 3
    assert (await client.get(address)).json()["title"] == "One"


async def test_an_upload_is_known_again_whatever_its_boundary(client: httpx.AsyncClient) -> None:
    first = await client.post("/api/v1/documents", files=FILE, headers=_key("k"))
    again = await client.post("/api/v1/documents", files=FILE, headers=_key("k"))
    other = await client.post("/api/v1/documents", files={"file": ("a.pdf", b"two")}, headers=_key("k"))

    assert first.request.headers["content-type"] != again.request.headers["content-type"]
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert again.json() == first.json()
    assert len((await client.get("/api/v1/documents")).json()["documents"]) == 1


async def test_a_refusal_is_repeated_and_another_key_is_another_request(
    client: httpx.AsyncClient, add: Add
) -> None:
    missing = uuid4()

    first = await client.delete(f"/api/v1/documents/{missing}", headers=_key("k"))
    again = await client.delete(f"/api/v1/documents/{missing}", headers=_key("k"))
    document_id = await add()
    fresh = await client.delete(f"/api/v1/documents/{document_id}", headers=_key("l"))

    assert (first.status_code, again.status_code, fresh.status_code) == (404, 404, 200)
    assert again.headers["content-type"] == "application/problem+json"
    assert again.json() == first.json()


async def test_of_ten_requests_at_once_one_is_carried_out(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    answers = await asyncio.gather(
        *(
            client.patch(f"/api/v1/documents/{document_id}", json={"title": "One"}, headers=_key("k"))
            for _ in range(10)
        )
    )

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert any(answer.status_code == 200 for answer in answers)
    assert await _history(client, document_id) == 1


async def test_a_fault_of_the_server_leaves_the_key_free(
    client: httpx.AsyncClient, read: Read, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(type(service.edits), "change", fail)
        failed = await client.patch(address, json={"title": "One"}, headers=_key("k"))
    again = await client.patch(address, json={"title": "One"}, headers=_key("k"))

    assert (failed.status_code, again.status_code) == (500, 200)


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_what_is_no_key_is_refused(client: httpx.AsyncClient, read: Read, key: str) -> None:
    document_id = await read()

    answer = await client.patch(f"/api/v1/documents/{document_id}", json={"title": "A"}, headers=_key(key))

    assert answer.status_code == 422
    assert await _history(client, document_id) == 0


async def test_a_key_is_forgotten_after_a_day(
    client: httpx.AsyncClient, read: Read, service: Service
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    await client.patch(address, json={"title": "One"}, headers=_key("k"))

    async def keys() -> int:
        async with service.database.tenant(service.default_tenant_id) as conn:
            return (await conn.execute("SELECT FROM idempotency_key")).rowcount

    await Sweeper(service).forget_old_keys()
    young = await keys()
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE idempotency_key SET started_at = now() - interval '25 hours'")
    other = await client.patch(address, json={"title": "Two"}, headers=_key("k"))
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE idempotency_key SET started_at = now() - interval '25 hours'")
    await Sweeper(service).forget_old_keys()

    assert (young, other.status_code, await keys()) == (1, 200, 0)


async def test_a_request_that_never_ended_holds_its_key_for_ten_minutes(
    client: httpx.AsyncClient, read: Read, service: Service
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(
            "INSERT INTO idempotency_key (tenant_id, key, token) VALUES (%s, %s, gen_random_uuid())",
            [service.default_tenant_id, own_key("k", machine_access(service.default_tenant_id))],
        )

    early = await client.patch(address, json={"title": "One"}, headers=_key("k"))
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("UPDATE idempotency_key SET started_at = now() - interval '11 minutes'")
    late = await client.patch(address, json={"title": "One"}, headers=_key("k"))

    assert (early.status_code, early.json()["code"], late.status_code) == (409, "changed", 200)


async def test_every_write_of_the_api_takes_keys(app: FastAPI, client: httpx.AsyncClient) -> None:
    """The second request of each with the same key is answered by the first, whatever that was."""
    del app
    description = (await client.get("/api/v1/openapi.json")).json()
    writes = [
        (method, path)
        for path, operations in description["paths"].items()
        for method in operations
        if method in {"post", "put", "patch", "delete"}
    ]
    assert len(writes) > 10
    for number, (method, path) in enumerate(writes):
        address = path.replace("{document_id}", str(uuid4())).replace("{other_id}", str(uuid4()))
        first = await client.request(method, address, headers=_key(f"k{number}"))
        again = await client.request(method, address, headers=_key(f"k{number}"))
        if first.status_code != 422:  # of the request's form, which is refused before anything else
            assert again.headers.get("idempotency-replayed") == "true", (method, path, first.status_code)
        assert again.status_code == first.status_code
