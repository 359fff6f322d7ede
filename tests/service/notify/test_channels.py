"""Channels against real servers on this machine."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from uuid import UUID

import pytest
from pydantic import SecretStr, ValidationError
from standardwebhooks import Webhook

from docmill.errors import MisconfiguredError, NetworkError
from docmill.service.config.notifications import (
    EmailNotifications,
    Notifications,
    SlackNotifications,
    WebhookNotifications,
)
from docmill.service.config.settings import Settings
from docmill.service.config.web import Smtp
from docmill.service.notify.channels import Channel, WebhookChannel, open_channels
from docmill.service.notify.guarded_http import GuardedHttp
from docmill.service.notify.message import Digest
from docmill.service.store.notifications import ErrorCount, Notification
from support.http_receiver import Receiver, receiving
from support.postbox import Postbox, taking_mails

TENANT_ID = UUID("00000000-0000-7000-8000-000000000001")
DOCUMENT_ID = UUID("00000000-0000-7000-8000-00000000000a")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def digest(count: int = 1, *, public_url: str | None = "https://vault.example") -> Digest:
    error = "no match <could> be & computed"
    one = Notification(
        "matching_failed", TENANT_ID, DOCUMENT_ID, error, attempts=3, link=f"/documents/{DOCUMENT_ID}"
    )
    return Digest(
        "msg_1",
        TENANT_ID,
        count,
        datetime(2026, 11, 27, 4, 5, tzinfo=UTC),
        [ErrorCount("matching_failed", error, count)],
        [one] * min(count, 10),
        public_url,
    )


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def postbox() -> Iterator[Postbox]:
    with taking_mails() as postbox:
        yield postbox


def settings(notifications: Notifications, smtp: Smtp | None = None) -> Settings:
    return Settings(notifications=notifications, smtp=smtp or Smtp())


async def test_slack_gets_the_errors_and_the_first_documents(receiver: Receiver) -> None:
    slack = SlackNotifications(webhook_url=SecretStr(receiver.url))
    (channel,) = open_channels(settings(Notifications(slack=slack, allow_private_addresses=True)))

    await channel.send(digest(500))

    ((_, _, body),) = receiver.requests
    text = json.loads(body)["text"]
    assert text.startswith("*docmill: 500 failures*\n500 x matching failed: no match &lt;could&gt; be &amp; ")
    assert text.count(f"https://vault.example/documents/{DOCUMENT_ID}, 3 attempts") == 10
    assert "and 490 more" in text


async def test_without_an_address_of_the_vault_documents_are_named_by_their_ids(receiver: Receiver) -> None:
    slack = SlackNotifications(webhook_url=SecretStr(receiver.url))
    (channel,) = open_channels(settings(Notifications(slack=slack, allow_private_addresses=True)))

    await channel.send(digest(public_url=None))

    ((_, _, body),) = receiver.requests
    assert f"document {DOCUMENT_ID}, 3 attempts" in json.loads(body)["text"]
    assert json.loads(body)["text"].startswith("*docmill: matching failed*\nmatching failed: ")


def test_a_message_about_the_setup_names_no_document() -> None:
    pause = Notification("pause", TENANT_ID, None, "set llm.api_key", link="/ops")
    sent_at = datetime(2026, 11, 27, 4, 5, tzinfo=UTC)
    message = Digest("msg_1", TENANT_ID, 1, sent_at, [ErrorCount("pause", "set llm.api_key", 1)], [pause])

    assert list(message.lines()) == [
        "processing is paused: set llm.api_key",
        "",
        f"first at 2026-11-27 04:05:00 UTC, tenant {TENANT_ID}",
    ]


async def test_another_program_can_verify_a_webhook(receiver: Receiver) -> None:
    webhook = WebhookNotifications(url=SecretStr(receiver.url), secret=SecretStr(SECRET))
    (channel,) = open_channels(settings(Notifications(webhook=webhook, allow_private_addresses=True)))

    await channel.send(digest(2))
    await channel.send(digest(2))

    (_, headers, body), (_, again, _) = receiver.requests
    content = Webhook(SECRET).verify(body, dict(headers.items()))
    assert headers["webhook-id"] == again["webhook-id"] == "msg_1"
    assert content["type"] == "docmill.failures"
    assert content["data"]["total"] == 2
    assert content["data"]["notifications"][0] == {
        "kind": "matching_failed",
        "document_id": str(DOCUMENT_ID),
        "error": "no match <could> be & computed",
        "attempts": 3,
        "link": f"https://vault.example/documents/{DOCUMENT_ID}",
    }


async def test_any_text_can_be_the_secret_of_a_webhook(receiver: Receiver) -> None:
    plain, http = SecretStr("a secret of words"), GuardedHttp(allow_private=True)

    await WebhookChannel(http, SecretStr(receiver.url), plain, clock=lambda: 1_700_000_000.5).send(digest())

    ((_, headers, _),) = receiver.requests
    assert headers["webhook-timestamp"] == "1700000000"
    for bad in ("whsec_%%%", "whsec_ä", "whsec_"):
        with pytest.raises(MisconfiguredError, match="no base64"):
            WebhookChannel(http, SecretStr(receiver.url), SecretStr(bad))


async def test_mails_go_to_every_address_by_the_server_of_the_vault(postbox: Postbox) -> None:
    email = EmailNotifications(to=("a@example.org", "b@example.org"))
    (channel,) = open_channels(settings(Notifications(email=email), postbox.smtp))

    await channel.send(digest(3))

    assert [mail.rcpt_tos for mail in postbox.mails] == [["a@example.org"], ["b@example.org"]]
    content = postbox.mails[0].content
    assert isinstance(content, bytes)
    mail = message_from_bytes(content, policy=policy.default)
    assert (mail["From"], mail["Subject"]) == ("vault@example.org", "docmill: 3 failures")


def three_mails(postbox: Postbox) -> Channel:
    email = EmailNotifications(to=("a@example.org", "bad@example.org", "c@example.org"))
    (channel,) = open_channels(settings(Notifications(email=email), postbox.smtp))
    return channel


async def test_an_address_refused_for_good_is_told_once_and_keeps_no_mail_from_others(
    postbox: Postbox,
) -> None:
    postbox.refusals["bad@example.org"] = "550 no such user"
    channel = three_mails(postbox)

    with pytest.raises(MisconfiguredError, match=r"took no mail for b…@example.org \(SMTP 550\)"):
        await channel.send(digest())
    await channel.send(digest())

    assert postbox.recipients == ["a@example.org", "c@example.org"]
    assert postbox.refused == ["bad@example.org"]


async def test_an_address_refused_for_a_while_is_tried_again_alone(postbox: Postbox) -> None:
    postbox.refusals["bad@example.org"] = "451 come back later"
    channel = three_mails(postbox)

    with pytest.raises(NetworkError, match="SMTP 451"):
        await channel.send(digest())
    postbox.refusals.clear()
    await channel.send(digest())

    assert postbox.recipients == ["a@example.org", "c@example.org", "bad@example.org"]


async def test_a_message_that_all_addresses_refuse_stays_unsent(postbox: Postbox) -> None:
    addresses = ("a@example.org", "bad@example.org", "c@example.org")
    postbox.refusals.update(dict.fromkeys(addresses, "550 no such user"))
    channel = three_mails(postbox)

    for _ in range(2):
        with pytest.raises(MisconfiguredError):
            await channel.send(digest())

    assert postbox.refused == list(addresses)


async def test_mails_go_by_a_server_of_their_own(postbox: Postbox) -> None:
    url = SecretStr(f"smtp+plain://127.0.0.1:{postbox.port}")
    email = EmailNotifications(smtp_url=url, sender="own@example.org", to=("a@example.org",))
    (channel,) = open_channels(settings(Notifications(email=email)))

    await channel.send(digest())

    assert [mail.mail_from for mail in postbox.mails] == ["own@example.org"]


async def test_a_mail_server_that_is_away_can_be_tried_again() -> None:
    email = EmailNotifications(
        smtp_url=SecretStr("smtps://user:pass%40word@127.0.0.1:1"), sender="own@example.org", to=("a@b.c",)
    )
    (channel,) = open_channels(settings(Notifications(email=email)))

    with pytest.raises(NetworkError) as caught:
        await channel.send(digest())
    assert "word" not in caught.value.message


def test_a_channel_is_on_when_it_is_configured() -> None:
    assert open_channels(settings(Notifications())) == []
    with pytest.raises(MisconfiguredError, match=r"notifications\.email\.to needs a mail server"):
        open_channels(settings(Notifications(email=EmailNotifications(to=("a@b.c",)))))
    with pytest.raises(MisconfiguredError, match=r"needs notifications\.email\.sender"):
        open_channels(
            settings(
                Notifications(email=EmailNotifications(smtp_url=SecretStr("smtp://mail"), to=("a@b.c",)))
            )
        )


@pytest.mark.parametrize("url", ["ftp://hook.example", "https://user@hook.example", "hook.example"])
def test_a_wrong_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        SlackNotifications(webhook_url=SecretStr(url))
    with pytest.raises(ValidationError):
        EmailNotifications(smtp_url=SecretStr(url))


def test_a_webhook_needs_a_secret() -> None:
    with pytest.raises(ValidationError, match="together"):
        WebhookNotifications(url=SecretStr("https://hook.example"))
