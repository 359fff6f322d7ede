"""Requests to addresses of Google, or to others that the settings of a source name, with answers in JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)
from docmill.service.sources.json_http import JsonAnswer, JsonHttp

_MOST_BYTES = 5_000_000
_TOO_MANY, _SERVER_ERROR, _NOT_FOUND, _BAD_REQUEST = 429, 500, 404, 400
_RATE_REASONS = {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "RESOURCE_EXHAUSTED"}


class NotFoundError(MisconfiguredError):
    """There is no such thing (any more). Where nothing can be missing, it is the fault of a setting."""


@dataclass(frozen=True, slots=True)
class GoogleHttp:
    """Sends requests, and tells what refusals mean."""

    http: JsonHttp

    async def get(
        self, url: str, query: Mapping[str, str | list[str]], token: str, *, max_bytes: int = _MOST_BYTES
    ) -> dict[str, Any]:
        """Get an object. Raises TooLargeError, and as `post`."""
        target = f"{url}?{urlencode(query, doseq=True)}" if query else url
        return await self._request("GET", target, b"", {"Authorization": f"Bearer {token}"}, max_bytes)

    async def post(self, url: str, value: Mapping[str, Any], token: str) -> dict[str, Any]:
        """Post an object; the object of the answer.

        Raises NotFoundError, UnauthorizedError, MisconfiguredError, RateLimitedError, ServerError,
        NetworkError, TimeLimitError.
        """
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return await self._request("POST", url, json.dumps(value).encode(), headers)

    async def get_public(self, url: str) -> dict[str, Any]:
        """Get an object that everybody may see. Raises as `post`."""
        return await self._request("GET", url, b"", {})

    async def _request(
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], max_bytes: int = _MOST_BYTES
    ) -> dict[str, Any]:
        what = f"the address {url.partition('://')[2].partition('/')[0]!r} of the source"
        answer = await self.http.request(method, url, headers, body, what=what, max_bytes=max_bytes)
        if answer.status == _NOT_FOUND:
            raise NotFoundError(
                f"{what} knows nothing of what is asked for (HTTP 404); check api_address, label and topic"
            )
        if refusal := _refusal(answer, what):
            raise refusal
        if answer.value is None:  # taken for an empty answer, it would lose mails
            raise ServerError(f"{what} has answered with something that is no JSON object")
        return answer.value


def _refusal(answer: JsonAnswer, what: str) -> DocmillError | None:
    """The error that an answer means; None for a success. Google says of a 403 whether it may pass."""
    if answer.is_success:
        return None
    status, error = answer.status, answer.fields.get("error")
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
    if status == _BAD_REQUEST and fields:
        return MisconfiguredError(f"{what} refuses the request (HTTP 400); check label and topic")
    return UnauthorizedError(
        f"{what} refuses (HTTP {status}); check the id and secret of the application and what it may do"
    )
