import base64
import json
import threading
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from pydantic import JsonValue, SecretStr
from standardwebhooks import Webhook

from docmill.errors import MisconfiguredError, ValidationError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.secret_box import SecretBox
from docmill.service.sources.webhook.inbound import InboundWebhook, WebhookSettings, check_host
from docmill.service.store import arrivals, document_list, ingestions
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow

PDF = b"%PDF-1.7 bill"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    sources = settings.sources.model_copy(update={"allow_private_addresses": True})
    secrets = Secrets(key=SecretStr("k" * 32))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


@pytest.fixture
async def row(service: Service) -> SourceRow:
    return await service.sources.add(
        "webhook", "Shop", {}, {}, tenant_id=service.default_tenant_id, created_by=DEFAULT_USER_ID
    )


@pytest.fixture
async def secret(service: Service, row: SourceRow) -> str:
    return (await service.sources.make_secrets(row))["secret"]


def signed(secret: str, body: bytes, message_id: str = "msg_1", at: datetime | None = None) -> dict[str, str]:
    at = at or datetime.now(UTC)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body.decode("latin-1")),
    }


async def send(
    client: httpx.AsyncClient, row: SourceRow, secret: str, content: object, message_id: str = "msg_1"
) -> httpx.Response:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = signed(secret, body, message_id)
    if isinstance(content, bytes):
        headers |= {"content-type": "application/pdf", "content-disposition": 'attachment; filename="a.pdf"'}
    else:
        headers["content-type"] = "application/json"
    return await client.post(f"/hooks/{row.id}", content=body, headers=headers)


async def count(service: Service, row: SourceRow) -> int:
    async with service.database.tenant(row.tenant_id) as conn:
        return len((await document_list.page(conn)).rows)


