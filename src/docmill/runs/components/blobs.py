"""Documents in buckets of S3, Google Cloud Storage and Azure, and in folders as buckets."""

import asyncio
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from docmill.errors import CorruptError, MisconfiguredError, NetworkError, ServerError
from docmill.files import is_junk
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.libraries import required
from docmill.runs.components.temporary_files import IncomingContent
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.folder_files import DEFAULT_MAX_BYTES

_SCHEMES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "file")
_CHUNK_BYTES = 1 << 20
_LISTED_AT_ONCE = 500
_CLIENT: Mapping[str, Any] = {"timeout": timedelta(seconds=60), "connect_timeout": timedelta(seconds=5)}
_RETRIES: Mapping[str, Any] = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}


class BlobConfig(ComponentConfig):
    """How a bucket is reached.

    options: of the store, as `obstore` calls them: `endpoint`, `region`, `access_key_id`, `skip_signature`;
    what is not given is taken from the environment, as the provider's own tools do. allow_http: whether the
    endpoint may be without encryption.
    """

    options: Mapping[str, str] = {}
    allow_http: bool = False


class BlobListerConfig(BlobConfig):
    """url: a bucket and the beginning of keys: `s3://bucket/invoices/`, `gs://…`, `az://container/…`."""

    url: str


class BlobReaderConfig(BlobConfig):
    """max_bytes: of a file; larger ones are refused before they are read."""

    max_bytes: int = DEFAULT_MAX_BYTES


class BlobLister:
    """`Lister` of the files of a bucket whose keys are below a prefix, page by page.

    The keys of the references are addresses, such as `s3://bucket/invoices/1.pdf`. Needs the extra
    `docmill[service]`.
    """

    def __init__(self, config: BlobListerConfig | str) -> None:
        self.config = config if isinstance(config, BlobListerConfig) else BlobListerConfig(url=config)

    async def list(self, context: Context[Any]) -> AsyncIterator[Ref]:
        """See `Lister.list`."""
        del context
        root, prefix = _parted(self.config.url)
        store = _opened_store(root, self.config)
        return self._refs(store, root, prefix)

    async def _refs(self, store: Any, root: str, prefix: str) -> AsyncIterator[Ref]:  # noqa: ANN401
        obstore = _obstore()
        with _translated(self.config.url):
            async for batch in obstore.list(store, prefix=prefix or None, chunk_size=_LISTED_AT_ONCE):
                for entry in batch:
                    key: str = entry["path"]
                    name = key.rpartition("/")[2]
                    if not name or is_junk(name):
                        continue
                    yield Ref(f"{root}/{quote(key)}", name, version=_version(entry))


class BlobReader:
    """`Reader` of files in buckets; the key of a reference is its address, as `BlobLister` gives it."""

    def __init__(self, config: BlobReaderConfig | None = None) -> None:
        self.config = config or BlobReaderConfig()
        self._stores: dict[str, Any] = {}

    async def read(self, ref: Ref, context: Context[Any]) -> DocumentBytes:
        """See `Reader.read`."""
        del context
        root, key = _parted(ref.key)
        store = self._stores.get(root)
        if store is None:
            store = self._stores[root] = _opened_store(root, self.config)
        with _translated(ref.key), IncomingContent(ref.name, self.config.max_bytes) as content:
            answer = await _obstore().get_async(store, key)
            content.check_size(answer.meta["size"])
            async for chunk in answer.stream(min_chunk_size=_CHUNK_BYTES):
                await asyncio.to_thread(content.add, bytes(chunk))
            return content.take()


def _obstore() -> Any:  # noqa: ANN401  see `required`
    return required("obstore", "service")


def _parted(url: str) -> tuple[str, str]:
    """The address of a store, and the key below it."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or (not parts.netloc and parts.scheme != "file"):
        raise MisconfiguredError(
            f"{url!r} is no address of a bucket; write s3://bucket/prefix, gs://… or az://…"
        )
    key = parts.path if not parts.query and not parts.fragment else url.partition(parts.netloc)[2]
    return f"{parts.scheme}://{parts.netloc}", unquote(key).lstrip("/")


def _opened_store(root: str, config: BlobConfig) -> Any:  # noqa: ANN401  one of several classes
    from_url: Any = _obstore().store.from_url
    try:
        if root.startswith("file:"):
            return from_url("file:///")
        client = {**_CLIENT, "allow_http": config.allow_http}
        return from_url(root, client_options=client, retry_config=_RETRIES, **config.options)
    except Exception as error:
        if isinstance(error, TypeError | ValueError) or type(error).__module__.startswith("obstore"):
            raise MisconfiguredError(f"the store {root!r} cannot be opened: {_first_line(error)}") from error
        raise


def _version(entry: Mapping[str, Any]) -> str:
    """The ETag of a file, or else its size and when it was last changed."""
    tag: str | None = entry.get("e_tag")
    changed: datetime = entry["last_modified"]
    return tag or f"{entry['size']}-{changed.isoformat()}"


@contextmanager
def _translated(where: str) -> Generator[None]:
    exceptions: Any = _obstore().exceptions
    try:
        yield
    except (exceptions.NotFoundError, FileNotFoundError) as error:
        raise CorruptError(f"{where!r} is gone") from error
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, PermissionError) as error:
        raise MisconfiguredError(
            f"access to {where!r} is denied; check the credentials and rights"
        ) from error
    except exceptions.GenericError as error:
        raise ServerError(f"cannot read {where!r}: {_first_line(error)}") from error
    except exceptions.BaseError as error:
        raise NetworkError(f"cannot read {where!r}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
