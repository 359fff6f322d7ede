"""A bucket whose objects are documents: listed now and then, and taken at once if a queue tells of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from uuid import UUID

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    SetupError,
    TooLargeError,
    TransientError,
    ungrouped,
)
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.aws.client import AccessKey, AwsRefusedError, Operations
from docmill.service.aws.sqs import Channel, SqsMessage
from docmill.service.config.settings import Settings
from docmill.service.sources.bucket.bucket_settings import BucketSecrets, BucketSettings, check_bucket
from docmill.service.sources.bucket.s3_access import S3Access
from docmill.service.sources.bucket.s3_bucket import PAGE, ObjectGoneError, S3Bucket
from docmill.service.sources.bucket.s3_events import UnknownMessageError, new_objects
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.kinds import OpenedSource

log = logging.getLogger(__name__)

_AT_ONCE = 4
_MESSAGES = 10
_WAIT_S = 20
VISIBILITY_S = 120.0
_EXTEND_S = 40.0
_TAKEN = "taken"
_LAST_TAKEN = 20
"""Arrivals that are tagged again when a watch begins: those at which a worker may have died."""


@dataclass(slots=True)
class _Problems:
    """Objects that cannot be read or put away for now, so that a person is told once per look."""

    errors: list[str] = field(default_factory=list[str])

    def add(self, key: str, error: DocmillError) -> None:
        self.errors.append(f"{key!r}: {error.message}")

    async def tell(self, intake: ItemIntake) -> None:
        if self.errors:
            more = f"; and {len(self.errors) - 1} more" if len(self.errors) > 1 else ""
            await intake.note_problem(
                MisconfiguredError(f"an object cannot be taken: {self.errors[0]}{more}")
            )


@dataclass(frozen=True, slots=True)
class BucketSource:
    """`Connection` to a bucket. most_bytes: of an object that is read at all."""

    id: UUID
    settings: BucketSettings
    access: S3Access
    most_bytes: int

    async def test(self) -> str:
        """See `Connection.test`."""
        async with AsyncExitStack() as stack:
            bucket = await self.open_bucket(stack)
            async with aclosing(bucket.pages(self.settings.prefix)) as pages:
                listed = await anext(pages)
            if self.settings.queue is not None:
                await self._queue(stack, self.settings.queue)
        count = sum(self.settings.holds(entry.key) for entry in listed)
        more = " or more" if len(listed) == PAGE else ""
        return f"the bucket can be read; objects that can be taken: {count}{more}"

    async def watch(self, intake: ItemIntake) -> None:
        """See `Connection.watch`."""
        async with AsyncExitStack() as stack:
            bucket = await self.open_bucket(stack)
            channel = None
            if self.settings.queue is not None:
                channel = await self._queue(stack, self.settings.queue)
            with ungrouped(DocmillError):
                async with asyncio.TaskGroup() as work:
                    work.create_task(self._list_again_and_again(intake, bucket))
                    if channel is not None:
                        work.create_task(self._listen(intake, bucket, channel))

    async def open_bucket(self, stack: AsyncExitStack) -> S3Bucket:
        """The bucket, until the stack is closed."""
        s3 = await stack.enter_async_context(self.access.operations("s3"))
        return S3Bucket(s3, self.settings.bucket)

    async def _queue(self, stack: AsyncExitStack, name: str) -> Channel:
        sqs = await stack.enter_async_context(self.access.operations("sqs"))
        return Channel(sqs, await queue_url(sqs, name))

    async def _list_again_and_again(self, intake: ItemIntake, bucket: S3Bucket) -> None:
        if self.settings.after == "tag":
            problems = _Problems()
            for metadata in await intake.newest_taken(_LAST_TAKEN):
                await self._put_away(bucket, str(metadata.get("key")), str(metadata.get("etag")), problems)
            await problems.tell(intake)
        while True:
            await self.sweep(intake, bucket)
            await asyncio.sleep(self.settings.poll_s)

    async def sweep(self, intake: ItemIntake, bucket: S3Bucket) -> None:
        """List the bucket once, and take what is new."""
        problems = _Problems()
        async for page in bucket.pages(self.settings.prefix):
            keys = {_item(entry.key, entry.etag): entry for entry in page if self.settings.holds(entry.key)}
            known = await intake.known(list(keys))
            new = [entry.key for item, entry in keys.items() if item not in known]
            await each(new, partial(self._take, intake, bucket, problems=problems))
            if known and self.settings.after in {"move", "delete"}:
                for item in known - await intake.refused(list(known)):
                    await self._put_away(bucket, keys[item].key, keys[item].etag, problems)
        await intake.note_success()
        await problems.tell(intake)

    async def _listen(self, intake: ItemIntake, bucket: S3Bucket, channel: Channel) -> None:
        """Take what the queue tells of; a message is deleted when all it tells of is taken."""
        while True:
            messages = await channel.receive(limit=_MESSAGES, wait_s=_WAIT_S, visibility_s=VISIBILITY_S)
            if messages:
                await self._heed(intake, bucket, channel, messages)

    async def _heed(
        self, intake: ItemIntake, bucket: S3Bucket, channel: Channel, messages: Iterable[SqsMessage]
    ) -> None:
        problems = _Problems()
        waiting = {message.receipt for message in messages}
        extending = asyncio.create_task(extend_visibility(channel, waiting))

        async def heed(message: SqsMessage) -> None:
            if await self._take_told(intake, bucket, message, problems):
                await channel.delete([message.receipt])
            waiting.discard(message.receipt)

        try:
            await each(messages, heed)
        finally:
            await cancel_and_wait([extending])
        await problems.tell(intake)

    async def _take_told(
        self, intake: ItemIntake, bucket: S3Bucket, message: SqsMessage, problems: _Problems
    ) -> bool:
        """Take the objects of a message; False if it must come again, or is none that is understood."""
        try:
            objects = new_objects(message.body)
        except UnknownMessageError:
            objects = None
        if objects is None or any(entry.bucket != bucket.name for entry in objects):
            # It goes to the dead messages when it has come often enough.
            log.warning(
                "a message of a queue is no event of the bucket",
                extra={"source_id": str(self.id), "receives": message.receive_count},
            )
            await intake.note_problem(
                MisconfiguredError("the queue holds messages that are no events of this bucket")
            )
            return False
        taken = [
            await self._take(intake, bucket, entry.key, problems=problems, version=entry.version)
            for entry in objects
            if self.settings.holds(entry.key)
        ]
        return all(taken)

    async def _take(
        self,
        intake: ItemIntake,
        bucket: S3Bucket,
        key: str,
        *,
        problems: _Problems,
        version: str | None = None,
    ) -> bool:
        """Take an object as it is now, or a version of it; False if it cannot be read for now."""
        try:
            content = await bucket.open(key, version)
        except ObjectGoneError:
            log.info("an object was gone before it was taken", extra={"source_id": str(self.id)})
            return True
        except (SetupError, AwsRefusedError) as error:  # of one object: archived, or encrypted by others
            problems.add(key, error)
            return False
        item = _item(key, content.etag)
        metadata = {"bucket": bucket.name, "key": key, "etag": content.etag}
        if version is not None:
            metadata["version"] = version
        try:
            if item in await intake.known([item]):
                taken = not await intake.refused([item])
            elif content.size > self.most_bytes:
                await intake.refuse(item, self._too_large(), metadata=metadata)
                taken = False
            else:
                async with aclosing(content.chunks()) as chunks:
                    result = await intake.take(
                        item, chunks, file_name=key.rpartition("/")[2], metadata=metadata
                    )
                taken = result.status in {"accepted", "already_here"}
        finally:
            content.close()
        if taken:
            await self._put_away(bucket, key, content.etag, problems)
        return True

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"the object is larger than {self.most_bytes / 1_000_000:g} MB")

    async def _put_away(self, bucket: S3Bucket, key: str, etag: str, problems: _Problems) -> None:
        """Do what the settings say with an object that was taken, if it still has that content."""
        if self.settings.after == "keep":
            return
        try:
            if await bucket.etag(key) != etag:
                return
            if self.settings.after == "tag":
                await bucket.tag(key, self.settings.tag, _TAKEN)
            elif self.settings.move_to is not None:
                target = self.settings.move_to + key.removeprefix(self.settings.prefix)
                await bucket.move(key, etag, target)
            else:
                await bucket.delete(key)
        except (SetupError, AwsRefusedError) as error:
            problems.add(key, error)


def _item(key: str, etag: str) -> str:
    return f"{key} {etag}"


_Value = TypeVar("_Value")


async def each(values: Iterable[_Value], work: Callable[[_Value], Awaitable[object]]) -> None:
    """Do the work for each value, some at once; the first error ends it."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(value: _Value) -> None:
        async with free:
            await work(value)

    with ungrouped(DocmillError):
        async with asyncio.TaskGroup() as tasks:
            for value in values:
                tasks.create_task(one(value))


