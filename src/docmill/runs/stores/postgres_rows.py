"""States of runs as rows of PostgreSQL."""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from docmill.runs.states import NO_METADATA, DeadLetter, DocumentState, Run

_ESCAPED = re.compile("[\x00\x1a\ud800-\udfff]")
_ESCAPE = re.compile("\x1a([0-9a-f]{4})")


def key_of(path: str) -> bytes:
    """The key of a document in its run."""
    return blake2b(path.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def keys_of(paths: Sequence[str] | None) -> list[bytes] | None:
    """The keys of documents; None for None."""
    return None if paths is None else [key_of(path) for path in paths]


def text_of(text: str) -> str:
    """A text as PostgreSQL can keep it: it takes neither null characters nor halves of surrogate pairs.

    They become the character SUBSTITUTE and four hexadecimal digits, as does SUBSTITUTE itself.
    """
    return _ESCAPED.sub(lambda found: f"\x1a{ord(found[0]):04x}", text)


def text_from(stored: str) -> str:
    """The text that `text_of` has made PostgreSQL keep."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), stored) if "\x1a" in stored else stored


def optional_text_of(text: str | None) -> str | None:
    """As `text_of`."""
    return None if text is None else text_of(text)


def json_of(value: object) -> str | None:
    """A value for a column of the type `json`, which keeps it as it is written; None for None.

    JSON has no infinite numbers and no NaN; they become null.
    """
    if value is None:
        return None
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None))


def metadata_of(metadata: Mapping[str, Any]) -> str | None:
    """As `json_of`; None if there are none."""
    return json_of(dict(metadata)) if metadata else None


def run_from(row: Sequence[Any]) -> Run:
    """A run of the columns run_id, started_at, fingerprint, status, completed_at, configuration, listing."""
    run_id, started_at, fingerprint, status, completed_at, configuration, listing = row
    return Run(
        run_id=text_from(run_id),
        started_at=started_at.astimezone(UTC),
        fingerprint=text_from(fingerprint),
        status=status,
        completed_at=_utc(completed_at),
        configuration=configuration,
        listing=listing,
    )


def state_from(row: Sequence[Any]) -> DocumentState:
    """A state of the columns that `postgres_documents` selects for it."""
    (path, name, status, content_hash, error, attempts, last_attempt, completed_at, metadata, version) = row[
        :10
    ]
    is_uncertain, done_as, timings_s, tokens, cost = row[10:]
    return DocumentState(
        path=text_from(path),
        name=text_from(name),
        status=status,
        content_hash=content_hash,
        error=None if error is None else text_from(error),
        attempts=attempts,
        last_attempt=_utc(last_attempt),
        completed_at=_utc(completed_at),
        metadata=metadata or NO_METADATA,
        version=text_from(version),
        is_uncertain=is_uncertain,
        done_as=done_as,
        timings_s=timings_s or {},
        tokens=tokens,
        cost=cost,
    )


def letter_from(row: Sequence[Any]) -> DeadLetter:
    """A dead letter of the columns that `postgres_documents` selects for it."""
    path, stage, error_type, code, message, traceback, attempts, failed_at, metadata = row
    return DeadLetter(
        path=text_from(path),
        stage=text_from(stage),
        error_type=text_from(error_type),
        code=text_from(code),
        message=text_from(message),
        traceback=text_from(traceback),
        attempts=attempts,
        failed_at=failed_at.astimezone(UTC),
        metadata=metadata or NO_METADATA,
    )


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)
