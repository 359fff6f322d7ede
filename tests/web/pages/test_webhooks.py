"""The pages about webhooks, as an owner uses them without JavaScript."""

import re
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from docmill.service.people.accounts import NewPerson
from support.http_receiver import Receiver, receiving
from support.people import PASSWORD, Browser
from support.webhook_tools import WebhookTools


@pytest.fixture
def settings(settings: Settings) -> Settings:
    webhooks = settings.webhooks.model_copy(update={"allow_private_addresses": True})
    key = Secrets(key=SecretStr("k" * 32))
    return settings.model_copy(update={"secrets": key, "webhooks": webhooks})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def owner(service: Service, app: FastAPI) -> AsyncIterator[Browser]:
    await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        browser = Browser(client)
        await browser.sign_in("anna@example.org")
        yield browser


async def made(owner: Browser, url: str) -> str:
    """The path of a new webhook."""
    page = await owner.send("/webhooks", "/webhooks", url=url, event="document.completed")
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    assert "whsec_" in page.text
    found = re.search(r'action="(/webhooks/[0-9a-f-]{36})"', page.text)
    assert found
    return found[1]


async def test_a_secret_is_shown_once(owner: Browser) -> None:
    path = await made(owner, "https://example.com/hook")

    again = await owner.open(path)
    listed = await owner.open("/webhooks")
    assert '<a href="/settings" aria-current="true">' in listed.text
    rotated = await owner.send(path, f"{path}/rotate")

    assert "whsec_" not in again.text
    assert f'href="{path}"' in listed.text
    assert "whsec_" in rotated.text
    assert "Messages are signed by the secret of before, too" in rotated.text


async def test_a_wrong_address_keeps_what_was_typed(owner: Browser) -> None:
    page = await owner.send(
        "/webhooks", "/webhooks", url="example.com", event="document.failed", with_data="yes"
    )

    assert page.status_code == 422
    assert 'role="alert"' in page.text
    assert 'value="example.com"' in page.text
    assert re.search(r'value="document.failed" checked', page.text)
    assert re.search(r'name="with_data" value="yes" checked', page.text)


async def test_a_webhook_is_tried_paused_changed_and_removed(owner: Browser, receiver: Receiver) -> None:
    path = await made(owner, receiver.url)
    receiver.statuses, receiver.body = [500], b"<b>broken</b>"

    failed = await owner.send(path, f"{path}/test")
    taken = await owner.send(path, f"{path}/test")
    await owner.send(path, f"{path}/pause")
    paused = await owner.open(path)
    await owner.send(path, f"{path}/resume")
    await owner.send(path, path, url="https://example.com/other", event="document.matched")
    changed = await owner.open(path)
    refused = await owner.send(path, path, url="https://example.com/other")
    await owner.send(path, f"{path}/remove")

    assert "The test has failed:" in failed.text
    assert "&lt;b&gt;broken" in failed.text
    assert "The receiver took the test, with HTTP 200" in taken.text
    assert "Nothing is sent while the webhook is paused" in paused.text
    assert "https://example.com/other" in changed.text
    assert "Choose at least one event" in refused.text
    assert (await owner.open(path)).status_code == 404


async def test_failed_deliveries_are_sent_again_from_the_page(
    owner: Browser, receiver: Receiver, service: Service
) -> None:
    path = await made(owner, receiver.url)
    receiver.statuses = [410]
    await WebhookTools(service).read()
    await service.webhook_deliverer.send_due()

    disabled = await owner.open(path)
    delivery = re.search(rf'action="({path}/deliveries/[0-9a-f-]+/redeliver)"', disabled.text)
    wrong = await owner.send(path, f"{path}/redeliver", days="x")
    none = await owner.send(path, f"{path}/redeliver", days="1")
    waiting = await owner.open(path)
    await owner.send(path, f"{path}/resume")
    await service.webhook_deliverer.send_due()
    sent = await owner.open(path)
    await owner.send(path, f"{path}/deliveries/{delivery[1].split('/')[-2]}/redeliver") if delivery else None
    await service.webhook_deliverer.send_due()

    assert delivery
    assert "The receiver answered with HTTP 410: it is gone." in disabled.text
    assert (wrong.status_code, none.status_code) == (422, 303)
    assert "Give the number of days" in wrong.text
    assert "Waiting" in waiting.text
    assert "Arrived" in sent.text
    assert len(receiver.requests) == 3
    assert (await owner.client.post(f"{path}/deliveries/{path[-36:]}/redeliver")).status_code == 403
