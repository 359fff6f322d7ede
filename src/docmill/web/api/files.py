"""Routes for originals, pictures of pages, and enhanced pictures."""

import re
from collections.abc import AsyncIterator
from typing import Annotated, Literal
from urllib.parse import quote
from uuid import UUID

from fastapi import Header, Path, Query, Response
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse

from docmill.errors import DocumentError, TransientError
from docmill.reading.images.kept_scans import format_page_numbers
from docmill.web.access import Router, needs
from docmill.web.context import Vault, preprocessed_path
from docmill.web.page_images import WIDTHS_PX, placeholder
from docmill.web.signed import FilesVault

router = Router(prefix="/documents/{document_id}", tags=["files"])

INLINE = frozenset({"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"})
"""Media types without scripts. All others are only offered for download."""

_RANGE = re.compile(r"bytes=(?P<first>\d{0,18})-(?P<last>\d{0,18})")


@router.head("/file", response_class=Response, include_in_schema=False)
@router.get("/file", response_class=Response)
@needs("read", signable=True)
async def get_file(
    document_id: UUID,
    request: Request,
    vault: FilesVault,
    *,
    disposition: Literal["attachment", "inline"] = "attachment",
    range_header: Annotated[str | None, Header(alias="range")] = None,
) -> Response:
    """The original, unchanged. `inline` works for PDF and common images only."""
    row = await vault.document(document_id)
    shown_as = "inline" if disposition == "inline" and row.media_type in INLINE else "attachment"
    headers = {
        "content-disposition": f"{shown_as}; filename*=UTF-8''{quote(row.file_name, safe='')}",
        "etag": f'"{row.content_hash}"',
        "accept-ranges": "bytes",
    }
    byte_range = _parse_range(range_header, row.byte_size)
    start, stop = byte_range or (0, row.byte_size)
    if byte_range is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{row.byte_size}"
    headers["content-length"] = str(stop - start)
    status = 206 if byte_range else 200
    if request.method == "HEAD":
        return Response(None, status, headers, row.media_type)
    content = await _open_stream(vault, row.file_path, start, stop)
    return StreamingResponse(content, status, headers, media_type=row.media_type)


@router.get("/pages/{number}.webp", response_class=Response)
@needs("read", signable=True)
async def get_page(
    document_id: UUID,
    number: Annotated[int, Path(ge=1, le=100_000)],
    vault: FilesVault,
    *,
    width: Annotated[int, Query(json_schema_extra={"enum": list(WIDTHS_PX)})] = 1000,
    known: Annotated[str | None, Header(alias="if-none-match")] = None,
    accept: Annotated[str, Header()] = "*/*",
    v: Annotated[str, Query(max_length=40, description="version of the picture, for another address")] = "",
) -> Response:
    """A page as a picture. Processing again may turn it; `v` has an open page load it anew then.

    A client that accepts images by name, as the `img` of a browser does, gets a placeholder for a page that
    cannot be drawn; others get the error.
    """
    if width not in WIDTHS_PX:
        raise HTTPException(422, f"width is one of {', '.join(map(str, WIDTHS_PX))}")
    del v
    row, history = await vault.document_with_history(document_id)
    rotation = await vault.rotation(history, number)
    headers = {
        # Kept, unlike everything else of a tenant: a list has dozens of pictures, and to draw one takes long.
        # But asked for each time, so that the end of a session or a membership counts at once.
        "cache-control": "private, no-cache",
        "etag": f'"{row.content_hash}-{number}-{width}-{rotation}"',
        "vary": "accept",
    }
    if known == headers["etag"]:
        return Response(None, 304, headers)
    try:
        image = await vault.images.get(row, page_number=number, width_px=width, rotation=rotation)
    except (DocumentError, TransientError):
        if "image/" not in accept:
            raise
        headers = {"cache-control": "no-store", "vary": "accept"}
        return Response(placeholder(width), headers=headers, media_type="image/svg+xml")
    return Response(image, headers=headers, media_type="image/webp")


@router.get("/preprocessed.pdf", response_class=Response)
@needs("read", signable=True)
async def get_preprocessed(document_id: UUID, vault: FilesVault) -> Response:
    """The hardly readable pages, as a PDF of the enhanced pictures in which they were read."""
    row, history = await vault.document_with_history(document_id)
    key = preprocessed_path(history)
    document = await vault.transcription(history) if key else None
    if key is None or document is None:
        raise HTTPException(404, "No page of this document was preprocessed.")
    numbers = [page.number for page in document.pages if page.preprocessed]
    stem = row.file_name.rpartition(".")[0] or row.file_name
    name = f"{stem}, preprocessed {format_page_numbers(numbers)}.pdf"
    size = await vault.service.blobs.size(key)
    headers = {
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "content-length": str(size),
    }
    content = await _open_stream(vault, key, 0, size)
    return StreamingResponse(content, headers=headers, media_type="application/pdf")


async def _open_stream(vault: Vault, key: str, start: int, stop: int) -> AsyncIterator[bytes]:
    """Stream the bytes; the first chunk is read at once, so that a lost file is answered by an error."""
    chunks = vault.service.blobs.stream(key, start=start, stop=stop)
    first = await anext(chunks)

    async def content() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return content()


def _parse_range(header: str | None, byte_size: int) -> tuple[int, int] | None:
    """Return the first byte of a Range header and the one after its last; None for the whole file.

    Several ranges at once, other units and nonsense give the whole file, as RFC 9110 has it.
    """
    match = _RANGE.fullmatch(header or "")
    if match is None:
        return None
    first, last = match["first"], match["last"]
    if not (first or last) or (first and last and int(last) < int(first)):
        return None
    start = int(first) if first else max(0, byte_size - int(last))
    stop = min(byte_size, int(last) + 1) if first and last else byte_size
    if start >= stop:
        raise HTTPException(
            416, f"The file has {byte_size} bytes.", {"content-range": f"bytes */{byte_size}"}
        )
    return start, stop
