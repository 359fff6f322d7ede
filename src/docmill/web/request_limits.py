"""Time limits for the arrival of requests. Without them, half of a request holds a connection for ever."""

import asyncio
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from docmill.service.config.web import Web

_TICKS = 10
"""The pace of a body is looked at so often within the time that it has."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits of one server.

    head_s: for the head of a request, from its beginning. body_s: how long a body may be slower than
    `slowest_bytes_s`, and how long the rest of a body that nobody wants may take.
    """

    head_s: float = 20
    body_s: float = 30
    slowest_bytes_s: float = 500

    @classmethod
    def of(cls, web: Web) -> "RequestLimits":
        """The limits of the settings."""
        return cls(web.head_s, web.body_s, web.slowest_bytes_s)


@dataclass(slots=True)
class BodyPace:
    """Counts the bytes of a body while the server waits for them. least: of them, in `_TICKS` ticks."""

    least: float
    _bytes: int = 0
    _ticks: int = 0

    def add(self, size: int) -> None:
        """Count bytes that have arrived."""
        self._bytes += size

    def is_too_slow(self, *, is_awaited: bool) -> bool:
        """Count a tick; true at the end of a time in which too few bytes have come.

        is_awaited: whether the server waits for the client. Time that the server needs itself is not counted.
        """
        if not is_awaited:
            return False
        self._ticks += 1
        if self._ticks < _TICKS:
            return False
        is_slow = self._bytes < self.least
        self._bytes = self._ticks = 0
        return is_slow


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with limits of time for what the client sends; uvicorn has none but between requests."""

    limits = RequestLimits()

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401  as uvicorn calls it
        super().__init__(*args, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._pace = BodyPace(0)

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  as uvicorn has it
        """See Protocol."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See Protocol."""
        self._pace.add(len(data))
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """See H11Protocol."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY and not self.transport.is_closing():
            # The rest of a body that nobody reads: the client may send it before it looks at the answer.
            self._stop_watching()
            self._body_timer = self.loop.call_later(self.limits.body_s, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """See Protocol."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Begin or end the timers, by what the client has still to send."""
        state = self.conn.their_state
        if state is h11.IDLE:
            self._head_timer = self._head_timer or self.loop.call_later(self.limits.head_s, self._give_up)
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if state is not h11.SEND_BODY:
            self._end_body()
        elif self._body_timer is None:
            self._pace = BodyPace(self.limits.slowest_bytes_s * self.limits.body_s)
            self._body_timer = self.loop.call_later(self.limits.body_s / _TICKS, self._tick)

    def _tick(self) -> None:
        cycle = self.cycle
        is_awaited = not (self.flow.read_paused or cycle.body or cycle.waiting_for_100_continue)
        if self._pace.is_too_slow(is_awaited=is_awaited):
            self._give_up()
        else:
            self._body_timer = self.loop.call_later(self.limits.body_s / _TICKS, self._tick)

    def _give_up(self) -> None:
        """End the connection, with the answer 408 if there is none yet. The application sees a disconnect."""
        self._stop_watching()
        if self.cycle is not None and not self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison]  None before the first request
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        has_begun = self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]
        if has_begun and self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            text = b"The request did not arrive in time. Send it again."
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            for event in (
                h11.Response(status_code=408, headers=headers, reason=b"Request Timeout"),
                h11.Data(data=text),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _end_body(self) -> None:
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None

    def _stop_watching(self) -> None:
        self._end_body()
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def limited_protocol(limits: RequestLimits) -> type[LimitedProtocol]:
    """The protocol with these limits; the server makes one object of it for each connection."""

    class Protocol(LimitedProtocol):
        """See LimitedProtocol."""

    Protocol.limits = limits
    return Protocol
