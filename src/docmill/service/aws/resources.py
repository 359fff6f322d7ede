"""Queue and files of a service in AWS: opened, or made if that is asked for."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.service.aws.client import (
    AwsRefusedError,
    Operations,
    StoreCredentials,
    new_session,
    open_operations,
)
from docmill.service.aws.sqs import Channel, SqsQueue
from docmill.service.config.settings import Settings
from docmill.service.protocol.queues import INGESTION, MATCHING, QueuePolicy
from docmill.service.storage.blobs import Blobs

_KEPT_S = 14 * 24 * 3600
"""The longest that SQS keeps a message."""

_NO_QUEUE = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_INSTEAD = {f"queues.{MATCHING.name}": ", or set matching.enabled = false"}
"""What may be done instead of making a queue, by its setting."""
_NO_BUCKET = frozenset({str(HTTPStatus.NOT_FOUND.value), "NoSuchBucket"})
_MADE_MEANWHILE = "BucketAlreadyOwnedByYou"
_DEFAULT_REGION = "us-east-1"
_ABANDONED_UPLOADS = {
    "ID": "docmill-abandoned-uploads",
    "Status": "Enabled",
    "Filter": {"Prefix": ""},
    "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
}


@dataclass(frozen=True, slots=True)
class QueuePair:
    """A queue and its dead-letter queue, by URL."""

    url: str
    dead_url: str
    max_receives: int


async def queue_pair(sqs: Operations, name: str, policy: QueuePolicy, *, create: bool) -> QueuePair:
    """The queue `name` and its dead-letter queue, `name` and "-dead".

    Raises MisconfiguredError if one is missing, or dead messages do not go from the one to the other.
    """
    setting = f"queues.{policy.name}"
    dead_url = await _queue(sqs, f"{name}-dead", setting, create=create)
    dead_arn = (await _attributes(sqs, dead_url, "QueueArn"))["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": policy.max_receives})
    url = await _queue(sqs, name, setting, create=create, attributes={"RedrivePolicy": redrive})
    redrives = json.loads((await _attributes(sqs, url, "RedrivePolicy")).get("RedrivePolicy", "{}"))
    if redrives.get("deadLetterTargetArn") != dead_arn:
        raise MisconfiguredError(
            f"the SQS queue {name!r} does not send dead messages to {name + '-dead'!r}; give it a redrive "
            f"policy with that target and {policy.max_receives} receives (docs/how-to/deploy-on-aws.md)"
        )
    return QueuePair(url, dead_url, int(redrives["maxReceiveCount"]))


async def _queue(
    sqs: Operations, name: str, setting: str, *, create: bool, attributes: dict[str, str] | None = None
) -> str:
    try:
        return (await sqs.call("get_queue_url", QueueName=name))["QueueUrl"]
    except AwsRefusedError as error:
        if error.refusal not in _NO_QUEUE:
            raise
        if not create:
            raise MisconfiguredError(
                f"the SQS queue {name!r} does not exist in this account and region; create it "
                f"(docs/how-to/deploy-on-aws.md), or set aws.create, or correct {setting} or aws.region"
                f"{_INSTEAD.get(setting, '')}"
            ) from error
    wanted = {"MessageRetentionPeriod": str(_KEPT_S), **(attributes or {})}
    return (await sqs.call("create_queue", QueueName=name, Attributes=wanted))["QueueUrl"]


async def _attributes(sqs: Operations, url: str, *names: str) -> dict[str, str]:
    answer = await sqs.call("get_queue_attributes", QueueUrl=url, AttributeNames=list(names))
    return answer.get("Attributes", {})


async def bucket(
    s3: Operations, name: str, *, region: str, create: bool, setting: str = "buckets.storage"
) -> None:
    """Make sure that there is a bucket. Raises MisconfiguredError if it is missing."""
    try:
        await s3.call("head_bucket", Bucket=name)
    except AwsRefusedError as error:
        if error.refusal not in _NO_BUCKET:
            raise
        if not create:
            raise MisconfiguredError(
                f"the S3 bucket {name!r} does not exist; create it (docs/how-to/deploy-on-aws.md), "
                f"or set aws.create, or correct {setting}"
            ) from error
    else:
        return
    place: dict[str, Any] = {"CreateBucketConfiguration": {"LocationConstraint": region}}
    if region == _DEFAULT_REGION:  # is refused as a constraint
        place = {}
    try:
        await s3.call("create_bucket", Bucket=name, **place)
    except AwsRefusedError as error:
        if error.refusal != _MADE_MEANWHILE:
            raise
    await s3.call(
        "put_bucket_lifecycle_configuration",
        Bucket=name,
        LifecycleConfiguration={"Rules": [_ABANDONED_UPLOADS]},
    )


@dataclass(frozen=True, slots=True)
class AwsResources:
    """The queues and the file store in AWS. matching: None where nothing is matched."""

    queue: SqsQueue
    matching: SqsQueue | None
    blobs: Blobs


@asynccontextmanager
async def open_aws_resources(settings: Settings) -> AsyncGenerator[AwsResources]:
    """Queues and files, for the length of the block.

    Raises UnauthorizedError, or MisconfiguredError if one is missing and not to be made; both say what to do.
    NetworkError or ServerError if AWS cannot be reached.
    """
    aws, storage = settings.aws, settings.buckets.storage
    session = new_session()
    async with open_operations(session, "s3", region=aws.region, endpoint=aws.endpoint) as s3:
        await bucket(s3, storage, region=aws.region, create=aws.create)
    async with open_operations(session, "sqs", region=aws.region, endpoint=aws.endpoint) as sqs:
        queue = await _open_queue(
            sqs, settings.queues.ingestion, INGESTION, create=aws.create, visibility_s=settings.worker.lease_s
        )
        matching = None
        if settings.matching.enabled:
            name, visibility_s = settings.queues.matching, settings.matching.lease_s
            matching = await _open_queue(sqs, name, MATCHING, create=aws.create, visibility_s=visibility_s)
        blobs = Blobs.in_bucket(
            storage, region=aws.region, endpoint=aws.endpoint, credentials=StoreCredentials()
        )
        yield AwsResources(queue, matching, blobs)


async def _open_queue(
    sqs: Operations, name: str, policy: QueuePolicy, *, create: bool, visibility_s: float
) -> SqsQueue:
    pair = await queue_pair(sqs, name, policy, create=create)
    return SqsQueue(
        Channel(sqs, pair.url),
        Channel(sqs, pair.dead_url),
        visibility_s=visibility_s,
        max_receives=pair.max_receives,
    )
