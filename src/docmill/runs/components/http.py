"""Documents at addresses of the web."""

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from docmill.errors import (
    CorruptError,
    DocmillError,
    MisconfiguredError,
    UnauthorizedError,
    ValidationError,
)
from docmill.ports import Ref
from docmill.runs.components.config import ComponentConfig
from docmill.runs.components.temporary_files import IncomingContent
from docmill.runs.context import Context
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.failures import as_docmill_error
from docmill.runs.folder_files import DEFAULT_MAX_BYTES

try:
    from docmill.service.notify.guarded_connection import Resolve, resolve_host
    from docmill.service.notify.guarded_download import Download, HttpStatusError, shown_address
except ModuleNotFoundError as error:
    raise MisconfiguredError("reading by HTTP needs h11; run: pip install 'docmill[service]'") from error

_GONE = (404, 410)
_ADVICE = "which is not read; set allow_private if that is meant"


class HttpReaderConfig(ComponentConfig):
    """How documents are fetched.

    max_bytes: of a document; the transfer ends beyond. limit_s: for the whole document with its redirects, of
    which `max_redirects` are followed. allow_private: whether addresses of private networks are read.
    headers: to send, such as `Authorization`, by host; no other host is sent them.
    """

    max_bytes: int = DEFAULT_MAX_BYTES
    limit_s: float = 55.0
    max_redirects: int = 5
    allow_private: bool = False
    headers: Mapping[str, Mapping[str, str]] = {}


class HttpReader:
    """`Reader` of documents by HTTP and HTTPS; the key of a reference is its address.

    Every address that it connects to is checked first, also after a redirect; see `connect`. What an error
    says has no query, which may be a secret. Needs the extra `docmill[service]`.
    """

    def __init__(self, config: HttpReaderConfig | None = None, *, resolve: Resolve = resolve_host) -> None:
        self.config = config or HttpReaderConfig()
        self._resolve = resolve

    async def read(self, ref: Ref, context: Context[Any]) -> DocumentBytes:
        """See `Reader.read`. Raises RateLimitedError and ServerError with what `Retry-After` asks for."""
        del context
        with IncomingContent(ref.name, self.config.max_bytes) as content:
            download = Download(
                self.config.limit_s,
                self.config.max_redirects,
                self.config.allow_private,
                _ADVICE,
                self.config.headers,
                content.check_size,
                self._resolve,
            )
            try:
                async with aclosing(download.chunks(ref.key)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(content.add, piece)
            except HttpStatusError as error:
                raise self._meaning(error, ref.key) from error
            return content.take()

    def _meaning(self, error: HttpStatusError, url: str) -> DocmillError:
        """The error of a document whose address was answered without success."""
        if error.status_code in _GONE:
            return CorruptError(f"{shown_address(url)!r} is gone (HTTP {error.status_code})")
        meaning = as_docmill_error(error, "read")
        if not isinstance(meaning, UnauthorizedError) or urlsplit(url).hostname in self.config.headers:
            return meaning  # of 401 and 403: what is sent there is wrong for all
        return ValidationError(f"{meaning.message}: not everybody is given it; set headers")
