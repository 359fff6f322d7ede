"""Documents at addresses of the web."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from docmill.errors import (
    CorruptError,
    MisconfiguredError,
    NetworkError,
    TimeLimitError,
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
    import h11

    from docmill.service.notify.guarded_http import Resolve, connect, resolve_host
except ModuleNotFoundError as error:
    raise MisconfiguredError("reading by HTTP needs h11; run: pip install 'docmill[service]'") from error

_CHUNK_BYTES = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)
_GONE = (404, 410)
_OK = 200
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


class HttpStatusError(Exception):
    """An answer that is no success. status_code, headers: of the answer."""

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers


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
        shown = _shown(ref.key)
        try:
            async with asyncio.timeout(self.config.limit_s):
                with IncomingContent(ref.name, self.config.max_bytes) as content:
                    await self._fetch(ref.key, shown, content)
                    return content.take()
        except UnauthorizedError as error:
            if urlsplit(ref.key).hostname in self.config.headers:  # what is sent there is wrong for all
                raise
            raise ValidationError(f"{error.message}: not everybody is given it; set headers") from error
        except TimeoutError as error:
            raise TimeLimitError(f"{shown!r} was not complete within {self.config.limit_s:g} s") from error
        except (OSError, h11.ProtocolError, EOFError) as error:
            raise NetworkError(f"{shown!r} cannot be fetched ({type(error).__name__})") from error

    async def _fetch(self, url: str, shown: str, content: IncomingContent) -> None:
        for _ in range(self.config.max_redirects + 1):
            target = await self._get(_checked(url, shown), shown, content)
            if target is None:
                return
            following = urljoin(url, target)
            if url.startswith("https:") and not following.startswith("https:"):
                raise ValidationError(f"{shown!r} leads from HTTPS to another protocol")
            url = following
        raise ValidationError(f"{shown!r} leads on more than {self.config.max_redirects} times")

    async def _get(self, parts: SplitResult, shown: str, content: IncomingContent) -> str | None:
        """Fetch the content; or where a redirect leads."""
        try:
            reader, writer = await connect(
                parts,
                repr(shown),
                allow_private=self.config.allow_private,
                advice=_ADVICE,
                resolve=self._resolve,
            )
        except MisconfiguredError as error:  # where one address leads is no reason to stop the run
            raise ValidationError(error.message) from error
        try:
            connection = h11.Connection(h11.CLIENT)
            target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            own = self.config.headers.get(parts.hostname or "", {})
            fields = [
                ("Host", parts.netloc.rpartition("@")[2]),
                ("Accept-Encoding", "identity"),
                ("User-Agent", "docmill"),
                ("Connection", "close"),
                *own.items(),
            ]
            writer.write(connection.send(h11.Request(method="GET", target=target, headers=fields)) or b"")
            writer.write(connection.send(h11.EndOfMessage()) or b"")
            await writer.drain()
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(_CHUNK_BYTES))
                elif isinstance(event, h11.Response):
                    if (location := _redirect_of(event, shown, content)) is not None:
                        return location
                elif isinstance(event, h11.Data):
                    await asyncio.to_thread(content.add, bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    return None
                elif isinstance(event, h11.ConnectionClosed):
                    raise NetworkError(f"{shown!r}: the connection was closed before the answer")
        finally:
            writer.transport.abort()


def _redirect_of(response: h11.Response, shown: str, content: IncomingContent) -> str | None:
    """Where an answer leads; None for one with content. Raises what any other answer means."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
    status = response.status_code
    if status in _REDIRECTS and "location" in headers:
        return headers["location"]
    if status in _GONE:
        raise CorruptError(f"{shown!r} is gone (HTTP {status})")
    if status != _OK:
        message = f"{shown!r} was answered with HTTP {status}"
        raise as_docmill_error(HttpStatusError(message, status, headers), "read")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise ValidationError(f"{shown!r} is sent compressed, which was not asked for")
    if headers.get("content-length", "").isdecimal():
        content.check_size(int(headers["content-length"]))
    return None


def _checked(url: str, shown: str) -> SplitResult:
    """The parts of an address. Raises ValidationError if it is none of HTTP."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        url.encode("ascii")
    except ValueError as error:
        raise ValidationError(f"{shown!r} is no address") from error
    if not is_usable or any(letter <= " " for letter in url):
        raise ValidationError(f"{shown!r} is no address of HTTP or HTTPS")
    return parts


def _shown(url: str) -> str:
    """An address without user, password and query."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, separator, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
