"""Uploads: files of a form into the vault, with the outcome of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from starlette.requests import Request

from docmill.errors import CorruptError, DocmillError, EncryptedError, TooLargeError, ValidationError
from docmill.web.context import Vault
from docmill.web.multipart import files
from docmill.web.problems import status_of

_OURS_TO_TELL = (TooLargeError, CorruptError, EncryptedError)
"""Refusals of one file; the others of the same upload go on. Whatever else fails, fails the whole request."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """One file. document_id, ingestion_id: None for one that was refused; error: then why."""

    file_name: str
    status: Literal["accepted", "already_here", "refused"]
    document_id: UUID | None = None
    ingestion_id: UUID | None = None
    error: DocmillError | None = None


async def receive(request: Request, vault: Vault, *, force: bool = False) -> list[Uploaded]:
    """Take in every file of the form. Raises ValidationError if there is none."""
    results: list[Uploaded] = []
    async for part in files(request):
        try:
            accepted = await vault.service.intake.accept(
                part.chunks,
                tenant_id=vault.tenant_id,
                file_name=part.file_name,
                force=force,
                unlock=vault.unlocking(part.password),
            )
        except _OURS_TO_TELL as error:
            results.append(Uploaded(part.file_name, "refused", error=error))
        else:
            status = "accepted" if accepted.is_new else "already_here"
            results.append(Uploaded(part.file_name, status, accepted.document_id, accepted.ingestion_id))
        vault.metrics.upload_ended(results[-1].status)
    if not results:
        raise ValidationError("the form holds no file; choose at least one")
    return results


def refusal_of(results: Sequence[Uploaded]) -> DocmillError | None:
    """Return the first error if every file was refused, else None."""
    errors = [result.error for result in results if result.error]
    return errors[0] if len(errors) == len(results) else None


def upload_status(results: Sequence[Uploaded]) -> int:
    """201 when a document was made, 200 when all were here before, else why the first was refused."""
    refusal = refusal_of(results)
    if refusal is not None:
        return status_of(refusal)
    return 201 if any(result.status == "accepted" for result in results) else 200
