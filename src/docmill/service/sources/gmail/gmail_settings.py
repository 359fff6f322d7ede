"""Settings and secrets of a mailbox of Gmail."""

from typing import Literal

from pydantic import Field, SecretStr

from docmill.service.sources.kinds import RARELY, KindSettings, LimitedSettings

_ADDRESS = r"^https?://[^/?#\s]+(/[^?#\s]*)?$"


class GmailSettings(LimitedSettings):
    """The mailbox, and how Google tells of new mails."""

    client_id: str = Field(
        min_length=1, max_length=500, description="ID of the OAuth client in your Google Cloud project"
    )
    label: str = Field(default="INBOX", min_length=1, max_length=225, description="Label of the mails taken")
    start: Literal["new", "all"] = Field(
        default="new", description="Take mails that come from now on, or also those that are there already"
    )
    topic: str = Field(
        default="",
        pattern=r"^(projects/[^/\s]+/topics/[^/\s]+)?$",
        description="Topic of Pub/Sub to which Google tells of new mails; without one, Gmail is only polled",
    )
    push_account: str = Field(
        default="",
        max_length=320,
        description="Service account by which Pub/Sub signs its pushes",
    )
    audience: str = Field(
        default="",
        max_length=1000,
        description="Audience of the push subscription; empty: the push address",
        json_schema_extra=RARELY,
    )
    poll_s: float = Field(
        default=600, ge=1, description="Seconds between looks without a push", json_schema_extra=RARELY
    )
    api_address: str = Field(
        default="https://gmail.googleapis.com",
        pattern=_ADDRESS,
        description="Address of the interface of Gmail",
        json_schema_extra=RARELY,
    )
    authorization_address: str = Field(
        default="https://accounts.google.com/o/oauth2/v2/auth",
        pattern=_ADDRESS,
        description="Address at which the owner of the mailbox grants access",
        json_schema_extra=RARELY,
    )
    token_address: str = Field(
        default="https://oauth2.googleapis.com/token",
        pattern=_ADDRESS,
        description="Address that gives access tokens",
        json_schema_extra=RARELY,
    )
    keys_address: str = Field(
        default="https://www.googleapis.com/oauth2/v3/certs",
        pattern=_ADDRESS,
        description="Address of the keys by which pushes are verified",
        json_schema_extra=RARELY,
    )


class GmailSecrets(KindSettings):
    """The secret of the OAuth client, and the permission of the mailbox's owner."""

    client_secret: SecretStr | None = Field(default=None, description="Secret of the OAuth client")
    refresh_token: SecretStr | None = Field(default=None, description="Refresh token for the mailbox")
