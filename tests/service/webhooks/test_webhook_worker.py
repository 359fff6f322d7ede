"""Workers that send to webhooks, whole processes too, and mails to owners."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from psycopg import AsyncConnection

from docmill.errors import ServerError
from docmill.service.app import open_service
from docmill.service.config.settings import Settings
from docmill.service.config.web import Smtp
from docmill.service.people.accounts import NewPerson
from docmill.service.store.database import DEFAULT_TENANT_ID
from support.http_receiver import Receiver
from support.people import PASSWORD
from support.postbox import Postbox, taking_mails
from support.scripted_steps import RunWorker, Upload
from support.webhook_tools import WebhookTools, bodies

DOCMILL = Path(sys.executable).with_name("docmill")


async def until_requested(receiver: Receiver, count: int = 1) -> None:
    async with asyncio.timeout(90):
        while len(receiver.requests) < count:  # noqa: ASYNC110 - the receiver is in a thread
            await asyncio.sleep(0.02)


async def test_a_worker_tells_of_what_it_has_read(
    tools: WebhookTools, receiver: Receiver, upload: Upload, working: RunWorker
) -> None:
    await tools.add(receiver.url)

    async with working():
        accepted = await upload()
        await until_requested(receiver)

    (message,) = bodies(receiver)
    assert (message["type"], message["data"]["document_id"]) == (
        "document.completed",
        str(accepted.document_id),
    )


async def test_what_a_killed_worker_was_sending_is_sent_again_with_the_same_id(
    tools: WebhookTools, receiver: Receiver, settings: Settings, tmp_path: Path
) -> None:
    go_on = threading.Event()
    receiver.on_request = lambda: go_on.wait(30)
    webhook = await tools.add(receiver.url)
    await tools.read()
    assert settings.database_url
    assert settings.database_owner_url
    variables = {
        "DOCMILL_DATABASE_OWNER_URL": settings.database_owner_url.get_secret_value(),
        "DOCMILL_DATABASE_URL": settings.database_url.get_secret_value(),
        "DOCMILL_SECRETS__KEY": "k" * 32,
        "DOCMILL_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES": "true",
    }
    with subprocess.Popen(  # noqa: ASYNC220 - it is started at once
        [DOCMILL, "worker", "--data-dir", tmp_path / "worker"],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as worker:
        await until_requested(receiver)
        worker.send_signal(signal.SIGKILL)
    go_on.set()

    await tools.service.webhook_deliverer.send_due()
    early = len(receiver.requests)
    await tools.let_pass(timedelta(minutes=5))
    await tools.service.webhook_deliverer.send_due()

    assert early == 1
    assert len(receiver.requests) == 2
    assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 1
    (delivery,) = await tools.log(webhook)
    assert delivery.state == "succeeded"


async def end_waiting_updates(url: str, count: int) -> None:
    """End the sessions of the database that wait to note an outcome, once there are so many."""
    async with await AsyncConnection.connect(url, autocommit=True) as conn, asyncio.timeout(30):
        while True:
            cur = await conn.execute(
                """
                SELECT pid
                  FROM pg_stat_activity
                 WHERE wait_event_type = 'Lock' AND query LIKE '%UPDATE webhook_delivery%'
                """
            )
            processes = [pid for (pid,) in await cur.fetchall()]
            if len(processes) >= count:
                break
            await asyncio.sleep(0.02)
        for pid in processes:
            await conn.execute("SELECT pg_terminate_backend(%s)", [pid])


async def test_deliveries_interrupted_by_the_database_are_sent_once_it_is_back(
    tools: WebhookTools, receiver: Receiver, settings: Settings
) -> None:
    webhook = await tools.add(receiver.url)
    await tools.read()
    await tools.read()
    assert settings.database_owner_url
    url = settings.database_owner_url.get_secret_value()
    sent = threading.Event()
    receiver.on_request = lambda: sent.wait(30)

    sending = asyncio.create_task(tools.service.webhook_deliverer.send_due())
    await until_requested(receiver, 2)
    async with tools.service.database.tenant(DEFAULT_TENANT_ID) as conn:
        await conn.execute("SELECT FROM webhook_delivery FOR UPDATE")
        sent.set()
        await end_waiting_updates(url, 2)
    with pytest.raises(ServerError):
        await sending
    await tools.service.webhook_deliverer.send_due()  # long before the end of the lease

    assert {delivery.state for delivery in await tools.log(webhook)} == {"succeeded"}
    assert len({headers["webhook-id"] for _, headers, _ in receiver.requests}) == 2


@pytest.fixture
def postbox() -> Iterator[Postbox]:
    with taking_mails() as postbox:
        yield postbox


async def test_owners_get_a_mail_when_a_webhook_is_disabled(
    settings: Settings, postbox: Postbox, receiver: Receiver
) -> None:
    receiver.statuses = [410]
    async with open_service(settings.model_copy(update={"smtp": postbox.smtp})) as service:
        await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
        await service.accounts.add("carl@example.org", "Carl", "reviewer", tenant_id=DEFAULT_TENANT_ID)
        tools = WebhookTools(service)
        webhook = await tools.add(f"{receiver.url}&token=secret")
        await tools.read()

        await service.webhook_deliverer.send_due()

    (mail,) = postbox.mails
    content = mail.content if isinstance(mail.content, bytes) else (mail.content or "").encode()
    text = message_from_bytes(content, policy=policy.default).get_content()
    assert mail.rcpt_tos == ["anna@example.org"]
    assert "The receiver answered with HTTP 410" in text
    assert f"/webhooks/{webhook.id}" in text
    assert "token=secret" not in text
    assert "127.0.0.1" not in text  # the address of the webhook is a text that somebody chose


async def test_a_mail_server_that_is_away_stops_no_delivery(
    settings: Settings, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    smtp = Smtp(host="127.0.0.1", port=port, security="none", sender="vault@example.org")
    receiver.statuses = [410]
    async with open_service(settings.model_copy(update={"smtp": smtp})) as service:
        await service.accounts.create_first(NewPerson("anna@example.org", "Anna", PASSWORD), "Acme")
        tools = WebhookTools(service)
        webhook = await tools.add(receiver.url)
        await tools.read()

        await service.webhook_deliverer.send_due()

        (delivery,) = await tools.log(webhook)
    assert delivery.state == "failed"
    assert "an owner is not told" in caplog.text
