"""Access tokens of OAuth 2 from a refresh token (RFC 6749, 6)."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import SecretStr

from docmill.errors import (
    MisconfiguredError,
    RateLimitedError,
    ServerError,
    TooLargeError,
    UnauthorizedError,
)
from docmill.service.sources.json_http import JsonAnswer, JsonHttp

_WHAT = "the address that gives access tokens"
_EARLY_S = 120.0
"""A token is renewed so long before it expires."""
_DEFAULT_LIFE_S = 3000.0
_NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 404, 429, 500

KeepToken = Callable[[SecretStr], Awaitable[None]]


async def _keep_nothing(_: SecretStr) -> None:
    """`KeepToken` where the other side sends no new refresh tokens."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The application that asks for tokens. address: that gives them. scope: empty for that of the grant."""

    address: str
    id: str
    secret: SecretStr | None = None
    scope: str = ""


class AccessTokens:
    """The access token of a mailbox, renewed before it expires.

    keep: is given a new refresh token, which Microsoft sends along with each access token.
    """

    def __init__(
        self,
        client: OAuthClient,
        refresh_token: SecretStr | None,
        http: JsonHttp,
        *,
        keep: KeepToken = _keep_nothing,
    ) -> None:
        self._client = client
        self._refresh_token = refresh_token
        self._http = http
        self._keep = keep
        self._token = ""
        self._ends_at = 0.0
        self._renewing = asyncio.Lock()

    async def get(self, *, refused: str = "") -> str:
        """A token that holds; another one than that which was refused.

        Raises UnauthorizedError if the refresh token does not hold any more, MisconfiguredError,
        NetworkError, TimeLimitError, RateLimitedError, ServerError.
        """
        async with self._renewing:
            if not self._token or self._token == refused or time.monotonic() > self._ends_at - _EARLY_S:
                await self._renew()
            return self._token

    async def _renew(self) -> None:
        known = _plain(self._refresh_token)
        if not known:
            raise UnauthorizedError(
                "the source has no refresh token; authorize docmill for the mailbox first"
            )
        form = {"grant_type": "refresh_token", "refresh_token": known}
        if self._client.scope:
            form["scope"] = self._client.scope
        fields = await token_answer(self._client, form, self._http)
        token, renewed, life_s = (fields.get(n) for n in ("access_token", "refresh_token", "expires_in"))
        if not isinstance(token, str) or not token:
            raise ServerError(f"{_WHAT} has sent none")
        self._token = token
        self._ends_at = time.monotonic() + (life_s if isinstance(life_s, int | float) else _DEFAULT_LIFE_S)
        if isinstance(renewed, str) and renewed and renewed != known:
            self._refresh_token = SecretStr(renewed)
            await self._keep(self._refresh_token)


async def token_answer(client: OAuthClient, form: Mapping[str, str], http: JsonHttp) -> dict[str, Any]:
    """The fields with which an endpoint for tokens answers a form. Raises as `AccessTokens.get` does."""
    form = {**form, "client_id": client.id}
    if secret := _plain(client.secret):
        form["client_secret"] = secret
    try:
        answer = await http.post_form(client.address, form, what=_WHAT)
    except TooLargeError as error:
        raise MisconfiguredError(f"{_WHAT} sends something else; check it") from error
    if refusal := _refusal(answer):
        raise refusal
    return answer.fields


def _plain(secret: SecretStr | None) -> str:
    return "" if secret is None else secret.get_secret_value()


def _refusal(answer: JsonAnswer) -> Exception | None:
    """The error that an answer means (RFC 6749, 5.2); None for a success."""
    if answer.is_success:
        return None
    status, code = answer.status, str(answer.fields.get("error") or f"HTTP {answer.status}")[:100]
    if status == _TOO_MANY:
        return RateLimitedError(f"{_WHAT} asks to slow down", retry_after_s=60)
    if status >= _SERVER_ERROR:
        return ServerError(f"{_WHAT} answered with HTTP {status}")
    if status == _NOT_FOUND:
        return MisconfiguredError(f"{_WHAT} does not exist (HTTP 404); check it")
    if code == "invalid_grant":
        return UnauthorizedError(
            "the permission to read the mailbox has ended; authorize docmill for it again"
        )
    return UnauthorizedError(f"{_WHAT} refuses ({code}); check the id and secret of the application")
