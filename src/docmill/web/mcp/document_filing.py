"""The tools that file a document: from its content, or from a file on this machine."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from docmill.errors import CorruptError, EncryptedError, TooLargeError, ValidationError
from docmill.files import chunks
from docmill.service.store import audit_log
from docmill.web.mcp.tool_answers import FilingAnswer
from docmill.web.mcp.tool_context import ToolContext

MOST_CONTENT_CHARACTERS = 14_000_000
"""Of a file in an argument: 10 MB. Larger ones go by the API, in a stream."""

_REFUSALS = (TooLargeError, CorruptError, EncryptedError)


class ContentArguments(BaseModel):
    """A file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file_name: Annotated[str, Field(min_length=1, max_length=300, description="with its ending")]
    content_base64: Annotated[
        str, Field(max_length=MOST_CONTENT_CHARACTERS, description="the bytes of the file, as base64")
    ]


class PathArguments(BaseModel):
    """A file on the machine of the server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Annotated[
        str,
        Field(
            min_length=1,
            max_length=4000,
            description="in a folder from which files may be filed: whole, or from such a folder on",
        ),
    ]


async def file_document(context: ToolContext, wanted: ContentArguments) -> FilingAnswer:
    """File the content. Raises ValidationError if it is no base64, and as `Intake.accept`."""
    try:
        content = base64.b64decode(wanted.content_base64, validate=True)
    except ValueError as error:  # binascii.Error, and what is not ASCII
        raise ValidationError("`content_base64` is no base64") from error

    async def whole() -> AsyncIterator[bytes]:
        yield content

    return await _file(context, whole(), wanted.file_name)


async def file_document_from_path(context: ToolContext, wanted: PathArguments) -> FilingAnswer:
    """File a file of one of the folders. Raises ValidationError for any other, and as `Intake.accept`.

    Whether a file exists elsewhere is not told.
    """
    path = await asyncio.to_thread(_allowed_path, wanted.path, context.folders)
    if path is None:
        folders = ", ".join(repr(str(folder)) for folder in context.folders)
        raise ValidationError(f"there is no such file in a folder from which files may be filed: {folders}")
    return await _file(context, _readable_chunks(path), path.name)


def _allowed_path(text: str, folders: Sequence[Path]) -> Path | None:
    """The file, if it is in one of the folders, also after symbolic links were followed."""
    for folder in folders:
        try:
            path = (folder / text).resolve(strict=True)  # a whole path stays as it is
        except (OSError, ValueError, RuntimeError):  # a null byte, a circle of links
            continue
        if path.is_relative_to(folder.resolve()) and path.is_file():
            return path
    return None


async def _readable_chunks(path: Path) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks(path):
            yield chunk
    except OSError as error:
        raise ValidationError(f"the file cannot be read: {error.strerror}") from error


async def _file(context: ToolContext, content: AsyncIterator[bytes], file_name: str) -> FilingAnswer:
    vault = context.vault
    try:
        accepted = await vault.service.intake.accept(
            content, tenant_id=vault.tenant_id, file_name=file_name, uploaded_by=vault.user_id
        )
    except _REFUSALS:
        vault.metrics.upload_ended("refused")
        raise
    status = "accepted" if accepted.is_new else "restored" if accepted.is_restored else "already_here"
    vault.metrics.upload_ended(status)
    async with vault.connection() as conn:
        await audit_log.add(
            conn,
            tenant_id=vault.tenant_id,
            user_id=vault.user_id,
            api_key_id=vault.access.api_key_id,
            action="upload",
            target=str(accepted.document_id),
            details={"files": 1, "by_assistant": True, **vault.audit_details},
            address=context.address,
        )
    return FilingAnswer(
        document_id=accepted.document_id, status=status, is_being_read=accepted.ingestion_id is not None
    )
