"""The kind `webhook`: files that a program sends are taken at once, files that it names are fetched."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from docmill.errors import (
    CorruptError,
    DocmillError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    SetupError,
    TooLargeError,
    TransientError,
    ValidationError,
    ungrouped,
)
from docmill.service.config.settings import Settings
from docmill.service.notify.guarded_download import Download, HttpStatusError, shown_address
from docmill.service.notify.webhook_signing import new_signing_secret, signing_key
from docmill.service.secret_box import SecretBox, open_secret_box
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import RARELY, Kind, KindSettings, LimitedSettings, OpenedSource
from docmill.service.store import fetch_requests
from docmill.service.store.doc_sources import SourceRow
from docmill.service.store.fetch_requests import FetchRequest

log = logging.getLogger(__name__)

HOOK_PATH = "/hooks/{source_id}"
"""The address of a source, within the vault."""

RETRY_DELAYS_S = (10.0, 60.0, 300.0, 1800.0, 7200.0)
"""Before the second attempt to fetch a file, the third and so on; after the last it is refused."""

_SETUP_S = 300.0
"""Until a file is fetched again after what a person must change, as often as that takes."""
_LOOK_S = 1.0
_AT_ONCE = 4
_ADVICE = "from which nothing is fetched unless sources.allow_private_addresses is set"
_GONE = (404, 410)
_TOO_MANY = 429
_LATER = (408, 425)
_SERVER_ERROR = 500


class WebhookSettings(LimitedSettings):
    """The requests that are taken."""

    fetch: bool = Field(default=True, description="Fetch files whose address a request names")
    hosts: list[str] = Field(default=[], description="Hosts from which files are fetched; empty: from any")
    fetch_limit_s: float = Field(
        default=60, gt=0, le=600, description="Seconds for fetching one file", json_schema_extra=RARELY
    )


class WebhookSecrets(KindSettings):
    """The secret with which a program signs. previous_secret: of before, as long as both are in use."""

    secret: SecretStr | None = Field(default=None, description="Secret with which requests are signed")
    previous_secret: SecretStr | None = Field(default=None, description="Secret of before, still valid")

    @field_validator("secret", "previous_secret")
    @classmethod
    def _is_usable(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None:
            try:
                signing_key(secret.get_secret_value(), what="the secret")
            except MisconfiguredError as error:
                raise ValueError(error.message) from None
        return secret

    @property
    def keys(self) -> list[str]:
        """The secrets that are valid."""
        return [key.get_secret_value() for key in (self.secret, self.previous_secret) if key is not None]


@dataclass(frozen=True, slots=True)
class InboundWebhook:
    """`Connection` that fetches the files which requests have named."""

    settings: WebhookSettings
    secrets: WebhookSecrets
    allow_private: bool
    max_bytes: int
    box: SecretBox = field(repr=False)

    async def test(self) -> str:
        """See `Connection.test`."""
        if not self.secrets.keys:
            return "there is no secret yet: make one, and give it to the program that sends"
        return "ready for signed requests"

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`."""
        while True:
            await self.fetch_due(intake)
            await asyncio.sleep(_LOOK_S)

    async def fetch_due(self, intake: ItemIntake) -> None:
        """Fetch what is due, some files at a time."""
        async with intake.transaction() as conn:
            due = await fetch_requests.due(conn, intake.source_id, limit=_AT_ONCE)
        if due:
            with ungrouped(DocmillError):
                async with asyncio.TaskGroup() as group:
                    for request in due:
                        group.create_task(self._fetch(request, intake))

    async def _fetch(self, request: FetchRequest, intake: ItemIntake) -> None:
        try:
            url = self.box.open(request.url, owner=request.id).decode()
            taken = await intake.take(
                request.item, self._chunks(url), file_name=request.file_name, metadata=request.metadata
            )
            if taken.status != "refused":
                await intake.note_success()
        except SetupError as error:  # of ours, as a file store without access: nothing is wrong with the file
            log.warning("a file cannot be fetched", extra={"item": request.item, "code": error.code})
            async with intake.transaction() as conn:
                await fetch_requests.put_off(conn, request.id, delay_s=_SETUP_S, counts=False)
            await intake.note_problem(error)
            return
        except TransientError as error:
            if request.failures < len(RETRY_DELAYS_S):
                delay_s = max(RETRY_DELAYS_S[request.failures], getattr(error, "retry_after_s", None) or 0.0)
                async with intake.transaction() as conn:
                    await fetch_requests.put_off(conn, request.id, delay_s=delay_s)
                return
            await intake.refuse(request.item, error, metadata=request.metadata)
        except DocmillError as error:
            await intake.refuse(request.item, error, metadata=request.metadata)
        async with intake.transaction() as conn:
            await fetch_requests.remove(conn, request.id)

    async def _chunks(self, url: str) -> AsyncGenerator[bytes]:
        download = Download(
            self.settings.fetch_limit_s,
            max_redirects=5,
            allow_private=self.allow_private,
            advice=_ADVICE,
            check_size=self._check_size,
            check_address=partial(check_host, settings=self.settings),
        )
        try:
            async for piece in download.chunks(url):
                yield piece
        except HttpStatusError as error:
            raise _meaning(error, url) from error

    def _check_size(self, byte_size: int) -> None:
        if byte_size > self.max_bytes:
            raise TooLargeError(f"the file has more than {self.max_bytes / 1e6:g} MB, which is the limit")


def check_request(url: str, settings: WebhookSettings) -> None:
    """Raises ValidationError for a file that this source does not fetch."""
    if not settings.fetch:
        raise ValidationError("this source takes files, and no addresses of files")
    check_host(url, settings)


def check_host(url: str, settings: WebhookSettings) -> None:
    """Raises ValidationError for an address whose host is none of those that the source names."""
    if not settings.hosts:
        return
    try:
        host = urlsplit(url).hostname or ""
    except ValueError as error:
        raise ValidationError(f"{shown_address(url)!r} is no address") from error
    if _normal_host(host) not in {_normal_host(name) for name in settings.hosts}:
        raise ValidationError(f"files are not fetched from {host!r}; the source names the hosts")


def _normal_host(host: str) -> str:
    """A host in one spelling: an IPv6 address has many, with and without brackets."""
    host = host.strip().removeprefix("[").removesuffix("]").lower()
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def _meaning(error: HttpStatusError, url: str) -> DocmillError:
    """The error of a file whose address was answered without success."""
    status, message = error.status_code, str(error)
    wait = error.headers.get("retry-after", "")
    if status in _GONE:
        return CorruptError(f"{shown_address(url)!r} is gone (HTTP {status})")
    if status == _TOO_MANY:
        return RateLimitedError(message, retry_after_s=float(wait) if wait.isdecimal() else None)
    if status >= _SERVER_ERROR or status in _LATER:
        return ServerError(message)
    return ValidationError(message)


def _open(source: OpenedSource, settings: Settings) -> InboundWebhook:
    return InboundWebhook(
        source.settings,
        source.secrets,
        settings.sources.allow_private_addresses,
        settings.limits.file_bytes,
        open_secret_box(settings),
    )


def _address(row: SourceRow, settings: Settings) -> str | None:
    base = settings.web.public_url
    return None if base is None else base + HOOK_PATH.format(source_id=row.id)


WEBHOOK = Kind(
    "webhook",
    WebhookSettings,
    _open,
    address=_address,
    secrets=WebhookSecrets,
    new_secrets=lambda before: {
        "secret": new_signing_secret(),
        **({"previous_secret": before["secret"]} if before.get("secret") else {}),
    },
)
