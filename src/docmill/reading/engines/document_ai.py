"""Google Document AI: pictures of pages go to a processor of the user's own, words and places come back."""

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import google.auth
import grpc
from google.api_core import exceptions
from google.auth import exceptions as auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.transport.requests import Request
from google.cloud import documentai_v1 as documentai
from google.cloud.documentai_v1.services.document_processor_service import transports
from google.oauth2 import service_account
from google.protobuf.field_mask_pb2 import FieldMask
from google.rpc.error_details_pb2 import RetryInfo

from docmill.errors import (
    AiQuotaError,
    DocmillError,
    MisconfiguredError,
    NetworkError,
    RateLimitedError,
    ServerError,
    TimeLimitError,
    TooLargeError,
    UnauthorizedError,
    ValidationError,
)
from docmill.reading.engines.page_image import Drawn
from docmill.reading.engines.tokens import recognised
from docmill.reading.ocr.page import Recognised

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
MAX_BYTES = 20_000_000
"""Document AI takes 40 MB at once, of which the request's own form takes some."""
FIELDS = ("text", "pages.dimension", "pages.transforms", "pages.tokens.layout")
"""All that is asked for: without this the answer holds the picture again."""
_TOO_FAST = "RATE_LIMIT_EXCEEDED"
_LIMIT_S = 85.0

# Google's libraries carry types for a part of what they hold.
_types: Any = documentai
_identity: Any = google.auth
_keys: Any = service_account.Credentials


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor of the user's own.

    endpoint: of another server that speaks this language; without encryption it is told no credentials.
    """

    project: str
    location: str
    processor: str
    version: str | None = None
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """As Google knows it."""
        own = f"projects/{self.project}/locations/{self.location}/processors/{self.processor}"
        return f"{own}/processorVersions/{self.version}" if self.version else own

    @property
    def encrypted(self) -> bool:
        """Whether what is sent can be read by nobody else."""
        return self.endpoint is None or self.endpoint.startswith("https://")

    @property
    def host(self) -> str:
        """Where it is asked."""
        if self.endpoint is None:
            return f"{self.location}-documentai.googleapis.com"
        return self.endpoint.partition("://")[2].rstrip("/")


class DocumentAiEngine:
    """`RemoteEngine` by Document AI. Close it in the event loop that used it.

    credentials_file: a service account's key; adc: use this machine's own identity where there is none.
    """

    def __init__(
        self,
        processor: Processor,
        *,
        credentials_file: Path | None = None,
        adc: bool = False,
        limit_s: float = _LIMIT_S,
    ) -> None:
        self._processor = processor
        self._credentials_file = credentials_file
        self._adc = adc
        self._limit_s = limit_s
        self._opening = asyncio.Lock()
        self._client: Any = None
        logging.getLogger("google").setLevel(logging.WARNING)  # finer than that it logs what it sends

    async def recognise(self, drawn: Drawn) -> Recognised:
        """See `RemoteEngine.recognise`."""
        if len(drawn.jpeg) > MAX_BYTES:
            raise TooLargeError(
                "the page's picture is too large for Document AI; set image.max_dimension_px lower"
            )
        request = _types.ProcessRequest(
            name=self._processor.name,
            raw_document=_types.RawDocument(content=drawn.jpeg, mime_type="image/jpeg"),
            field_mask=FieldMask(paths=FIELDS),
            skip_human_review=True,
        )
        with translated(self._processor):
            client = await self._opened()
            answer = await client.process_document(request, retry=None, timeout=self._limit_s)
        return await asyncio.to_thread(recognised, _plain(answer), drawn)

    async def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            await self._client.transport.close()

    async def _opened(self) -> Any:  # noqa: ANN401 - Google's client has no types
        async with self._opening:
            if self._client is None:
                self._client = self._connected(await asyncio.to_thread(self._credentials))
        return self._client

    def _connected(self, credentials: Credentials) -> Any:  # noqa: ANN401 - as above
        transport: Any = transports.DocumentProcessorServiceGrpcAsyncIOTransport
        connect = partial(transport, host=self._processor.host, credentials=credentials)
        if not self._processor.encrypted:
            connect = partial(connect, channel=grpc.aio.insecure_channel(self._processor.host))
        return _types.DocumentProcessorServiceAsyncClient(transport=connect())

    def _credentials(self) -> Credentials:
        """Who we are. Reads a file or asks this machine's cloud, and is nothing for the event loop."""
        if not self._processor.encrypted:
            return AnonymousCredentials()
        if self._credentials_file is not None:
            return _from_file(self._credentials_file)
        if not self._adc:
            raise MisconfiguredError(
                "Document AI needs credentials: set documentai.credentials_file, or documentai.adc for this "
                "machine's own identity"
            )
        found: Any = _identity.default(scopes=SCOPES)[0]
        found.refresh(
            Request()
        )  # later, in the middle of a call, a refusal would look like a lost connection
        return found


