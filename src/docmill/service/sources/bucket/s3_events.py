"""Notifications of S3 about new objects, in all the forms in which they come through SQS."""

import json
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote_plus

_MOST_ENVELOPES = 3
_CREATED = ("ObjectCreated:", "s3:ObjectCreated:")
_EVENT_NAMES = (
    "Object",
    "s3:",
    "Replication:",
    "LifecycleExpiration:",
    "LifecycleTransition",
    "IntelligentTiering",
)
_EVENT_BRIDGE = "aws.s3"


class UnknownMessageError(Exception):
    """A message that is no notification of S3."""


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object that was written. version: in a bucket that keeps versions."""

    bucket: str
    key: str
    version: str | None = None


def new_objects(body: str) -> list[NewObject]:
    """The objects that a message tells of; none for a test message, and for events of another kind.

    It may be wrapped by SNS, and come through EventBridge. Raises UnknownMessageError. The order of events
    (`sequencer`) is of no interest: who reads an object takes what it is by then.
    """
    message = unwrapped(body)
    if message.get("Event") == "s3:TestEvent":
        return []
    if message.get("source") == _EVENT_BRIDGE and isinstance(message.get("detail"), dict):
        return _of_event_bridge(message)
    records = message.get("Records")
    if not isinstance(records, list) or not records:
        raise UnknownMessageError
    return [found for record in cast("list[object]", records) for found in _of_record(_mapping(record))]


def unwrapped(body: str) -> dict[str, Any]:
    """The JSON object of a message, out of the envelopes of SNS. Raises UnknownMessageError."""
    for _ in range(_MOST_ENVELOPES):
        try:
            message = _mapping(json.loads(body))
        except (ValueError, RecursionError) as error:
            raise UnknownMessageError from error
        inner = message.get("Message")
        if message.get("Type") != "Notification" or not isinstance(inner, str):
            return message
        body = inner
    raise UnknownMessageError


def _of_record(record: dict[str, Any]) -> list[NewObject]:
    name = record.get("eventName")
    if not isinstance(name, str) or not name.startswith(_EVENT_NAMES):
        raise UnknownMessageError
    if not name.startswith(_CREATED):
        return []
    s3 = _mapping(record.get("s3"))
    entry = _mapping(s3.get("object"))
    # Here keys are encoded as in forms, with a plus sign for a blank.
    key = unquote_plus(_text(entry.get("key")))
    return [NewObject(_text(_mapping(s3.get("bucket")).get("name")), key, _version(entry.get("versionId")))]


def _of_event_bridge(message: dict[str, Any]) -> list[NewObject]:
    if message.get("detail-type") != "Object Created":
        return []
    detail = _mapping(message["detail"])
    entry = _mapping(detail.get("object"))
    bucket = _text(_mapping(detail.get("bucket")).get("name"))
    return [NewObject(bucket, _text(entry.get("key")), _version(entry.get("version-id")))]


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UnknownMessageError
    return cast("dict[str, Any]", value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UnknownMessageError
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a character, which JSON can write
        raise UnknownMessageError from error
    return value


def _version(value: object) -> str | None:
    return value if isinstance(value, str) and value not in {"", "null"} else None
