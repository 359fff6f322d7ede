"""What SQS cannot do, and what it does badly, played by a client that follows a script."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from docmill.errors import ServerError
from docmill.service.aws.client import AwsRefusedError, Operations
from docmill.service.aws.sqs import MAX_BODY_BYTES, Channel, SqsQueue
from docmill.service.ports import ExpectedMessage, Message

Answer = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


class Client:
    """Every operation is the one function given; what was asked is kept."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Callable[..., Awaitable[dict[str, Any]]]:
        async def call(**parameters: object) -> dict[str, Any]:
            self.asked.append((operation, parameters))
            return await self.answer(operation, parameters)

        return call


def queue_of(client: Client, *, clock: Callable[[], float] = time.time) -> SqsQueue:
    channel = Channel(Operations(client), "http://sqs/1/test")
    return SqsQueue(channel, channel, visibility_s=300, clock=clock)


def delivery(number: int = 0, *, sent_at: float = 0, delay_s: float | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {
        "MessageId": f"id-{number}",
        "ReceiptHandle": f"receipt-{number}",
        "Body": f"body-{number}",
        "Attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(int(sent_at * 1000))},
    }
    if delay_s is not None:
        message["MessageAttributes"] = {"delay_s": {"DataType": "Number", "StringValue": str(delay_s)}}
    return message


def failure(id_: str, code: str, *, ours: bool) -> dict[str, Any]:
    return {"Id": id_, "Code": code, "SenderFault": ours}


async def one_message(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
    return {"Messages": [delivery(sent_at=time.time())]} if operation == "receive_message" else {}


async def test_only_what_failed_is_sent_again() -> None:
    failures = [[failure("1", "InternalError", ours=False), failure("3", "InternalError", ours=False)], []]

    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Failed": failures.pop(0)}

    client = Client(answer)
    await queue_of(client).send(["a", "b", "c", "d"])

    assert [[entry["MessageBody"] for entry in asked["Entries"]] for _, asked in client.asked] == [
        ["a", "b", "c", "d"],
        ["b", "d"],
    ]


async def test_what_fails_each_time_is_an_error() -> None:
    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Failed": [failure("0", "InternalError", ours=False)]}

    client = Client(answer)
    with pytest.raises(ServerError, match="failed on 1 messages"):
        await queue_of(client).send(["a", "b"])

    assert len(client.asked) == 3


async def test_what_sqs_blames_on_us_is_not_repeated() -> None:
    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Failed": [failure("0", "InvalidMessageContents", ours=True)]}

    client = Client(answer)
    with pytest.raises(AwsRefusedError, match="InvalidMessageContents"):
        await queue_of(client).send(["a"])

    assert len(client.asked) == 1


async def test_deleting_what_is_over_is_done() -> None:
    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Failed": [failure("0", "ReceiptHandleIsInvalid", ours=True)]}

    client = Client(answer)
    await queue_of(client).delete([Message("id", "body", "receipt", 1)])

    assert len(client.asked) == 1


async def test_messages_go_in_tens() -> None:
    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {}

    client = Client(answer)
    await queue_of(client).send([str(number) for number in range(25)])

    assert sorted(len(asked["Entries"]) for _, asked in client.asked) == [5, 10, 10]


@pytest.mark.parametrize(
    "body", ["", "x" * (MAX_BODY_BYTES + 1), "ä" * MAX_BODY_BYTES, "a\0", "\x1b", "\uffff"]
)
async def test_a_body_that_sqs_cannot_carry_is_refused_before_anything_is_sent(body: str) -> None:
    client = Client(one_message)

    with pytest.raises(ValueError, match="characters that XML knows"):
        await queue_of(client).send(["fine", body])

    assert client.asked == []


async def test_a_delay_of_hours_is_honoured() -> None:
    now = 1000.0
    left = [delivery(1, sent_at=now, delay_s=7200), delivery(2, sent_at=now)]

    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Messages": left} if operation == "receive_message" else {}

    client = Client(answer)
    queue = queue_of(client, clock=lambda: now)
    await queue.send(["a"], delay_s=7200)
    now += 900
    early = await queue.receive(limit=10, wait_s=0)
    now += 6300
    due = await queue.receive(limit=10, wait_s=0)

    sent = client.asked[0][1]["Entries"][0]
    assert (sent["DelaySeconds"], sent["MessageAttributes"]["delay_s"]["StringValue"]) == (900, "7200.000000")
    assert [message.body for message in early] == ["body-2"]
    hidden = next(
        asked for operation, asked in client.asked if operation == "change_message_visibility_batch"
    )
    assert hidden["Entries"] == [{"Id": "0", "ReceiptHandle": "receipt-1", "VisibilityTimeout": 6300}]
    assert [message.body for message in due] == ["body-1", "body-2"]


async def test_a_message_that_cannot_be_hidden_again_keeps_nobody_from_the_others() -> None:
    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        if operation == "receive_message":
            return {"Messages": [delivery(1, sent_at=1000, delay_s=7200), delivery(2)]}
        raise refused("KmsDisabled")

    received = await queue_of(Client(answer), clock=lambda: 1900).receive(limit=10, wait_s=0)

    assert [message.body for message in received] == ["body-2"]


async def test_a_message_is_due_though_the_clock_of_sqs_is_ahead_of_ours() -> None:
    queue = queue_of(Client(one_message), clock=lambda: time.time() - 60)

    assert len(await queue.receive(limit=1, wait_s=0)) == 1


async def test_a_long_wait_is_made_of_polls_and_a_fraction_is_a_second() -> None:
    waits: list[int] = []

    async def answer(_operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        waits.append(asked["WaitTimeSeconds"])
        return {"Messages": [delivery(sent_at=time.time())]} if len(waits) == 2 else {}

    queue = queue_of(Client(answer))

    assert await queue.receive(limit=1, wait_s=50)
    assert waits == [20, 20]

    waits[:] = [0]
    assert await queue.receive(limit=1, wait_s=0.5)
    assert waits == [0, 1]


async def test_a_cancelled_poll_ends_and_gives_back() -> None:
    polling, answering = asyncio.Event(), asyncio.Event()

    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        if operation == "receive_message":
            polling.set()
            await answering.wait()
        return await one_message(operation, {})

    client = Client(answer)
    receiving = asyncio.create_task(queue_of(client).receive(limit=1, wait_s=20))
    await polling.wait()
    receiving.cancel()
    await asyncio.wait({receiving}, timeout=0.01)
    receiving.cancel()  # impatience changes nothing
    assert not receiving.done()
    answering.set()
    await asyncio.wait({receiving})

    assert receiving.cancelled()
    operation, asked = client.asked[-1]
    assert operation == "change_message_visibility_batch"
    assert asked["Entries"] == [{"Id": "0", "ReceiptHandle": "receipt-0", "VisibilityTimeout": 0}]


async def test_a_cancelled_poll_that_brings_nothing_just_ends() -> None:
    polling, answering = asyncio.Event(), asyncio.Event()

    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        polling.set()
        await answering.wait()
        raise ClientError({"ResponseMetadata": {"HTTPStatusCode": 500}}, "ReceiveMessage")  # pyright: ignore[reportArgumentType]  as much as is read

    client = Client(answer)
    receiving = asyncio.create_task(queue_of(client).receive(limit=1, wait_s=20))
    await polling.wait()
    receiving.cancel()
    answering.set()
    await asyncio.wait({receiving})

    assert receiving.cancelled()
    assert len(client.asked) == 1


async def test_only_a_living_delivery_is_extended_or_released() -> None:
    now = 1000.0
    client = Client(one_message)
    queue = queue_of(client, clock=lambda: now)
    (message,) = await queue.receive(limit=1, wait_s=0)
    stranger = Message("id", "body", "other", 1)
    now += 301

    assert not await queue.extend(message, visibility_s=300)
    assert not await queue.extend(stranger, visibility_s=300)
    await queue.release(message)
    await queue.release(stranger)

    assert len(client.asked) == 1


async def test_a_release_that_failed_can_be_tried_again() -> None:
    failures = [ServerError("SQS is away")]

    async def answer(operation: str, asked: dict[str, Any]) -> dict[str, Any]:
        if operation == "change_message_visibility_batch" and failures:
            raise failures.pop()
        return await one_message(operation, asked)

    client = Client(answer)
    queue = queue_of(client)
    (message,) = await queue.receive(limit=1, wait_s=0)

    with pytest.raises(ServerError):
        await queue.release(message)
    await queue.release(message)
    await queue.release(message)

    assert [operation for operation, _ in client.asked[1:]] == ["change_message_visibility_batch"] * 2


@pytest.mark.parametrize("code", ["ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"])
async def test_a_delivery_is_over_when_sqs_says_so(code: str) -> None:
    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        if operation == "change_message_visibility":
            raise refused(code)
        return await one_message(operation, {})

    client = Client(answer)
    queue = queue_of(client)
    (message,) = await queue.receive(limit=1, wait_s=0)

    assert not await queue.extend(message, visibility_s=300)
    assert not await queue.extend(message, visibility_s=300)
    assert len(client.asked) == 2


async def test_another_refusal_to_extend_is_an_error() -> None:
    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        if operation == "change_message_visibility":
            raise refused("KmsDisabled")
        return await one_message(operation, {})

    queue = queue_of(Client(answer))
    (message,) = await queue.receive(limit=1, wait_s=0)

    with pytest.raises(AwsRefusedError, match="KmsDisabled"):
        await queue.extend(message, visibility_s=300)


async def test_a_release_stays_below_twelve_hours_since_the_message_came() -> None:
    now = 1000.0
    client = Client(one_message)
    queue = queue_of(client, clock=lambda: now)
    (message,) = await queue.receive(limit=1, wait_s=0)
    now += 200

    await queue.release(message, delay_s=24 * 3600)

    assert client.asked[-1][1]["Entries"][0]["VisibilityTimeout"] == 12 * 3600 - 60 - 200


async def test_asking_for_nothing_asks_nobody() -> None:
    client = Client(one_message)
    queue = queue_of(client)

    assert await queue.unsent([]) == []
    await queue.delete([])
    await queue.send([])

    assert client.asked == []


async def test_a_message_is_unsent_when_fewer_wait_than_are_asked_for() -> None:
    async def answer(_operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        counts = {"": "1", "Delayed": "1", "NotVisible": "7"}
        return {"Attributes": {f"ApproximateNumberOfMessages{name}": count for name, count in counts.items()}}

    queue = queue_of(Client(answer))

    expected = [ExpectedMessage(body) for body in "abc"]
    assert await queue.unsent(expected[:2]) == []
    assert await queue.unsent(expected) == ["a", "b", "c"]


def refused(code: str) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return ClientError(response, "Any")


async def test_dead_messages_in_hand_are_not_looked_for_again() -> None:
    receives = 0

    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        nonlocal receives
        if operation != "receive_message":
            return {}
        receives += 1
        return {"Messages": [delivery(10 * receives + number) for number in range(10)]}

    queue = queue_of(Client(answer))
    dead = await queue.dead_messages(limit=5)

    assert (len(dead), receives) == (5, 100)
    assert await queue.purge([message.id for message in dead]) == 5
    assert receives == 100


async def test_dead_messages_are_in_hand_for_a_minute() -> None:
    now = 1000.0
    left = [[delivery(1)], [], [delivery(1)], []]

    async def answer(operation: str, _asked: dict[str, Any]) -> dict[str, Any]:
        return {"Messages": left.pop(0)} if operation == "receive_message" else {}

    queue = queue_of(Client(answer), clock=lambda: now)
    (dead,) = await queue.dead_messages(limit=5)
    now += 61

    assert await queue.redrive([dead.id]) == 1
    assert left == []
