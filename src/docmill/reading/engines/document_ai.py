"""Google Document AI: a processor of the user's own recognises pictures of pages."""

import asyncio
import logging
import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import google.auth
import grpc
import numpy as np
from google.api_core import exceptions
from google.auth import exceptions as auth
from google.auth.credentials import AnonymousCredentials, Credentials
from google.auth.transport.requests import Request
from google.cloud import documentai_v1 as documentai
from google.cloud.documentai_v1.services.document_processor_service import transports
from google.oauth2 import service_account
from google.protobuf.field_mask_pb2 import FieldMask
from google.rpc.error_details_pb2 import RetryInfo
from numpy.typing import NDArray

from docmill.errors import (
    AiQuotaError,
    BadModelOutputError,
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
from docmill.reading.engines.remote import PageImage
from docmill.reading.ocr.page import RecognisedLines

Message: TypeAlias = Any
"""One of Google's messages, whose types are made at run time."""


def parse_answer(document: Message, image: PageImage) -> RecognisedLines:
    """The words of an answer, in pixels of the picture sent. Raises BadModelOutputError."""
    if len(document.pages) != 1:
        raise BadModelOutputError(f"Document AI answered with {len(document.pages)} pages for one")
    page = document.pages[0]
    texts: list[str] = []
    corners: list[list[tuple[float, float]]] = []
    scores: list[float] = []
    is_glued = False
    for token in page.tokens:
        spans = [
            (int(segment.start_index), int(segment.end_index))
            for segment in token.layout.text_anchor.text_segments
        ]
        if any(not 0 <= start <= end <= len(document.text) for start, end in spans):
            raise BadModelOutputError("Document AI answered with words outside its text")
        text = "".join(document.text[start:end] for start, end in spans)
        box = _places(token.layout.bounding_poly, page.dimension)
        if is_glued and text.strip():
            texts[-1] += text.strip()
            corners[-1] = [corners[-1][0], box[1], box[2], corners[-1][3]]
            scores[-1] = min(scores[-1], token.layout.confidence)
        elif text.strip():
            texts.append(text.strip())
            corners.append(box)
            scores.append(token.layout.confidence)
        is_glued = bool(texts) and not text[-1:].isspace()  # a comma is a token, and no word
    places = np.array(corners, np.float64).reshape(-1, 4, 2)
    if not np.isfinite(places).all() or not all(math.isfinite(score) for score in scores):
        raise BadModelOutputError("Document AI answered with places that are no numbers")
    places = _in_sent_picture(places, page, image)
    return RecognisedLines(
        texts, places.astype(np.float32), np.clip(np.array(scores, np.float32), 0, 1, dtype=np.float32)
    )


def _places(polygon: Message, dimension: Message) -> list[tuple[float, float]]:
    """The four corners in Document AI's own picture, in its pixels."""
    if len(polygon.normalized_vertices) == 4:  # noqa: PLR2004
        width, height = dimension.width, dimension.height
        return [(point.x * width, point.y * height) for point in polygon.normalized_vertices]
    if len(polygon.vertices) == 4:  # noqa: PLR2004
        return [(point.x, point.y) for point in polygon.vertices]
    raise BadModelOutputError("Document AI answered with a word that stands nowhere")


def _in_sent_picture(corners: NDArray[np.float64], page: Message, image: PageImage) -> NDArray[np.float64]:
    """Corners in the picture that we sent: Document AI straightens pictures before it reads them."""
    if not page.transforms:
        if not (page.dimension.width > 0 and page.dimension.height > 0):
            raise BadModelOutputError("Document AI answered with a page without size")
        scale = (image.width_px / page.dimension.width, image.height_px / page.dimension.height)
        return corners * np.array(scale)
    matrix = np.eye(3)
    for transform in page.transforms:  # affine or projective, as OpenCV keeps it
        kind = _KINDS.get(transform.type_)
        rows, columns = transform.rows, transform.cols
        if kind is None or (rows, columns) not in {(2, 3), (3, 3)}:
            raise BadModelOutputError("Document AI tells in no known form how it turned the page")
        is_whole = len(transform.data) % kind().nbytes == 0
        values = np.frombuffer(transform.data, kind) if is_whole else np.zeros(0)
        if values.size != rows * columns or not np.isfinite(values).all():
            raise BadModelOutputError("Document AI does not tell how it turned the page")
        step = np.eye(3)
        step[:rows] = values.reshape(rows, columns)
        matrix = step @ matrix
    try:
        back = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise BadModelOutputError("Document AI turned the page into nothing") from error
    points = np.concatenate([corners, np.ones((*corners.shape[:2], 1))], axis=2) @ back.T
    return points[..., :2] / points[..., 2:]


_KINDS: Mapping[int, type[np.floating[Any]]] = {5: np.float32, 6: np.float64}
"""OpenCV's numbers for the types of a matrix's members."""
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
MAX_BYTES = 20_000_000
"""Document AI takes 40 MB at once, of which the request's own form takes some."""
FIELDS = ("text", "pages.dimension", "pages.transforms", "pages.tokens.layout")
"""Fields of the answer: without this list it holds the picture again."""
_TOO_FAST = "RATE_LIMIT_EXCEEDED"
_LIMIT_S = 85.0

# Google's libraries carry types for a part of what they hold.
_types: Any = documentai
_identity: Any = google.auth
_keys: Any = service_account.Credentials


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor of the user's own.

    endpoint: of another server with this protocol; without encryption it is sent no credentials.
    """

    project: str
    location: str
    processor: str
    version: str | None = None
    endpoint: str | None = None

    @property
    def name(self) -> str:
        """The name in Google's form."""
        own = f"projects/{self.project}/locations/{self.location}/processors/{self.processor}"
        return f"{own}/processorVersions/{self.version}" if self.version else own

    @property
    def encrypted(self) -> bool:
        """True if the connection is encrypted."""
        return self.endpoint is None or self.endpoint.startswith("https://")

    @property
    def host(self) -> str:
        """Host name of the server."""
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
        logging.getLogger("google").setLevel(logging.WARNING)  # at finer levels it logs the content

    async def recognise(self, image: PageImage) -> RecognisedLines:
        """See `RemoteEngine.recognise`."""
        if len(image.jpeg) > MAX_BYTES:
            raise TooLargeError(
                "the page's picture is too large for Document AI; set image.max_dimension_px lower"
            )
        request = _types.ProcessRequest(
            name=self._processor.name,
            raw_document=_types.RawDocument(content=image.jpeg, mime_type="image/jpeg"),
            field_mask=FieldMask(paths=FIELDS),
            skip_human_review=True,
        )
        with translate_errors(self._processor):
            client = await self._opened()
            answer = await client.process_document(request, retry=None, timeout=self._limit_s)
        # Without Google's wrapping, which makes every look into the answer slow.
        plain = _types.ProcessResponse.pb(answer).document
        return await asyncio.to_thread(parse_answer, plain, image)

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.transport.close()

    async def _opened(self) -> Any:  # noqa: ANN401 - Google's client has no types
        async with self._opening:
            if self._client is None:
                credentials = await asyncio.to_thread(self._credentials)
                host = self._processor.host
                transport: Any = transports.DocumentProcessorServiceGrpcAsyncIOTransport
                connect = partial(transport, host=host, credentials=credentials)
                if not self._processor.encrypted:
                    connect = partial(connect, channel=grpc.aio.insecure_channel(host))
                self._client = _types.DocumentProcessorServiceAsyncClient(transport=connect())
        return self._client

    def _credentials(self) -> Credentials:
        """Load the credentials from a file or this machine's cloud; not for the event loop."""
        if not self._processor.encrypted:
            return AnonymousCredentials()
        if (path := self._credentials_file) is not None:
            try:
                return _keys.from_service_account_file(str(path), scopes=SCOPES)
            except (OSError, ValueError) as error:  # its message may quote the key
                raise MisconfiguredError(
                    f"documentai.credentials_file {str(path)!r} cannot be used: {type(error).__name__}"
                ) from None
        if not self._adc:
            raise MisconfiguredError(
                "Document AI needs credentials: set documentai.credentials_file, or documentai.adc for this "
                "machine's own identity"
            )
        credentials: Any = _identity.default(scopes=SCOPES)[0]
        # Later, in the middle of a call, a refusal would look like a lost connection.
        credentials.refresh(Request())
        return credentials


@contextmanager
def translate_errors(processor: Processor) -> Generator[None]:
    """Translate Google's errors to `docmill.errors`, without Google's text, which may quote the document."""
    try:
        yield
    except exceptions.GoogleAPICallError as error:
        raise _translated(error, processor) from error
    except auth.DefaultCredentialsError as error:
        raise UnauthorizedError(
            "this machine has no identity at Google (documentai.adc); set documentai.credentials_file"
        ) from error
    except auth.TransportError as error:
        raise NetworkError("Google cannot be reached to sign in") from error
    except auth.GoogleAuthError as error:
        raise UnauthorizedError("Google refuses the credentials for Document AI; renew them") from error


def _translated(error: exceptions.GoogleAPICallError, processor: Processor) -> DocmillError:
    match error:
        case exceptions.TooManyRequests():
            quota: Any = error  # some of its attributes have no types
            delays = (detail.retry_delay for detail in quota.details or () if isinstance(detail, RetryInfo))
            delay = next(delays, None)
            retry_after_s = None if delay is None else max(0.0, delay.seconds + delay.nanos / 1e9)
            kind = RateLimitedError if quota.reason == _TOO_FAST else AiQuotaError
            ours = kind("Document AI's quota is used up for now", retry_after_s=retry_after_s)
        case exceptions.Unauthorized() | exceptions.Forbidden():
            ours = UnauthorizedError(
                f"Document AI does not allow the use of {processor.name!r}; the credentials need the role "
                "documentai.apiUser"
            )
        case exceptions.NotFound() | exceptions.FailedPrecondition() | exceptions.MethodNotImplemented():
            ours = MisconfiguredError(
                f"Document AI has no usable processor {processor.name!r} at {processor.host!r}; "
                "look at documentai.*"
            )
        case exceptions.BadRequest():
            ours = ValidationError("Document AI refuses the page; read it with another engine")
        case exceptions.GatewayTimeout():
            ours = TimeLimitError("Document AI took too long for a page")
        case exceptions.ServiceUnavailable() | exceptions.Cancelled():
            ours = NetworkError("Document AI cannot be reached")
        case _:
            ours = ServerError(f"Document AI failed: {type(error).__name__}")
    return ours
