"""Watches one folder of a mailbox: takes the mails that are there, and those that arrive."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from docmill.errors import CorruptError, DocmillError, TooLargeError, ungrouped
from docmill.service.intake.attachment_kinds import METADATA_KEY
from docmill.service.sources.imap import mailbox
from docmill.service.sources.imap.folder_position import FolderPosition
from docmill.service.sources.imap.imap_connection import ImapConnection
from docmill.service.sources.imap.imap_settings import ImapSettings
from docmill.service.sources.imap.mailbox import MailHead
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.mail.mail_item import mail_item

if TYPE_CHECKING:
    from pydantic import JsonValue

IDLE_S = 300.0
"""After so long, the mailbox is looked at even so, which also finds a connection that has died.

Servers may close a connection that idles for 30 minutes (RFC 2177), and many devices in between do earlier.
"""
_HEADS = 200
"""Mails whose header is asked for at once."""
_CONTENTS = 40
_CONTENT_BYTES = 16_000_000
"""Mails that are fetched at once: so many, and of this size together unless it is a single one."""
_AT_ONCE = 8
"""Mails that are filed at a time."""
_ATTEMPTS = 5
_ATTEMPT_S = 60.0
"""A mail that the server does not hand over is tried so often, at least this time apart."""
_IN_THREAD_BYTES = 1_000_000
"""The digest of a larger mail is taken in a thread."""
_ONLY_MARKS = frozenset({"nothing", "read", "flag"})


@dataclass
class FolderWatch:
    """One folder of a mailbox.

    max_bytes: of a mail; larger ones are refused before they are fetched. keep: keeps the position.
    """

    folder: str
    settings: ImapSettings
    intake: ItemIntake
    max_bytes: int
    position: FolderPosition
    keep: Callable[[str, FolderPosition], Awaitable[None]]
    _taken_before: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    _failed_tried_at: float = field(default_factory=time.monotonic)

    async def watch(self, connection: ImapConnection) -> None:
        """Take what is there and what arrives, for ever. Raises TransientError, SetupError."""
        await connection.run(
            mailbox.prepare_target, self.settings, purpose=f"make the folder {self.settings.move_to!r}"
        )
        pushes = self.settings.push and await connection.run(lambda client: client.has_capability("IDLE"))
        was_announced = False
        selected_at = 0.0
        while True:
            is_due = not was_announced or time.monotonic() > selected_at + IDLE_S
            if is_due:
                await self._select(connection)
                selected_at = time.monotonic()
                await self._try_failed_again(connection)
            await self._take_new(connection)
            if is_due:
                await self.intake.note_success()
            if pushes:
                was_announced = await connection.run(
                    mailbox.wait_for_mail, IDLE_S, limit_s=IDLE_S + 60, purpose="wait for mails"
                )
            else:
                await asyncio.sleep(self.settings.poll_s)

    async def _select(self, connection: ImapConnection) -> None:
        """Open the folder anew; where it or the rules are not those of before, begin from its first mail."""
        selected = await connection.run(
            mailbox.select, self.folder, self.settings, purpose=f"open the folder {self.folder!r}"
        )
        position, rules = self.position, self.settings.rules_digest
        if (position.uid_validity, position.rules) != (selected.uid_validity, rules):
            # A mail that is moved or deleted must be known by its whole content.
            if self.settings.afterwards in _ONLY_MARKS:
                self._taken_before = await self.intake.taken_mails()
            self.position = FolderPosition(selected.uid_validity, 0, rules)

    async def _take_new(self, connection: ImapConnection) -> None:
        more = True
        while more:
            uids, more = await connection.run(
                mailbox.new_uids, self.position.uid, self.settings, purpose="search the folder"
            )
            for batch in _batches(uids, _HEADS):
                await self._take_batch(connection, batch)
            more = more or bool(uids)  # taking them was time enough for others to arrive
        self._taken_before = set()

    async def _try_failed_again(self, connection: ImapConnection) -> None:
        if time.monotonic() < self._failed_tried_at + _ATTEMPT_S:
            return
        self._failed_tried_at = time.monotonic()
        for uids in _batches(sorted(self.position.failed), _HEADS):
            await self._take_batch(connection, uids)

    async def _take_batch(self, connection: ImapConnection, uids: Sequence[int]) -> None:
        """Take those of the mails that fit the rules. The position is kept after each portion."""
        heads, failed = await connection.run(
            partial(mailbox.fetch_heads, with_attachments=bool(self.settings.attachment_kinds)),
            uids,
            purpose="read the headers of mails",
        )
        await self._note_failed(failed)
        wanted: list[MailHead] = []
        known: list[MailHead] = []
        for head in filter(self._fits, heads):
            if head.size > self.max_bytes:
                await self._refuse_too_large(head)
            elif (head.fields.get("message_id"), head.size) in self._taken_before:
                known.append(head)
            else:
                wanted.append(head)
        await self._act_afterwards(connection, [head.uid for head in known])
        for portion in _portions(wanted):
            failed += await self._take_portion(connection, portion)
        self.position = self.position.after(uids[-1]).without_failed(set(uids) - set(failed))
        await self.keep(self.folder, self.position)

    def _fits(self, head: MailHead) -> bool:
        sender, subject = (str(head.fields.get(name) or "") for name in ("sender", "subject"))
        return self.settings.rules.take(sender, subject, head.attachments)

    async def _take_portion(self, connection: ImapConnection, heads: Sequence[MailHead]) -> list[int]:
        """Take mails, and keep the position after them; the uids of those that were not handed over."""
        uids = [head.uid for head in heads]
        contents, failed = await connection.run(
            mailbox.fetch_contents,
            uids,
            extra_bytes=2 * sum(head.size for head in heads),
            purpose="fetch mails",
        )
        await self._note_failed(failed)
        at_once = asyncio.Semaphore(_AT_ONCE)
        with ungrouped(DocmillError):
            async with asyncio.TaskGroup() as tasks:
                taking = [
                    tasks.create_task(self._take(head, contents[head.uid], at_once))
                    for head in heads
                    if head.uid in contents
                ]
        await self._act_afterwards(connection, [uid for task in taking if (uid := task.result()) is not None])
        self.position = self.position.after(uids[-1])
        await self.keep(self.folder, self.position)
        return failed

    async def _take(self, head: MailHead, content: bytes, at_once: asyncio.Semaphore) -> int | None:
        """Take one mail; its uid, unless it was refused: it stays as it is then."""
        async with at_once:
            if len(content) > _IN_THREAD_BYTES:
                item = await asyncio.to_thread(mail_item, content)
            else:
                item = mail_item(content)
            metadata: dict[str, JsonValue] = {**item.metadata, "folder": self.folder, "size": head.size}
            if self.settings.attachment_kinds:
                metadata[METADATA_KEY] = list(self.settings.attachment_kinds)
            taken = await self.intake.take(
                item.name, _once(content), file_name=item.file_name, metadata=metadata
            )
        return None if taken.status == "refused" else head.uid

    async def _act_afterwards(self, connection: ImapConnection, uids: Sequence[int]) -> None:
        await connection.run(
            mailbox.act_afterwards,
            uids,
            self.settings,
            purpose=f"do with a mail that was taken what the settings say ({self.settings.afterwards})",
        )

    async def _refuse_too_large(self, head: MailHead) -> None:
        error = TooLargeError(
            f"the mail has {head.size / 1e6:.1f} MB; {self.max_bytes / 1e6:g} MB are allowed at most"
        )
        await self.intake.refuse(
            f"{head.fields.get('message_id') or self._place(head.uid)} {head.size} bytes",
            error,
            metadata={**head.fields, "folder": self.folder, "size": head.size},
        )

    async def _note_failed(self, uids: Sequence[int]) -> None:
        """Note which mails the server did not hand over; one that failed too often is given up."""
        self.position = self.position.with_failed(uids)
        given_up = [uid for uid in uids if self.position.failed.get(uid, _ATTEMPTS) >= _ATTEMPTS]
        for uid in given_up:
            error = CorruptError("the mail server cannot hand over this mail; look at it in a mail program")
            await self.intake.refuse(self._place(uid), error, metadata={"folder": self.folder})
        self.position = self.position.without_failed(given_up)

    def _place(self, uid: int) -> str:
        return f"{self.folder} {self.position.uid_validity} {uid}"


def _portions(heads: Sequence[MailHead]) -> Iterator[list[MailHead]]:
    """The mails in portions that are fetched at once."""
    portion: list[MailHead] = []
    size = 0
    for head in heads:
        if portion and (len(portion) >= _CONTENTS or size + head.size > _CONTENT_BYTES):
            yield portion
            portion, size = [], 0
        portion.append(head)
        size += head.size
    if portion:
        yield portion


def _batches(uids: Sequence[int], count: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(uids), count):
        yield uids[start : start + count]


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
