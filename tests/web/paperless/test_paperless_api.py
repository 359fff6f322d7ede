"""What devices for paperless-ngx send, and what happens to what they should not send."""

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.people.accounts import NewPerson
from docmill.service.people.keys import APP_KEY, APP_KEY_NAME
from docmill.service.people.sign_in import MOST_FOR_ADDRESS_AND_EMAIL, Visitor
from docmill.service.store import documents, tags
from docmill.service.store.documents import DocumentRow
from docmill.web.paperless.paperless_shapes import number_of
from support.people import PASSWORD

EMAIL = "anna@example.org"
POST = "/api/documents/post_document/"
Add = Callable[..., Awaitable[UUID]]


@pytest.fixture
async def anna(service: Service) -> UUID:
    return await service.accounts.create_first(NewPerson(EMAIL, "Anna", PASSWORD), "Acme")


async def document_of(service: Service, task_id: str) -> DocumentRow:
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT document_id FROM ingestion WHERE id = %s", [task_id])
        ((document_id,),) = await cur.fetchall()
        row = await documents.get(conn, document_id)
    assert row is not None
    return row


async def sign_in(client: httpx.AsyncClient, password: str = PASSWORD) -> httpx.Response:
    return await client.post("/api/token/", data={"username": EMAIL, "password": password})


async def test_a_key_of_a_phone_app_reads_and_writes_for_a_year(
    client: httpx.AsyncClient, service: Service, anna: UUID
) -> None:
    answer = await sign_in(client)

    (key,) = await service.api_keys.page(tenant_id=service.default_tenant_id)
    assert answer.headers["cache-control"] == "no-store"
    assert (key.name, key.scopes, key.created_by) == (APP_KEY_NAME, ["read", "write"], anna)
    assert key.expires_at is not None
    assert timedelta(0) <= datetime.now(UTC) + APP_KEY - key.expires_at < timedelta(hours=1)
    async with service.database.tenant(service.default_tenant_id) as conn:
        cur = await conn.execute("SELECT details ->> 'name' FROM audit_log WHERE action = 'create_key'")
        assert await cur.fetchall() == [(APP_KEY_NAME,)]
    headers = {"authorization": f"Token {answer.json()['token']}"}
    assert (await client.get("/api/ui_settings/", headers=headers)).status_code == 200
    assert (await client.get("/api/v1/audit-log", headers=headers)).status_code == 403


async def test_a_viewer_gets_no_key_to_write(client: httpx.AsyncClient, service: Service, anna: UUID) -> None:
    del anna
    async with service.database.accounts(service.default_tenant_id) as conn:
        await conn.execute("UPDATE memberships SET role = 'viewer'")

    headers = {"authorization": f"Token {(await sign_in(client)).json()['token']}"}
    refused = await client.post(POST, files={"document": b"x"}, headers=headers)

    assert refused.status_code == 403
    permissions = (await client.get("/api/ui_settings/", headers=headers)).json()["permissions"]
    assert "view_document" in permissions
    assert "add_document" not in permissions


async def test_passwords_cannot_be_tried_out(client: httpx.AsyncClient, anna: UUID) -> None:
    del anna
    answers = [await sign_in(client, f"guess {number}") for number in range(MOST_FOR_ADDRESS_AND_EMAIL)]

    right = await sign_in(client)

    assert {answer.status_code for answer in answers} == {400}
    assert answers[0].json() == {"non_field_errors": ["Unable to log in with provided credentials."]}
    assert right.status_code == 429
    assert int(right.headers["retry-after"]) > 0


@pytest.mark.parametrize("body", ["[1]", "{", '{"username": 7}', ""])
async def test_a_sign_in_that_is_none_is_refused(client: httpx.AsyncClient, anna: UUID, body: str) -> None:
    del anna
    answer = await client.post("/api/token/", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == 400


async def test_scanners_may_send_the_key_as_a_password(client: httpx.AsyncClient, anna: UUID) -> None:
    del anna
    key = (await sign_in(client)).json()["token"]
    basic = base64.b64encode(f"scanner:{key}".encode()).decode()

    taken = await client.post(POST, files={"document": b"x"}, headers={"authorization": f"Basic {basic}"})

    assert taken.status_code == 200
    for authorization in ("Basic !", "Basic c2Nhbm5lcg==", "Token guess"):
        refused = await client.post(POST, files={"document": b"x"}, headers={"authorization": authorization})
        assert refused.status_code == 401, authorization


async def test_the_password_of_a_proxy_leaves_the_session_alone(
    client: httpx.AsyncClient, service: Service, anna: UUID
) -> None:
    session = await service.sign_in.begin_session(anna, Visitor())
    proxy = base64.b64encode(b"anna:of the proxy").decode()

    answer = await client.get(
        "/api/v1/me",
        headers={"authorization": f"Basic {proxy}", "cookie": f"docmill-session={session.token}"},
    )

    assert answer.json()["email"] == EMAIL


async def test_an_upload_is_answered_with_its_task_and_versions(
    client: httpx.AsyncClient, service: Service
) -> None:
    answer = await client.post(
        POST,
        data={"title": "  Rent\nMay ", "created": "2024-05-01 06:15:00+02:00", "tags": ["rent", "home"]},
        files={"document": ("scan.pdf", b"%PDF-1.7")},
    )

    row = await document_of(service, answer.json())
    assert (answer.headers["x-api-version"], answer.headers["x-version"]) == ("9", "2.20.0")
    assert (row.title, row.document_date, sorted(row.tags)) == (
        "Rent May",
        date(2024, 5, 1),
        ["home", "rent"],
    )


async def test_fields_that_mean_nothing_here_refuse_no_document(
    client: httpx.AsyncClient, service: Service
) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await tags.named_or_new(conn, ["2024"], tenant_id=service.default_tenant_id)

    answer = await client.post(
        POST,
        data={
            "title": " ",
            "created": "2024-13-77",
            "tags": ["123456", "2024", " ", "x" * 50],
            "document_type": "9",
            "custom_fields": "x" * 100_000,
        },
        files={"document": ("scan.pdf", b"%PDF-1.7")},
    )

    row = await document_of(service, answer.json())
    assert sorted(row.tags) == ["2024", "x" * 39 + "…"]
    assert row.document_date is None


async def test_what_a_person_set_stays_when_a_device_sends_a_document_again(
    client: httpx.AsyncClient, service: Service
) -> None:
    form = {"title": "Scan 7", "tags": ["inbox"]}
    first = await client.post(POST, data=form, files={"document": ("scan.pdf", b"%PDF-1.7")})
    row = await document_of(service, first.json())
    address = f"/api/v1/documents/{row.id}"
    await client.patch(address, json={"title": "Rent"})
    await client.post(f"{address}/tags", json={"remove": ["inbox"], "add": ["rent"]})

    again = await client.post(POST, data=form, files={"document": ("scan.pdf", b"%PDF-1.7")})

    row = await document_of(service, again.json())
    assert again.json() == first.json()
    assert (row.title, row.tags) == ("Rent", ["rent"])


async def test_a_form_without_a_file_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post(POST, data={"title": "x"}, files={"other": ("", b"")})
    no_form = await client.post(POST, json={})

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert no_form.status_code == 422


async def test_tasks_of_others_and_ids_that_are_none_are_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get(f"/api/tasks/?task_id={uuid4()}")).json() == []
    assert (await client.get("/api/tasks/?task_id=x")).json() == []


