"""The pages of sources, as a browser without JavaScript uses them."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from pydantic import SecretStr

from docmill.errors import CorruptError, NetworkError
from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.store import audit_log, doc_sources
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.doc_sources import SourceRow
from support.oauth_server import OAuthServer, running_oauth_server
from support.people import Browser

NEW = "/settings/sources/new/folder"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(settings: Settings, inbox: Path) -> Settings:
    sources = settings.sources.model_copy(update={"folders": (inbox,), "allow_private_addresses": True})
    secrets = Secrets(key=SecretStr("k" * 64))
    return settings.model_copy(update={"sources": sources, "secrets": secrets})


@pytest.fixture
def browser(client: httpx.AsyncClient) -> Browser:
    return Browser(client)


async def made(browser: Browser, service: Service, inbox: Path) -> SourceRow:
    answer = await browser.send(NEW, NEW, **{"name": "Scans", "setting.path": str(inbox)})
    assert (answer.status_code, answer.headers["location"]) == (303, "/settings/sources")
    (row,) = await service.sources.every(tenant_id=service.default_tenant_id)
    return row


async def test_a_source_is_made_by_a_form_and_shown(browser: Browser, service: Service, inbox: Path) -> None:
    row = await made(browser, service, inbox)
    page = (await browser.open("/settings/sources")).text

    assert row.settings["path"] == str(inbox)
    assert row.settings["limits"] == {"documents_per_day": None, "per_second": None, "file_mb": None}
    assert "Scans" in page
    assert "Not heard of yet" in page


async def test_what_is_wrong_is_told_at_its_field_and_nothing_typed_is_lost(
    browser: Browser, service: Service, inbox: Path
) -> None:
    answer = await browser.send(
        NEW, NEW, **{"name": "Scans", "setting.path": str(inbox), "setting.limits.per_second": "fast"}
    )

    assert answer.status_code == 422
    assert 'value="Scans"' in answer.text
    assert 'value="fast"' in answer.text
    assert 'href="#setting.limits.per_second"' in answer.text
    field = re.search(r'<input id="setting.limits.per_second"[^>]*>', answer.text)
    assert field
    assert 'aria-invalid="true"' in field[0]
    assert "This is to be a number." in answer.text
    assert await service.sources.every(tenant_id=service.default_tenant_id) == []


async def test_a_secret_of_a_webhook_that_is_none_is_told_on_the_page(
    browser: Browser, service: Service
) -> None:
    page = "/settings/sources/new/webhook"
    typed = {"name": "Shop", "secret.secret": "whsec_!!!"}

    for extra in ({}, {"force": "1"}):
        answer = await browser.send(page, page, **typed, **extra)
        assert answer.status_code == 422
        assert "what follows is no base64" in answer.text
        assert "whsec_!!!" not in answer.text
    assert await service.sources.every(tenant_id=service.default_tenant_id) == []


async def test_a_connection_is_tested_in_place_and_saved_even_so(
    browser: Browser, service: Service, inbox: Path
) -> None:
    typed = {"name": "Scans", "setting.path": str(inbox)}
    works = await browser.client.post(f"{NEW}/test", data=typed)
    await asyncio.to_thread(inbox.rmdir)
    fails = await browser.client.post(f"{NEW}/test", data=typed)
    refused = await browser.client.post(NEW, data=typed)
    forced = await browser.client.post(NEW, data={**typed, "force": "yes"})

    assert "It works:" in works.text
    assert (fails.status_code, refused.status_code, forced.status_code) == (200, 422, 303)
    assert "Save even so" in fails.text
    async with service.database.tenant(service.default_tenant_id) as conn:
        actions = [entry.action for entry in await audit_log.page(conn, limit=50)]
    assert actions == ["create_source"]


async def test_a_source_is_changed_paused_and_removed(
    browser: Browser, service: Service, inbox: Path
) -> None:
    row = await made(browser, service, inbox)
    address = f"/settings/sources/{row.id}"

    changed = await browser.send(
        address, address, **{"name": "Mail room", "setting.path": str(inbox), "setting.limits.file_mb": "2,5"}
    )
    paused = await browser.send("/settings/sources", f"{address}/pause")
    page = (await browser.open("/settings/sources")).text
    resumed = await browser.send("/settings/sources", f"{address}/resume")
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    removed = await browser.send("/settings/sources", f"{address}/remove")

    assert [answer.status_code for answer in (changed, paused, resumed, removed)] == [303] * 4
    assert "Paused" in page
    assert current is not None
    assert (current.name, current.state) == ("Mail room", "active")
    assert current.settings["limits"]["file_mb"] == 2.5
    assert (await browser.open(address)).status_code == 404


async def content(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_failures_and_refusals_are_shown_and_tried_again(
    browser: Browser, service: Service, inbox: Path
) -> None:
    row = await made(browser, service, inbox)
    address = f"/settings/sources/{row.id}"
    intake = service.sources.item_intake(row)
    await intake.refuse("a", CorruptError("the file is empty"), metadata={"path": "in/a.pdf"})
    async with service.database.tenant(row.tenant_id) as conn:
        await doc_sources.note_failure(conn, row.id, NetworkError("no answer"), retry_s=60)
        (item,) = await service.sources.items(row.id, tenant_id=row.tenant_id)

    page = (await browser.open("/settings/sources")).text
    own = (await browser.open(address)).text
    retried = await browser.send(address, f"{address}/items/{item.id}/retry")

    assert "Failing" in page
    assert "No answer" in page
    assert "1 refused" in page
    assert "The file is empty" in own
    assert "in/a.pdf" in own
    assert retried.status_code == 303
    assert "These could not be taken" not in (await browser.open(address)).text


async def test_what_has_arrived_is_listed_by_the_names_of_documents(
    browser: Browser, service: Service, inbox: Path
) -> None:
    row = await made(browser, service, inbox)
    said = {"key": "in/bill 7.pdf", "etag": "d41d8cd98f00b204", "spf": "pass"}
    intake = service.sources.item_intake(row)
    taken = await intake.take("a", content(b"%PDF-1.7 a"), file_name="bill 7.pdf", metadata=said)

    page = (await browser.open(f"/settings/sources/{row.id}")).text

    assert re.search(rf'href="/docs/{taken.document_id}"[^>]*>bill 7\.pdf</a>', page)
    assert "SPF" in page
    assert "d41d8cd98f00b204" not in page


async def test_the_document_page_says_how_it_arrived(browser: Browser, service: Service, inbox: Path) -> None:
    row = await made(browser, service, inbox)
    said = {"sender": "Mill <bills@mill.example>", "subject": "Your bill"}
    intake = service.sources.item_intake(row)
    taken = await intake.take("a", content(b"%PDF-1.7 a"), file_name="a.pdf", metadata=said)

    page = (await browser.open(f"/docs/{taken.document_id}")).text

    assert "Arrived from" in page
    assert "bills@mill.example" in page
    assert "Your bill" in page
    listed = (await browser.open(f"/?source={row.id}")).text
    assert f"/docs/{taken.document_id}" in listed
    assert "Source: Scans" in listed
    assert f"/docs/{taken.document_id}" not in (await browser.open(f"/?source={uuid4()}")).text
    answer = await browser.client.get("/api/v1/documents", params={"source": str(row.id)})
    assert [each["id"] for each in answer.json()["documents"]] == [str(taken.document_id)]


@pytest.fixture
def provider() -> Iterator[OAuthServer]:
    with running_oauth_server() as server:
        yield server


async def test_the_owner_of_a_mailbox_gives_access_at_the_provider(
    browser: Browser, service: Service, provider: OAuthServer
) -> None:
    row = await service.sources.add(
        "imap",
        "Mails",
        {
            "host": "192.0.2.1",
            "user": "anna",
            "sign_in": "oauth2",
            "client_id": "client",
            "token_address": provider.token_address,
            "authorization_address": provider.authorization_address,
        },
        {},
        tenant_id=service.default_tenant_id,
        created_by=DEFAULT_USER_ID,
    )
    page = await browser.open(f"/settings/sources/{row.id}")
    assert f"{browser.client.base_url}/settings/sources/authorized".replace("//s", "/s") in page.text

    sent = await browser.open(f"/settings/sources/{row.id}/authorize")
    assert sent.status_code == 303
    async with httpx.AsyncClient() as elsewhere:
        back = (await elsewhere.get(sent.headers["location"])).headers["location"]
    stolen = await browser.open(back.replace("state=", "state=x"))
    assert "begin again" in stolen.text.lower()
    assert service.sources.secret_names(row) == []

    sent = await browser.open(f"/settings/sources/{row.id}/authorize")
    async with httpx.AsyncClient() as elsewhere:
        back = (await elsewhere.get(sent.headers["location"])).headers["location"]
    with_access = await browser.open(back)

    assert "Give docmill access again" in with_access.text
    current = await service.sources.get(row.id, tenant_id=row.tenant_id)
    assert current is not None
    assert service.sources.secret_names(current) == ["refresh_token"]
    async with service.database.tenant(row.tenant_id) as conn:
        entries = await audit_log.page(conn, limit=50)
    assert [entry.action for entry in entries if entry.action == "authorize_source"] == ["authorize_source"]
    again = await browser.open(back)
    assert again.status_code == 400
