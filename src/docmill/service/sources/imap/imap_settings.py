"""Settings of a mailbox that is watched."""

import hashlib
import json
import ssl
from datetime import date
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from docmill.errors import MisconfiguredError
from docmill.service.sources.access_tokens import OAuthClient
from docmill.service.sources.kinds import RARELY, KindSettings, LimitedSettings
from docmill.service.sources.mail.mail_rules import MailRules

_PORTS = {"tls": 993, "starttls": 143, "none": 143}
_MOST_FOLDERS = 10
"""Each folder is watched over a connection of its own, and providers allow 10 to 15 at a time."""


class Provider(KindSettings):
    """Addresses of a large provider of mailboxes. scope: what the access token allows."""

    host: str
    authorization_address: str
    token_address: str
    scope: str


PROVIDERS = {
    "google": Provider(
        host="imap.gmail.com",
        authorization_address="https://accounts.google.com/o/oauth2/v2/auth",
        token_address="https://oauth2.googleapis.com/token",  # noqa: S106  an address
        scope="https://mail.google.com/",
    ),
    "microsoft": Provider(
        host="outlook.office365.com",
        authorization_address="https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token_address="https://login.microsoftonline.com/common/oauth2/v2.0/token",  # noqa: S106  an address
        scope="https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
    ),
}


