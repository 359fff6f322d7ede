"""Sessions, clients, credentials and errors of AWS."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, cast

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from botocore import exceptions
from botocore.parsers import ResponseParserError
from botocore.session import Session as BotocoreSession

from docmill.errors import (
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    UnauthorizedError,
)

if TYPE_CHECKING:
    from obstore.store import S3Credential  # exists for type checkers only

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

_CONNECT_S = 5

_READ_S = 30
"""Longer than the longest poll of SQS, 20 seconds."""

_CALL_S = 15.0
"""The most one call may take, its own retries included."""

_TRIES = 3

_CONNECTIONS = 100
"""Polls, heartbeats and deletions of hundreds of documents at a time; more wait for a free one."""

_ASKED_AFTER = timedelta(minutes=5)


class AwsRefusedError(MisconfiguredError):
    """AWS refuses the request, however often it is made. refusal: the error code of AWS."""

    def __init__(self, message: str, *, refusal: str) -> None:
        super().__init__(message)
        self.refusal = refusal


@contextmanager
def translating_errors(operation: str) -> Generator[None]:
    """Translate errors of AWS into `docmill.errors`, but not those of a wrong call."""
    try:
        yield
    except exceptions.ClientError as error:
        response = cast("dict[str, Any]", error.response)
        code: str = response.get("Error", {}).get("Code", "")
        status: int = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _THROTTLED or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise RateLimitedError(f"AWS asks to slow down with {operation}: {code}") from error
        if code in _UNAUTHORIZED or status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise UnauthorizedError(
                f"AWS does not allow {operation}: {code}; "
                "docs/how-to/deploy-on-aws.md lists the permissions needed"
            ) from error
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ServerError(f"AWS failed on {operation}: {code}") from error
        raise AwsRefusedError(f"AWS refuses {operation}: {code}", refusal=code) from error
    except exceptions.ParamValidationError:
        raise
    except (exceptions.HTTPClientError, exceptions.ConnectionError, TimeoutError) as error:
        raise NetworkError(f"AWS cannot be reached for {operation}: {type(error).__name__}") from error
    except ResponseParserError as error:
        raise ServerError(f"AWS answers nonsense to {operation}; is aws.endpoint right?") from error
    except _NO_CREDENTIALS as error:
        raise no_credentials() from error
    except exceptions.BotoCoreError as error:
        raise MisconfiguredError(f"AWS cannot be used for {operation}: {type(error).__name__}") from error


def no_credentials() -> UnauthorizedError:
    """The error for missing AWS credentials."""
    return UnauthorizedError(
        "there are no valid AWS credentials; give the machine a role, or set AWS_PROFILE, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    )


class Session(Protocol):
    """The part of aiobotocore's session that is used here; it has no types of its own."""

    def create_client(self, service: str, /, **options: object) -> AbstractAsyncContextManager[object]:
        """A client that is open within a block."""
        ...


def new_session() -> Session:
    """A session of this process's own."""
    return cast("Session", AioSession())


class Operations:
    """The operations of one AWS service."""

    def __init__(self, client: object) -> None:
        self._client = client

    async def call(self, operation: str, /, *, waits_s: float = 0, **parameters: object) -> dict[str, Any]:
        """The answer of AWS. operation: `send_message`, for example; waits_s: how long AWS may take.

        Raises NetworkError, ServerError, RateLimitedError, UnauthorizedError, or AwsRefusedError for what AWS
        will not do however often it is asked.
        """
        with translating_errors(operation):
            async with asyncio.timeout(_CALL_S + waits_s):
                return await getattr(self._client, operation)(**parameters)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """Credentials that somebody entered. session_token: of temporary ones."""

    id: str
    secret: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


AddressInfo = tuple[int, int, int, str, tuple[Any, ...]]
"""An address as `socket.getaddrinfo` gives it."""
MakeSocket = Callable[[AddressInfo], socket.socket]
"""Gives the socket for a connection to an address."""


@asynccontextmanager
async def open_operations(
    session: Session,
    service: str,
    *,
    region: str,
    endpoint: str | None,
    access_key: AccessKey | None = None,
    make_socket: MakeSocket | None = None,
) -> AsyncGenerator[Operations]:
    """A service's operations, for the length of the block. endpoint: of an emulator, instead of AWS.

    access_key: instead of the credentials of the installation. make_socket: sees the address of every
    connection before it is made.
    """
    config = AioConfig(
        {"socket_factory": make_socket} if make_socket else None,
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        retries={"mode": "standard", "total_max_attempts": _TRIES},
        max_pool_connections=_CONNECTIONS,
        ignore_configured_endpoint_urls=True,  # settings say where AWS is, for every service alike
        s3={"addressing_style": "path"} if endpoint else None,
    )
    keys = (
        {
            "aws_access_key_id": access_key.id,
            "aws_secret_access_key": access_key.secret,
            "aws_session_token": access_key.session_token,
        }
        if access_key
        else {}
    )
    async with AsyncExitStack() as stack:
        with translating_errors(service):
            client = await stack.enter_async_context(
                session.create_client(
                    service, region_name=region, endpoint_url=endpoint, config=config, **keys
                )
            )
        yield Operations(client)


class _Frozen(Protocol):
    access_key: str
    secret_key: str
    token: str | None


class _Credentials(Protocol):
    def get_frozen_credentials(self) -> _Frozen: ...


class StoreCredentials:
    """Provides credentials from the environment, a profile, or the role of the container or machine.

    The store calls it in a thread of its own, where waiting for AWS holds nobody up. It cannot be a coroutine
    function: the store also asks from tasks that know no event loop.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._credentials: _Credentials | None = None

    def __call__(self) -> "S3Credential":
        """Valid credentials; they renew themselves and are asked for again in five minutes."""
        with self._lock:
            if self._credentials is None:
                self._credentials = cast("_Credentials | None", BotocoreSession().get_credentials())
            if self._credentials is None:
                raise no_credentials()
            frozen = self._credentials.get_frozen_credentials()
        return {
            "access_key_id": frozen.access_key,
            "secret_access_key": frozen.secret_key,
            "token": frozen.token,
            "expires_at": datetime.now(UTC) + _ASKED_AFTER,
        }
