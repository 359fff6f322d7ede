"""One bucket: what a source does with its objects."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError
from botocore.exceptions import HTTPClientError, IncompleteReadError

from docmill.errors import MisconfiguredError, NetworkError
from docmill.files import CHUNK_BYTES
from docmill.service.aws.client import AwsRefusedError, Operations

_GONE = frozenset({"404", "NoSuchKey", "NoSuchVersion", "405", "MethodNotAllowed"})
"""Error codes for an object that is not there; the last two are those of a deletion named as a version."""
_CHANGED = frozenset({"412", "PreconditionFailed"})
_MOST_TAGS = 10
_READ_S = 30.0
PAGE = 1000
"""The most objects in one answer."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object in a listing. etag: of its content, without quotation marks."""

    key: str
    etag: str
    size: int


class ObjectGoneError(Exception):
    """There is no such object any more."""


class OpenedObject:
    """An object whose content is still to be read. etag: of its content, without quotation marks."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.etag = str(answer["ETag"]).strip('"')
        self.size = int(answer["ContentLength"])
        self._body = answer["Body"]

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The content. Raises NetworkError if it breaks off."""
        left = self.size
        while True:
            try:
                async with asyncio.timeout(_READ_S):
                    chunk = await self._body.read(CHUNK_BYTES)
            except (ClientError, HTTPClientError, IncompleteReadError, OSError, TimeoutError) as error:
                raise NetworkError(f"an object was cut off ({type(error).__name__})") from error
            if not chunk:
                break
            left -= len(chunk)
            yield chunk
        if left:
            raise NetworkError("an object was cut off")

    def close(self) -> None:
        """Read no more of it."""
        self._body.close()


class S3Bucket:
    """The objects of one bucket. All methods raise what `Operations.call` raises."""

    def __init__(self, s3: Operations, name: str) -> None:
        self._s3 = s3
        self.name = name

    async def pages(self, prefix: str) -> AsyncGenerator[list[ListedObject]]:
        """The objects below a prefix, in batches. Raises MisconfiguredError if there is no such bucket."""
        more: dict[str, Any] = {}
        while True:
            try:
                answer = await self._s3.call(
                    "list_objects_v2", Bucket=self.name, Prefix=prefix, MaxKeys=PAGE, **more
                )
            except AwsRefusedError as error:
                if error.refusal == "NoSuchBucket":
                    raise MisconfiguredError(f"there is no bucket {self.name!r}") from error
                raise
            yield [
                ListedObject(entry["Key"], entry["ETag"].strip('"'), entry["Size"])
                for entry in answer.get("Contents", [])
            ]
            if not answer.get("IsTruncated"):
                return
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    async def open(self, key: str, version: str | None = None) -> OpenedObject:
        """The object, or one version of it. Raises ObjectGoneError."""
        chosen: dict[str, Any] = {"VersionId": version} if version else {}
        try:
            return OpenedObject(await self._s3.call("get_object", Bucket=self.name, Key=key, **chosen))
        except AwsRefusedError as error:
            if error.refusal in _GONE:
                raise ObjectGoneError from error
            raise

    async def etag(self, key: str) -> str | None:
        """The entity tag of the object as it is now; None if there is none."""
        try:
            return (await self._s3.call("head_object", Bucket=self.name, Key=key))["ETag"].strip('"')
        except AwsRefusedError as error:
            if error.refusal in _GONE:
                return None
            raise

    async def delete(self, key: str) -> None:
        """Delete an object; where versions are kept, they stay."""
        await self._s3.call("delete_object", Bucket=self.name, Key=key)

    async def tag(self, key: str, name: str, value: str) -> None:
        """Give an object a tag beside those it has. Raises MisconfiguredError if it has too many."""
        tags = (await self._s3.call("get_object_tagging", Bucket=self.name, Key=key)).get("TagSet", [])
        tag = {"Key": name, "Value": value}
        if tag in tags:
            return
        others = [other for other in tags if other["Key"] != name]
        if len(others) >= _MOST_TAGS:
            raise MisconfiguredError(f"it has {_MOST_TAGS} tags already, the most that S3 allows")
        await self._s3.call(
            "put_object_tagging", Bucket=self.name, Key=key, Tagging={"TagSet": [*others, tag]}
        )

    async def move(self, key: str, etag: str, target: str) -> None:
        """Move an object, if it still has this content; nothing is replaced but the same content.

        An object that has the name with another content leaves it a name with a part of the entity tag.
        """
        there = await self.etag(target)
        if there not in {None, etag}:
            folder, slash, name = target.rpartition("/")
            stem, dot, ending = name.rpartition(".")
            short = etag[:8]
            target = f"{folder}{slash}{stem}-{short}{dot}{ending}" if stem else f"{target}-{short}"
        if there != etag:
            try:
                await self._s3.call(
                    "copy_object",
                    Bucket=self.name,
                    Key=target,
                    CopySource={"Bucket": self.name, "Key": key},
                    CopySourceIfMatch=etag,
                )
            except AwsRefusedError as error:
                if error.refusal in _GONE | _CHANGED:
                    return
                raise
        await self.delete(key)
