import asyncio
from typing import Any

import pytest
from botocore import exceptions
from botocore.parsers import ResponseParserError

from docmill.errors import (
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)
from docmill.service.aws import client
from docmill.service.aws.client import AwsRefusedError, Operations, translating_errors


def answered(status: int, code: str = "Any") -> exceptions.ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return exceptions.ClientError(response, "SendMessage")


NOWHERE = {"endpoint_url": "http://nowhere", "error": OSError()}
CASES: list[tuple[Exception, type[DocmillError]]] = [
    (answered(500), ServerError),
    (answered(503), ServerError),
    (answered(503, "SlowDown"), RateLimitedError),
    (answered(429), RateLimitedError),
    (answered(403, "OverLimit"), RateLimitedError),
    (answered(400, "RequestThrottled"), RateLimitedError),
    (answered(401), UnauthorizedError),
    (answered(403, "AccessDenied"), UnauthorizedError),
    (answered(400, "ExpiredTokenException"), UnauthorizedError),
    (answered(400, "AWS.SimpleQueueService.NonExistentQueue"), AwsRefusedError),
    (answered(404, "NoSuchBucket"), AwsRefusedError),
    (exceptions.NoCredentialsError(), UnauthorizedError),
    (exceptions.CredentialRetrievalError(provider="role", error_msg="gone"), UnauthorizedError),
    (exceptions.EndpointConnectionError(**NOWHERE), NetworkError),
    (exceptions.ConnectTimeoutError(**NOWHERE), NetworkError),
    (exceptions.ReadTimeoutError(**NOWHERE), NetworkError),
    (exceptions.ConnectionClosedError(**NOWHERE), NetworkError),
    (TimeoutError(), NetworkError),
    (ResponseParserError("<html>"), ServerError),
    (exceptions.ProfileNotFound(profile="mine"), MisconfiguredError),
]


@pytest.mark.parametrize(("theirs", "ours"), CASES, ids=[repr(theirs) for theirs, _ in CASES])
def test_what_aws_reports_becomes_one_of_our_errors(theirs: Exception, ours: type[DocmillError]) -> None:
    with pytest.raises(ours) as raised, translating_errors("send_message"):
        raise theirs

    assert raised.type is ours
    assert raised.value.__cause__ is theirs


def test_a_call_that_breaks_the_rules_is_our_own_fault() -> None:
    with pytest.raises(exceptions.ParamValidationError), translating_errors("send_message"):
        raise exceptions.ParamValidationError(report="wrong")


def test_a_refusal_keeps_the_code_of_aws() -> None:
    with pytest.raises(AwsRefusedError) as raised, translating_errors("send_message"):
        raise answered(400, "InvalidMessageContents")

    assert raised.value.refusal == "InvalidMessageContents"
    assert raised.value.code == "misconfigured"


async def test_a_call_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        async def send_message(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(client, "_CALL_S", 0.01)

    with pytest.raises(NetworkError):
        await Operations(Silent()).call("send_message")
