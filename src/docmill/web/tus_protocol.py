"""Headers of tus 1.0.0, a protocol of resumable uploads: https://tus.io/protocols/resumable-upload.

Extensions: creation, expiration, checksum, termination.
"""

import base64
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docmill.errors import ValidationError
from docmill.text_input import check_text

VERSION = "1.0.0"
EXTENSIONS = "creation,expiration,checksum,termination"
ALGORITHMS = ("sha1", "sha256")
_CHECKSUM_MISMATCH = 460
_MOST_DIGITS = 15


class TusRequests:
    """Middleware: the version in every answer, and methods that a client could not send itself.

    path: of the uploads.
    """

    def __init__(self, app: ASGIApp, *, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or not (scope["path"] + "/").startswith(f"{self._path}/"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        override = headers.get("x-http-method-override", "").upper()
        # No form can send the header of the protocol.
        if scope["method"] == "POST" and override in {"PATCH", "DELETE"} and "tus-resumable" in headers:
            scope = {**scope, "method": override}

        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("tus-resumable", VERSION)
            await send(message)

        await self._app(scope, receive, send_with_version)


def check_version(request: Request) -> None:
    """Answer 412 to a request of another version of the protocol, or of none."""
    if request.headers.get("tus-resumable") != VERSION:
        raise HTTPException(
            412, f"Uploads here speak tus {VERSION}: send Tus-Resumable: {VERSION}.", {"tus-version": VERSION}
        )


def number_in(request: Request, name: str) -> int:
    """Return the count of bytes in a header. Raises ValidationError if it is absent or no such number."""
    text = request.headers.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise ValidationError(f"the header {name} must be a number of bytes")
    return int(text)


def file_name_in(metadata: str) -> str:
    """Return the name of the file in `Upload-Metadata`, "upload" without one. Raises ValidationError."""
    for pair in metadata.split(","):
        key, _, value = pair.strip().partition(" ")
        if key in {"filename", "name"}:
            try:
                name = base64.b64decode(value, validate=True).decode()
            except ValueError as error:  # also of what is not ASCII
                raise ValidationError(f"{key!r} in Upload-Metadata must be UTF-8 in Base64") from error
            check_text(name)
            if name:
                return name
    return "upload"


async def read_body(request: Request) -> AsyncGenerator[bytes]:
    """Read the bytes that arrive. A connection that breaks ends them: what has arrived is worth keeping."""
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        return


async def read_checked(chunks: AsyncIterator[bytes], checksum: str) -> AsyncGenerator[bytes]:
    """Read the bytes and compare them with `Upload-Checksum`. Answers 460 at the end if they differ."""
    algorithm, _, expected = checksum.partition(" ")
    if algorithm not in ALGORITHMS:
        raise HTTPException(400, f"Checksums are {' or '.join(ALGORITHMS)} here.")
    digest = hashlib.new(algorithm)
    async for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if base64.b64encode(digest.digest()).decode() != expected.strip():
        raise HTTPException(_CHECKSUM_MISMATCH, "The bytes do not have this checksum. Send them again.")
