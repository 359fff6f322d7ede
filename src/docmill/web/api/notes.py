"""Notes on documents: list, write and delete, for programs and by the forms of a document's page."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Form, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import RedirectResponse

from docmill.service.note_taking import LONGEST, NoteTaking
from docmill.service.store import notes
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, not_found, parse_document_id

router = Router(prefix="/documents", tags=["notes"])
form_router = Router(include_in_schema=False)


class Note(BaseModel):
    """A note. author: the name of who wrote it, then."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    text: str
    author: str
    created_at: datetime


class NoteList(BaseModel):
    """The notes of a document, oldest first."""

    notes: list[Note]


class NewNote(BaseModel):
    """A note to write. text: several lines are fine."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"examples": [{"text": "Paid in cash."}]}
    )

    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]


def _note_taking(vault: TheVault) -> NoteTaking:
    return NoteTaking(vault.service.database, vault.service.feed)


TheNoteTaking = Annotated[NoteTaking, Depends(_note_taking)]


@router.get("/{document_id}/notes")
@needs("read")
async def list_notes(document_id: UUID, vault: TheVault) -> NoteList:
    """The notes of a document, oldest first."""
    await vault.document(document_id)
    async with vault.connection() as conn:
        rows = await notes.of_document(conn, document_id)
    return NoteList(notes=[Note.model_validate(row) for row in rows])


@router.post("/{document_id}/notes", status_code=201)
@needs("organise")
async def write_note(document_id: UUID, new: NewNote, vault: TheVault, taking: TheNoteTaking) -> NoteList:
    """Write a note on a document; the answer is all its notes."""
    await _write(document_id, new.text, vault, taking)
    return await list_notes(document_id, vault)


@router.delete("/{document_id}/notes/{note_id}", status_code=204)
@needs("organise")
async def delete_note(document_id: UUID, note_id: UUID, vault: TheVault, taking: TheNoteTaking) -> Response:
    """Delete a note. One that was imported is not imported again."""
    await _delete(document_id, note_id, vault, taking)
    return Response(status_code=204)


@form_router.post("/docs/{document_id}/notes")
@needs("organise")
async def change_notes(
    document_id: str,
    vault: TheVault,
    taking: TheNoteTaking,
    *,
    text: Annotated[str, Form(max_length=2 * LONGEST)] = "",
    delete: Annotated[UUID | None, Form()] = None,
) -> RedirectResponse:
    """Write a note, or delete one, and go back to the document. An empty form changes nothing."""
    key = parse_document_id(document_id)
    if delete is not None:
        await _delete(key, delete, vault, taking)
    elif text.strip():
        await _write(key, text, vault, taking)
    return RedirectResponse(f"/docs/{key}#notes", 303)


async def _write(document_id: UUID, text: str, vault: TheVault, taking: NoteTaking) -> None:
    note_id = await taking.add(
        document_id,
        text,
        tenant_id=vault.tenant_id,
        author=vault.access.user_name,
        author_id=vault.user_id,
    )
    if note_id is None:
        raise not_found()


async def _delete(document_id: UUID, note_id: UUID, vault: TheVault, taking: NoteTaking) -> None:
    if not await taking.delete(document_id, note_id, tenant_id=vault.tenant_id):
        raise not_found("note")
