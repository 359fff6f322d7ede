"""Resumable uploads: a file in pieces, by the protocol tus 1.0.0."""

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Literal
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel

from docmill.errors import ValidationError
from docmill.service.store.partial_uploads import Outcome, PartialUpload, Uploader
from docmill.web import tus_protocol
from docmill.web.access import Router, check_form_token, needs
from docmill.web.context import TheVault, Vault, not_found
from docmill.web.tus_protocol import check_version, number_in

router = Router(prefix="/uploads", tags=["documents"])

_CONTENT_TYPE = "application/offset+octet-stream"


def _header(
    name: str, description: str, example: object, schema: dict[str, object], *, required: bool = True
) -> dict[str, object]:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": schema,
        "example": example,
    }


_VERSION = _header(
    "Tus-Resumable", "the version of the protocol", tus_protocol.VERSION, {"const": tus_protocol.VERSION}
)
_LENGTH = _header(
    "Upload-Length", "the size of the file in bytes", 1048576, {"type": "integer", "minimum": 1}
)
_OFFSET = _header(
    "Upload-Offset",
    "the place of the first byte of the body in the file",
    0,
    {"type": "integer", "minimum": 0},
)
_METADATA = _header(
    "Upload-Metadata",
    "`filename` and its value in Base64",
    "filename YmlsbC5wZGY=",
    {"type": "string"},
    required=False,
)
_CHECKSUM = _header(
    "Upload-Checksum",
    "`sha1` or `sha256`, and the digest in Base64",
    "sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=",
    {"type": "string", "pattern": "^(sha1|sha256) [A-Za-z0-9+/]+=*$"},
    required=False,
)


def _problem(status: int, description: str, title: str, detail: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    example = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "code": "bad_request",
    }
    content = {"schema": schema, "example": example}
    return {"description": description, "content": {"application/problem+json": content}}


_OTHER_VERSION: dict[int | str, dict[str, Any]] = {
    412: _problem(
        412,
        "`Tus-Resumable` is absent, or another version",
        "Changed meanwhile",
        "Uploads here speak tus 1.0.0: send Tus-Resumable: 1.0.0.",
    )
}
_REFUSED_BYTES: dict[int | str, dict[str, Any]] = {
    **_OTHER_VERSION,
    460: _problem(
        460,
        "The bytes do not have the checksum",
        "This did not work",
        "The bytes do not have this checksum. Send them again.",
    ),
}


class ResumableUpload(BaseModel):
    """A file on its way. document_id, outcome: once it has arrived whole."""

    id: UUID
    file_name: str
    status: Literal["receiving"] | Outcome
    byte_length: int
    byte_offset: int
    document_id: UUID | None
    expires_at: datetime


@router.options("", status_code=204, include_in_schema=False)
@needs("write")
async def describe_uploads(vault: TheVault) -> Response:
    """The parts of the protocol that this server speaks."""
    return Response(
        None,
        204,
        {
            "tus-version": tus_protocol.VERSION,
            "tus-extension": tus_protocol.EXTENSIONS,
            "tus-max-size": str(vault.service.resumable_uploads.max_bytes),
            "tus-checksum-algorithm": ",".join(tus_protocol.ALGORITHMS),
        },
    )


@router.post(
    "",
    status_code=201,
    response_class=Response,
    responses=_OTHER_VERSION,
    openapi_extra={"parameters": [_VERSION, _LENGTH, _METADATA]},
)
@needs("write")
async def begin_upload(request: Request, vault: TheVault) -> Response:
    """Begin an upload of a file by tus 1.0.0; `Location` is where its bytes are sent. It has 24 hours."""
    check_version(request)
    metadata = request.headers.get("upload-metadata", "")
    upload = await vault.service.resumable_uploads.create(
        _uploader(vault),
        byte_length=number_in(request, "Upload-Length"),
        file_name=tus_protocol.file_name_in(metadata),
        metadata=metadata,
    )
    location = f"{request.url.path.rstrip('/')}/{upload.id}"
    return Response(None, 201, {"location": location, "upload-expires": _expiry(upload)})


