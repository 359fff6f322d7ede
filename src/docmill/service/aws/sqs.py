"""The queue of Amazon. It knows less than a table does; the ingestion's claim makes that safe."""

import asyncio
import math
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from docmill.errors import DocmillError, ServerError, ungrouped
from docmill.resilience.concurrency import see_through, wait_until_ended
from docmill.service.aws.client import AwsRefusedError, Operations
from docmill.service.ports import DeadMessage, Depth, ExpectedMessage, Message

BATCH = 10
"""The most messages in one call."""

LONGEST_WAIT_S = 20
LONGEST_DELAY_S = 900
LONGEST_VISIBILITY_S = 12 * 3600

MAX_BODY_BYTES = 25_000
"""Ten of these fit into the 262,144 bytes that a call had for its messages until it was given more."""

_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that a message may not contain, as in XML 1.0."""

_OVER = frozenset(
    {
        "AWS.SimpleQueueService.MessageNotInflight",
        "InvalidParameterValue",  # beyond twelve hours since it was received
        "MessageNotInflight",
        "ReceiptHandleIsInvalid",
    }
)
"""Error codes of SQS for a receipt whose delivery is over."""

_TRIES = 3
_RETRY_S = 0.2
_CONCURRENT_CALLS = 10

_SLACK_S = 60
"""SQS hides no message for longer than twelve hours after it was received; we stay so far below."""

_OUT_OF_ORDER_S = 60
"""SQS delivers a group's messages about in the order in which they were sent; this much may be out of it."""

_SURELY_LOST_S = 3600
"""What has been due for so long and is in nobody's hands is sent again, whatever waits beside it."""

_FEWEST_RECEIVES = 20
"""Allowed so few receives, a message is not replaced when it waits: whoever gets it would, again and again,
and SQS delivers twice at times, so that messages would become ever more."""

_DEAD_HELD_S = 60

_DEAD_WAIT_S = 1
"""A poll that waits asks every server of SQS; one that does not may miss messages."""

_DEAD_LOOKED_AT = 1000


@dataclass(frozen=True, slots=True)
class SqsMessage:
    """A message as it came. Times are in seconds since 1970.

    due_at: if its delay travels with it. group: its MessageGroupId.
    """

    id: str
    body: str
    receipt: str
    receive_count: int
    sent_at: float
    due_at: float | None
    group: str | None


