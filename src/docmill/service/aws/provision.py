"""The queues and the bucket that must be there: found, or made if that is asked for."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from docmill.errors import MisconfiguredError
from docmill.service.aws.client import Operations
from docmill.service.aws.errors import AwsRefusedError

MAX_RECEIVES = 1000
"""The most that SQS allows. Attempts are counted on the ingestion; this is a net below."""

_KEPT_S = 14 * 24 * 3600
"""The longest that SQS keeps a message."""

_NO_QUEUE = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
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


async def queue_pair(sqs: Operations, name: str, *, create: bool) -> QueuePair:
    """The queue `name` and its dead-letter queue, `name` and "-dead".

    Raises MisconfiguredError if one is missing, or dead messages do not go from the one to the other.
    """
    dead_url = await _queue(sqs, f"{name}-dead", create=create)
    dead_arn = (await _attributes(sqs, dead_url, "QueueArn"))["QueueArn"]
    redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": MAX_RECEIVES})
    url = await _queue(sqs, name, create=create, attributes={"RedrivePolicy": redrive})
    policy = json.loads((await _attributes(sqs, url, "RedrivePolicy")).get("RedrivePolicy", "{}"))
    if policy.get("deadLetterTargetArn") != dead_arn:
        raise MisconfiguredError(
            f"the SQS queue {name!r} does not send dead messages to {name + '-dead'!r}; give it a redrive "
            f"policy with that target and {MAX_RECEIVES} receives (docs/how-to/deploy-on-aws.md)"
        )
    return QueuePair(url, dead_url, int(policy["maxReceiveCount"]))


async def _queue(
    sqs: Operations, name: str, *, create: bool, attributes: dict[str, str] | None = None
) -> str:
    try:
        return (await sqs.call("get_queue_url", QueueName=name))["QueueUrl"]
    except AwsRefusedError as error:
        if error.refusal not in _NO_QUEUE:
            raise
        if not create:
            raise MisconfiguredError(
                f"the SQS queue {name!r} does not exist in this account and region; create it "
                "(docs/how-to/deploy-on-aws.md), or set aws.create, or correct queues.ingestion or aws.region"
            ) from error
    wanted = {"MessageRetentionPeriod": str(_KEPT_S), **(attributes or {})}
    return (await sqs.call("create_queue", QueueName=name, Attributes=wanted))["QueueUrl"]


async def _attributes(sqs: Operations, url: str, *names: str) -> dict[str, str]:
    answer = await sqs.call("get_queue_attributes", QueueUrl=url, AttributeNames=list(names))
    return answer.get("Attributes", {})


async def bucket(s3: Operations, name: str, *, region: str, create: bool) -> None:
    """Make sure that there is a bucket. Raises MisconfiguredError if it is missing."""
    try:
        await s3.call("head_bucket", Bucket=name)
    except AwsRefusedError as error:
        if error.refusal not in _NO_BUCKET:
            raise
        if not create:
            raise MisconfiguredError(
                f"the S3 bucket {name!r} does not exist; create it (docs/how-to/deploy-on-aws.md), "
                "or set aws.create, or correct buckets.storage"
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
