import json
from typing import Any

import pytest

from docmill.service.sources.bucket.s3_events import NewObject, UnknownMessageError, new_objects


def record(key: str, event: str = "ObjectCreated:Put", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": event,
        "s3": {
            "bucket": {"name": "scans"},
            "object": {"key": key, "size": 1, "eTag": "e", "sequencer": "0055AED6DCD90281E5", **more},
        },
    }


def records(*wanted: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(wanted)}


def in_sns(message: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "Notification", "MessageId": "m", "TopicArn": "t", "Message": json.dumps(message)}


EVENT_BRIDGE = {
    "version": "0",
    "detail-type": "Object Created",
    "source": "aws.s3",
    "detail": {
        "bucket": {"name": "scans"},
        "object": {"key": "a+b c.pdf", "size": 1, "etag": "e", "version-id": "v1", "sequencer": "00"},
    },
}


@pytest.mark.parametrize(
    ("message", "objects"),
    [
        (records(record("a.pdf")), [NewObject("scans", "a.pdf")]),
        (
            records(record("M%C3%BCller+%26+S%C3%B6hne/a%2Bb.pdf")),
            [NewObject("scans", "Müller & Söhne/a+b.pdf")],
        ),
        (
            records(record("a", versionId="v1"), record("b")),
            [NewObject("scans", "a", "v1"), NewObject("scans", "b")],
        ),
        (records(record("a", "ObjectRemoved:Delete"), record("b")), [NewObject("scans", "b")]),
        (records(record("a", "s3:ObjectCreated:CompleteMultipartUpload")), [NewObject("scans", "a")]),
        ({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "scans"}, []),
        (in_sns(records(record("a"))), [NewObject("scans", "a")]),
        (in_sns({"Service": "Amazon S3", "Event": "s3:TestEvent"}), []),
        (EVENT_BRIDGE, [NewObject("scans", "a+b c.pdf", "v1")]),
        (in_sns(EVENT_BRIDGE), [NewObject("scans", "a+b c.pdf", "v1")]),
        ({**EVENT_BRIDGE, "detail-type": "Object Deleted"}, []),
    ],
)
def test_all_forms_are_understood(message: dict[str, Any], objects: list[NewObject]) -> None:
    assert new_objects(json.dumps(message)) == objects


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no json",
        "[" * 100_000,
        "null",
        "[]",
        "{}",
        '{"Records": []}',
        '{"Records": [1]}',
        '{"Records": [{"eventName": "aws:kinesis:record"}]}',
        '{"Records": [{"eventName": "ObjectCreated:Put"}]}',
        '{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {}, "object": {"key": "a"}}}]}',
        '{"source": "aws.s3", "detail-type": "Object Created", "detail": {}}',
        '{"Type": "Notification", "Message": "no json"}',
        json.dumps(in_sns(in_sns(in_sns(in_sns(records(record("a"))))))),
        json.dumps(records(record("\ud800"))),
    ],
)
def test_what_is_no_event_is_unknown(body: str) -> None:
    with pytest.raises(UnknownMessageError):
        new_objects(body)
