"""Import of an export of paperless-ngx: each document once, however often it is begun again."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Literal
from uuid import UUID

from docmill.errors import CorruptError, DocumentError
from docmill.service.intake.accept import Intake
from docmill.service.note_taking import LONGEST as LONGEST_NOTE
from docmill.service.paperless.carry_over import (
    PROGRAM,
    CarryOver,
    Metadata,
    facts_note,
    key_of,
    usable_tags,
)
from docmill.service.paperless.export_files import ExportFiles, explained, sums_of
from docmill.service.paperless.manifest import ExportedDocument, ExportedNote, Manifest
from docmill.service.paperless.tag_colors import nearest_color
from docmill.service.store import documents, notes, tags
from docmill.service.store.ingestions import Origin
from docmill.service.store.notes import ImportedNote

IMPORTED = "paperless:document"
"""The key of the note with the facts of a document. It is written last: whoever has it was imported."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a document of an export.

    new: it was not here, and is read now. known: its content was here, and its metadata was added. unchanged:
    it was imported before. refused: `problem` says why; the others are imported all the same. doubt: what is
    odd about a document that is imported even so: its file, or a number that another one has; empty for most.
    """

    document: ExportedDocument
    status: Literal["new", "known", "unchanged", "refused"]
    document_id: UUID | None = None
    problem: str = ""
    doubt: str = ""


class PaperlessImport:
    """Imports the documents of one export into a tenant.

    max_bytes: of a file. user_id: in whose name titles, dates and tags are set.
    """

    def __init__(
        self, intake: Intake, carry_over: CarryOver, *, max_bytes: int, tenant_id: UUID, user_id: UUID
    ) -> None:
        self._intake = intake
        self._carry_over = carry_over
        self._database = carry_over.database
        self._max_bytes = max_bytes
        self._tenant_id = tenant_id
        self._user_id = user_id

    async def run(
        self,
        files: ExportFiles,
        manifest: Manifest,
        tell: Callable[[Outcome], None],
        *,
        is_dry: bool = False,
    ) -> None:
        """Import every document in turn, and tell its outcome. is_dry: only find out; nothing is changed.

        Raises TransientError or SetupError if the vault itself fails; begun again, it goes on from there.
        """
        for document in manifest.documents:
            try:
                tell(await self._import(files, manifest, document, is_dry=is_dry))
            except DocumentError as error:
                tell(Outcome(document, "refused", problem=error.message))

    async def _import(
        self, files: ExportFiles, manifest: Manifest, document: ExportedDocument, *, is_dry: bool
    ) -> Outcome:
        if document.problem:
            raise CorruptError(document.problem)
        sums = await asyncio.to_thread(sums_of, files, document.file_name, max_bytes=self._max_bytes)
        async with self._database.tenant(self._tenant_id) as conn:
            here = await documents.of_content(conn, sums.sha256)
            was_imported = here is not None and await notes.was_brought(conn, here, IMPORTED)
            if was_imported and here is not None and not is_dry:  # also one in the bin, where it stays
                await notes.bring(conn, here, _notes_of(document), tenant_id=self._tenant_id)
        if was_imported:
            problem = ""
            if here is not None and not is_dry:  # releases before numbers were values kept them in a note
                problem = await self._carry_over.apply(
                    here,
                    Metadata(serial_number=document.serial_number),
                    tenant_id=self._tenant_id,
                    user_id=self._user_id,
                )
            return Outcome(document, "unchanged", here, doubt=problem)
        status = "new" if here is None else "known"
        doubt = ""
        if document.checksum and not sums.agree_with(document.checksum):
            doubt = (
                "the file is not the one that was exported, perhaps cut short; look at it, or export again"
            )
        if is_dry:
            return Outcome(document, status, here, doubt=doubt)
        accepted = await self._intake.accept_from(
            Origin(metadata={"imported_from": PROGRAM, "paperless_id": document.pk}),
            _chunks(files, document.file_name),
            tenant_id=self._tenant_id,
            file_name=document.original_name or PurePosixPath(document.file_name).name,
        )
        await self._color_new_tags(document, manifest)
        problem = await self._carry_over.apply(
            accepted.document_id,
            Metadata(
                document.title,
                document.created,
                document.tags,
                (*_notes_of(document), _facts_of(document)),
                document.serial_number,
            ),
            tenant_id=self._tenant_id,
            user_id=self._user_id,
        )
        return Outcome(document, status, accepted.document_id, doubt=" ".join(filter(None, (doubt, problem))))

    async def _color_new_tags(self, document: ExportedDocument, manifest: Manifest) -> None:
        """Make the tags that are not here yet, in their colours; those that are here keep theirs."""
        for name in document.tags:
            color = nearest_color(manifest.tag_colors.get(name, ""))
            for usable in usable_tags([name]) if color else ():
                async with self._database.tenant(self._tenant_id) as conn:
                    is_new = not await tags.named(conn, [usable])
                if is_new:
                    await self._carry_over.tagging.create(usable, color=color, tenant_id=self._tenant_id)


def _facts_of(document: ExportedDocument) -> ImportedNote:
    return facts_note(document.facts, source_key=IMPORTED, created_at=document.added or datetime.now(UTC))


def _notes_of(document: ExportedDocument) -> list[ImportedNote]:
    return [_note_of(document, note) for note in document.notes]


def _note_of(document: ExportedDocument, note: ExportedNote) -> ImportedNote:
    moment = note.created_at or document.added or datetime.now(UTC)
    return ImportedNote(
        key_of("note", note.created_at, note.text),
        note.text[:LONGEST_NOTE],
        note.author or PROGRAM,
        moment,
    )


async def _chunks(files: ExportFiles, name: str) -> AsyncGenerator[bytes]:
    file = await asyncio.to_thread(files.open, name)
    try:
        with explained(name):
            while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                yield chunk
    finally:
        await asyncio.to_thread(file.close)