@router.get("/{upload_id}", responses=_OTHER_VERSION)
@needs("write")
async def get_upload(
    upload_id: UUID, request: Request, response: Response, vault: TheVault
) -> ResumableUpload:
    """The progress of an upload: as headers, also for HEAD, and as JSON with the document that it became."""
    upload = await _find(upload_id, vault)
    if "tus-resumable" in request.headers:
        check_version(request)
    response.headers.update(_state(upload))
    response.headers["upload-length"] = str(upload.byte_length)
    response.headers["cache-control"] = "no-store"
    if upload.metadata:
        response.headers["upload-metadata"] = upload.metadata
    return ResumableUpload(
        id=upload.id,
        file_name=upload.file_name,
        status=upload.outcome or "receiving",
        byte_length=upload.byte_length,
        byte_offset=upload.byte_offset,
        document_id=upload.document_id,
        expires_at=upload.expires_at,
    )


@router.patch(
    "/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=_REFUSED_BYTES,
    openapi_extra={
        "parameters": [_VERSION, _OFFSET, _CHECKSUM],
        "requestBody": {
            "required": True,
            "content": {_CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
    },
)
@needs("write", form="streamed", logged=False)
async def continue_upload(upload_id: UUID, request: Request, vault: TheVault) -> Response:
    """Send bytes of an upload, from `Upload-Offset` on; with the last one, the file is taken in.

    409 tells that the upload is elsewhere: ask where, and go on from there. After a connection broke, what
    has arrived is kept, except with `Upload-Checksum`.
    """
    check_form_token(request, "")
    upload = await _find(upload_id, vault)
    check_version(request)
    if request.headers.get("content-type", "").partition(";")[0].strip() != _CONTENT_TYPE:
        raise ValidationError(f"send the bytes with the Content-Type {_CONTENT_TYPE}")
    offset = number_in(request, "Upload-Offset")
    body, checksum = tus_protocol.read_body(request), request.headers.get("upload-checksum")
    if checksum is not None:
        body = tus_protocol.read_checked(body, checksum)
    was_complete = upload.outcome is not None
    upload = await vault.service.resumable_uploads.append(
        upload, body, offset=offset, is_whole=checksum is not None
    )
    if upload.outcome is not None and not was_complete:
        vault.metrics.upload_ended(upload.outcome)
    return Response(None, 204, _state(upload))


@router.delete(
    "/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=_OTHER_VERSION,
    openapi_extra={"parameters": [_VERSION]},
)
@needs("write")
async def end_upload(upload_id: UUID, request: Request, vault: TheVault) -> Response:
    """Remove an upload and what has arrived of it. A document that it became stays."""
    upload = await _find(upload_id, vault)
    check_version(request)
    await vault.service.resumable_uploads.remove(upload)
    return Response(None, 204)


async def _find(upload_id: UUID, vault: Vault) -> PartialUpload:
    """Load the upload. Answers 404 if the caller has none of that id."""
    upload = await vault.service.resumable_uploads.find(upload_id, _uploader(vault))
    if upload is None:
        raise not_found("upload")
    return upload


def _uploader(vault: Vault) -> Uploader:
    return Uploader(vault.tenant_id, vault.user_id, vault.access.api_key_id)


def _state(upload: PartialUpload) -> dict[str, str]:
    """The headers that tell how far an upload is, and the address of the document that it became."""
    headers = {"upload-offset": str(upload.byte_offset), "upload-expires": _expiry(upload)}
    if upload.document_id is not None:
        headers["content-location"] = f"/api/v1/documents/{upload.document_id}"
    return headers


def _expiry(upload: PartialUpload) -> str:
    return format_datetime(upload.expires_at.astimezone(UTC), usegmt=True)
