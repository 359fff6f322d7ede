"""Message groups in SQS, by which Amazon tells tenants apart; the emulators keep them and make no turns."""

import asyncio

from docmill.service.aws.client import Operations


async def receive_groups(sqs: Operations, url: str, count: int) -> list[tuple[str, str | None]]:
    """Take the next `count` messages out of a queue; the body and group of each, ordered by body."""
    groups: list[tuple[str, str | None]] = []
    async with asyncio.timeout(30):
        while len(groups) < count:
            answer = await sqs.call(
                "receive_message",
                waits_s=1,
                QueueUrl=url,
                WaitTimeSeconds=1,
                AttributeNames=["MessageGroupId"],
            )
            for message in answer.get("Messages", []):
                groups.append((message["Body"], message.get("Attributes", {}).get("MessageGroupId")))
                await sqs.call("delete_message", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return sorted(groups)
