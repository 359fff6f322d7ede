"""The kind `bucket`; what it needs of AWS is loaded when a bucket is opened."""

from docmill.errors import MisconfiguredError
from docmill.service.config.settings import Settings
from docmill.service.sources.bucket.bucket_settings import BucketSecrets, BucketSettings, check_bucket
from docmill.service.sources.kinds import Connection, Kind, OpenedSource


def _open(source: OpenedSource, settings: Settings) -> Connection:
    try:
        from docmill.service.sources.bucket.bucket_source import open_bucket  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        raise MisconfiguredError(f"a bucket needs {error.name!r}; run: pip install 'docmill[aws]'") from error
    return open_bucket(source, settings)


BUCKET = Kind(
    "bucket",
    BucketSettings,
    _open,
    secrets=BucketSecrets,
    check=check_bucket,
    secret_targets=("endpoint",),
)
