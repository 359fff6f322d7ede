"""Queue and files of a service in AWS."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from docmill.service.aws.client import StoreCredentials, new_session, opened
from docmill.service.aws.provision import bucket, queue_pair
from docmill.service.aws.sqs_channel import Channel
from docmill.service.config.settings import Settings
from docmill.service.queue.sqs import SqsQueue
from docmill.service.storage.blobs import Blobs


@dataclass(frozen=True, slots=True)
class AwsResources:
    """The queue and the file store in AWS."""

    queue: SqsQueue
    blobs: Blobs


@asynccontextmanager
async def open_aws_resources(settings: Settings) -> AsyncGenerator[AwsResources]:
    """Queue and files, for the length of the block.

    Raises UnauthorizedError, or MisconfiguredError if one is missing and not to be made; both say what to do.
    NetworkError or ServerError if AWS cannot be reached.
    """
    aws, storage = settings.aws, settings.buckets.storage
    session = new_session()
    async with opened(session, "s3", region=aws.region, endpoint=aws.endpoint) as s3:
        await bucket(s3, storage, region=aws.region, create=aws.create)
    async with opened(session, "sqs", region=aws.region, endpoint=aws.endpoint) as sqs:
        pair = await queue_pair(sqs, settings.queues.ingestion, create=aws.create)
        queue = SqsQueue(
            Channel(sqs, pair.url),
            Channel(sqs, pair.dead_url),
            visibility_s=settings.worker.lease_s,
            max_receives=pair.max_receives,
        )
        blobs = Blobs.in_bucket(
            storage, region=aws.region, endpoint=aws.endpoint, credentials=StoreCredentials()
        )
        yield AwsResources(queue, blobs)
