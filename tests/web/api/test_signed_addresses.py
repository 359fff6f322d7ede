"""Signed addresses of files, HEAD, and the description of the API."""

import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.people.access import machine_access
from docmill.service.store import tenants

Add = Callable[..., Awaitable[UUID]]
Read = Callable[..., Awaitable[UUID]]


async def _signed(client: httpx.AsyncClient, document_id: UUID, **body: object) -> dict[str, Any]:
    answer = await client.post(f"/api/v1/documents/{document_id}/signed-addresses", json=body)
    assert answer.status_code == 200
    return answer.json()


async def test_signed_addresses_open_the_file_and_its_pages(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()

    signed = await _signed(client, document_id, expires_s=60)

    assert len(signed["pages"]) == 2
    for address in (signed["file"], signed["pages"][0], f"{signed['pages'][1]}&width=400"):
        assert (await client.get(address)).status_code == 200
    part = await client.get(signed["file"], headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"rece")


async def test_a_signature_is_for_one_path_and_one_time(
    client: httpx.AsyncClient, read: Read, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = await read("a.png"), await read("b.png")
    signed = await _signed(client, one)
    token = signed["file"].partition("token=")[2]
    wrong = token[:-3] + ("AAA" if token[-3:] != "AAA" else "BBB")

    answers = [
        await client.get(f"/api/v1/documents/{other}/file?token={token}"),
        await client.get(f"/api/v1/documents/{one}/pages/1.webp?token={token}"),
        await client.get(f"/api/v1/documents/{one}/file?token={wrong}"),
        await client.get(f"/api/v1/documents/{one}/file?token="),
        await client.get(f"/api/v1/documents/{one}/file?token=é"),
    ]
    later = time.time() + 3601
    monkeypatch.setattr("docmill.service.signed_addresses.time.time", lambda: later)
    answers.append(await client.get(signed["file"]))

    assert [answer.status_code for answer in answers] == [403] * 6
    assert {answer.json()["code"] for answer in answers} == {"forbidden"}
    assert await service.signed_addresses.verify(f"/api/v1/documents/{one}/file", token) is None


async def test_a_signature_of_another_tenant_opens_nothing_here(
    client: httpx.AsyncClient, read: Read, service: Service
) -> None:
    document_id = await read()
    path = f"/api/v1/documents/{document_id}/file"
    async with service.database.accounts() as conn:
        elsewhere = await tenants.add(conn, "Elsewhere")
    (token,) = await service.signed_addresses.sign(
        [path], machine_access(elsewhere), expires_at=int(time.time()) + 60
    )

    assert (await client.get(f"{path}?token={token}")).status_code == 404


async def test_a_rotated_key_still_verifies_and_a_revoked_one_does_not(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()
    first = await _signed(client, document_id)

    await client.post("/api/v1/signing-keys/rotate", json={})
    second = await _signed(client, document_id)
    kept = [(await client.get(signed["file"])).status_code for signed in (first, second)]
    revoked = await client.post("/api/v1/signing-keys/rotate", json={"revoke": True})
    gone = [(await client.get(signed["file"])).status_code for signed in (first, second)]
    third = await _signed(client, document_id)

    assert first["file"].partition("token=")[2][:22] != second["file"].partition("token=")[2][:22]
    assert (kept, revoked.status_code, gone) == ([200, 200], 204, [403, 403])
    assert (await client.get(third["file"])).status_code == 200


@pytest.mark.parametrize("expires_s", [0, -1, 7 * 86400 + 1, "soon"])
async def test_no_signature_lasts_for_ever(client: httpx.AsyncClient, read: Read, expires_s: object) -> None:
    document_id = await read()

    answer = await client.post(
        f"/api/v1/documents/{document_id}/signed-addresses", json={"expires_s": expires_s}
    )

    assert answer.status_code == 422


async def test_head_answers_as_get_without_a_body(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    paths = [
        address,
        f"{address}/file",
        f"{address}/pages/1.webp",
        f"{address}/reviews",
        f"{address}/related",
        "/api/v1/documents",
        "/api/v1/ingestions",
        "/api/v1/bin",
        "/api/v1/operations",
        "/api/v1/openapi.json",
        "/healthz",
        "/",
        f"/docs/{document_id}",
        "/bin",
        "/ops",
        f"/api/v1/documents/{uuid4()}",
    ]
    for path in paths:
        head, get = await client.head(path), await client.get(path)
        assert (head.status_code, head.content) == (get.status_code, b""), path
        assert head.headers["content-type"] == get.headers["content-type"], path


async def test_head_of_the_stream_of_events_ends(client: httpx.AsyncClient) -> None:
    head = await client.head("/api/v1/events")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


async def test_every_operation_names_its_errors_with_examples(client: httpx.AsyncClient) -> None:
    description = (await client.get("/api/v1/openapi.json")).json()
    problem = {"$ref": "#/components/schemas/Problem"}

    for path, operations in description["paths"].items():
        if not path.startswith("/api/v1/"):
            continue
        for method, operation in operations.items():
            wanted = {"401", "403", "422", "429"}
            if "{" in path:
                wanted.add("404")
            if method != "get":
                wanted.add("409")
            assert wanted <= operation["responses"].keys(), (method, path)
            for status, response in operation["responses"].items():
                if status >= "400":
                    content = response["content"]["application/problem+json"]
                    assert content["schema"] == problem
                    assert content["example"]["status"] == int(status)
            names = {parameter["name"] for parameter in operation["parameters"]}
            assert ("Idempotency-Key" in names) == (method != "get"), (method, path)
    changes = description["paths"]["/api/v1/documents/{document_id}"]
    assert "412" in changes["patch"]["responses"]
    assert "412" in changes["delete"]["responses"]
    assert "413" in description["paths"]["/api/v1/documents"]["post"]["responses"]
