"""One queue of Amazon SQS, spoken to in batches."""

import asyncio
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from docmill.errors import DocmillError, ServerError, first_of
from docmill.service.aws.client import Operations
from docmill.service.aws.errors import AwsRefusedError

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


@dataclass(frozen=True, slots=True)
class SqsMessage:
    """A message as it came. Times are in seconds since 1970. due_at: if its delay travels with it."""

    id: str
    body: str
    receipt: str
    receive_count: int
    sent_at: float
    due_at: float | None


class Channel:
    """Calls about one queue. What they raise is that of `Operations.call`."""

    def __init__(self, sqs: Operations, url: str) -> None:
        self._sqs = sqs
        self._url = url

    async def send(self, bodies: Sequence[str], *, delay_s: float = 0) -> None:
        """Send each message; a delay longer than SQS allows is sent as its attribute `delay_s`.

        Raises ValueError, before anything is sent, for a body that SQS cannot carry.
        """
        for body in bodies:
            if not body or len(body.encode()) > MAX_BODY_BYTES or _UNFIT.search(body):
                raise ValueError(f"SQS carries 1 to {MAX_BODY_BYTES} bytes of characters that XML knows")
        timing: dict[str, Any] = {"DelaySeconds": min(math.ceil(delay_s), LONGEST_DELAY_S)}
        if delay_s > LONGEST_DELAY_S:
            timing["MessageAttributes"] = {"delay_s": {"DataType": "Number", "StringValue": f"{delay_s:f}"}}
        await self._in_batches("send_message_batch", [{"MessageBody": body} | timing for body in bodies])

    async def receive(self, *, limit: int, wait_s: int, visibility_s: float) -> list[SqsMessage]:
        """Up to `limit` messages, ten at most. wait_s: up to 20."""
        answer = await self._sqs.call(
            "receive_message",
            waits_s=wait_s,
            QueueUrl=self._url,
            MaxNumberOfMessages=min(limit, BATCH),
            WaitTimeSeconds=wait_s,
            VisibilityTimeout=_seconds(visibility_s),
            MessageSystemAttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
            MessageAttributeNames=["delay_s"],
        )
        return [_received(message) for message in answer.get("Messages", [])]

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

        async def call(batch: Sequence[dict[str, Any]]) -> None:
            async with free:
                await self._batch(operation, batch)

        try:
            async with asyncio.TaskGroup() as calls:
                for start in range(0, len(entries), BATCH):
                    calls.create_task(call(entries[start : start + BATCH]))
        except* DocmillError as errors:
            raise first_of(errors) from errors

    async def _batch(self, operation: str, entries: Sequence[dict[str, Any]]) -> None:
        """One call, repeated for those entries that SQS failed on."""
        left = {str(index): entry for index, entry in enumerate(entries)}
        codes: set[str] = set()
        for attempt in range(_TRIES):
            named = [{"Id": id_, **entry} for id_, entry in left.items()]
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


def _received(message: dict[str, Any]) -> SqsMessage:
    sent_at = int(message["Attributes"]["SentTimestamp"]) / 1000
    delay = message.get("MessageAttributes", {}).get("delay_s")
    return SqsMessage(
        id=message["MessageId"],
        body=message["Body"],
        receipt=message["ReceiptHandle"],
        receive_count=int(message["Attributes"]["ApproximateReceiveCount"]),
        sent_at=sent_at,
        due_at=sent_at + float(delay["StringValue"]) if delay else None,
    )
