"""HTTP requests to addresses from the settings, never to a private network unless that is allowed."""

from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import h11

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)
from docmill.service.notify.guarded_connection import Resolve, connect, resolve_host
from docmill.service.notify.http_exchange import AnswerHead, HttpExchange, network_errors

_LIMIT_S = 20.0
_FORBIDDEN = (401, 403)
_TOO_MANY = 429
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class HttpAnswer(AnswerHead):
    """An answer. excerpt: the first bytes of its body."""

    excerpt: bytes

    @property
    def retry_after_s(self) -> float | None:
        """The seconds that the other side asks to wait; None if it asks for nothing."""
        return _wait_s(self.headers.get("retry-after", ""))


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
        async with network_errors(what, self._limit_s):
            parts = urlsplit(url)
            streams = await connect(
                parts, what, allow_private=self._allow_private, advice=self._advice, resolve=self._resolve
            )
            with closing(HttpExchange(*streams)) as exchange:
                head = await exchange.ask("POST", parts, headers, body)
                excerpt = b"" if head.is_success else await _excerpt(exchange, excerpt_bytes)
                return HttpAnswer(head.status, head.headers, excerpt)


async def _excerpt(exchange: HttpExchange, most_bytes: int) -> bytes:
    """The first bytes of an answer's body. The status counts, whatever becomes of the body."""
    excerpt = b""
    with suppress(OSError, h11.ProtocolError):
        while len(excerpt) < most_bytes and (piece := await exchange.next_piece()):
            excerpt += piece
    return excerpt[:most_bytes]


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