class Channel:
    """Calls about one queue. What they raise is that of `Operations.call`."""

    def __init__(self, sqs: Operations, url: str) -> None:
        self._sqs = sqs
        self._url = url

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, groups: Sequence[str | None] = ()
    ) -> None:
        """Send each message; a delay longer than SQS allows is sent as its attribute `delay_s`.

        groups: the MessageGroupId of each body, by which SQS tells tenants apart; empty for none.
        Raises ValueError, before anything is sent, for a body that SQS cannot carry.
        """
        for body in bodies:
            if not body or len(body.encode()) > MAX_BODY_BYTES or _UNFIT.search(body):
                raise ValueError(f"SQS carries 1 to {MAX_BODY_BYTES} bytes of characters that XML knows")
        timing: dict[str, Any] = {"DelaySeconds": min(math.ceil(delay_s), LONGEST_DELAY_S)}
        if delay_s > LONGEST_DELAY_S:
            timing["MessageAttributes"] = {"delay_s": {"DataType": "Number", "StringValue": f"{delay_s:f}"}}
        entries = [
            {"MessageBody": body} | timing | ({"MessageGroupId": group} if group else {})
            for body, group in zip(bodies, groups or [None] * len(bodies), strict=True)
        ]
        await self._in_batches("send_message_batch", entries)

    async def receive(self, *, limit: int, wait_s: int, visibility_s: float) -> list[SqsMessage]:
        """Up to `limit` messages, ten at most. wait_s: up to 20."""
        answer = await self._sqs.call(
            "receive_message",
            waits_s=wait_s,
            QueueUrl=self._url,
            MaxNumberOfMessages=min(limit, BATCH),
            WaitTimeSeconds=wait_s,
            VisibilityTimeout=_seconds(visibility_s),
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp", "MessageGroupId"],
            MessageAttributeNames=["delay_s"],
        )
        messages: list[SqsMessage] = []
        for message in answer.get("Messages", []):
            sent_at = int(message["Attributes"]["SentTimestamp"]) / 1000
            delay = message.get("MessageAttributes", {}).get("delay_s")
            messages.append(
                SqsMessage(
                    id=message["MessageId"],
                    body=message["Body"],
                    receipt=message["ReceiptHandle"],
                    receive_count=int(message["Attributes"]["ApproximateReceiveCount"]),
                    sent_at=sent_at,
                    due_at=sent_at + float(delay["StringValue"]) if delay else None,
                    group=message["Attributes"].get("MessageGroupId"),
                )
            )
        return messages

    async def extend(self, receipt: str, visibility_s: float) -> bool:
        """Hide a message for `visibility_s` from now. False if its delivery is over."""
        try:
            await self._sqs.call(
                "change_message_visibility",
                QueueUrl=self._url,
                ReceiptHandle=receipt,
                VisibilityTimeout=_seconds(visibility_s),
            )
        except AwsRefusedError as error:
            if error.refusal in _OVER:
                return False
            raise
        return True

    async def hide(self, receipts: Collection[str], visibility_s: float) -> None:
        """Hide messages for `visibility_s` from now, or show them again with 0; nothing if they are over."""
        entries = [
            {"ReceiptHandle": receipt, "VisibilityTimeout": _seconds(visibility_s)} for receipt in receipts
        ]
        await self._in_batches("change_message_visibility_batch", entries)

    async def delete(self, receipts: Collection[str]) -> None:
        """Delete messages; nothing if their deliveries are over."""
        await self._in_batches("delete_message_batch", [{"ReceiptHandle": receipt} for receipt in receipts])

    async def counts(self) -> tuple[int, int, int]:
        """The numbers of due, delayed and in-flight messages, as far as SQS has counted."""
        names = ("", "Delayed", "NotVisible")
        attributes = [f"ApproximateNumberOfMessages{name}" for name in names]
        answer = await self._sqs.call("get_queue_attributes", QueueUrl=self._url, AttributeNames=attributes)
        due, delayed, in_flight = (int(answer["Attributes"][attribute]) for attribute in attributes)
        return due, delayed, in_flight

    async def _in_batches(self, operation: str, entries: Sequence[dict[str, Any]]) -> None:
        free = asyncio.Semaphore(_CONCURRENT_CALLS)
        with ungrouped(DocmillError):
            async with asyncio.TaskGroup() as calls:
                for start in range(0, len(entries), BATCH):
                    calls.create_task(self._call_batch(operation, entries[start : start + BATCH], free))

    async def _call_batch(
        self, operation: str, entries: Sequence[dict[str, Any]], free: asyncio.Semaphore
    ) -> None:
        """One call, repeated for those entries that SQS failed on."""
        left = {str(index): entry for index, entry in enumerate(entries)}
        codes: set[str] = set()
        for attempt in range(_TRIES):
            named = [{"Id": id_, **entry} for id_, entry in left.items()]
            async with free:
                answer = await self._sqs.call(operation, QueueUrl=self._url, Entries=named)
            failed = [failure for failure in answer.get("Failed", []) if failure["Code"] not in _OVER]
            if not failed:
                return
            codes = {failure["Code"] for failure in failed}
            if any(failure["SenderFault"] for failure in failed):
                break
            left = {failure["Id"]: left[failure["Id"]] for failure in failed}
            await asyncio.sleep(_RETRY_S * 2**attempt)
        else:
            raise ServerError(f"SQS failed on {len(left)} messages with {operation}: {sorted(codes)}")
        raise AwsRefusedError(f"SQS refuses {operation}: {sorted(codes)}", refusal=min(codes))


def _seconds(visibility_s: float) -> int:
    return min(math.ceil(visibility_s), LONGEST_VISIBILITY_S)


@dataclass(slots=True)
class _Delivery:
    taken_at: float
    over_at: float
    group: str | None


@dataclass(frozen=True, slots=True)
class _DeadMessage:
    message: DeadMessage
    receipt: str
    sent_at: float
    over_at: float
    group: str | None


