"""Requests to addresses of Google, or to others that the settings of a source name, with answers in JSON."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, urlencode, urlsplit

import h11

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TooLargeError,
    UnauthorizedError,
)
from docmill.service.notify.guarded_http import connect

_ADVICE = "which sources.allow_private_addresses would have to allow"
_CHUNK_BYTES = 1 << 16
_LIMIT_S = 60.0
_MOST_BYTES = 5_000_000
_TOO_MANY, _SERVER_ERROR, _NOT_FOUND, _BAD_REQUEST = 429, 500, 404, 400
_RATE_REASONS = {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "RESOURCE_EXHAUSTED"}


class NotFoundError(Exception):
    """There is no such thing (any more)."""


@dataclass(frozen=True, slots=True)
class GoogleHttp:
    """Sends requests. allow_private: also to addresses of private networks, and without encryption."""

    allow_private: bool

    async def get(
        self, url: str, query: Mapping[str, str | list[str]], token: str, *, max_bytes: int = _MOST_BYTES
    ) -> dict[str, Any]:
        """Get an object. Raises NotFoundError, TooLargeError, and as `post`."""
        target = f"{url}?{urlencode(query, doseq=True)}" if query else url
        return await self._request("GET", target, b"", {"Authorization": f"Bearer {token}"}, max_bytes)

    async def post(self, url: str, value: Mapping[str, Any], token: str) -> dict[str, Any]:
        """Post an object; the object of the answer.

        Raises UnauthorizedError, MisconfiguredError, RateLimitedError, ServerError, NetworkError,
        TimeLimitError.
        """
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return await self._request("POST", url, json.dumps(value).encode(), headers, _MOST_BYTES)

    async def post_form(self, url: str, form: Mapping[str, str]) -> dict[str, Any]:
        """Post a form; the object of the answer. Raises as `post`."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self._request("POST", url, urlencode(form).encode(), headers, _MOST_BYTES)

    async def get_public(self, url: str) -> dict[str, Any]:
        """Get an object that everybody may see. Raises as `post`."""
        return await self._request("GET", url, b"", {}, _MOST_BYTES)

    async def _request(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], max_bytes: int
    ) -> dict[str, Any]:
        parts = urlsplit(url)
        what = f"the address {parts.hostname!r} of the source"
        if parts.scheme != "https" and not self.allow_private:
            raise MisconfiguredError(f"{what} must begin with https://")
        try:
            async with asyncio.timeout(_LIMIT_S):
                status, content = await self._exchange(method, parts, body, headers, max_bytes)
        except TimeoutError as error:
            raise TimeLimitError(f"{what} did not answer within {_LIMIT_S:g} s") from error
        except (OSError, h11.ProtocolError, UnicodeError) as error:
            raise NetworkError(f"{what} cannot be reached ({type(error).__name__})") from error
        try:
            answer: object = await asyncio.to_thread(json.loads, content) if content else {}
        except (ValueError, RecursionError):
            answer = None
        found = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        if status == _NOT_FOUND:
            raise NotFoundError
        if refusal := _refusal(status, found, what):
            raise refusal
        if content and not isinstance(answer, dict):  # taken for an empty answer, it would lose mails
            raise ServerError(f"{what} has answered with something that is no JSON object")
        return found

    async def _exchange(
        self, method: str, parts: SplitResult, body: bytes, headers: Mapping[str, str], max_bytes: int
    ) -> tuple[int, bytes]:
        reader, writer = await connect(parts, "the source", allow_private=self.allow_private, advice=_ADVICE)
        try:
            connection = h11.Connection(h11.CLIENT)
            request = h11.Request(
                method=method,
                target=f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}",
                headers=[
                    ("Host", parts.netloc),
                    ("Accept", "application/json"),
                    ("Content-Length", str(len(body))),
                    ("Connection", "close"),
                    *headers.items(),
                ],
            )
            for event in (request, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            status, content = 0, bytearray()
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(_CHUNK_BYTES))
                elif isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    content += event.data
                    if len(content) > max_bytes:
                        raise TooLargeError("the mail is larger than the limit")
                elif isinstance(event, h11.EndOfMessage):
                    return status, bytes(content)
                elif isinstance(event, h11.ConnectionClosed):
                    raise ConnectionResetError
        finally:
            writer.transport.abort()


def _refusal(status: int, answer: Mapping[str, Any], what: str) -> DocmillError | None:
    """The error that an answer means; None for a success. Google says of a 403 whether it may pass."""
    if 200 <= status < 300:  # noqa: PLR2004  the successes of HTTP
        return None
    error: Any = answer.get("error")
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    reasons = {str(fields.get("status"))} | {
        str(cast("dict[str, Any]", each).get("reason"))
        for each in cast("list[Any]", fields.get("errors") or [])
        if isinstance(each, dict)
    }
    if status == _TOO_MANY or reasons & _RATE_REASONS:
        return RateLimitedError(f"{what} asks to slow down", retry_after_s=60)
    if status >= _SERVER_ERROR:
        return ServerError(f"{what} answered with HTTP {status}")
    if error == "invalid_grant":
        return UnauthorizedError("the permission to read the mailbox has ended; authorize docmill again")
    if status == _BAD_REQUEST and fields:
        return MisconfiguredError(f"{what} refuses the request (HTTP 400); check label and topic")
    return UnauthorizedError(
        f"{what} refuses (HTTP {status}); check the id and secret of the application and what it may do"
    )
