"""Requests to addresses that the settings of a source name, answered by objects in JSON."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import SplitResult, urlencode, urlsplit

from docmill.errors import MisconfiguredError
from docmill.service.notify.guarded_connection import Resolve, connect, resolve_host
from docmill.service.notify.http_exchange import AnswerHead, HttpExchange, network_errors

_ADVICE = "which sources.allow_private_addresses would have to allow"
_LIMIT_S = 60.0
_MOST_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class JsonAnswer(AnswerHead):
    """An answer. value: its object, empty for an empty answer; None if it holds anything else."""

    value: dict[str, Any] | None

    @property
    def fields(self) -> dict[str, Any]:
        """The object, or an empty one."""
        return self.value or {}


@dataclass(frozen=True, slots=True)
class JsonHttp:
    """Sends requests. allow_private: also to addresses of private networks, and without encryption."""

    allow_private: bool
    resolve: Resolve = resolve_host

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        what: str,
        max_bytes: int = _MOST_BYTES,
    ) -> JsonAnswer:
        """Send a request; the answer, whatever its status. what: names the other side in messages.

        Raises MisconfiguredError for an address that is not used, TooLargeError for an answer of more than
        `max_bytes`, NetworkError, TimeLimitError.
        """
        parts = checked_address(url, what, allow_private=self.allow_private)
        async with network_errors(what, _LIMIT_S):
            streams = await connect(
                parts, what, allow_private=self.allow_private, advice=_ADVICE, resolve=self.resolve
            )
            with closing(HttpExchange(*streams)) as exchange:
                head = await exchange.ask(method, parts, {"Accept": "application/json", **headers}, body)
                content = await exchange.body(max_bytes)
        return JsonAnswer(head.status, head.headers, await asyncio.to_thread(_object_of, content))

    async def post_form(self, url: str, form: Mapping[str, str], *, what: str) -> JsonAnswer:
        """Post a form. Raises as `request`."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.request("POST", url, headers, urlencode(form).encode(), what=what)


def checked_address(url: str, what: str, *, allow_private: bool) -> SplitResult:
    """The parts of an address. Raises MisconfiguredError for what is none, or is not encrypted."""
    try:
        parts = urlsplit(url)
        is_usable = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise MisconfiguredError(f"{what} is no address") from error
    if parts.scheme not in (("https", "http") if allow_private else ("https",)):
        raise MisconfiguredError(f"{what} must begin with https://")
    if not is_usable:
        raise MisconfiguredError(f"{what} names no host")
    return parts


def _object_of(content: bytes) -> dict[str, Any] | None:
    try:
        answer: object = json.loads(content) if content else {}
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else None