async def test_numbers_that_apps_show_first(client: httpx.AsyncClient, add: Add) -> None:
    await add()
    await client.post("/api/tags/", json={"name": "rent", "color": "#808080", "match": "x"})

    statistics = (await client.get("/api/statistics/")).json()

    assert (statistics["documents_total"], statistics["tag_count"]) == (1, 1)
    (tag,) = (await client.get("/api/tags/")).json()["results"]
    assert (tag["name"], tag["color"], tag["document_count"]) == ("rent", "#66727f", 0)
    addresses = (await client.get("/api/")).json()
    assert addresses["tags"] == "http://localhost/api/tags/"
    for address in addresses.values():
        assert (await client.get(address)).status_code == 200
    assert (await client.get("/api/docs")).status_code == 200
    assert (await client.get("/api/nothing/")).status_code == 404


@pytest.fixture
async def numbered(client: httpx.AsyncClient, add: Add) -> list[str]:
    """Three documents with the numbers 1, 2 and none; their addresses."""
    addresses: list[str] = []
    for number in (1, 2, None):
        document_id = await add(f"{number}.pdf")
        if number is not None:
            await client.patch(f"/api/v1/documents/{document_id}", json={"archive_serial_number": number})
        addresses.append(f"/api/documents/{number_of(document_id)}/")
    return addresses


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("archive_serial_number=2", ["2.pdf"]),
        ("archive_serial_number__gt=1", ["2.pdf"]),
        ("archive_serial_number__gte=1", ["2.pdf", "1.pdf"]),
        ("archive_serial_number__lt=2", ["1.pdf"]),
        ("archive_serial_number__lte=2&archive_serial_number__gt=0", ["2.pdf", "1.pdf"]),
        ("archive_serial_number__isnull=1", ["None.pdf"]),
        ("archive_serial_number__isnull=false&page_size=1&page=2", ["1.pdf"]),
        ("archive_serial_number=2&archive_serial_number__lt=2", []),
        ("query=pdf&archive_serial_number=1", ["1.pdf"]),
    ],
)
async def test_documents_are_filtered_by_their_numbers(
    client: httpx.AsyncClient, numbered: list[str], query: str, expected: list[str]
) -> None:
    del numbered
    answer = (await client.get(f"/api/documents/?{query}")).json()

    assert [each["original_file_name"] for each in answer["results"]] == expected
    assert (await client.get("/api/statistics/")).json()["current_asn"] == 2


async def test_a_change_that_is_not_supported_changes_nothing(
    client: httpx.AsyncClient, numbered: list[str]
) -> None:
    address = numbered[2]
    before = (await client.get(address)).json()

    other = await client.patch(address, json={"archive_serial_number": 7, "correspondent": 3})
    taken = await client.patch(address, json={"archive_serial_number": 2})
    no_day = await client.patch(address, json={"created": "yesterday"})
    missing = await client.patch("/api/documents/0/", json={"title": "Rent"})

    assert (other.status_code, list(other.json())) == (400, ["correspondent"])
    assert taken.status_code == 400
    assert taken.json() == {"archive_serial_number": ["“2.pdf” has the archive serial number 2 already."]}
    assert (no_day.status_code, list(no_day.json())) == (400, ["created"])
    assert missing.status_code == 404
    assert (await client.get(address)).json() == before


async def test_a_whole_document_may_be_sent_back_with_changes(
    client: httpx.AsyncClient, numbered: list[str]
) -> None:
    whole = (await client.get(numbered[2])).json()

    changed = await client.patch(
        numbered[2],
        json={
            **whole,
            "title": "Rent",
            "created": "2024-05-01",
            "archive_serial_number": 9,
            "set_owner": None,
        },
    )
    same = await client.patch(numbered[2], json=changed.json())

    assert changed.headers["x-api-version"] == "9"
    answer = changed.json()
    assert (answer["title"], answer["created"], answer["archive_serial_number"]) == ("Rent", "2024-05-01", 9)
    assert same.json() == answer