class ImapSettings(LimitedSettings):
    """The mailbox, how to sign in, which mails are taken, and what is done with them afterwards."""

    host: str = Field(default="", max_length=255, description="Mail server; known for Google and Microsoft")
    port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="Port of the server; 993 with TLS, otherwise 143",
        json_schema_extra=RARELY,
    )
    security: Literal["tls", "starttls", "none"] = Field(
        default="tls",
        description="Encryption of the connection; none only in a network of your own",
        json_schema_extra=RARELY,
    )
    ca_certificates: str = Field(
        default="",
        max_length=100_000,
        description="Certificates (PEM) of the authority of a server whose certificate is not public",
        json_schema_extra=RARELY,
    )
    user: str = Field(min_length=1, max_length=255, description="User name, mostly the mail address")
    sign_in: Literal["password", "google", "microsoft", "oauth2"] = Field(
        default="password", description="How to sign in: by a password, or by OAuth 2"
    )
    client_id: str = Field(
        default="",
        max_length=500,
        description="OAuth 2: ID of the registered application",
        json_schema_extra=RARELY,
    )
    authorization_address: str = Field(
        default="",
        max_length=1000,
        description="OAuth 2: address at which the owner grants access; known for Google and Microsoft",
        json_schema_extra=RARELY,
    )
    token_address: str = Field(
        default="",
        max_length=1000,
        description="OAuth 2: address that gives access tokens; known for Google and Microsoft",
        json_schema_extra=RARELY,
    )
    scope: str = Field(
        default="",
        max_length=1000,
        description="OAuth 2: scope; known for Google and Microsoft",
        json_schema_extra=RARELY,
    )
    folders: list[str] = Field(
        default=["INBOX"], min_length=1, max_length=_MOST_FOLDERS, description="Folders that are watched"
    )
    senders: list[str] = Field(
        default=[],
        max_length=500,
        description="Take only mails from these: addresses, domains, patterns such as *@*.example.com",
    )
    subject_words: list[str] = Field(
        default=[], max_length=100, description="Take only mails whose subject has one of these words"
    )
    attachment_kinds: list[str] = Field(
        default=[],
        max_length=50,
        description="Take only mails that have such an attachment, and no other attachments: pdf, image/*",
    )
    since: date | None = Field(default=None, description="Take no mails that arrived before this day")
    only_unseen: bool = Field(default=False, description="Take only mails that are not marked as read")
    afterwards: Literal["nothing", "read", "flag", "move", "delete"] = Field(
        default="nothing", description="What is done with a mail that was taken"
    )
    move_to: str = Field(
        default="", max_length=500, description="Folder to which taken mails are moved, if they are to be"
    )
    poll_s: float = Field(
        default=60,
        ge=1,
        le=86_400,
        description="Seconds between looks, if the server cannot push",
        json_schema_extra=RARELY,
    )
    push: bool = Field(
        default=True,
        description="Let the server say at once that a mail arrived (IDLE)",
        json_schema_extra=RARELY,
    )

    @field_validator("folders", "senders", "subject_words", "attachment_kinds")
    @classmethod
    def _without_blanks(cls, values: list[str]) -> list[str]:
        return list(dict.fromkeys(value.strip() for value in values if value.strip()))

    @field_validator("user", "host", "move_to", "folders", "authorization_address", "token_address")
    @classmethod
    def _printable(cls, value: str | list[str]) -> str | list[str]:
        if not all(text.isprintable() for text in ([value] if isinstance(value, str) else value)):
            raise ValueError("it has characters that are not printable")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> "ImapSettings":
        if not self.server:
            raise ValueError("host: name the mail server")
        if not self.folders:
            raise ValueError("folders: name one at least")
        if self.sign_in != "password" and not self.client_id:
            raise ValueError("client_id: OAuth 2 needs the ID of a registered application")
        if self.sign_in == "oauth2" and not self.token_address:
            raise ValueError("token_address: name the address that gives access tokens")
        if self.afterwards == "move" and (not self.move_to or self.move_to in self.folders):
            raise ValueError("move_to: name a folder that is not watched itself")
        return self

    @property
    def server(self) -> str:
        """The mail server."""
        known = PROVIDERS.get(self.sign_in)
        return self.host.strip() or (known.host if known else "")

    @property
    def server_port(self) -> int:
        """The port of the mail server."""
        return self.port or _PORTS[self.security]

    @property
    def token_endpoint(self) -> str:
        """The address that gives access tokens."""
        known = PROVIDERS.get(self.sign_in)
        return self.token_address or (known.token_address if known else "")

    @property
    def authorization_endpoint(self) -> str:
        """The address at which the owner of the mailbox grants access; empty if nobody has named it."""
        if self.authorization_address:
            return self.authorization_address
        if self.sign_in == "microsoft" and self.token_address.endswith("/token"):  # of one organisation
            return self.token_address.removesuffix("token") + "authorize"
        known = PROVIDERS.get(self.sign_in)
        return known.authorization_address if known else ""

    @property
    def token_scope(self) -> str:
        """The scope of access tokens."""
        known = PROVIDERS.get(self.sign_in)
        return self.scope or (known.scope if known else "")

    @property
    def rules(self) -> MailRules:
        """The rules for mails, apart from those that the server heeds."""
        return MailRules(self.senders, self.subject_words, self.attachment_kinds)

    @property
    def rules_digest(self) -> str:
        """Another one for other rules or another mailbox: mails that were left out are looked at again then.

        Mailboxes of one provider may have the same UIDVALIDITY: with Gmail, each folder INBOX has 1.
        """
        rules = [
            self.server.lower(),
            self.user,
            sorted(self.senders),
            sorted(self.subject_words),
            sorted(self.attachment_kinds),
            str(self.since),
            self.only_unseen,
        ]
        return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]


class ImapSecrets(KindSettings):
    """The secrets for signing in: the password, or those of OAuth 2."""

    password: SecretStr | None = Field(default=None, description="Password, or a password for this program")
    client_secret: SecretStr | None = Field(
        default=None, description="OAuth 2: secret of the application", json_schema_extra=RARELY
    )
    refresh_token: SecretStr | None = Field(
        default=None, description="OAuth 2: refresh token of the mailbox", json_schema_extra=RARELY
    )


def tls_context(ca_certificates: str) -> ssl.SSLContext:
    """Verifies certificates by those of the system, or by these alone. Raises MisconfiguredError."""
    try:
        return ssl.create_default_context(cadata=ca_certificates or None)
    except (ssl.SSLError, ValueError) as error:
        raise MisconfiguredError("ca_certificates holds no certificate in the form PEM") from error


def oauth_client(settings: ImapSettings, secret: SecretStr | None) -> OAuthClient:
    """The registered application as which docmill asks for access."""
    return OAuthClient(settings.token_endpoint, settings.client_id, secret, settings.token_scope)
