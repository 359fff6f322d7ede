"""The log of a run: one JSON object a line."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

from docmill.runs.events import (
    Cause,
    DocumentEnded,
    DocumentStarted,
    Event,
    Progress,
    RetryScheduled,
    RunEnded,
    RunStarted,
    StageEnded,
)

Value: TypeAlias = str | int | float | bool | None
_FIELDS: Mapping[type[Event], Sequence[str]] = {
    RunStarted: ("is_resumed", "is_changed"),
    DocumentStarted: ("path", "attempt"),
    StageEnded: ("path", "stage", "seconds"),
    RetryScheduled: ("path", "stage", "attempt", "max_attempts", "delay_s"),
    DocumentEnded: ("path", "status", "attempts", "seconds", "is_unchanged"),
    Progress: (
        *("total", "completed", "failed", "in_progress", "waiting"),
        *("is_total_final", "rate", "eta_s", "current_document"),
    ),
    RunEnded: ("completed", "failed", "is_interrupted"),
}
_NAMES: Mapping[type[Event], str] = {
    RunStarted: "run_started",
    DocumentStarted: "document_started",
    StageEnded: "stage_ended",
    RetryScheduled: "retry_scheduled",
    DocumentEnded: "document_ended",
    Progress: "progress",
    RunEnded: "run_ended",
}
_DIGITS = 6
"""Decimal places of seconds: microseconds."""


class TextStream(Protocol):
    """What lines are written to: an open text file, `sys.stderr` and the like."""

    def write(self, text: str, /) -> object:
        """Take the text."""
        ...

    def flush(self) -> object:
        """Pass on what was written."""
        ...


class JsonLog:
    """Writes every event as one line, and how far the run is at most every `progress_s` seconds.

    The lines hold nothing of the content of documents: the message of an error that is not docmill's own is
    left out, since it may quote them; its class stays. has_messages: whether it is written nevertheless. It
    is a function for `on_event`, to be used for one run at a time.
    """

    def __init__(
        self,
        stream: TextStream,
        *,
        progress_s: float = 10.0,
        has_messages: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._progress_s = progress_s
        self._has_messages = has_messages
        self._clock = clock
        self._run_id = ""
        self._next_progress = 0.0
        self._untold: Progress | None = None

    def __call__(self, event: Event) -> None:
        """Write the event."""
        match event:
            case RunStarted():
                self._run_id = event.run_id
                self._next_progress = self._clock() + self._progress_s
            case Progress():
                self._untold = event
                if self._clock() >= self._next_progress:
                    self._write_progress()
                return
            case RunEnded():
                self._write_progress()
            case _:
                pass
        self._write(event)

    def _write_progress(self) -> None:
        if self._untold is None:
            return
        told, self._untold = self._untold, None
        self._next_progress = self._clock() + self._progress_s
        self._write(told)

    def _fields_of(self, event: Event) -> dict[str, Value]:
        """The fields of a line; each is named here, so that no other gets into the log."""
        fields = {name: _rounded(getattr(event, name)) for name in _FIELDS[type(event)]}
        if isinstance(event, StageEnded):
            fields["status"] = "completed" if event.error is None else "failed"
        if isinstance(event, DocumentEnded) and event.cause is not None:
            fields["stage"] = event.cause.stage
        if isinstance(event, StageEnded | RetryScheduled | DocumentEnded):
            fields |= self._error_fields(event.error, event.cause)
        return fields

    def _error_fields(self, error: str | None, cause: Cause | None) -> Mapping[str, Value]:
        if error is None:
            return {"error": None}
        if cause is None:
            return {"error": error if self._has_messages else "unknown"}
        is_hidden = cause.is_quoting and not self._has_messages
        return {
            "error": f"[{cause.stage}] {cause.error_type}" if is_hidden else error,
            "code": cause.code,
            "error_type": cause.error_type,
        }

    def _write(self, event: Event) -> None:
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"timestamp": moment, "run_id": self._run_id, "event": _NAMES[type(event)]}
        self._stream.write(f"{json.dumps(line | self._fields_of(event))}\n")
        self._stream.flush()


def _rounded(value: Value) -> Value:
    return round(value, _DIGITS) if isinstance(value, float) else value
