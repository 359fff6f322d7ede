"""Downloads from addresses of the web that others name: each is checked before it is connected to."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

import h11

from docmill.errors import MisconfiguredError, NetworkError, TimeLimitError, ValidationError
from docmill.service.notify.guarded_connection import Resolve, connect, resolve_host
from docmill.service.notify.http_exchange import AnswerHead, HttpExchange

_REDIRECTS = (301, 302, 303, 307, 308)
_OK = 200


class HttpStatusError(Exception):
    """An answer that is no success. status_code, headers: of the answer, their names in lower case."""

    def __init__(self, message: str, status_code: int, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.headers = headers


def _allow(_: object) -> None:
    """Check nothing."""


@dataclass(frozen=True, slots=True)
class Download:
    """Gets the content at addresses by HTTP and HTTPS, with redirects, each checked like the first address.

    limit_s: for the whole content. allow_private: also addresses of private networks; advice: what to do
    where one is refused. headers: to send, by host; no other host is sent them. check_size: is told the size
    that an answer announces, and raises what it wants; check_address: likewise, is told each address before
    it is connected to. Messages show no query, which may be a secret.
    """

    limit_s: float
    max_redirects: int
    allow_private: bool
    advice: str
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]], repr=False)
    check_size: Callable[[int], None] = _allow
    resolve: Resolve = resolve_host
    check_address: Callable[[str], None] = _allow

    async def chunks(self, url: str) -> AsyncGenerator[bytes]:
        """The content, piece by piece.

        Raises HttpStatusError; ValidationError for an address that cannot be used, a private one or too many
        redirects; TimeLimitError, NetworkError.
        """
        shown = shown_address(url)
        deadline = asyncio.get_running_loop().time() + self.limit_s
        try:
            for _ in range(self.max_redirects + 1):
                target = ""
                parts = _checked(url, shown)
                self.check_address(url)
                async with aclosing(self._get(parts, shown, deadline)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, str):
                            target = piece
                        else:
                            yield piece
                if not target:
                    return
                following = _following(url, target, shown)
                if url.startswith("https:") and not following.startswith("https:"):
                    raise ValidationError(f"{shown!r} leads from HTTPS to another protocol")
                url = following
            raise ValidationError(f"{shown!r} leads on more than {self.max_redirects} times")
        except TimeoutError as error:
            raise TimeLimitError(f"{shown!r} was not complete within {self.limit_s:g} s") from error
        except UnicodeError as error:  # a part of the host is empty, or too long
            raise ValidationError(f"{shown!r} is no address of a host") from error
        except (OSError, h11.ProtocolError, EOFError) as error:
            raise NetworkError(f"{shown!r} cannot be fetched ({type(error).__name__})") from error

    async def _get(self, parts: SplitResult, shown: str, deadline: float) -> AsyncGenerator[bytes | str]:
        """The content in pieces; or, as text, where a redirect leads."""
        with closing(HttpExchange(*await self._connect(parts, shown, deadline))) as exchange:
            async with asyncio.timeout_at(deadline):
                head = await exchange.ask("GET", parts, self._headers(parts))
            if (location := self._redirect_of(head, shown)) is not None:
                yield location
                return
            while True:
                async with asyncio.timeout_at(deadline):
                    piece = await exchange.next_piece()
                if not piece:
                    return
                yield piece

    async def _connect(
        self, parts: SplitResult, shown: str, deadline: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout_at(deadline):
                return await connect(
                    parts,
                    repr(shown),
                    allow_private=self.allow_private,
                    advice=self.advice,
                    resolve=self.resolve,
                )
        except MisconfiguredError as error:  # where one address leads is a fault of that address
            raise ValidationError(error.message) from error

    def _headers(self, parts: SplitResult) -> dict[str, str]:
        own = self.headers.get(parts.hostname or "", {})
        return {"Accept-Encoding": "identity", "User-Agent": "docmill", **own}

    def _redirect_of(self, head: AnswerHead, shown: str) -> str | None:
        """The address to which an answer leads; None if it has content. Raises HttpStatusError otherwise."""
        status, headers = head.status, head.headers
        if status in _REDIRECTS and headers.get("location"):
            return headers["location"]
        if status != _OK:
            raise HttpStatusError(f"{shown!r} was answered with HTTP {status}", status, headers)
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ValidationError(f"{shown!r} is sent compressed, which was not asked for")
        if headers.get("content-length", "").isdecimal():
            self.check_size(int(headers["content-length"]))
        return None


def _following(url: str, target: str, shown: str) -> str:
    """The address to which a redirect leads. Raises ValidationError."""
    try:
        return urljoin(url, target)
    except ValueError as error:
        raise ValidationError(f"{shown!r} leads to what is no address") from error


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


def shown_address(url: str) -> str:
    """An address without user, password and query."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, separator, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
