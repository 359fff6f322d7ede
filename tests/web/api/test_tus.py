"""Resumable uploads by tus 1.0.0: a file in pieces, over connections that break."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from fastapi import FastAPI

from docmill.service.app import Service
from docmill.service.intake import resumable_uploads
from docmill.service.people.accounts import NewPerson
from docmill.service.people.sign_in import Visitor
from docmill.service.people.tokens import form_token
from docmill.service.store.database import new_id
from support.people import PASSWORD

UPLOADS = "/api/v1/uploads"
TUS = {"tus-resumable": "1.0.0"}
FILE = b"%PDF-1.7 " + bytes(range(256)) * 8
NAME = base64.b64encode("Beleg für März.pdf".encode()).decode()


async def begin(
    client: httpx.AsyncClient, headers: Mapping[str, str] = MappingProxyType({})
) -> httpx.Response:
    ours = {**TUS, "upload-length": str(len(FILE)), "upload-metadata": f"filename {NAME}"}
    return await client.post(UPLOADS, headers={**ours, **headers})


async def send(
    client: httpx.AsyncClient,
    location: str,
    body: bytes | AsyncIterator[bytes],
    offset: int,
    checksum: str | None = None,
) -> httpx.Response:
    headers = {**TUS, "upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
    if checksum is not None:
        headers["upload-checksum"] = checksum
    return await client.patch(location, content=body, headers=headers)


async def offset_of(client: httpx.AsyncClient, location: str) -> int:
    response = await client.head(location, headers=TUS)
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    return int(response.headers["upload-offset"])


async def test_a_file_in_three_pieces_becomes_one_document(
    client: httpx.AsyncClient, service: Service
) -> None:
    begun = await begin(client)
    location = begun.headers["location"]
    at = [0, 100, 1500, len(FILE)]

    answers = [await send(client, location, FILE[start:end], start) for start, end in pairwise(at)]

    assert begun.status_code == 201
    assert [(answer.status_code, int(answer.headers["upload-offset"])) for answer in answers] == [
        (204, 100),
        (204, 1500),
        (204, len(FILE)),
    ]
    state = (await client.get(location)).json()
    assert (state["status"], state["file_name"]) == ("accepted", "Beleg für März.pdf")
    document = f"/api/v1/documents/{state['document_id']}"
    assert answers[-1].headers["content-location"] == document
    assert (await client.get(f"{document}/file")).content == FILE
    assert await service.blobs.keys("partial") == []


async def test_every_answer_names_the_version_and_the_server_says_what_it_can(
    client: httpx.AsyncClient,
) -> None:
    options = await client.request("OPTIONS", UPLOADS)
    answers = [
        await begin(client),
        await client.head(f"{UPLOADS}/{new_id()}", headers=TUS),
        await client.post(UPLOADS),
    ]

    assert options.status_code == 204
    assert options.headers["tus-version"] == "1.0.0"
    assert options.headers["tus-extension"] == "creation,expiration,checksum,termination"
    assert int(options.headers["tus-max-size"]) > 1_000_000
    assert [(answer.status_code, answer.headers["tus-resumable"]) for answer in answers] == [
        (201, "1.0.0"),
        (404, "1.0.0"),
        (412, "1.0.0"),
    ]
    assert answers[2].headers["tus-version"] == "1.0.0"


async def test_what_arrived_before_the_connection_broke_is_kept(
    client: httpx.AsyncClient, app: FastAPI
) -> None:
    location = (await begin(client)).headers["location"]
    messages = iter(
        [{"type": "http.request", "body": FILE[:700], "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def ignore(message: object) -> None:
        del message

    headers = {**TUS, "host": "localhost", "upload-offset": "0"}
    headers["content-type"] = "application/offset+octet-stream"
    scope = {
        "type": "http",
        "method": "PATCH",
        "path": location,
        "raw_path": location.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 5000),
    }
    await app(scope, receive, ignore)

    assert await offset_of(client, location) == 700
    finished = await send(client, location, FILE[700:], 700)
    document = finished.headers["content-location"]
    assert (await client.get(f"{document}/file")).content == FILE


async def test_of_two_requests_at_once_one_is_told_to_look_again(client: httpx.AsyncClient) -> None:
    location = (await begin(client)).headers["location"]
    both_are_there = asyncio.Barrier(2)

    async def body() -> AsyncIterator[bytes]:
        yield FILE[:500]
        await both_are_there.wait()
        yield FILE[500:1000]

    answers = await asyncio.gather(send(client, location, body(), 0), send(client, location, body(), 0))

    assert sorted(answer.status_code for answer in answers) == [204, 409]
    assert await offset_of(client, location) == 1000
    finished = await send(client, location, FILE[1000:], 1000)
    assert (await client.get(f"{finished.headers['content-location']}/file")).content == FILE


async def test_two_that_send_the_last_bytes_make_one_document(
    client: httpx.AsyncClient, service: Service
) -> None:
    location = (await begin(client)).headers["location"]
    await send(client, location, FILE[:1000], 0)
    both_are_there = asyncio.Barrier(2)

    async def body() -> AsyncIterator[bytes]:
        await both_are_there.wait()
        yield FILE[1000:]

    answers = await asyncio.gather(send(client, location, body(), 1000), send(client, location, body(), 1000))

    assert sorted(answer.status_code for answer in answers) == [204, 409]
    assert len((await client.get("/api/v1/documents")).json()["documents"]) == 1
    assert await offset_of(client, location) == len(FILE)
    assert await service.blobs.keys("partial") == []


async def test_a_large_request_is_stored_piece_by_piece(
    client: httpx.AsyncClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable_uploads, "PIECE_BYTES", 300)
    location = (await begin(client)).headers["location"]

    async def body() -> AsyncIterator[bytes]:
        yield FILE[:1000]
        assert len(await service.blobs.keys("partial")) == 3
        yield FILE[1000:]

    finished = await send(client, location, body(), 0)

    assert finished.status_code == 204
    assert (await client.get(f"{finished.headers['content-location']}/file")).content == FILE


async def test_bytes_at_another_place_or_too_many_of_them_are_refused(
    client: httpx.AsyncClient, service: Service
) -> None:
    location = (await begin(client)).headers["location"]
    await send(client, location, FILE[:100], 0)

    elsewhere = await send(client, location, FILE[50:], 50)
    too_many = await send(client, location, FILE[100:] + b"x", 100)

    assert (elsewhere.status_code, elsewhere.json()["detail"]) == (
        409,
        "The upload is at byte 100; go on from there.",
    )
    assert (too_many.status_code, too_many.json()["code"]) == (422, "validation")
    assert await offset_of(client, location) == 100
    assert len(await service.blobs.keys("partial")) == 1


async def test_a_wrong_checksum_leaves_nothing_and_a_right_one_counts(
    client: httpx.AsyncClient, service: Service
) -> None:
    location = (await begin(client)).headers["location"]
    right = "sha1 " + base64.b64encode(hashlib.sha1(FILE).digest()).decode()  # noqa: S324  of the protocol

    for wrong in ("sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=", "sha256 AAAA"):
        for piece in (FILE, FILE[:100]):
            answer = await send(client, location, piece, 0, wrong)
            assert answer.status_code == 460
    unknown = await send(client, location, FILE, 0, "md5 AAAA")

    assert unknown.status_code == 400
    assert await offset_of(client, location) == 0
    assert await service.blobs.keys("partial") == []
    assert (await send(client, location, FILE, 0, right)).status_code == 204


async def test_an_upload_that_is_ended_is_gone_with_its_pieces(
    client: httpx.AsyncClient, service: Service
) -> None:
    location = (await begin(client)).headers["location"]
    await send(client, location, FILE[:100], 0)

    # A client that cannot send DELETE names it.
    ended = await client.post(location, headers={**TUS, "x-http-method-override": "DELETE"})

    assert ended.status_code == 204
    assert (await client.head(location, headers=TUS)).status_code == 404
    assert await service.blobs.keys("partial") == []


@pytest.mark.parametrize(
    ("headers", "status", "detail"),
    [
        ({"upload-length": "0"}, 422, "the file is empty"),
        ({"upload-length": "-1"}, 422, "the header Upload-Length must be a number of bytes"),
        ({"upload-length": "99999999999"}, 413, "the file is larger than"),
        ({"upload-metadata": "filename ###"}, 422, "'filename' in Upload-Metadata must be UTF-8"),
        ({"upload-metadata": "filename ä".encode()}, 422, "'filename' in Upload-Metadata must be UTF-8"),
        ({"upload-metadata": "x " + "A" * 5000}, 422, "the metadata of an upload has at most 4096"),
    ],
)
async def test_what_cannot_become_a_document_is_refused_at_once(
    client: httpx.AsyncClient, headers: dict[str, str], status: int, detail: str
) -> None:
    answer = await begin(client, headers)

    assert (answer.status_code, answer.json()["detail"].startswith(detail)) == (status, True)


async def test_nobody_begins_uploads_without_end(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable_uploads, "MOST_OPEN", 2)
    first = (await begin(client)).headers["location"]
    await begin(client)

    assert (await begin(client)).status_code == 429
    await client.delete(first, headers=TUS)
    assert (await begin(client)).status_code == 201


async def test_a_beginning_repeated_with_its_key_is_the_same_upload(
    client: httpx.AsyncClient,
) -> None:
    first, again = [await begin(client, {"idempotency-key": "photo 1"}) for _ in range(2)]

    assert first.headers["location"] == again.headers["location"]


async def test_an_upload_is_of_one_person_and_needs_the_token_of_their_session(
    client: httpx.AsyncClient, app: FastAPI, service: Service
) -> None:
    owner = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    other, _ = await service.accounts.add(
        "ben@example.org", "Ben", "reviewer", tenant_id=service.default_tenant_id
    )

    async def of(user_id: UUID, *, with_token: bool) -> httpx.AsyncClient:
        session = (await service.sign_in.begin_session(user_id, Visitor())).token
        headers = {"x-form-token": form_token(session)} if with_token else {}
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://localhost",
            headers=headers,
            cookies={"docmill-session": session},
        )

    anna, ben = await of(owner, with_token=True), await of(other, with_token=True)
    careless = await of(owner, with_token=False)
    location = (await begin(anna)).headers["location"]

    assert (await send(ben, location, FILE, 0)).status_code == 404
    assert (await send(careless, location, FILE, 0)).status_code == 403
    assert (await begin(careless)).status_code == 403
    assert (await send(client, location, FILE, 0)).status_code == 401
    assert (await send(anna, location, FILE, 0)).status_code == 204
    for opened in (anna, ben, careless):
        await opened.aclose()


async def test_an_upload_is_of_the_key_that_began_it(
    client: httpx.AsyncClient, app: FastAPI, service: Service
) -> None:
    owner = await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    session = (await service.sign_in.begin_session(owner, Visitor())).token
    access = await service.sign_in.of_session(session)
    assert access is not None
    first, second = [
        {"authorization": f"Bearer {(await service.api_keys.create(access, name, ['write'], None)).secret}"}
        for name in ("first", "second")
    ]
    location = (await begin(client, first)).headers["location"]
    person = httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://localhost",
        headers={"x-form-token": form_token(session)},
        cookies={"docmill-session": session},
    )

    seen = [(await client.get(location, headers=key)).status_code for key in (first, second)]

    assert seen == [200, 404]
    assert (await person.get(location)).status_code == 404
    await person.aclose()


async def test_what_is_given_up_is_removed_after_its_time(
    client: httpx.AsyncClient, service: Service, database_url: str
) -> None:
    left, going = [(await begin(client)).headers["location"] for _ in range(2)]
    for location in (left, going):
        await send(client, location, FILE[:100], 0)
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(
            "UPDATE partial_upload SET expires_at = now() - interval '1 second' WHERE id = %s",
            [left.rpartition("/")[2]],
        )

    refused = await send(client, left, FILE[100:], 100)
    await service.resumable_uploads.remove_expired()

    assert refused.status_code == 404
    assert [key.split("/")[1] for key in await service.blobs.keys("partial")] == [going.rpartition("/")[2]]
    assert (await send(client, going, FILE[100:], 100)).status_code == 204


async def test_an_upload_whose_pieces_are_lost_is_begun_anew(
    client: httpx.AsyncClient, service: Service
) -> None:
    location = (await begin(client)).headers["location"]
    await send(client, location, FILE[:100], 0)
    for key in await service.blobs.keys("partial"):
        await service.blobs.delete(key)

    refused = await send(client, location, FILE[100:], 100)

    assert (refused.status_code, refused.json()["code"]) == (422, "corrupt")
    assert (await client.head(location, headers=TUS)).status_code == 404