async def extend_visibility(channel: Channel, receipts: set[str]) -> None:
    """Keep messages hidden from others, until cancelled. receipts: of those still at work."""
    while True:
        await asyncio.sleep(_EXTEND_S)
        with suppress(TransientError):  # what comes again is known, if it was filed meanwhile
            await channel.hide(list(receipts), VISIBILITY_S)


async def queue_url(sqs: Operations, name: str) -> str:
    """The address of a queue. Raises MisconfiguredError if there is none of the name."""
    try:
        return (await sqs.call("get_queue_url", QueueName=name))["QueueUrl"]
    except AwsRefusedError as error:
        raise MisconfiguredError(f"the queue {name!r} cannot be opened: {error.refusal}") from error


def open_bucket(source: OpenedSource, settings: Settings) -> BucketSource:
    """See `Kind.open`. Raises MisconfiguredError without keys, or if the installation does not allow it."""
    chosen: BucketSettings = source.settings
    check_bucket(chosen, settings)
    access = _access(chosen, source.secrets, settings)
    return BucketSource(source.id, chosen, access, chosen.limits.most_bytes(settings.limits.file_bytes))


def _access(chosen: BucketSettings, secrets: BucketSecrets, settings: Settings) -> S3Access:
    if chosen.identity == "installation":
        return S3Access(chosen.region, settings.aws.endpoint, None, allow_private=True)
    if secrets.access_key_id is None or secrets.secret_access_key is None:
        raise MisconfiguredError("the bucket needs the secrets access_key_id and secret_access_key")
    key = AccessKey(
        secrets.access_key_id.get_secret_value(),
        secrets.secret_access_key.get_secret_value(),
        secrets.session_token.get_secret_value() if secrets.session_token else None,
    )
    allow_private = settings.sources.allow_private_addresses
    return S3Access(chosen.region, chosen.endpoint, key, allow_private=allow_private)
