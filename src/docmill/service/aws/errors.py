"""Translates errors of AWS into docmill's."""

from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, cast

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

_THROTTLED = frozenset(
    {
        "KMS.ThrottlingException",
        "KmsThrottled",
        "OverLimit",  # of SQS: 120,000 messages in flight
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_UNAUTHORIZED = frozenset(
    {
        # Some come with status 400.
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "UnrecognizedClientException",
    }
)
_NO_CREDENTIALS = (
    exceptions.CredentialRetrievalError,
    exceptions.LoginError,
    exceptions.NoAuthTokenError,
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.SSOError,
    exceptions.TokenRetrievalError,
)


class AwsRefusedError(MisconfiguredError):
    """AWS refuses the request, however often it is made. refusal: the error code of AWS."""

    def __init__(self, message: str, *, refusal: str) -> None:
        super().__init__(message)
        self.refusal = refusal


@contextmanager
def translated(operation: str) -> Generator[None]:
    """Translate errors of AWS into `docmill.errors`, but not those of a wrong call."""
    try:
        yield
    except (exceptions.BotoCoreError, exceptions.ClientError, ResponseParserError, TimeoutError) as error:
        ours = _ours(operation, error)
        if ours is None:
            raise
        raise ours from error


def _ours(operation: str, error: Exception) -> DocmillError | None:
    match error:
        case exceptions.ClientError():
            return _answered(operation, error)
        case exceptions.ParamValidationError():
            return None
        case exceptions.HTTPClientError() | exceptions.ConnectionError() | TimeoutError():
            return NetworkError(f"AWS cannot be reached for {operation}: {type(error).__name__}")
        case ResponseParserError():
            return ServerError(f"AWS answers nonsense to {operation}; is aws.endpoint right?")
        case error if isinstance(error, _NO_CREDENTIALS):
            return no_credentials()
        case _:
            return MisconfiguredError(f"AWS cannot be used for {operation}: {type(error).__name__}")


def no_credentials() -> UnauthorizedError:
    """The error for missing AWS credentials."""
    return UnauthorizedError(
        "there are no valid AWS credentials; give the machine a role, or set AWS_PROFILE, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )


def _answered(operation: str, error: exceptions.ClientError) -> DocmillError:
    response = cast("dict[str, Any]", error.response)
    code: str = response.get("Error", {}).get("Code", "")
    status: int = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _THROTTLED or status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimitedError(f"AWS asks to slow down with {operation}: {code}")
    if code in _UNAUTHORIZED or status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return UnauthorizedError(
            f"AWS does not allow {operation}: {code}; "
            "docs/how-to/deploy-on-aws.md lists the permissions needed"
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerError(f"AWS failed on {operation}: {code}")
    return AwsRefusedError(f"AWS refuses {operation}: {code}", refusal=code)
