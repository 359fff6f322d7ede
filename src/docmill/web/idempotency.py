"""Requests with an `Idempotency-Key`: repeated, they change nothing more and get the answer of the first."""

import hashlib
import logging
from dataclasses import dataclass, field
from uuid import UUID

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.errors import ChangedError, DocmillError, ValidationError
from docmill.resilience.concurrency import see_through
from docmill.service.people.access import Access
from docmill.service.store import idempotency_keys
from docmill.service.store.database import Database
from docmill.service.store.idempotency_keys import StoredAnswer
from docmill.web.context import TheVault

log = logging.getLogger(__name__)

HEADER = "idempotency-key"
REPLAYED = "idempotency-replayed"
"""The header of an answer that was given before."""

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_STATE = "idempotency"
_LONGEST_KEY = 255
_LARGEST_BODY = 1_000_000
_KEPT_HEADERS = frozenset({"content-type", "location", "etag"})
_NOT_KEPT = frozenset({401, 403, 429})
"""Refusals that say nothing of the request itself. Faults of the server are not kept either."""

_SERVER_FAULT = 500


class ReplayedAnswerError(Exception):
    """The request was answered before; the handler of this error sends that answer."""

    def __init__(self, answer: StoredAnswer) -> None:
        super().__init__("answered before")
        self.answer = answer


@dataclass(slots=True)
class _Exchange:
    """A request with a key, and the key's place in the database once it holds it."""

    key: str
    digest: "_RequestDigest"
    receive: Receive
    database: Database | None = None
    tenant_id: UUID | None = None
    token: UUID | None = None

    async def read_to_end(self) -> None:
        """Read what is left of the body, for its hash."""
        while not self.digest.is_complete:
            await self.receive()


@dataclass(slots=True)
class _Answer:
    start: Message | None = None
    body: bytearray = field(default_factory=bytearray)

    @property
    def headers(self) -> Headers:
        assert self.start is not None, "there is an answer"
        return Headers(raw=self.start["headers"])


async def once(request: Request, vault: TheVault) -> None:
    """Dependency of every route of the API: have a request with a key carried out once."""
    exchange: _Exchange | None = request.scope.get("state", {}).get(_STATE)
    if exchange is None:
        return
    if not (0 < len(exchange.key) <= _LONGEST_KEY and exchange.key.isascii() and exchange.key.isprintable()):
        raise ValidationError(f"an Idempotency-Key has 1 to {_LONGEST_KEY} printable ASCII characters")
    exchange.key = own_key(exchange.key, vault.access)
    async with vault.connection() as conn:
        begun = await idempotency_keys.begin(conn, exchange.key, tenant_id=vault.tenant_id)
    if isinstance(begun, UUID):
        exchange.database, exchange.tenant_id = vault.service.database, vault.tenant_id
        exchange.token = begun
        return
    if begun.status is None:
        raise ChangedError("The first request with this Idempotency-Key is not answered yet; try again soon.")
    await exchange.read_to_end()
    if exchange.digest.hexdigest() != begun.request_hash:
        raise ValidationError("this Idempotency-Key was used for another request; use a new one")
    raise ReplayedAnswerError(begun)


def own_key(key: str, access: Access) -> str:
    """The key as it is stored. Each person and each API key has keys of their own."""
    return hashlib.sha256(f"{access.api_key_id or access.user_id} {key}".encode()).hexdigest()


async def replay(_: Request, error: Exception) -> Response:
    """Handle `ReplayedAnswerError`."""
    assert isinstance(error, ReplayedAnswerError)
    answer = error.answer
    assert answer.status is not None, "it was answered"
    return Response(answer.body, answer.status, {**(answer.headers or {}), REPLAYED: "true"})


class IdempotentRequests:
    """Middleware that hashes requests with a key, and stores their answers before they are sent."""

    def __init__(self, app: ASGIApp, *, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        key = Headers(scope=scope).get(HEADER) if scope["type"] == "http" else None
        if key is None or scope["method"] not in WRITES or not scope["path"].startswith(self._prefix):
            await self._app(scope, receive, send)
            return
        digest = _RequestDigest(scope)

        async def hashing_receive() -> Message:
            message = await receive()
            digest.add(message)
            return message

        exchange = _Exchange(key, digest, hashing_receive)
        scope.setdefault("state", {})[_STATE] = exchange
        answer = _Answer()

        async def keeping_send(message: Message) -> None:
            if exchange.token is None:
                await send(message)
            elif message["type"] == "http.response.start":
                answer.start = message
            else:
                answer.body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _store(exchange, answer)
                    assert answer.start is not None, "an answer begins"
                    await send(answer.start)
                    await send({"type": "http.response.body", "body": bytes(answer.body)})

        try:
            await self._app(scope, hashing_receive, keeping_send)
        finally:
            await see_through(_give_back(exchange))


async def _store(exchange: _Exchange, answer: _Answer) -> None:
    """Store the answer; one that is not to be stored leaves the key free."""
    assert answer.start is not None, "an answer begins"
    status, headers = int(answer.start["status"]), answer.headers
    is_kept = (
        status < _SERVER_FAULT
        and status not in _NOT_KEPT
        and len(answer.body) <= _LARGEST_BODY
        and "no-store" not in headers.get("cache-control", "")
    )
    if not is_kept or exchange.database is None or exchange.tenant_id is None or exchange.token is None:
        return
    await exchange.read_to_end()
    try:
        async with exchange.database.tenant(exchange.tenant_id) as conn:
            await idempotency_keys.finish(
                conn,
                exchange.key,
                exchange.token,
                request_hash=exchange.digest.hexdigest(),
                status=status,
                headers={name: headers[name] for name in _KEPT_HEADERS if name in headers},
                body=bytes(answer.body),
            )
    except DocmillError as error:  # what was asked for is done, and its answer must be sent
        log.warning("could not store the answer for an idempotency key", extra={"code": error.code})
    exchange.token = None


async def _give_back(exchange: _Exchange) -> None:
    """Free the key of a request whose answer was not stored."""
    if exchange.database is None or exchange.tenant_id is None or exchange.token is None:
        return
    try:
        async with exchange.database.tenant(exchange.tenant_id) as conn:
            await idempotency_keys.give_back(conn, exchange.key, exchange.token)
    except DocmillError as error:  # it is free again after some minutes
        log.warning("could not free an idempotency key", extra={"code": error.code})


class _RequestDigest:
    """The hash of a request. The boundary of a multipart form, which clients make anew, is left out."""

    def __init__(self, scope: Scope) -> None:
        self.is_complete = False
        media_type, options = parse_options_header(Headers(scope=scope).get("content-type", ""))
        self._boundary = options.get(b"boundary", b"") if media_type == b"multipart/form-data" else b""
        self._rest = b""
        self._hash = hashlib.sha256()
        for text in (scope["method"].encode(), scope["path"].encode(), scope["query_string"], media_type):
            self._hash.update(len(text).to_bytes(4, "big") + text)

    def add(self, message: Message) -> None:
        """Take in what was received."""
        if message["type"] != "http.request":
            self.is_complete = True
            return
        data = message.get("body", b"")
        if self._boundary:
            data = (self._rest + data).replace(self._boundary, b"")
            kept = len(self._boundary) - 1
            self._rest, data = (data[-kept:], data[:-kept]) if kept else (b"", data)
        self._hash.update(data)
        if not message.get("more_body", False):
            self._hash.update(self._rest)
            self._rest = b""
            self.is_complete = True

    def hexdigest(self) -> str:
        """The hash of what was received."""
        return self._hash.hexdigest()
