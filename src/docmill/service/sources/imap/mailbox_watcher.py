"""A mailbox in use: each of its folders is watched over a connection of its own."""

import asyncio
from dataclasses import dataclass, field

from pydantic import JsonValue, SecretStr

from docmill.errors import DocmillError, ungrouped
from docmill.service.config.settings import Settings
from docmill.service.sources.access_tokens import AccessTokens
from docmill.service.sources.imap import mailbox
from docmill.service.sources.imap.folder_position import FolderPosition
from docmill.service.sources.imap.folder_watch import FolderWatch
from docmill.service.sources.imap.imap_settings import ImapSecrets, ImapSettings, oauth_client
from docmill.service.sources.imap.imap_sign_in import MailServer
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.json_http import JsonHttp
from docmill.service.sources.kinds import OpenedSource


@dataclass
class MailboxWatcher:
    """`Connection` to a mailbox: over one connection for each folder.

    positions: of the folders, as they are kept.
    """

    settings: ImapSettings
    server: MailServer
    max_bytes: int
    positions: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    async def test(self) -> str:
        """See `Connection.test`."""
        found: list[str] = []
        async with self.server.connection() as connection:
            for folder in self.settings.folders:
                selected = await connection.run(
                    mailbox.select, folder, self.settings, purpose=f"open the folder {folder!r}"
                )
                found.append(f"mails in {folder}: {selected.count}")
            pushes = await connection.run(lambda client: client.has_capability("IDLE"))
        how = "says at once that a mail arrived" if pushes else f"is asked every {self.settings.poll_s:g} s"
        return f"signed in; {', '.join(found)}; the server {how}"

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`."""
        with ungrouped(DocmillError):
            async with asyncio.TaskGroup() as tasks:
                for folder in self.settings.folders:
                    tasks.create_task(self._watch_folder(folder, intake))

    async def _watch_folder(self, folder: str, intake: ItemIntake) -> None:
        async def keep(folder: str, position: FolderPosition) -> None:
            if self.positions.get(folder) != position.as_json():
                self.positions[folder] = position.as_json()
                await intake.keep_position(dict(self.positions))

        watch = FolderWatch(
            folder,
            self.settings,
            intake,
            self.max_bytes,
            FolderPosition.from_json(self.positions.get(folder)),
            keep,
        )
        async with self.server.connection() as connection:
            await watch.watch(connection)


def open_mailbox(source: OpenedSource, settings: Settings) -> MailboxWatcher:
    """The mailbox of a source; nothing is connected to yet."""
    chosen: ImapSettings = source.settings
    secrets: ImapSecrets = source.secrets
    allow_private = settings.sources.allow_private_addresses
    tokens = None if chosen.sign_in == "password" else _access_tokens(source, JsonHttp(allow_private))
    own_mb = chosen.limits.file_mb
    max_bytes = settings.limits.file_bytes
    return MailboxWatcher(
        chosen,
        MailServer(chosen, secrets, tokens, allow_private),
        max_bytes if own_mb is None else min(max_bytes, round(own_mb * 1_000_000)),
        dict(source.position) if isinstance(source.position, dict) else {},
    )


def _access_tokens(source: OpenedSource, http: JsonHttp) -> AccessTokens:
    chosen: ImapSettings = source.settings
    secrets: ImapSecrets = source.secrets

    async def keep(refresh_token: SecretStr) -> None:
        await source.keep_secrets(secrets.model_copy(update={"refresh_token": refresh_token}))

    client = oauth_client(chosen, secrets.client_secret)
    return AccessTokens(client, secrets.refresh_token, http, keep=keep)