class SqsQueue:
    """`Queue` on Amazon SQS, with its native dead-letter queue.

    The tenant of a message is its MessageGroupId. With these, Amazon prefers the messages of tenants that use
    little of the workers ("fair queues"); the queue has to be a standard one.

    visibility_s: how long a delivery is hidden, whatever the queue's own setting. max_receives: that of the
    queue's redrive policy. clock: seconds since 1970.

    Times are whole seconds for SQS; a fraction counts as one more. It delays a message by up to fifteen
    minutes: a longer delay travels with the message, and who receives it early hides it again (up to twelve
    hours at a time). A message released for more than twelve hours comes back after about twelve.
    """

    def __init__(
        self,
        channel: Channel,
        dead: Channel,
        *,
        visibility_s: float = 300,
        max_receives: int = 1000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._channel = channel
        self._dead = dead
        self._visibility_s = visibility_s
        self._max_receives = max_receives
        self._clock = clock
        self._deliveries: dict[str, _Delivery] = {}
        self._held: dict[str, _DeadMessage] = {}
        self._nothing_older_than = clock()
        self._newest_of: dict[str | None, float] = {}
        """When the newest message of each group was sent that was received here."""

    async def send(
        self, bodies: Sequence[str], *, delay_s: float = 0, tenant_ids: Sequence[UUID | None] = ()
    ) -> None:
        """See `Queue.send`. Raises ValueError for a body that SQS cannot carry."""
        groups = [str(tenant_id) if tenant_id else None for tenant_id in tenant_ids]
        await self._channel.send(bodies, delay_s=delay_s, groups=groups)

    async def receive(self, *, limit: int, wait_s: float, receiver: str = "") -> list[Message]:
        """See `Queue.receive`. Never more than ten; SQS keeps no name of a receiver.

        Cancelled, it first lets the running poll end, up to 20 seconds: breaking it off could leave what SQS
        was about to deliver hidden from everybody.
        """
        del receiver
        deadline = time.monotonic() + wait_s
        left_s = wait_s
        while True:
            polling = asyncio.create_task(self._poll(limit, min(math.ceil(left_s), LONGEST_WAIT_S)))
            if await wait_until_ended(polling):
                with suppress(DocmillError):  # what cannot be given back comes back when its time is over
                    await see_through(self._give_back(polling.result()))
                raise asyncio.CancelledError
            messages = polling.result()
            left_s = deadline - time.monotonic()
            if messages or left_s <= 0:
                return messages

    async def _poll(self, limit: int, wait_s: int) -> list[Message]:
        received = await self._channel.receive(limit=limit, wait_s=wait_s, visibility_s=self._visibility_s)
        now = self._clock()
        due: list[SqsMessage] = []
        for message in received:
            if message.due_at is not None and message.due_at > now:
                with suppress(DocmillError):  # then it comes again, and is hidden again, all the sooner
                    await self._channel.hide([message.receipt], message.due_at - now)
            else:
                due.append(message)
        self._deliveries = {
            receipt: delivery for receipt, delivery in self._deliveries.items() if delivery.over_at > now
        }
        for message in due:
            self._deliveries[message.receipt] = _Delivery(now, now + self._visibility_s, message.group)
            self._nothing_older_than = max(self._nothing_older_than, message.sent_at)
            self._newest_of[message.group] = max(self._newest_of.get(message.group, 0), message.sent_at)
        return [Message(message.id, message.body, message.receipt, message.receive_count) for message in due]

    async def _give_back(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._deliveries.pop(message.receipt, None)
        await self._channel.hide([message.receipt for message in messages], 0)

    async def extend(self, message: Message, *, visibility_s: float) -> bool:
        """See `Queue.extend`. Only for a delivery of this object; when its time is over, SQS is not asked."""
        now = self._clock()
        delivery = self._deliveries.get(message.receipt)
        if delivery is None or delivery.over_at <= now:
            return False
        if not await self._channel.extend(message.receipt, visibility_s):
            self._deliveries.pop(message.receipt, None)
            return False
        delivery.over_at = now + visibility_s
        return True

    async def delete(self, messages: Sequence[Message]) -> None:
        """See `Queue.delete`."""
        await self._channel.delete([message.receipt for message in messages])
        for message in messages:
            self._deliveries.pop(message.receipt, None)

    async def release(self, message: Message, *, delay_s: float = 0, counts: bool = True) -> None:
        """See `Queue.release`. A delivery whose time is over is left alone: another may have the message.

        SQS counts every receive. Where one is not to count, the message is replaced by a new one before it
        has been received too often.
        """
        now = self._clock()
        delivery = self._deliveries.get(message.receipt)
        if delivery is None or delivery.over_at <= now:
            pass
        elif not counts and 2 * message.receive_count > self._max_receives >= _FEWEST_RECEIVES:
            await self._channel.send([message.body], delay_s=delay_s, groups=[delivery.group])
            await self._channel.delete([message.receipt])
        else:
            longest_s = LONGEST_VISIBILITY_S - _SLACK_S - (now - delivery.taken_at)
            await self._channel.hide([message.receipt], max(0, min(delay_s, longest_s)))
        self._deliveries.pop(message.receipt, None)  # not before: what has failed is tried again

    async def release_received(self, receiver: str) -> list[str]:
        """See `Queue.release_received`. Without a receipt nothing can be given back: its time has to end."""
        del receiver
        return []

    async def ping(self) -> None:
        """See `Queue.ping`."""
        await self._channel.counts()

    async def depth(self) -> Depth:
        """See `Queue.depth`. The counts are those of SQS, which lag behind by up to a minute.

        SQS does not tell the age of what waits. What waits now was sent, as a rule, after the last message
        received here, and after this object last saw nothing waiting; oldest_age_s is the time since then.
        """
        due, delayed, in_flight = await self._channel.counts()
        now = self._clock()
        if not due:
            self._nothing_older_than = now
        return Depth(due, delayed, in_flight, max(0, now - self._nothing_older_than))

    async def unsent(self, expected: Sequence[ExpectedMessage]) -> list[str]:
        """See `Queue.unsent`. SQS can only be asked how many messages wait: with too few, all are named.

        With enough, those that are overtaken: a message of the same tenant has been received here that was
        sent after they had fallen due. And those that have been due for an hour.
        """
        if not expected:
            return []
        due, delayed, _ = await self._channel.counts()
        if due + delayed < len(expected):
            return [message.body for message in expected]
        return [message.body for message in expected if self._is_overtaken(message)]

    def _is_overtaken(self, message: ExpectedMessage) -> bool:
        group = str(message.tenant_id) if message.tenant_id else None
        due_at = self._clock() - message.due_for_s
        return self._newest_of.get(group, 0) > due_at + _OUT_OF_ORDER_S or message.due_for_s > _SURELY_LOST_S

    async def dead_messages(self, *, limit: int) -> list[DeadMessage]:
        """See `Queue.dead_messages`. For a minute no other process sees them; newest means sent last."""
        await self._look_for_dead(enough=max(limit, _DEAD_LOOKED_AT))
        newest = sorted(self._held.values(), key=lambda dead: dead.sent_at, reverse=True)
        return [dead.message for dead in newest[:limit]]

    async def redrive(self, ids: Sequence[str]) -> int:
        """See `Queue.redrive`. They get new ids, and keep their tenants."""
        messages = await self._dead_with(ids)
        await self._channel.send(
            [dead.message.body for dead in messages], groups=[dead.group for dead in messages]
        )
        await self._bury(messages)
        return len(messages)

    async def purge(self, ids: Sequence[str]) -> int:
        """See `Queue.purge`."""
        messages = await self._dead_with(ids)
        await self._bury(messages)
        return len(messages)

    async def _dead_with(self, ids: Sequence[str]) -> list[_DeadMessage]:
        self._forget_released_dead()
        if any(id_ not in self._held for id_ in ids):
            await self._look_for_dead(enough=_DEAD_LOOKED_AT)
        return [self._held[id_] for id_ in dict.fromkeys(ids) if id_ in self._held]

    async def _look_for_dead(self, *, enough: int) -> None:
        """Take hold of dead messages: they are hidden for a minute, in which their receipts are good."""
        self._forget_released_dead()
        while len(self._held) < enough:
            asked_at = self._clock()
            received = await self._dead.receive(limit=enough, wait_s=_DEAD_WAIT_S, visibility_s=_DEAD_HELD_S)
            if not received:
                return
            for dead in received:
                message = DeadMessage(dead.id, dead.body, self._max_receives)
                self._held[dead.id] = _DeadMessage(
                    message, dead.receipt, dead.sent_at, asked_at + _DEAD_HELD_S, dead.group
                )

    def _forget_released_dead(self) -> None:
        now = self._clock()
        self._held = {id_: dead for id_, dead in self._held.items() if dead.over_at > now}

    async def _bury(self, messages: Sequence[_DeadMessage]) -> None:
        await self._dead.delete([message.receipt for message in messages])
        for message in messages:
            self._held.pop(message.message.id, None)
