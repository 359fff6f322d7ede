"""Runs, states and dead letters as the state store in Redis keeps them."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from docmill.runs.states import (
    NO_METADATA,
    DeadLetter,
    DocumentState,
    NewDocument,
    Run,
    RunStatus,
    Settlement,
)

Value = str | bytes | int | float

_NANO = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class StoredRow(NamedTuple):
    """What Redis keeps of a document: the values of `states`, `listed` and `metadata`."""

    state: bytes
    listed: bytes
    metadata: bytes | None


def run_fields(run: Run) -> list[Value]:
    """The names and values of a new run, in turn."""
    configuration = "" if run.configuration is None else json.dumps(run.configuration)
    return [
        *("run_id", run.run_id, "started_at", _microseconds(run.started_at), "configuration", configuration),
        *("listing", run.listing, *changed_run_fields(run.status, run.completed_at, run.fingerprint)),
    ]


def changed_run_fields(
    status: RunStatus, completed_at: datetime | None, fingerprint: str | None
) -> list[Value]:
    """The names and values of what changes of a run, in turn. fingerprint: None to leave it."""
    fields: list[Value] = ["status", status]
    fields += ["completed_at", "" if completed_at is None else _microseconds(completed_at)]
    return fields if fingerprint is None else [*fields, "fingerprint", fingerprint]


def run_of(fields: Mapping[bytes, bytes]) -> Run:
    """The run of the fields of its hash."""
    text = {name.decode(): _text(value) for name, value in fields.items()}
    status: Any = text["status"]
    return Run(
        run_id=text["run_id"],
        started_at=_moment(text["started_at"]),
        fingerprint=text["fingerprint"],
        status=status,
        completed_at=_moment(text["completed_at"]) if text["completed_at"] else None,
        configuration=json.loads(text["configuration"]) if text["configuration"] else None,
        listing=int(text["listing"]),
    )


def document_arguments(document: NewDocument) -> list[Value]:
    """The arguments of `redis_scripts.ADD` for a document."""
    metadata = json.dumps(dict(document.metadata)) if document.metadata else ""
    return [document.path, json.dumps([document.path, document.name]), metadata, document.version]


def settlement_arguments(end: Settlement) -> list[Value]:
    """The arguments of `redis_scripts.SETTLE` for a document, but that `retry_at` is a moment."""
    return [
        end.path,
        end.status,
        int(end.is_unchanged),
        end.attempts,
        _microseconds(end.at),
        end.content_hash or "",
        end.error or "",
        "" if end.retry_at is None else end.retry_at.timestamp(),
        json.dumps({stage: round(seconds, 4) for stage, seconds in end.timings_s.items()}),
        end.tokens,
        int(end.cost * _NANO),
        "" if end.dead_letter is None else _letter_json(end.dead_letter),
    ]


RETRY_INDEX = 7
"""The place of `retry_at` in `settlement_arguments`."""


def delayed(arguments: Sequence[Value]) -> list[Value]:
    """The arguments with seconds from now for `retry_at`, so that the clocks of machines may differ."""
    retry_at = arguments[RETRY_INDEX]
    delay_s = "" if isinstance(retry_at, str | bytes) else retry_at - time.time()
    return [*arguments[:RETRY_INDEX], delay_s, *arguments[RETRY_INDEX + 1 :]]


def state_of(row: StoredRow) -> DocumentState:
    """The state of a stored document."""
    (status, _, version, is_uncertain, done_as, content_hash, error, *rest) = json.loads(_text(row.state))
    attempts, last_attempt, completed_at, timings_s, tokens, nano_dollars = rest
    path, name = json.loads(row.listed)
    return DocumentState(
        path=path,
        name=name,
        status=status,
        content_hash=content_hash or None,
        error=error or None,
        attempts=int(attempts),
        last_attempt=_moment(last_attempt) if last_attempt else None,
        completed_at=_moment(completed_at) if completed_at else None,
        metadata=json.loads(row.metadata) if row.metadata else NO_METADATA,
        version=version,
        is_uncertain=bool(is_uncertain),
        done_as=done_as or None,
        timings_s=json.loads(timings_s) if timings_s else {},
        tokens=int(tokens),
        cost=Decimal(nano_dollars) / _NANO,
    )


def letter_of(stored: bytes) -> DeadLetter:
    """The dead letter of its JSON."""
    fields = json.loads(stored)
    return DeadLetter(**(fields | {"failed_at": _moment(fields["failed_at"])}))


def _letter_json(letter: DeadLetter) -> str:
    fields = asdict(letter) | {
        "failed_at": _microseconds(letter.failed_at),
        "metadata": dict(letter.metadata),
    }
    return json.dumps(fields)


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(microseconds: str | int) -> datetime:
    return _EPOCH + int(microseconds) * _MICROSECOND