def _plain(answer: Any) -> Any:  # noqa: ANN401 - as above
    """The document of an answer without Google's wrapping, which makes every look into it slow."""
    return _types.ProcessResponse.pb(answer).document


def _from_file(path: Path) -> Credentials:
    try:
        return _keys.from_service_account_file(str(path), scopes=SCOPES)
    except (OSError, ValueError) as error:  # what it says of a file may quote the key
        raise MisconfiguredError(
            f"documentai.credentials_file {str(path)!r} cannot be used: {type(error).__name__}"
        ) from None


@contextmanager
def translated(processor: Processor) -> Generator[None]:
    """Google's errors as `docmill.errors`. What Google says stays out: it may quote what was sent."""
    try:
        yield
    except exceptions.GoogleAPICallError as error:
        raise _ours(error, processor) from error
    except auth.DefaultCredentialsError as error:
        raise UnauthorizedError(
            "this machine has no identity at Google (documentai.adc); set documentai.credentials_file"
        ) from error
    except auth.TransportError as error:
        raise NetworkError("Google cannot be reached to sign in") from error
    except auth.GoogleAuthError as error:
        raise UnauthorizedError("Google refuses the credentials for Document AI; renew them") from error


def _ours(error: exceptions.GoogleAPICallError, processor: Processor) -> DocmillError:
    match error:
        case exceptions.TooManyRequests():
            return _quota(error)
        case exceptions.Unauthorized() | exceptions.Forbidden():
            return UnauthorizedError(
                f"Document AI does not allow the use of {processor.name!r}; the credentials need the role "
                "documentai.apiUser"
            )
        case exceptions.NotFound() | exceptions.FailedPrecondition() | exceptions.MethodNotImplemented():
            return MisconfiguredError(
                f"Document AI has no usable processor {processor.name!r} at {processor.host!r}; "
                "look at documentai.*"
            )
        case exceptions.BadRequest():
            return ValidationError("Document AI refuses the page; read it with another engine")
        case _:
            return _down(error)


def _quota(error: Any) -> DocmillError:  # noqa: ANN401 - some of what it holds has no types
    kind = RateLimitedError if error.reason == _TOO_FAST else AiQuotaError
    return kind("Document AI's quota is used up for now", retry_after_s=_asked_for(error.details or ()))


def _down(error: exceptions.GoogleAPICallError) -> DocmillError:
    match error:
        case exceptions.GatewayTimeout():
            return TimeLimitError("Document AI took too long for a page")
        case exceptions.ServiceUnavailable() | exceptions.Cancelled():
            return NetworkError("Document AI cannot be reached")
        case _:
            return ServerError(f"Document AI failed: {type(error).__name__}")


def _asked_for(details: Sequence[object]) -> float | None:
    """The wait that Google asks for, if it says."""
    for detail in details:
        if isinstance(detail, RetryInfo):
            return max(0.0, detail.retry_delay.seconds + detail.retry_delay.nanos / 1e9)
    return None
