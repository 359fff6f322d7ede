"""Access tokens of OAuth 2 from a refresh token (RFC 6749, 6)."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import h11
from pydantic import SecretStr

from docmill.errors import (
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    UnauthorizedError,
)
from docmill.service.notify.guarded_http import Resolve, connect, resolve_host
from docmill.service.sources.imap.imap_settings import ImapSecrets, ImapSettings

_WHAT = "the address that gives access tokens"
_ADVICE = "which sources.allow_private_addresses would have to allow"
_LIMIT_S = 20.0
_MOST_BYTES = 262_144
_CHUNK_BYTES = 16_384
_EARLY_S = 120.0
"""A token is renewed so long before it expires."""
_DEFAULT_LIFE_S = 3000.0
_TOO_MANY, _OK, _SERVER_ERROR = 429, 200, 500

KeepSecrets = Callable[[ImapSecrets], Awaitable[None]]


async def keep_nothing(_: ImapSecrets) -> None:
    """`KeepSecrets` of settings that are only tried."""


class AccessTokens:
    """The access token of a mailbox, renewed before it expires.

    keep: is given the secrets with a new refresh token, which Microsoft sends along with each access token.
    """

    def __init__(
        self,
        settings: ImapSettings,
        secrets: ImapSecrets,
        *,
        allow_private: bool,
        keep: KeepSecrets = keep_nothing,
        resolve: Resolve = resolve_host,
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._allow_private = allow_private
        self._keep = keep
        self._resolve = resolve
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
        refresh_token = _plain(self._secrets.refresh_token)
        if not refresh_token:
            raise UnauthorizedError("the mailbox has no refresh token; authorize docmill for it first")
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self._settings.client_id,
        }
        if secret := _plain(self._secrets.client_secret):
            form["client_secret"] = secret
        if self._settings.token_scope:
            form["scope"] = self._settings.token_scope
        answer = await post_form(
            self._settings.token_endpoint, form, allow_private=self._allow_private, resolve=self._resolve
        )
        token, renewed = answer.get("access_token"), answer.get("refresh_token")
        if not isinstance(token, str) or not token:
            raise ServerError(f"{_WHAT} has sent none")
        life_s = answer.get("expires_in")
        self._token = token
        self._ends_at = time.monotonic() + (life_s if isinstance(life_s, int | float) else _DEFAULT_LIFE_S)
        if isinstance(renewed, str) and renewed and renewed != refresh_token:
            self._secrets = self._secrets.model_copy(update={"refresh_token": SecretStr(renewed)})
            await self._keep(self._secrets)


def _plain(secret: SecretStr | None) -> str:
    return "" if secret is None else secret.get_secret_value()


async def post_form(
    url: str, form: dict[str, str], *, allow_private: bool, resolve: Resolve = resolve_host
) -> dict[str, Any]:
    """Post a form, and return the object of the answer. Raises as `AccessTokens.get` does."""
    if urlsplit(url).scheme != "https" and not allow_private:
        raise MisconfiguredError(f"{_WHAT} must begin with https://")
    try:
        async with asyncio.timeout(_LIMIT_S):
            status, body = await _exchange(url, form, allow_private=allow_private, resolve=resolve)
    except TimeoutError as error:
        raise TimeLimitError(f"{_WHAT} did not answer within {_LIMIT_S:g} s") from error
    except (OSError, h11.ProtocolError, UnicodeError) as error:
        raise NetworkError(f"{_WHAT} cannot be reached ({type(error).__name__})") from error
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    found = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if status == _OK:
        return found
    code = str(found.get("error") or f"HTTP {status}")[:100]
    if status == _TOO_MANY:
        raise RateLimitedError(f"{_WHAT} asks to slow down", retry_after_s=60)
    if status >= _SERVER_ERROR:
        raise ServerError(f"{_WHAT} answered with HTTP {status}")
    if code == "invalid_grant":
        raise UnauthorizedError(
            "the permission to read the mailbox has ended; authorize docmill for it again"
        )
    raise UnauthorizedError(f"{_WHAT} refuses ({code}); check the id and secret of the application")


async def _exchange(
    url: str, form: dict[str, str], *, allow_private: bool, resolve: Resolve
) -> tuple[int, bytes]:
    parts = urlsplit(url)
    reader, writer = await connect(parts, _WHAT, allow_private=allow_private, advice=_ADVICE, resolve=resolve)
    try:
        connection = h11.Connection(h11.CLIENT)
        body = urlencode(form).encode()
        request = h11.Request(
            method="POST",
            target=f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}",
            headers=[
                ("Host", parts.netloc),
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Accept", "application/json"),
                ("Content-Length", str(len(body))),
                ("Connection", "close"),
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
                if len(content) > _MOST_BYTES:
                    raise OSError("the answer is too long")
            elif isinstance(event, h11.EndOfMessage):
                return status, bytes(content)
            elif isinstance(event, h11.ConnectionClosed):
                raise OSError("the connection was closed")
    finally:
        writer.transport.abort()
