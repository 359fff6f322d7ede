"""The settings of a bucket as a source, and whether the installation allows them."""

from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import BucketName, Settings
from docmill.service.sources.kinds import RARELY, KindSettings, LimitedSettings


class BucketSettings(LimitedSettings):
    """The bucket, how it is reached, how new objects are noticed, and what becomes of them."""

    bucket: BucketName = Field(description="Name of the bucket")
    prefix: str = Field(default="", max_length=1024, description="Take only objects whose key begins so")
    region: str = Field(
        default="eu-central-1", pattern=r"^[a-z0-9-]{1,40}$", description="Region of the bucket"
    )
    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://[^/@?#]+/?$",
        description="Address of another service than Amazon's, such as MinIO",
        json_schema_extra=RARELY,
    )
    identity: Literal["keys", "installation"] = Field(
        default="keys", description="Sign in with keys of its own, or as the installation does"
    )
    queue: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_-]{1,80}(\.fifo)?$",
        description="Name of the SQS queue that is told of new objects",
    )
    poll_s: float = Field(
        default=300, gt=0, description="Seconds between two listings of the bucket", json_schema_extra=RARELY
    )
    after: Literal["keep", "tag", "move", "delete"] = Field(
        default="keep", description="What happens to an object that was taken"
    )
    tag: str = Field(
        default="docmill",
        pattern=r"^[A-Za-z0-9 +=._:/@-]{1,128}$",
        description="Tag that an object gets, with the value 'taken'",
        json_schema_extra=RARELY,
    )
    move_to: str | None = Field(
        default=None,
        min_length=1,
        max_length=500,
        description="Prefix under which taken objects are put, if they are moved",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.after == "move") != (self.move_to is not None):
            raise ValueError("move_to: name a prefix if objects are to be moved, and only then")
        if self.move_to is not None and self.prefix.startswith(self.move_to):
            raise ValueError("move_to: objects must not be moved to where they are taken from")
        if self.identity == "installation" and self.endpoint is not None:
            raise ValueError("endpoint: it cannot be chosen with the identity of the installation")
        return self

    def holds(self, key: str) -> bool:
        """True for the key of an object that is taken: not for one that was moved, nor for a folder's."""
        is_moved = self.move_to is not None and key.startswith(self.move_to)
        return key.startswith(self.prefix) and not key.endswith("/") and not is_moved


class BucketSecrets(KindSettings):
    """Keys of the bucket, with identity = `keys`."""

    access_key_id: SecretStr | None = None
    secret_access_key: SecretStr | None = None
    session_token: SecretStr | None = Field(default=None, json_schema_extra=RARELY)


def check_bucket(chosen: BucketSettings, settings: Settings) -> None:
    """Raises MisconfiguredError for what whoever runs the installation does not allow.

    Its identity may reach much more than people of one organisation should.
    """
    if chosen.identity == "keys":
        return
    for setting, name, allowed in (
        ("sources.buckets", chosen.bucket, settings.sources.buckets),
        ("sources.queues", chosen.queue, settings.sources.queues),
    ):
        if name is not None and name not in allowed:
            raise MisconfiguredError(
                f"{name!r} is not among {setting}, which may be reached as the installation; whoever runs it"
                " can add it there, or give this source keys of its own"
            )
