"""Webhooks by the API."""

from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest
from pydantic import SecretStr
from standardwebhooks.webhooks import Webhook

from docmill.service.app import Service
from docmill.service.config.secrets import Secrets
from docmill.service.config.settings import Settings
from support.http_receiver import Receiver, receiving
from support.webhook_tools import WebhookTools

PATH = "/api/v1/webhooks"
ADDRESS = "https://example.com/hook"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    webhooks = settings.webhooks.model_copy(update={"allow_private_addresses": True, "limit": 2})
    key = Secrets(key=SecretStr("k" * 32))
    return settings.model_copy(update={"secrets": key, "webhooks": webhooks})


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


async def test_a_webhook_is_made_changed_paused_and_removed(client: httpx.AsyncClient) -> None:
    made = await client.post(PATH, json={"url": f"{ADDRESS}#x", "events": ["document.failed"]})
    one = f"{PATH}/{made.json()['id']}"
    first = (await client.get(one)).json()
    events = ["document.matched", "document.completed"]
    changed = (await client.patch(one, json={"events": events, "with_data": True})).json()
    paused = [(await client.post(f"{one}/{end}")).status_code for end in ("pause", "resume", "pause")]
    listed = (await client.get(PATH)).json()["webhooks"]
    removed = [(await client.delete(one)).status_code for _ in range(2)]

    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert made.json()["secret"].startswith("whsec_")
    assert made.json()["secret"] not in str(first)
    assert (first["url"], first["events"], first["state"]) == (ADDRESS, ["document.failed"], "active")
    assert changed == {**first, "events": ["document.completed", "document.matched"], "with_data": True}
    assert paused == [204, 204, 204]
    assert listed == [{**changed, "state": "paused"}]
    assert removed == [204, 404]


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://example.com"},
        {"url": "https://"},
        {"url": "https://user:password@example.com"},
        {"url": "https://example.com:port"},
        {"url": "https://example.com/a b"},
        {"url": "https://[example"},
        {"url": "https://exämple.com"},
        {"events": []},
        {"events": ["document.eaten"]},
        {"state": "active"},
    ],
)
async def test_what_is_no_webhook_is_refused(client: httpx.AsyncClient, wrong: dict[str, object]) -> None:
    answer = await client.post(PATH, json={"url": ADDRESS, "events": ["document.failed"], **wrong})

    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert "password" not in answer.json()["detail"] or "without a user" in answer.json()["detail"]


async def test_there_is_a_limit(client: httpx.AsyncClient) -> None:
    body = {"url": ADDRESS, "events": ["document.failed"]}
    statuses = [(await client.post(PATH, json=body)).status_code for _ in range(3)]

    assert statuses == [201, 201, 422]


async def test_a_test_says_what_the_receiver_answered(client: httpx.AsyncClient, receiver: Receiver) -> None:
    made = (await client.post(PATH, json={"url": receiver.url, "events": ["document.failed"]})).json()
    one = f"{PATH}/{made['id']}"
    receiver.statuses, receiver.body = [503], b"closed"
    await client.post(f"{one}/pause")  # also then

    refused = (await client.post(f"{one}/test")).json()
    taken = (await client.post(f"{one}/test")).json()
    webhook = (await client.get(one)).json()

    assert (refused["status"], refused["error"]) == (503, "the receiver answered with HTTP 503: closed")
    assert (taken["status"], taken["error"]) == (200, None)
    _, headers, body = receiver.requests[1]
    assert Webhook(made["secret"]).verify(body, dict(headers))["type"] == "webhook.test"
    assert (webhook["failing_since"], webhook["failed"], webhook["pending"]) == (None, 1, 0)


async def test_a_new_secret_signs_beside_the_old_one(client: httpx.AsyncClient, receiver: Receiver) -> None:
    made = (await client.post(PATH, json={"url": receiver.url, "events": ["document.failed"]})).json()
    one = f"{PATH}/{made['id']}"

    rotated = await client.post(f"{one}/rotate", json={"overlap_hours": 2})
    await client.post(f"{one}/test")
    at_once = await client.post(f"{one}/rotate", json={"overlap_hours": 0})
    await client.post(f"{one}/test")

    secrets = [made["secret"], rotated.json()["secret"], at_once.json()["secret"]]
    assert len(set(secrets)) == 3
    (_, both, first), (_, last, second) = receiver.requests
    for secret in secrets[:2]:
        Webhook(secret).verify(first, dict(both))
    Webhook(secrets[2]).verify(second, dict(last))
    assert rotated.headers["cache-control"] == "no-store"
    assert both["webhook-signature"].count("v1,") == 2
    assert last["webhook-signature"].count("v1,") == 1


async def test_the_log_has_pages_and_deliveries_are_sent_again(
    client: httpx.AsyncClient, receiver: Receiver, service: Service
) -> None:
    made = (await client.post(PATH, json={"url": receiver.url, "events": ["document.completed"]})).json()
    one = f"{PATH}/{made['id']}"
    receiver.statuses = [410]
    tools = WebhookTools(service)
    documents = [await tools.read() for _ in range(3)]
    await service.webhook_deliverer.serve(service.default_tenant_id, UUID(made["id"]))

    failed = (await client.get(f"{one}/deliveries", params={"state": "failed"})).json()["deliveries"]
    disabled = (await client.get(one)).json()["state"]
    again = (await client.post(f"{one}/redeliver", json={"since": "2020-01-01T00:00:00Z"})).json()
    await client.post(f"{one}/resume")
    single = await client.post(f"{one}/deliveries/{failed[0]['id']}/redeliver")
    await service.webhook_deliverer.send_due()
    first = (await client.get(f"{one}/deliveries", params={"limit": 2})).json()
    rest = (await client.get(first["next"])).json()

    assert [entry["status"] for entry in failed[0]["attempts"]] == [410]
    assert (disabled, again, single.status_code) == ("disabled", {"count": len(failed)}, 204)
    shown = [*first["deliveries"], *rest["deliveries"]]
    assert [delivery["state"] for delivery in shown] == ["succeeded"] * 3
    assert [delivery["document_id"] for delivery in shown] == [str(id_) for id_ in reversed(documents)]
    assert rest["next"] is None


async def test_without_a_key_of_the_installation_the_answer_says_so(
    client: httpx.AsyncClient, service: Service
) -> None:
    service.webhooks._box._ciphers.clear()  # pyright: ignore[reportPrivateUsage]

    answer = await client.post(PATH, json={"url": ADDRESS, "events": ["document.failed"]})

    assert (answer.status_code, answer.json()["code"]) == (500, "misconfigured")
    assert "set secrets.key" in answer.json()["detail"]
