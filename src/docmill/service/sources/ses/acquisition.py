"""Takes the mails that Amazon SES wrote to a bucket, each to the sources that it is addressed to."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from email.utils import parseaddr
from typing import Literal

from docmill.errors import (
    DocmillError,
    DocumentError,
    SetupError,
    TooLargeError,
    TransientError,
    ValidationError,
)
from docmill.resilience.concurrency import cancel_and_wait, keep_doing
from docmill.service.aws.client import new_session, open_operations
from docmill.service.aws.resources import bucket, queue_pair
from docmill.service.aws.sqs import LONGEST_DELAY_S, LONGEST_VISIBILITY_S, Channel, SqsMessage, SqsQueue
from docmill.service.config.settings import Settings
from docmill.service.protocol.queues import ACQUISITION
from docmill.service.sources.bucket.bucket_source import VISIBILITY_S, each, extend_visibility
from docmill.service.sources.bucket.s3_bucket import ObjectGoneError, S3Bucket
from docmill.service.sources.bucket.s3_events import UnknownMessageError
from docmill.service.sources.mail.mail_addresses import is_sender_in
from docmill.service.sources.mail.mail_item import MailItem, mail_item
from docmill.service.sources.ses.ses_messages import ReceivedMail, received_mails, tokens, with_header
from docmill.service.sources.ses.ses_source import SES, SesSettings
from docmill.service.sources.sources import Sources
from docmill.service.store import doc_sources
from docmill.service.store.database import Database
from docmill.service.store.doc_sources import SourceRow

log = logging.getLogger(__name__)

_MESSAGES = 4
"""Their mails are held in memory, up to 40 MB each, the most that SES takes."""
_WAIT_S = 20
_LEFT_S = 60.0
"""After which a message comes again that could not be dealt with; twice as long each time."""
_LONGEST_WAIT_S = 900.0
"""At most so long after a pause or an outage is over, its mails come again."""

_Outcome = Literal["filed", "waits", "unwanted"]
"""The outcome of a delivery. waits: nothing is wrong with the message, and its deliveries do not count.
unwanted: it comes again for half a day, in case a source is made, and is a dead message then."""
_LEAST_DONE: tuple[_Outcome, ...] = ("waits", "unwanted", "filed")


@dataclass(frozen=True, slots=True)
class AcquisitionPlaces:
    """The queue of mails with its dead messages, and the bucket that holds the mails."""

    channel: Channel
    dead: Channel
    max_receives: int
    bucket: S3Bucket

    @property
    def queue(self) -> SqsQueue:
        """The same as a queue with its dead messages."""
        return SqsQueue(self.channel, self.dead, max_receives=self.max_receives)


@asynccontextmanager
async def open_acquisition(settings: Settings) -> AsyncGenerator[AcquisitionPlaces]:
    """Queue and bucket, for the length of the block. Raises SetupError, TransientError."""
    aws = settings.aws
    session = new_session()
    async with (
        open_operations(session, "s3", region=aws.region, endpoint=aws.endpoint) as s3,
        open_operations(session, "sqs", region=aws.region, endpoint=aws.endpoint) as sqs,
    ):
        name = settings.buckets.emails
        await bucket(s3, name, region=aws.region, create=aws.create, setting="buckets.emails")
        pair = await queue_pair(sqs, settings.queues.acquisition, ACQUISITION, create=aws.create)
        yield AcquisitionPlaces(
            Channel(sqs, pair.url), Channel(sqs, pair.dead_url), pair.max_receives, S3Bucket(s3, name)
        )


class Acquisition:
    """Takes mails from the queue. Any number of processes may, on one database: each mail is taken once."""

    def __init__(self, sources: Sources, database: Database, settings: Settings) -> None:
        self._sources = sources
        self._database = database
        self._settings = settings

    async def work_for_ever(self) -> None:
        """Take what arrives, until cancelled."""
        await keep_doing(self._work, what="taking mails from SES", pause_s=1.0)

    async def _work(self) -> None:
        async with open_acquisition(self._settings) as places:
            while True:
                await self.take_batch(places, wait_s=_WAIT_S)

    async def take_batch(self, places: AcquisitionPlaces, *, wait_s: int) -> int:
        """Take the mails of the next few messages; the number of messages.

        A message is deleted when its mails are filed. Others come again. Only those that no source wants are
        dead messages in the end: what waits for a source or for docmill is sent anew before that.
        """
        channel = places.channel
        messages = await channel.receive(limit=_MESSAGES, wait_s=wait_s, visibility_s=VISIBILITY_S)
        if not messages:
            return 0
        working = {message.receipt for message in messages}
        extending = asyncio.create_task(extend_visibility(channel, working))

        async def heed(message: SqsMessage) -> None:
            outcome, wait_s = await self._outcome(places, message)
            working.discard(message.receipt)
            if outcome == "filed":
                await channel.delete([message.receipt])
                return
            left_s = max(wait_s, _LEFT_S * 2 ** (message.receive_count - 1))
            if outcome == "waits":
                await _wait(places, message, min(left_s, max(wait_s, _LONGEST_WAIT_S)))
            elif message.receive_count >= places.max_receives:
                log.error(
                    "a message about a mail is dead; `docmill dead messages` shows it",
                    extra={"message_id": message.id},
                )
            else:
                await channel.extend(message.receipt, min(left_s, LONGEST_VISIBILITY_S / 2))

        try:
            await each(messages, heed)
        finally:
            await cancel_and_wait([extending])
        return len(messages)

    async def _outcome(self, places: AcquisitionPlaces, message: SqsMessage) -> tuple[_Outcome, float]:
        """Take the mails of a message: the outcome, and the least seconds until it may come again."""
        outcome: _Outcome = "unwanted"
        wait_s = 0.0
        try:
            mails = received_mails(message.body)
            if all(mail.bucket == places.bucket.name for mail in mails):
                outcomes: list[_Outcome] = [await self._take(places.bucket, mail) for mail in mails]
                return min(["filed", *outcomes], key=_LEAST_DONE.index), wait_s
            reason = "a mail in another bucket"
        except UnknownMessageError:
            reason = "no message about a mail"
        except DocmillError as error:
            reason = error.code
            if isinstance(error, TransientError | SetupError):
                outcome = "waits"
                wait_s = getattr(error, "retry_after_s", None) or wait_s
        log.warning(
            "a message about a mail is left in its queue",
            extra={"reason": reason, "receives": message.receive_count, "message_id": message.id},
        )
        return outcome, wait_s

    async def _take(self, emails: S3Bucket, mail: ReceivedMail) -> _Outcome:
        """File a mail in each of its sources. It waits if one of them is paused."""
        try:
            content = await self._read(emails, mail.key)
        except ObjectGoneError:
            log.info("a mail was gone before it was taken")
            return "filed"
        mail = with_header(mail, content.head)
        recipients = tokens(mail)
        rows = await self._sources_of(list(recipients))
        if not rows:
            # It stays in the bucket, for whoever makes the source that is missing.
            log.warning("a mail is for no source", extra={"recipients": len(recipients)})
            return "unwanted"
        active = [row for row in rows if row.state == "active"]
        for row in active:
            await self._file(row, mail, content, recipients[row.settings["address_token"]])
        return "filed" if len(active) == len(rows) else "waits"

    async def _read(self, emails: S3Bucket, key: str) -> "_Content":
        """A mail; of one that is too large, the beginning. Raises ObjectGoneError."""
        opened = await emails.open(key)
        most = self._settings.limits.file_bytes
        data = bytearray()
        try:
            async with aclosing(opened.chunks()) as chunks:
                async for chunk in chunks:
                    data += chunk
                    if opened.size > most:
                        break
        finally:
            opened.close()
        head = bytes(data)
        return _Content(head, await asyncio.to_thread(mail_item, head), opened.size)

    async def _sources_of(self, found: Sequence[str]) -> list[SourceRow]:
        rows: list[SourceRow] = []
        for token in found:
            async with self._database.transaction() as conn:
                source = await doc_sources.of_token(conn, [SES.name], token)
            row = source and await self._sources.get(source[0], tenant_id=source[1])
            if row:
                rows.append(row)
        return rows

    async def _file(self, row: SourceRow, mail: ReceivedMail, content: "_Content", recipient: str) -> None:
        chosen = SesSettings.model_validate(row.settings)
        intake = self._sources.item_intake(row, longest_wait_s=0)
        metadata = {**content.item.metadata, **mail.verdicts, "key": mail.key}
        if recipient:
            metadata["recipient"] = recipient
        try:
            self._check(chosen, mail, content)
        except DocumentError as error:
            await intake.refuse(content.item.name, error, metadata=metadata)
            return
        await intake.take(
            content.item.name, _once(content.head), file_name=content.item.file_name, metadata=metadata
        )
        await intake.note_success()

    def _check(self, chosen: SesSettings, mail: ReceivedMail, content: "_Content") -> None:
        """Raises DocumentError for a mail that the source does not take."""
        most = chosen.limits.most_bytes(self._settings.limits.file_bytes)
        if content.size > most:
            raise TooLargeError(f"the mail is larger than {most / 1_000_000:g} MB")
        sender = parseaddr(str(content.item.metadata.get("sender", "")))[1]
        if not is_sender_in(sender, chosen.senders):
            raise ValidationError("the sender is not among those that the source takes mails from")
        failed = [name for name in ("spam", "virus") if mail.verdicts.get(name) == "fail"]
        if failed and chosen.suspicious == "refuse":
            raise ValidationError(f"Amazon SES takes the mail for one with {' and '.join(failed)}")


async def _wait(places: AcquisitionPlaces, message: SqsMessage, wait_s: float) -> None:
    """Have a message come again after `wait_s`. It is sent anew before its deliveries are used up."""
    if message.receive_count < places.max_receives - 1:
        await places.channel.extend(message.receipt, min(wait_s, LONGEST_VISIBILITY_S / 2))
        return
    await places.channel.send([message.body], delay_s=min(wait_s, LONGEST_DELAY_S))
    await places.channel.delete([message.receipt])


@dataclass(frozen=True, slots=True)
class _Content:
    """A mail that was read. head: all of it, unless it is too large. size: of all."""

    head: bytes
    item: MailItem
    size: int


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
