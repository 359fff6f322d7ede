"""Settings of the channels by which people are told of failures."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from docmill.service.config.section import Section

_SMTP_SCHEMES = ("smtp", "smtps", "smtp+plain")


def _check_web_address(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None:
        raise ValueError("is not the address of a web page without user and password")
    return url


def _check_mail_address(url: SecretStr) -> SecretStr:
    parts = urlsplit(url.get_secret_value())
    if parts.scheme not in _SMTP_SCHEMES or not parts.hostname:
        raise ValueError("is not smtp://user:password@host:port (or smtps, smtp+plain)")
    return url


WebAddress = Annotated[SecretStr, AfterValidator(_check_web_address)]
MailServer = Annotated[SecretStr, AfterValidator(_check_mail_address)]


class SlackNotifications(Section):
    """Notifications in a channel of Slack. webhook_url: a secret; with it anybody can write there."""

    webhook_url: WebAddress | None = None


class EmailNotifications(Section):
    """Notifications by mail. smtp_url: of the server, if it is not that of `smtp`, with user and password."""

    smtp_url: MailServer | None = None
    sender: str | None = None
    to: tuple[str, ...] = ()


class WebhookNotifications(Section):
    """Notifications to a program of one's own. secret: by which it checks that they are from here."""

    url: WebAddress | None = None
    secret: SecretStr | None = Field(default=None, min_length=16)

    @model_validator(mode="after")
    def _url_with_secret(self) -> Self:
        if (self.url is None) != (self.secret is None):
            raise ValueError("url and secret are given together or not at all")
        return self


class Notifications(Section):
    """The channels for messages about failures. A channel is on when it is configured.

    window_s: what happens within it is one message. allow_private_addresses: web addresses may lead into the
    own network.
    """

    slack: SlackNotifications = SlackNotifications()
    email: EmailNotifications = EmailNotifications()
    webhook: WebhookNotifications = WebhookNotifications()
    window_s: float = Field(default=60, ge=0)
    allow_private_addresses: bool = False
