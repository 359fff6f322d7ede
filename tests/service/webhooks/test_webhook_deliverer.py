"""Deliveries to receivers of every kind: each event arrives at least once, with the same id each time."""

import asyncio
import json
import logging
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from socket import socket
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook

from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.config.settings import Settings
from docmill.service.notify.guarded_http import GuardedHttp
from docmill.service.observe.metrics import Metrics
from docmill.service.store import notifications, webhook_deliveries
from docmill.service.store.database import DEFAULT_TENANT_ID, DEFAULT_USER_ID
from docmill.service.webhooks.webhook_sender import DELAYS_S
from support.http_receiver import Receiver, receiving
from support.webhook_tools import WebhookTools, bodies, result_of


def ids(receiver: Receiver) -> list[str]:
    return [headers["webhook-id"] for _, headers, _ in receiver.requests]


async def send_due(tools: WebhookTools) -> None:
    await tools.service.webhook_deliverer.send_due()


async def test_a_message_is_signed_and_tells_no_text_of_the_document(
    tools: WebhookTools, receiver: Receiver
) -> None:
    webhook = await tools.add(receiver.url)
    document_id = await tools.read()

    await send_due(tools)

    ((_, headers, body),) = receiver.requests
    Webhook(webhook.secret).verify(body, dict(headers))
    message = json.loads(body)
    assert message["type"] == "document.completed"
    assert datetime.fromisoformat(message["timestamp"]).tzinfo is not None
    assert message["data"] == {
        "document_id": str(document_id),
        "document_type": "invoice",
        "status": "completed",
        "state": "ready",
        "verdict": {"passed": True, "failures": []},
        "error": None,
        "link": f"/docs/{document_id}",
    }
    (delivery,) = await tools.log(webhook)
    assert (delivery.state, delivery.attempts, delivery.log[0]["status"]) == ("succeeded", 1, 200)


async def test_with_data_a_message_has_the_record(tools: WebhookTools, receiver: Receiver) -> None:
    await tools.add(receiver.url, with_data=True)
    document_id = await tools.read()

    await send_due(tools)

    record = bodies(receiver)[0]["data"]["record"]
    assert (record["document_id"], record["status"], record["data"]) == (
        str(document_id),
        "completed",
        {"number": "7"},
    )


async def test_the_record_of_a_deleted_document_is_null(tools: WebhookTools, receiver: Receiver) -> None:
    await tools.add(receiver.url, with_data=True)
    document_id = await tools.read()
    await tools.service.bin.delete(document_id, tenant_id=DEFAULT_TENANT_ID, deleted_by=DEFAULT_USER_ID)

    await send_due(tools)

    assert bodies(receiver)[0]["data"]["record"] is None


@pytest.mark.parametrize("status", [500, 404, 401, 302])
async def test_a_refused_message_is_sent_again_with_the_same_id(
    tools: WebhookTools, receiver: Receiver, status: int
) -> None:
    receiver.statuses = [status]
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)
    await send_due(tools)  # it is not due yet
    await tools.let_pass(timedelta(seconds=6))
    await send_due(tools)

    assert len(receiver.requests) == 2
    assert len(set(ids(receiver))) == 1
    (delivery,) = await tools.log(webhook)
    assert (delivery.state, [entry["status"] for entry in delivery.log]) == ("succeeded", [status, 200])


async def test_the_error_of_an_answer_is_kept_without_what_may_be_secret(
    tools: WebhookTools, receiver: Receiver
) -> None:
    receiver.statuses = [500]
    receiver.body = b"no\n\tdatabase; \x07 token abcdefghij0123456789XYZ whsec_abc= \xff" + b" x" * 1000
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)

    (delivery,) = await tools.log(webhook)
    error = delivery.log[0]["error"]
    assert error.startswith("the receiver answered with HTTP 500: no database; token … … �")
    assert len(error) < 260


