"""HTTP requests to addresses from the settings, never to a private network unless that is allowed."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from socket import SOCK_STREAM, gaierror
from urllib.parse import SplitResult, urlsplit

import h11

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    UnauthorizedError,
)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host. Raises OSError."""

_LIMIT_S = 20.0
_CHUNK_BYTES = 16_384
_MOST_BYTES = 65_536
"""Of an answer, whose body nobody reads."""
_NAT64 = ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ip_network("2000::/3")
"""All addresses of IPv6 that the internet has; `is_global` also holds for site-local and reserved ones."""
_SPECIAL = tuple(map(ip_network, ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24")))
"""Ranges of IANA's registries of special addresses (RFC 6890, 7526 and 9637) that `is_global` lets pass."""
_FORBIDDEN = (401, 403)
_TOO_MANY = 429
_SERVER_ERROR = 500


async def resolve_host(host: str, port: int) -> list[str]:
    """The addresses of a host by the system's resolver. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer. retry_after_s: as long the other side asks to wait. excerpt: the first bytes of its body."""

    status: int
    retry_after_s: float | None
    excerpt: bytes = b""

    @property
    def is_success(self) -> bool:
        """True for the successes of HTTP."""
        return 200 <= self.status < 300  # noqa: PLR2004


class GuardedHttp:
    """Posts to addresses that were checked: it connects to no other, and follows no redirect.

    allow_private: also private, loopback and link-local addresses. setting: the name of the setting that
    says so. resolve: looks up a host, once for each request. limit_s: for a whole request.
    """

    def __init__(
        self,
        *,
        allow_private: bool,
        setting: str = "notifications.allow_private_addresses",
        resolve: Resolve = resolve_host,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._allow_private = allow_private
        self._advice = f"where nothing is sent; check its address, or set {setting}"
        self._resolve = resolve
        self._limit_s = limit_s

    async def post(self, url: str, body: bytes, headers: Mapping[str, str], *, what: str) -> None:
        """Send a body. what: names the receiver in errors, since its address is a secret.

        Raises NetworkError, TimeLimitError, RateLimitedError, ServerError, UnauthorizedError,
        MisconfiguredError for a private address, a redirect and any other refusal.
        """
        if refusal := _refusal(await self.exchange(url, body, headers, what=what), what):
            raise refusal

    async def exchange(
        self, url: str, body: bytes, headers: Mapping[str, str], *, what: str, excerpt_bytes: int = 0
    ) -> HttpAnswer:
        """Send a body, and return the answer, whatever its status. what: as for `post`.

        excerpt_bytes: read as much of the answer's body unless it is a success. Raises NetworkError,
        TimeLimitError, MisconfiguredError for a private address.
        """
        parts = urlsplit(url)
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._exchange(parts, body, headers, what, excerpt_bytes)
        except TimeoutError as error:
            raise TimeLimitError(f"{what} did not answer within {self._limit_s:g} s") from error
        except (OSError, h11.ProtocolError, UnicodeError) as error:
            raise NetworkError(f"{what} cannot be reached ({type(error).__name__})") from error

    async def _exchange(
        self, parts: SplitResult, body: bytes, headers: Mapping[str, str], what: str, excerpt_bytes: int
    ) -> HttpAnswer:
        """Send the request, and read the answer as far as it is needed."""
        reader, writer = await connect(
            parts, what, allow_private=self._allow_private, advice=self._advice, resolve=self._resolve
        )
        try:
            connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_BYTES)
            target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
            fields = [("Host", parts.netloc), ("Content-Length", str(len(body))), ("Connection", "close")]
            request = h11.Request(method="POST", target=target, headers=[*fields, *headers.items()])
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            return await _read_answer(connection, reader, excerpt_bytes)
        finally:
            writer.transport.abort()


async def _read_answer(
    connection: h11.Connection, reader: asyncio.StreamReader, excerpt_bytes: int
) -> HttpAnswer:
    answer: HttpAnswer | None = None
    excerpt = b""
    while True:
        try:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(_CHUNK_BYTES))
                continue
        except (OSError, h11.ProtocolError):
            if answer is None:
                raise
            event = h11.EndOfMessage()  # the status counts, whatever became of the body
        if isinstance(event, h11.Response):
            retry_after = dict(event.headers).get(b"retry-after", b"")
            answer = HttpAnswer(event.status_code, _wait_s(retry_after.decode("ascii", "replace")))
        elif isinstance(event, h11.Data):
            excerpt += event.data
        if answer is None:
            continue
        is_read = answer.is_success or len(excerpt) >= excerpt_bytes
        if is_read or not isinstance(event, h11.Response | h11.Data):
            return HttpAnswer(answer.status, answer.retry_after_s, excerpt[:excerpt_bytes])


async def connect(
    parts: SplitResult, what: str, *, allow_private: bool, advice: str, resolve: Resolve = resolve_host
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of a host that answers, after all have been checked.

    advice: what to do where the address is a private one, which is refused unless `allow_private`. Raises
    MisconfiguredError for such a one, NetworkError if the name has no address, OSError.
    """
    host = parts.hostname or ""
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    try:
        addresses = await resolve(host, port)
    except gaierror as error:
        raise NetworkError(f"the name of the host of {what} cannot be looked up") from error
    if not allow_private and not all(map(is_public, addresses)):
        raise MisconfiguredError(f"{what} leads into a private network, {advice}")
    context = ssl.create_default_context() if is_secure else None
    failure: OSError = ConnectionError("no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, port, ssl=context, server_hostname=host if is_secure else None
            )
        except OSError as error:
            failure = error
    raise failure


def is_public(address: str) -> bool:
    """True for an address of the internet, also one that stands in another."""
    try:
        parsed: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if parsed in _NAT64:
            inner = IPv4Address(int(parsed) & 0xFFFFFFFF)
        if inner is not None:
            parsed = inner
        elif parsed.teredo is not None or parsed not in _GLOBAL_UNICAST:
            return False
    if any(parsed in network for network in _SPECIAL):
        return False
    return parsed.is_global and not parsed.is_multicast


def _wait_s(retry_after: str) -> float | None:
    """The seconds that a header `Retry-After` asks for, which has a number or a date (RFC 9110, 10.2.3)."""
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _refusal(answer: HttpAnswer, what: str) -> DocmillError | None:
    """The error that an answer means; None for a success."""
    if answer.is_success:
        return None
    status = answer.status
    message = f"{what} answered with HTTP {status}"
    if status == _TOO_MANY:
        return RateLimitedError(message, retry_after_s=answer.retry_after_s)
    if status >= _SERVER_ERROR:
        return ServerError(message)
    if status in _FORBIDDEN:
        return UnauthorizedError(f"{message}; check its address and secret")
    return MisconfiguredError(f"{message}; check its address (redirects are not followed)")
