"""The address of a source of the kind `webhook`, to which programs send signed requests."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import IO
from uuid import UUID

from fastapi import Request
from python_multipart.multipart import parse_options_header
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from docmill.errors import TooLargeError, UnauthorizedError
from docmill.files import CHUNK_BYTES
from docmill.service.sources.item_intake import ItemIntake
from docmill.service.sources.webhook.inbound import WebhookSettings, check_request
from docmill.service.sources.webhook.requests import SentFile, files_of
from docmill.service.sources.webhook.signature import SignatureCheck
from docmill.service.store import arrivals, fetch_requests
from docmill.service.store.database import new_id
from docmill.service.store.doc_sources import SourceRow
from docmill.service.store.fetch_requests import FetchRequest
from docmill.text_input import check_text
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault

router = Router(prefix="/hooks", include_in_schema=False)

_MEMORY_BYTES = 1_000_000
_JSON_SHARE = 1.4
"""Bytes of a JSON body for each byte of the largest file: base64 takes a third more."""
_PAUSED_S = 300
_LONGEST_WAIT_S = 5.0
"""For the limits of the source; senders give up after some seconds."""
_Told = dict[str, str | None]


@router.post("/{source_id}")
@needs("public", form="signed", logged=False)
async def receive_webhook(source_id: UUID, request: Request, vault: TheVault) -> JSONResponse:
    """Take the file of a signed request, or the files that its JSON holds or names.

    A request whose `webhook-id` was taken before changes nothing, and is answered likewise.
    """
    row = await _source(source_id, vault)
    opened = vault.service.sources.opened(row)
    try:
        check = SignatureCheck(
            opened.secrets.keys,
            message_id=request.headers.get("webhook-id", ""),
            timestamp=request.headers.get("webhook-timestamp", ""),
            signature=request.headers.get("webhook-signature", ""),
        )
        async with _signed_body(request, check, vault.settings.limits.file_bytes) as body:
            return await _take(request, body, row, opened.settings, vault)
    except UnauthorizedError as error:
        raise HTTPException(401, error.message) from error


async def _source(source_id: UUID, vault: Vault) -> SourceRow:
    row = await vault.service.sources.find(source_id)
    if row is None or row.kind != "webhook":
        raise HTTPException(404, "There is no such webhook.")
    if row.state == "paused":
        raise HTTPException(503, "This source is paused.", {"retry-after": str(_PAUSED_S)})
    return row


@asynccontextmanager
async def _signed_body(
    request: Request, check: SignatureCheck, largest_file: int
) -> AsyncGenerator[IO[bytes]]:
    """The body, once its signature was found right; on disk if it is large."""
    most = round(largest_file * _JSON_SHARE) + _MEMORY_BYTES
    size = 0
    with tempfile.SpooledTemporaryFile(_MEMORY_BYTES, prefix="docmill-") as body:
        async for piece in request.stream():
            size += len(piece)
            if size > most:
                raise TooLargeError(f"the request has more than {most / 1e6:.0f} MB, which is the limit")
            check.update(piece)
            await asyncio.to_thread(body.write, piece)
        check.finish()
        body.seek(0)
        yield body


async def _take(
    request: Request, body: IO[bytes], row: SourceRow, settings: WebhookSettings, vault: Vault
) -> JSONResponse:
    message_id = request.headers["webhook-id"]
    intake = vault.service.sources.item_intake(row, longest_wait_s=_LONGEST_WAIT_S)
    media_type, _ = parse_options_header(request.headers.get("content-type", ""))
    if media_type != b"application/json":
        told = [await _take_body(request, body, message_id, intake)]
    else:
        files = files_of(await asyncio.to_thread(body.read))
        for file in files:  # all of them, before one is taken
            if file.url is not None:
                check_request(file.url, settings)
        told = [
            await _take_file(file, f"{message_id}/{number}", row, intake, vault)
            for number, file in enumerate(files)
        ]
    statuses = {each["status"] for each in told}
    if statuses & {"accepted", "already_here"}:
        await intake.note_success()
    status = 422 if statuses == {"refused"} else 202 if "fetching" in statuses else 200
    return JSONResponse({"files": told}, status)


async def _take_body(request: Request, body: IO[bytes], item: str, intake: ItemIntake) -> _Told:
    _, options = parse_options_header(request.headers.get("content-disposition", ""))
    name = options.get(b"filename", b"").decode("utf-8", "replace") or "document"
    check_text(name)

    async def chunks() -> AsyncGenerator[bytes]:
        while piece := await asyncio.to_thread(body.read, CHUNK_BYTES):
            yield piece

    return await _taken(SentFile(file_name=name[:255], content=""), item, intake, chunks())


async def _take_file(file: SentFile, item: str, row: SourceRow, intake: ItemIntake, vault: Vault) -> _Told:
    if file.url is None:
        return await _taken(file, item, intake, file.chunks())
    request_id = new_id()
    request = FetchRequest(
        id=request_id,
        item=item,
        url=vault.service.secret_box.seal(file.url.encode(), owner=request_id),
        file_name=file.name,
        metadata=dict(file.told),
        failures=0,
    )
    async with intake.transaction() as conn:
        await fetch_requests.add(conn, request, tenant_id=row.tenant_id, source_id=row.id)
        document_id = await arrivals.document_of(conn, row.id, item)
    status = "fetching" if document_id is None else "known"
    return {"file_name": file.name, "status": status, "document_id": _text(document_id)}


async def _taken(file: SentFile, item: str, intake: ItemIntake, content: AsyncGenerator[bytes]) -> _Told:
    """Take a file that came with the request. What is refused is told with its reason."""
    taken = await intake.take(item, content, file_name=file.name, metadata=file.told)
    document_id = taken.document_id
    if taken.status == "known":
        async with intake.transaction() as conn:
            document_id = await arrivals.document_of(conn, intake.source_id, item)
    told: _Told = {"file_name": file.name, "status": taken.status, "document_id": _text(document_id)}
    if taken.error is not None:
        told |= {"code": taken.error.code, "error": taken.error.message}
    return told


def _text(document_id: UUID | None) -> str | None:
    return None if document_id is None else str(document_id)