async def test_waits_grow_until_a_delivery_has_failed(tools: WebhookTools, receiver: Receiver) -> None:
    receiver.statuses = [500] * 20
    webhook = await tools.add(receiver.url)
    await tools.read()

    waits: list[float] = []
    while True:
        await send_due(tools)
        (delivery,) = await tools.log(webhook)
        if delivery.next_attempt_at is None:
            break
        waits.append((delivery.next_attempt_at - datetime.now(UTC)).total_seconds())
        await tools.let_pass(timedelta(days=1.2))
        await tools.service.webhooks.resume(webhook.id, tenant_id=DEFAULT_TENANT_ID)

    assert delivery.state == "failed"
    assert len(waits) == len(DELAYS_S)
    for wait, delay in zip(waits, DELAYS_S, strict=True):
        assert delay - 5 <= wait <= delay * 1.1


async def test_nobody_is_sent_anything_before_the_time_that_it_asked_for(
    tools: WebhookTools, receiver: Receiver
) -> None:
    receiver.statuses, receiver.headers = [429], {"Retry-After": "3600"}
    await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)
    await tools.read()  # another message is held back, too
    await tools.let_pass(timedelta(seconds=3000))
    await send_due(tools)
    early = len(receiver.requests)
    await tools.let_pass(timedelta(seconds=1500))
    await send_due(tools)

    assert early == 1
    assert Counter(ids(receiver)).most_common(1)[0][1] == 2
    assert len(receiver.requests) == 3


