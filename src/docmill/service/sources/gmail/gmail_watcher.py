"""A watch over a mailbox of Gmail."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict, ValidationError

from docmill.errors import MisconfiguredError, TooLargeError
from docmill.service.config.settings import Settings
from docmill.service.sources.access_tokens import AccessTokens, OAuthClient
from docmill.service.sources.authorization import PermissionServer
from docmill.service.sources.gmail.gmail_api import GmailApi
from docmill.service.sources.gmail.gmail_settings import GmailSecrets, GmailSettings
from docmill.service.sources.gmail.google_http import GoogleHttp
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.json_http import JsonHttp
from docmill.service.sources.kinds import Kind, OpenedSource
from docmill.service.sources.mail.mail_item import mail_item
from docmill.service.store.doc_sources import SourceRow

_RENEW = timedelta(days=1)
"""Google ends a watch after seven days, and asks to renew it each day."""
_SCOPE = "https://www.googleapis.com/auth/gmail.readonly"
PUSH_PATH = "/hooks/gmail/{source_id}"


class _Position(BaseModel):
    """The end of what was read. since: when the source began, None if it takes what was there before.

    address: of the mailbox; that of another, to which the source was changed, has other positions.
    """

    model_config = ConfigDict(frozen=True)

    address: str
    label: str
    history_id: str
    since: datetime | None = None


@dataclass(slots=True)
class GmailWatcher:
    """`Connection` to a mailbox. max_bytes: of a mail."""

    source: OpenedSource
    api: GmailApi
    max_bytes: int

    @property
    def _settings(self) -> GmailSettings:
        return self.source.settings

    async def test(self) -> str:
        """See `Connection.test`."""
        await self._label_id()
        address, _ = await self.api.profile()
        return f"the mailbox {address} can be read"

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`. A push wakes it at once; without one it looks every `poll_s`."""
        label_id = await self._label_id()
        address, _ = await self.api.profile()
        position = self._kept(address, label_id)
        if position is None:
            position = await self._begin(intake, label_id)
        renew_at = datetime.now(UTC)
        while True:
            notice = intake.next_notice()
            if self._settings.topic and datetime.now(UTC) >= renew_at:
                ends_at = await self.api.watch(self._settings.topic, label_id)
                renew_at = min(
                    datetime.now(UTC) + _RENEW, max(ends_at - _RENEW, datetime.now(UTC) + _RENEW / 24)
                )
            position = await self._follow(intake, label_id, position)
            await intake.note_success()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.poll_s):
                    await notice.wait()

    async def _begin(self, intake: ItemIntake, label_id: str) -> _Position:
        """Take what is there, if that is wanted; the position from which to follow."""
        # Before the list: what comes meanwhile is not missed.
        address, history_id = await self.api.profile()
        since = datetime.now(UTC) if self._settings.start == "new" else None
        position = _Position(address=address, label=label_id, history_id=history_id, since=since)
        if since is None:
            await self._take_all(intake, position)
        await intake.keep_position(position.model_dump(mode="json"))
        return position

    async def _follow(self, intake: ItemIntake, label_id: str, position: _Position) -> _Position:
        """Take what came since a position; the new one, kept only after all is taken."""
        history = await self.api.history(position.history_id, label_id)
        if history is None:  # Google keeps about a week
            _, history_id = await self.api.profile()
            await self._take_all(intake, position)
            moved = position.model_copy(update={"history_id": history_id})
        else:
            await self._take(intake, history.message_ids)
            moved = position.model_copy(update={"history_id": history.position})
        if moved != position:
            await intake.keep_position(moved.model_dump(mode="json"))
        return moved

    async def _take_all(self, intake: ItemIntake, position: _Position) -> None:
        async for message_ids in self.api.message_ids(position.label, position.since):
            await self._take(intake, message_ids)

    async def _take(self, intake: ItemIntake, message_ids: list[str]) -> None:
        known = await intake.known(message_ids)
        for message_id in message_ids:
            if message_id in known:
                continue
            try:
                content = await self.api.content(message_id, max_bytes=self.max_bytes)
            except TooLargeError as error:
                await intake.refuse(message_id, error, metadata={})
                continue
            if content is None:  # it was deleted meanwhile
                continue
            mail = mail_item(content)
            # The id of Gmail names this content alone, and is known before the mail is fetched.
            await intake.take(message_id, _once(content), file_name=mail.file_name, metadata=mail.metadata)

    async def _label_id(self) -> str:
        found = await self.api.label_id(self._settings.label)
        if found is None:
            raise MisconfiguredError(f"the mailbox has no label {self._settings.label!r}")
        return found

    def _kept(self, address: str, label_id: str) -> _Position | None:
        """The position of before, unless another mailbox or label was chosen since."""
        try:
            position = _Position.model_validate(self.source.position)
        except ValidationError:
            return None
        return position if (position.address, position.label) == (address, label_id) else None


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def push_address(row: SourceRow, settings: Settings) -> str | None:
    """The address to which Pub/Sub pushes; None where nobody knows under what name the vault is reached."""
    base = settings.web.public_url
    return None if base is None else base + PUSH_PATH.format(source_id=row.id)


def _open(source: OpenedSource, settings: Settings) -> GmailWatcher:
    chosen, secrets = source.settings, source.secrets
    assert isinstance(chosen, GmailSettings)
    assert isinstance(secrets, GmailSecrets)
    http = JsonHttp(settings.sources.allow_private_addresses)
    tokens = AccessTokens(_client(chosen, secrets), secrets.refresh_token, http)
    api = GmailApi(chosen.api_address, tokens, GoogleHttp(http))
    return GmailWatcher(source, api, settings.limits.file_bytes)


def _client(chosen: GmailSettings, secrets: GmailSecrets) -> OAuthClient:
    return OAuthClient(chosen.token_address, chosen.client_id, secrets.client_secret)


def _permission_server(source: OpenedSource) -> PermissionServer:
    chosen: GmailSettings = source.settings
    client = replace(_client(chosen, source.secrets), scope=_SCOPE)
    return PermissionServer(chosen.authorization_address, client)


def _check(chosen: GmailSettings, settings: Settings) -> None:
    if chosen.topic and not chosen.push_account:
        raise MisconfiguredError("a topic needs push_account, the service account that signs its pushes")
    if chosen.topic and not chosen.audience and settings.web.public_url is None:
        raise MisconfiguredError("a topic needs web.public_url, below which Google pushes, or an audience")


GMAIL = Kind(
    "gmail",
    GmailSettings,
    _open,
    secrets=GmailSecrets,
    check=_check,
    address=push_address,
    secret_targets=("api_address", "token_address"),
    permission_server=_permission_server,
)
