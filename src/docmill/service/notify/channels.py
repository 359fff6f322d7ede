"""Channels by which messages are sent: Slack, mail, and a webhook of one's own."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from docmill.errors import MisconfiguredError
from docmill.service.config.notifications import EmailNotifications
from docmill.service.config.settings import Settings
from docmill.service.config.web import Smtp
from docmill.service.notify.guarded_http import GuardedHttp
from docmill.service.notify.message import Digest
from docmill.service.notify.webhook_signing import signed_headers, signing_key
from docmill.service.people.mail import Mailer, RecipientRefusedError

_LONGEST_TEXT = 30_000
"""Slack takes 40,000 characters."""
_MOST_TRIES = 100
"""Messages by mail that wait for being tried again; there is one at a time of each tenant."""
_JSON = {"Content-Type": "application/json", "User-Agent": "docmill"}


class Channel(Protocol):
    """A way to tell somebody. name: as the settings and the database call it."""

    @property
    def name(self) -> str:
        """See above."""
        ...

    async def send(self, digest: Digest) -> None:
        """Send a message. It may be sent again with the same id if this fails, or if the process dies.

        Raises TransientError if it may work later, SetupError if a person must mend something.
        """
        ...


class SlackChannel:
    """Incoming webhooks of Slack, and of what takes the same messages (Mattermost, Rocket.Chat)."""

    name = "slack"

    def __init__(self, http: GuardedHttp, url: SecretStr) -> None:
        self._http = http
        self._url = url

    async def send(self, digest: Digest) -> None:
        """See `Channel.send`."""
        lines = "\n".join(digest.lines())
        text = f"*{digest.subject}*\n{_without_markup(lines)}"[:_LONGEST_TEXT]
        body = json.dumps({"text": text}).encode()
        await self._http.post(self._url.get_secret_value(), body, _JSON, what="notifications.slack")


class WebhookChannel:
    """Signed requests by the rules of Standard Webhooks, to a program of one's own.

    secret: `whsec_` and base64, or any other text. clock: seconds since 1970.
    """

    name = "webhook"

    def __init__(
        self, http: GuardedHttp, url: SecretStr, secret: SecretStr, clock: Callable[[], float] = time.time
    ) -> None:
        self._http = http
        self._url = url
        self._key = signing_key(secret.get_secret_value(), what="notifications.webhook.secret")
        self._clock = clock

    async def send(self, digest: Digest) -> None:
        """See `Channel.send`. `webhook-id` stays the same when a message is sent again."""
        body = json.dumps(digest.content()).encode()
        signed = signed_headers([self._key], message_id=digest.id, sent_at=int(self._clock()), body=body)
        headers = {**_JSON, **signed}
        await self._http.post(self._url.get_secret_value(), body, headers, what="notifications.webhook")


@dataclass(slots=True)
class _MailTry:
    """What became of a message at addresses that are not tried again. refused: for good, with the reasons."""

    accepted: set[str] = field(default_factory=set[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    is_told: bool = False


class EmailChannel:
    """Mails to the addresses of the settings, one each.

    A message that is tried again goes only to those that have not taken it, as long as the process lives.
    """

    name = "email"

    def __init__(self, mailer: Mailer, to: tuple[str, ...]) -> None:
        self._mailer = mailer
        self._to = to
        self._tries: dict[str, _MailTry] = {}

    async def send(self, digest: Digest) -> None:
        """See `Channel.send`.

        An address that is refused for good is told of once, by MisconfiguredError, and not tried again. If
        all are, the message stays unsent.
        """
        tried = self._tries.setdefault(digest.id, _MailTry())
        delayed: RecipientRefusedError | None = None
        for address in self._to:
            if address in tried.accepted or address in tried.refused:
                continue
            try:
                await self._mailer.send(address, digest.subject, "\n".join(digest.lines()))
            except RecipientRefusedError as error:
                if error.is_permanent:
                    tried.refused[address] = error.message
                    tried.is_told = False
                else:
                    delayed = error
            else:
                tried.accepted.add(address)
        while len(self._tries) > _MOST_TRIES:
            del self._tries[next(iter(self._tries))]
        if tried.refused and not (tried.is_told and tried.accepted):
            tried.is_told = True
            raise MisconfiguredError("; ".join(tried.refused.values()))
        if delayed is not None:
            raise delayed
        self._tries.pop(digest.id, None)


def open_channels(settings: Settings) -> list[Channel]:
    """The channels that are configured. Raises MisconfiguredError for mails without a server."""
    notifications = settings.notifications
    http = GuardedHttp(allow_private=notifications.allow_private_addresses)
    channels: list[Channel] = []
    if notifications.slack.webhook_url is not None:
        channels.append(SlackChannel(http, notifications.slack.webhook_url))
    if notifications.email.to:
        smtp = _smtp_of(notifications.email, settings.smtp)
        channels.append(EmailChannel(Mailer(smtp), notifications.email.to))
    webhook = notifications.webhook
    if webhook.url is not None and webhook.secret is not None:
        channels.append(WebhookChannel(http, webhook.url, webhook.secret))
    return channels


def _smtp_of(email: EmailNotifications, smtp: Smtp) -> Smtp:
    """The mail server of notifications: their own, or that of the vault."""
    sender = email.sender or smtp.sender
    if email.smtp_url is None:
        if smtp.host is None:
            raise MisconfiguredError(
                "notifications.email.to needs a mail server: set smtp.host or notifications.email.smtp_url"
            )
        return smtp.model_copy(update={"sender": sender})
    if sender is None:
        raise MisconfiguredError("notifications.email.smtp_url needs notifications.email.sender")
    parts = urlsplit(email.smtp_url.get_secret_value())
    password = unquote(parts.password) if parts.password is not None else None
    return Smtp(
        host=parts.hostname,
        port=parts.port or (465 if parts.scheme == "smtps" else 587),
        security={"smtp": "starttls", "smtps": "tls"}.get(parts.scheme, "none"),  # pyright: ignore[reportArgumentType] - one of the three
        user=unquote(parts.username) if parts.username is not None else None,
        password=SecretStr(password) if password is not None else None,
        sender=sender,
    )


def _without_markup(text: str) -> str:
    """A text whose signs mean nothing in Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
