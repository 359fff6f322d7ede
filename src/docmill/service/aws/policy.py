"""The permissions that the service needs in AWS, as an IAM policy for its role."""

from collections.abc import Sequence
from typing import Any

from docmill.service.config.settings import Settings

Statement = dict[str, Any]

_QUEUE = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
    "sqs:SendMessage",
)
_DEAD_QUEUE = ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage")
_SOURCE_QUEUE = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueUrl",
    "sqs:ReceiveMessage",
)
_BUCKET = ("s3:ListBucket",)
_STORED_FILES = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
_MAILS = ("s3:GetObject",)
_SOURCE_FILES = (
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:GetObjectTagging",
    "s3:GetObjectVersion",
    "s3:PutObject",
    "s3:PutObjectTagging",
)
"""For an object that was taken, which may get a tag, another name, or its end. Copies keep their tags. The
version of an object that an event names is read."""
_MAKES_QUEUES = ("sqs:CreateQueue",)
_MAKES_BUCKETS = ("s3:CreateBucket", "s3:PutLifecycleConfiguration")


def iam_policy(settings: Settings, *, account: str) -> dict[str, Any]:
    """The policy for a role under which web servers and workers with these settings run.

    account: the number of the account that has the queues; of buckets AWS names none.
    """
    aws, sources = settings.aws, settings.sources
    names = [settings.queues.ingestion]
    if settings.matching.enabled:
        names.append(settings.queues.matching)
    buckets = [settings.buckets.storage]
    takes_mails = sources.ses_domain is not None
    if takes_mails:
        names.append(settings.queues.acquisition)
        buckets.append(settings.buckets.emails)
    partition = _partition(aws.region)
    queues = f"arn:{partition}:sqs:{aws.region}:{account}:"
    all_queues = f"arn:{partition}:sqs:*:{account}:"  # those of sources may be in any region
    files = f"arn:{partition}:s3:::"
    dead = [f"{name}-dead" for name in names]
    statements = [
        _statement(_QUEUE, queues, names),
        _statement(_DEAD_QUEUE, queues, dead),
        _statement(_SOURCE_QUEUE, all_queues, sources.queues),
        _statement(_BUCKET, files, [*buckets, *sources.buckets]),
        _statement(_STORED_FILES, files, [f"{settings.buckets.storage}/*"]),
        _statement(_MAILS, files, [f"{settings.buckets.emails}/*"] if takes_mails else []),
        _statement(_SOURCE_FILES, files, [f"{name}/*" for name in sources.buckets]),
        _statement(_MAKES_QUEUES, queues, [*names, *dead] if aws.create else []),
        _statement(_MAKES_BUCKETS, files, buckets if aws.create else []),
    ]
    return {"Version": "2012-10-17", "Statement": [each for each in statements if each["Resource"]]}


def _statement(actions: Sequence[str], prefix: str, names: Sequence[str]) -> Statement:
    return {"Effect": "Allow", "Action": list(actions), "Resource": [prefix + name for name in names]}


def _partition(region: str) -> str:
    """The part of AWS in which a region lies; each has accounts and names of its own."""
    for beginning, partition in (("cn-", "aws-cn"), ("us-gov-", "aws-us-gov")):
        if region.startswith(beginning):
            return partition
    return "aws"