async def test_a_signed_file_is_taken_once(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    first = await send(client, row, secret, PDF)
    again = await send(client, row, secret, PDF)

    assert (first.status_code, again.status_code) == (200, 200)
    (told,) = first.json()["files"]
    assert told == {"file_name": "a.pdf", "status": "accepted", "document_id": told["document_id"]}
    assert again.json()["files"] == [{**told, "status": "known"}]
    assert await count(service, row) == 1
    async with service.database.tenant(row.tenant_id) as conn:
        (ingestion,) = await ingestions.of_document(conn, told["document_id"])
    assert (ingestion.doc_source_id, ingestion.uploaded_by) == (row.id, None)


async def test_a_source_has_a_success_when_a_file_is_taken_or_fetched(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    async def last_success() -> datetime | None:
        current = await service.sources.get(row.id, tenant_id=row.tenant_id)
        assert current is not None
        return current.last_success_at

    await send(client, row, secret, {"file_name": "a", "content": ""}, "refused")
    assert await last_success() is None
    await send(client, row, secret, PDF)
    taken_at = await last_success()
    assert taken_at is not None
    await send(client, row, secret, {"files": [{"url": f"{files}/gone"}]}, "gone")
    await fetch(service, row)
    assert await last_success() == taken_at
    await send(client, row, secret, {"files": [{"url": f"{files}/a.pdf"}]}, "fetched")
    await fetch(service, row)
    fetched_at = await last_success()
    assert fetched_at is not None
    assert fetched_at > taken_at


async def test_a_large_file_is_taken(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    response = await send(client, row, secret, PDF + b"x" * 3_000_000)

    assert response.status_code == 200
    assert await count(service, row) == 1


async def test_what_is_not_signed_now_by_the_secret_is_refused(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    other = "whsec_" + base64.b64encode(b"x" * 32).decode()
    old = datetime.fromtimestamp(time.time() - 400, UTC)
    attempts = [
        {},
        signed(other, PDF),
        signed(secret, PDF + b"!"),
        signed(secret, PDF, at=old),
        {**signed(secret, PDF), "webhook-id": "msg_2"},
        {**signed(secret, PDF), "webhook-signature": "v1,"},
    ]

    for headers in attempts:
        response = await client.post(f"/hooks/{row.id}", content=PDF, headers=headers)
        assert response.status_code == 401, headers
    assert await count(service, row) == 0


@pytest.mark.parametrize(
    "headers",
    [{}, {"webhook-signature": "v1,"}, {"webhook-signature": "v2," + "a" * 44}, {"webhook-timestamp": "1"}],
)
async def test_the_body_of_an_unsigned_or_unknown_request_is_not_read(
    client: httpx.AsyncClient, row: SourceRow, secret: str, headers: dict[str, str]
) -> None:
    has_read: list[str] = []

    async def body(to: str) -> AsyncGenerator[bytes]:
        has_read.append(to)
        yield PDF

    known = {} if not headers else {**signed(secret, PDF), **headers}
    statuses = [
        (await client.post(f"/hooks/{to}", content=body(str(to)), headers=known)).status_code
        for to in (row.id, uuid4())
    ]

    assert (statuses, has_read) == ([401, 404], [])


async def test_a_new_secret_leaves_the_one_before_valid_once(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    second = (await service.sources.make_secrets(current))["secret"]
    assert (await send(client, row, secret, PDF, "a")).status_code == 200
    assert (await send(client, row, second, PDF, "b")).status_code == 200
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    await service.sources.make_secrets(current)
    assert (await send(client, row, secret, PDF, "c")).status_code == 401


@pytest.mark.parametrize("typed", ["whsec_!!!", "whsec_Zm9", "whsec_ä", "whsec_"])
async def test_a_secret_that_was_kept_and_is_none_is_a_problem_of_the_source(
    service: Service, row: SourceRow, typed: str
) -> None:
    box = service.secret_box
    bad = replace(row, secrets=box.seal(json.dumps({"secret": typed}).encode(), owner=row.id))

    with pytest.raises(MisconfiguredError, match="enter the secrets") as told:
        service.sources.open(bad)

    assert typed.removeprefix("whsec_") == "" or typed not in told.value.message
    assert told.value.__suppress_context__


async def test_several_files_come_in_one_request_and_bad_ones_stop_no_other(
    client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    good = {"file_name": "b.pdf", "content": base64.b64encode(PDF).decode(), "metadata": {"order": 7}}
    response = await send(client, row, secret, {"files": [{"file_name": "a", "content": ""}, good]})

    assert response.status_code == 200
    assert [file["status"] for file in response.json()["files"]] == ["refused", "accepted"]
    assert response.json()["files"][0]["error"] == "the file is empty"


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"files": []},
        {"content": "JVBERg==", "url": "https://example.com/a"},
        {"content": "JVBERg==", "unknown": 1},
        {"content": "JVBERgö="},
        {"url": "file:///etc/passwd"},
        [1],
    ],
)
async def test_what_cannot_be_understood_is_told(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, content: object
) -> None:
    response = await send(client, row, secret, content)

    if content == {"url": "file:///etc/passwd"}:  # found out when it is fetched
        assert response.status_code == 202
        await fetch(service, row)
        assert await refusals(service, row) == ["validation"]
    else:
        assert response.status_code == 422


async def test_a_paused_or_unknown_source_takes_nothing(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    await service.sources.set_state(row.id, "paused", tenant_id=row.tenant_id)
    assert (await send(client, row, secret, PDF)).status_code == 503
    await service.sources.remove(row.id, tenant_id=row.tenant_id)
    assert (await send(client, row, secret, PDF)).status_code == 404


class _Files(BaseHTTPRequestHandler):
    """/a.pdf: a file. /later: 503 first. /large: too large. /moved: leads to /a.pdf. /gone: 410.

    /nowhere: leads to what is no address. /elsewhere: leads to /a.pdf by another name of this server.
    """

    calls: dict[str, int]

    def do_GET(self) -> None:
        calls = cast("dict[str, int]", cast("Any", self.server).calls)
        calls[self.path] = calls.get(self.path, 0) + 1
        path = self.path.partition("?")[0]
        status = {"/gone": 410, "/moved": 302, "/nowhere": 302, "/elsewhere": 302}.get(path, 200)
        if path == "/later" and calls[self.path] == 1:
            status = 503
        self.send_response(status)
        if path == "/moved":
            self.send_header("Location", "/a.pdf")
        if path == "/nowhere":
            self.send_header("Location", "http://[none")
        if path == "/elsewhere":
            port = cast("ThreadingHTTPServer", self.server).server_port
            self.send_header("Location", f"http://localhost:{port}/a.pdf?token=s3cret")
        if path == "/large":
            self.send_header("Content-Length", str(10**9))
        self.end_headers()
        if status == 200:
            self.wfile.write(PDF + path.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        del format, args


@pytest.fixture
def files() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Files)
    cast("Any", server).calls = {}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def fetch(service: Service, row: SourceRow) -> None:
    connection = service.sources.open(row)
    assert isinstance(connection, InboundWebhook)
    await connection.fetch_due(service.sources.item_intake(row))


async def refusals(service: Service, row: SourceRow) -> list[str | None]:
    async with service.database.tenant(row.tenant_id) as conn:
        rows = await arrivals.of_source(conn, row.id, refused_only=True, limit=9)
    return [each.error_code for each in rows]


async def test_a_file_that_is_named_is_fetched_once(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    content = {"files": [{"url": f"{files}/a.pdf?token=s3cret"}, {"url": f"{files}/moved"}]}
    first = await send(client, row, secret, content)
    assert first.status_code == 202
    assert {file["status"] for file in first.json()["files"]} == {"fetching"}

    await fetch(service, row)
    again = await send(client, row, secret, content)

    assert [file["status"] for file in again.json()["files"]] == ["known", "known"]
    assert [file["file_name"] for file in again.json()["files"]] == ["a.pdf", "moved"]
    async with service.database.tenant(row.tenant_id) as conn:
        rows = await arrivals.of_source(conn, row.id, limit=9)
        cur = await conn.execute("SELECT count(*) FROM fetch_request")
        assert await cur.fetchone() == (0,)
    assert {each.metadata["url"] for each in rows} == {f"{files}/a.pdf", f"{files}/moved"}
    assert await count(service, row) == 1  # the content of both is the same


async def test_a_server_that_does_not_answer_now_is_asked_again(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    await send(client, row, secret, {"url": f"{files}/later"})
    await fetch(service, row)
    assert await count(service, row) == 0
    async with service.database.tenant(row.tenant_id) as conn:
        await conn.execute("UPDATE fetch_request SET next_attempt_at = clock_timestamp()")

    await fetch(service, row)

    assert await count(service, row) == 1


@pytest.mark.parametrize(("path", "code"), [("/gone", "corrupt"), ("/large", "too_large")])
async def test_a_file_that_cannot_be_had_is_refused(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str, path: str, code: str
) -> None:
    await send(client, row, secret, {"url": f"{files}{path}"})

    await fetch(service, row)

    assert await refusals(service, row) == [code]


class TestPrivateAddresses:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        sources = settings.sources.model_copy(update={"allow_private_addresses": False})
        return settings.model_copy(update={"sources": sources})

    async def test_nothing_is_fetched_from_a_private_network(
        self, service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
    ) -> None:
        await send(client, row, secret, {"url": f"{files}/a.pdf"})

        await fetch(service, row)

        assert await refusals(service, row) == ["validation"]


async def test_only_named_hosts_are_asked(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    await service.sources.change(current, settings={"hosts": ["files.example.com"]})

    response = await send(client, row, secret, {"url": f"{files}/a.pdf"})

    assert response.status_code == 422
    assert "127.0.0.1" in response.json()["detail"]


async def test_a_redirect_leads_to_named_hosts_alone(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    async def fetch_from(hosts: list[JsonValue], message_id: str) -> None:
        current = await service.sources.get(row.id, tenant_id=row.tenant_id)
        assert current is not None
        current = await service.sources.change(current, settings={"hosts": hosts})
        response = await send(client, row, secret, {"url": f"{files}/elsewhere"}, message_id)
        assert response.status_code == 202
        await fetch(service, current)

    await fetch_from(["127.0.0.1"], "a")

    assert await count(service, row) == 0
    (refused,) = await service.sources.items(row.id, tenant_id=row.tenant_id, refused_only=True)
    assert refused.error_code == "validation"
    assert refused.error_message == "files are not fetched from 'localhost'; the source names the hosts"

    await fetch_from(["127.0.0.1", "localhost"], "b")

    assert await count(service, row) == 1


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("https://Files.example.com:8443/a", ["files.EXAMPLE.com"]),
        ("https://user:word@files.example.com/a", ["files.example.com"]),
        ("http://[2001:db8::1]:8080/a", ["2001:db8::1"]),
        ("http://[2001:DB8:0::1]/a", ["[2001:db8::1]"]),
        ("http://[not an address/a", []),
    ],
)
def test_a_host_is_found_in_the_list_in_every_spelling(url: str, hosts: list[str]) -> None:
    check_host(url, WebhookSettings(hosts=hosts))


@pytest.mark.parametrize(
    "url",
    [
        "http://[2001:db8::2]/a",
        "http://[2001:db8::1/a",
        "http://2001:db8::1/a",
        "https://files.example.com@elsewhere.example/a?x=@files.example.com",
        "https:///a",
    ],
)
def test_another_host_and_what_is_no_address_are_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        check_host(url, WebhookSettings(hosts=["2001:db8::1", "files.example.com"]))


@pytest.mark.parametrize("path", ["http://a..b/x", f"http://{'a' * 70}.example/x", "/nowhere"])
async def test_an_address_that_is_none_stops_no_other_file(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str, path: str
) -> None:
    bad = path if path.startswith("http") else f"{files}{path}"
    await send(client, row, secret, {"files": [{"url": bad}, {"url": f"{files}/a.pdf"}]})

    await fetch(service, row)

    assert await refusals(service, row) == ["validation"]
    assert await count(service, row) == 1


async def test_a_file_is_not_refused_for_what_a_person_must_change_here(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    await send(client, row, secret, {"url": f"{files}/a.pdf"})
    connection = service.sources.open(row)
    assert isinstance(connection, InboundWebhook)

    await replace(connection, box=SecretBox([b"another key"])).fetch_due(service.sources.item_intake(row))

    assert await refusals(service, row) == []
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert current.last_error_code == "misconfigured"
    async with service.database.tenant(row.tenant_id) as conn:
        await conn.execute("UPDATE fetch_request SET next_attempt_at = clock_timestamp()")
    await fetch(service, row)
    assert await count(service, row) == 1


async def test_a_source_that_is_removed_keeps_no_address_of_a_file(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str, files: str
) -> None:
    await send(client, row, secret, {"url": f"{files}/a.pdf?token=s3cret"})

    await service.sources.remove(row.id, tenant_id=row.tenant_id)

    async with service.database.tenant(row.tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM fetch_request")
        assert await cur.fetchone() == (0,)


async def test_after_the_key_is_lost_a_secret_can_be_made_or_entered_again(
    service: Service, client: httpx.AsyncClient, row: SourceRow, secret: str
) -> None:
    async def with_other_key() -> SourceRow:
        sealed = SecretBox([b"another key"]).seal(b'{"secret": "old"}', owner=row.id)
        async with service.database.tenant(row.tenant_id) as conn:
            await conn.execute(
                "UPDATE doc_source SET secrets = %(sealed)s WHERE id = %(id)s",
                {"sealed": sealed, "id": row.id},
            )
        current = await service.sources.get(row.id, tenant_id=row.tenant_id)
        assert current is not None
        return current

    made = await service.sources.make_secrets(await with_other_key())
    assert (await send(client, row, made["secret"], PDF, "a")).status_code == 200

    with pytest.raises(MisconfiguredError):
        await service.sources.change(await with_other_key(), name="Other")
    await service.sources.change(await with_other_key(), secrets={"secret": secret})
    assert (await send(client, row, secret, PDF, "b")).status_code == 200