async def test_a_receiver_that_is_gone_is_told_nothing_more(tools: WebhookTools, receiver: Receiver) -> None:
    receiver.statuses = [410]
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)
    await tools.read()
    await send_due(tools)

    row = await tools.service.webhooks.get(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    assert row is not None
    assert (row.state, row.reason, row.pending, row.failed) == (
        "disabled",
        "The receiver answered with HTTP 410: it is gone.",
        1,
        1,
    )
    assert len(receiver.requests) == 1
    async with tools.service.database.connection() as conn:
        message = await notifications.next_due(conn, ["slack"], window_s=0)
    assert message is not None


async def test_a_receiver_that_fails_for_days_is_disabled_and_gets_all_when_it_is_back(
    tools: WebhookTools, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.statuses = [500, 500, 500]
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)
    await tools.let_pass(timedelta(days=4))
    await send_due(tools)
    early = await tools.service.webhooks.get(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await tools.let_pass(timedelta(days=1.1))
    with caplog.at_level(logging.ERROR):
        await send_due(tools)
    late = await tools.service.webhooks.get(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await tools.read()
    await send_due(tools)
    sent_while_disabled = len(receiver.requests) - 3
    await tools.service.webhooks.resume(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await send_due(tools)

    assert early is not None
    assert early.state == "active"
    assert late is not None
    assert (late.state, late.reason) == ("disabled", "The receiver has taken no message for 5 days.")
    assert "webhook disabled" in caplog.text
    assert sent_while_disabled == 0
    assert [delivery.state for delivery in await tools.log(webhook)] == ["succeeded", "succeeded"]


async def test_a_paused_webhook_gets_what_has_waited_when_it_is_resumed(
    tools: WebhookTools, receiver: Receiver
) -> None:
    webhook = await tools.add(receiver.url)
    await tools.service.webhooks.pause(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await tools.read()
    await send_due(tools)
    paused = len(receiver.requests)

    await tools.service.webhooks.resume(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await send_due(tools)

    assert (paused, len(receiver.requests)) == (0, 1)


async def test_a_receiver_that_refuses_connections_is_an_error_in_the_log(tools: WebhookTools) -> None:
    with socket() as unused:
        unused.bind(("127.0.0.1", 0))
        webhook = await tools.add(f"http://127.0.0.1:{unused.getsockname()[1]}/")
        await tools.read()

        await send_due(tools)

    (delivery,) = await tools.log(webhook)
    assert delivery.state == "pending"
    assert delivery.log[0]["error"] == "the receiver cannot be reached (ConnectionRefusedError)"


async def test_a_slow_receiver_delays_no_other(tools: WebhookTools, receiver: Receiver) -> None:
    go_on = threading.Event()
    with receiving() as slow:
        slow.on_request = lambda: go_on.wait(20)
        waiting = await tools.add(slow.url)
        await tools.add(receiver.url)
        working = asyncio.create_task(tools.service.webhook_deliverer.work_for_ever())
        try:
            await asyncio.gather(*(tools.read() for _ in range(12)))
            async with asyncio.timeout(20):
                while len(receiver.requests) < 12:  # noqa: ASYNC110 - the receiver is in a thread
                    await asyncio.sleep(0.01)
            assert all(delivery.state == "pending" for delivery in await tools.log(waiting))
        finally:
            go_on.set()
            await cancel_and_wait([working])


async def test_attempts_are_counted_by_their_outcome(tools: WebhookTools, receiver: Receiver) -> None:
    receiver.statuses = [204, 500, 410]
    metrics = Metrics()
    await tools.add(receiver.url)
    working = asyncio.create_task(tools.service.webhook_deliverer.work_for_ever(metrics))
    try:
        async with asyncio.timeout(20):
            for outcome in ("sent", "failed", "given_up"):
                await tools.read()
                line = f'docmill_webhook_attempts_total{{outcome="{outcome}"}} 1.0'
                while line not in metrics.exposition().decode():  # noqa: ASYNC110 - nothing tells of a count
                    await asyncio.sleep(0.01)
    finally:
        await cancel_and_wait([working])


async def test_a_receiver_that_does_not_answer_in_time_is_tried_again(
    tools: WebhookTools, receiver: Receiver
) -> None:
    go_on = threading.Event()
    receiver.on_request = lambda: go_on.wait(20)
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)
    go_on.set()

    (delivery,) = await tools.log(webhook)
    assert delivery.state == "pending"
    assert delivery.log[0]["error"] == "the receiver did not answer within 5 s"


async def test_a_redirect_to_a_private_address_is_not_followed(
    tools: WebhookTools, receiver: Receiver
) -> None:
    with receiving() as inner:
        receiver.statuses, receiver.headers = [307], {"Location": inner.url}
        webhook = await tools.add(receiver.url)
        await tools.read()

        await send_due(tools)

        assert inner.requests == []
    (delivery,) = await tools.log(webhook)
    assert delivery.log[0]["error"] == ("the receiver answered with HTTP 307; redirects are not followed")


async def test_nothing_is_sent_to_a_private_address_unless_a_setting_allows_it(
    tools: WebhookTools, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = GuardedHttp(allow_private=False, setting="webhooks.allow_private_addresses")
    sender = tools.service.webhook_deliverer._sender  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(sender, "_http", http)
    webhook = await tools.add(receiver.url)
    await tools.read()

    await send_due(tools)

    assert receiver.requests == []
    (delivery,) = await tools.log(webhook)
    assert "set webhooks.allow_private_addresses" in delivery.log[0]["error"]


def test_private_addresses_are_refused_by_default(settings: Settings) -> None:
    assert not Settings(data_dir=settings.data_dir).webhooks.allow_private_addresses


async def test_what_a_dead_worker_had_claimed_is_sent_by_another_with_the_same_id(
    tools: WebhookTools, receiver: Receiver
) -> None:
    go_on = threading.Event()
    receiver.on_request = lambda: go_on.wait(20)
    webhook = await tools.add(receiver.url)
    await tools.read()
    working = asyncio.create_task(send_due(tools))
    async with asyncio.timeout(20):
        while not receiver.requests:  # noqa: ASYNC110 - the receiver is in a thread
            await asyncio.sleep(0.01)
    await cancel_and_wait([working])  # in the middle of a request
    go_on.set()

    await send_due(tools)
    early = len(receiver.requests)
    await tools.let_pass(timedelta(minutes=5))
    await send_due(tools)

    assert early == 1
    assert len(receiver.requests) == 2
    assert len(set(ids(receiver))) == 1
    (delivery,) = await tools.log(webhook)
    assert delivery.state == "succeeded"


async def test_workers_side_by_side_send_each_message_once(tools: WebhookTools, receiver: Receiver) -> None:
    webhook = await tools.add(receiver.url)
    documents = await asyncio.gather(*(tools.read() for _ in range(20)))

    await asyncio.gather(*(send_due(tools) for _ in range(4)))

    assert {(delivery.state, delivery.attempts) for delivery in await tools.log(webhook)} == {
        ("succeeded", 1)
    }
    assert sorted(message["data"]["document_id"] for message in bodies(receiver)) == sorted(
        map(str, documents)
    )


async def test_messages_about_a_document_arrive_in_order(tools: WebhookTools, receiver: Receiver) -> None:
    await tools.add(receiver.url)
    document_id = await tools.read(result_of(is_valid=False))
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute("UPDATE document SET needs_human_review = false WHERE id = %s", [document_id])

    await send_due(tools)

    assert [message["type"] for message in bodies(receiver)] == [
        "document.needs_review",
        "document.completed",
    ]


async def test_during_a_rotation_both_secrets_verify(tools: WebhookTools, receiver: Receiver) -> None:
    first = await tools.add(receiver.url)
    second = await tools.service.webhooks.rotate(first.id, tenant_id=DEFAULT_TENANT_ID, overlap_hours=1)
    assert second is not None
    await tools.read()
    await send_due(tools)
    await tools.let_pass(timedelta(hours=2))
    await tools.read()
    await send_due(tools)

    (_, both, body), (_, one, other_body) = receiver.requests
    for secret in (first.secret, second.secret):
        Webhook(secret).verify(body, dict(both))
    Webhook(second.secret).verify(other_body, dict(one))
    assert " " not in one["webhook-signature"]


async def test_old_events_are_forgotten_with_their_log(tools: WebhookTools, receiver: Receiver) -> None:
    webhook = await tools.add(receiver.url)
    await tools.read()
    await send_due(tools)
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute("UPDATE webhook_event SET created_at = created_at - interval '31 days'")
    await tools.read()

    await tools.service.webhook_deliverer.forget_old()

    assert [delivery.state for delivery in await tools.log(webhook)] == ["pending"]


async def test_another_tenant_gets_nothing(tools: WebhookTools, receiver: Receiver, stranger: UUID) -> None:
    with receiving() as other:
        await tools.add(other.url, tenant_id=stranger)
        await tools.add(receiver.url)
        await tools.read()

        await send_due(tools)

        assert (len(receiver.requests), len(other.requests)) == (1, 0)


async def test_a_failed_delivery_can_be_sent_again(tools: WebhookTools, receiver: Receiver) -> None:
    receiver.statuses = [410]
    webhook = await tools.add(receiver.url)
    await tools.read()
    await send_due(tools)
    await tools.service.webhooks.resume(webhook.id, tenant_id=DEFAULT_TENANT_ID)

    late = datetime.now(UTC) + timedelta(hours=1)
    none = await tools.service.webhooks.send_failed_again(webhook.id, tenant_id=DEFAULT_TENANT_ID, since=late)
    some = await tools.service.webhooks.send_failed_again(webhook.id, tenant_id=DEFAULT_TENANT_ID)
    await send_due(tools)
    (delivery,) = await tools.log(webhook)
    again = await tools.service.webhooks.send_again(webhook.id, delivery.id, tenant_id=DEFAULT_TENANT_ID)
    await send_due(tools)

    assert (none, some, again) == (0, 1, True)
    assert delivery.state == "succeeded"
    assert len(set(ids(receiver))) == 1
    assert len(receiver.requests) == 3
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        assert not await webhook_deliveries.send_again(conn, delivery.id, webhook.id)
