"""Gives a document the title, date, tags and notes that it had in paperless-ngx.

What a person has said of the document here is stronger: it stays.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.note_taking import LONGEST as LONGEST_NOTE
from docmill.service.review.edits import LONGEST_TITLE, Edits
from docmill.service.review.review import InvalidValuesError
from docmill.service.store import notes, reviews, tags
from docmill.service.store.database import Database
from docmill.service.store.notes import ImportedNote
from docmill.service.store.reviews import DATE, SERIAL_NUMBER, TITLE
from docmill.service.tagging import Tagging, clean_name
from docmill.understanding.types.tags import LONGEST as LONGEST_TAG
from docmill.understanding.types.tags import is_same_tag

PROGRAM = "paperless-ngx"
"""The author of notes that list what paperless-ngx knew of a document."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The facts that paperless-ngx has about a document. title: empty for none.

    serial_number: its archive serial number.
    """

    title: str = ""
    day: date | None = None
    tags: tuple[str, ...] = ()
    notes: tuple[ImportedNote, ...] = ()
    serial_number: int | None = None


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Stores `Metadata` at documents of this installation."""

    database: Database
    edits: Edits
    tagging: Tagging

    async def apply(self, document_id: UUID, metadata: Metadata, *, tenant_id: UUID, user_id: UUID) -> str:
        """Store it for a person, in their name. A title, date, number or tag that somebody has set stays.

        The notes come last: whoever finds them knows that the rest is stored. Done twice, it changes nothing.
        The result says why the document did not get its number; it stands in a note then. Empty if it did.
        """
        problem = await self._edit(document_id, metadata, tenant_id=tenant_id, user_id=user_id)
        notes_to_bring = metadata.notes
        if problem:
            key = key_of("archive serial number", metadata.serial_number)
            facts = {"Archive serial number": f"{metadata.serial_number}. {problem}"}
            notes_to_bring = (
                facts_note(facts, source_key=key, created_at=datetime.now(UTC)),
                *notes_to_bring,
            )
        async with self.database.tenant(tenant_id) as conn:
            taken_off = await tags.taken_off(conn, document_id)
        wanted = [
            name
            for name in usable_tags(metadata.tags)
            if not any(is_same_tag(name, other) for other in taken_off)
        ]
        if wanted:
            await self.tagging.assign([document_id], add=wanted, tenant_id=tenant_id, assigned_by=user_id)
        if notes_to_bring:
            async with self.database.tenant(tenant_id) as conn:
                await notes.bring(conn, document_id, notes_to_bring, tenant_id=tenant_id)
            self.tagging.feed.announce()
        return problem

    async def _edit(self, document_id: UUID, metadata: Metadata, *, tenant_id: UUID, user_id: UUID) -> str:
        """The problem of its number, or empty."""
        async with self.database.tenant(tenant_id) as conn:
            edited = (await reviews.current(conn, document_id)).keys()
        title = " ".join(metadata.title.split())[:LONGEST_TITLE]
        day = "" if metadata.day is None else metadata.day.isoformat()
        number = "" if metadata.serial_number is None else str(metadata.serial_number)
        problem = ""
        for path, value in ((TITLE, title), (DATE, day), (SERIAL_NUMBER, number)):
            if value and path not in edited:
                try:
                    await self.edits.change(
                        document_id, {path: value}, tenant_id=tenant_id, edited_by=user_id
                    )
                except InvalidValuesError as error:
                    # A title or day that no document has here, such as of year 1, is left out, and what was
                    # read stays. A number that another document has is for a person to decide.
                    if path == SERIAL_NUMBER:
                        problem = error.message
        return problem


def usable_tags(names: Iterable[str]) -> list[str]:
    """Names as tags have them here, each once; a longer one is cut, one without letters is left out."""
    usable: list[str] = []
    for name in names:
        short = name if len(name) <= LONGEST_TAG else f"{name[: LONGEST_TAG - 1].rstrip()}…"
        try:
            cleaned = clean_name(short)
        except ValidationError:
            continue
        if not any(is_same_tag(cleaned, other) for other in usable):
            usable.append(cleaned)
    return usable


def facts_note(facts: Mapping[str, str], *, source_key: str, created_at: datetime) -> ImportedNote:
    """A note of the facts that documents here have no place for. facts: values by their names."""
    lines = [f"{name}: {' '.join(value.split())}" for name, value in facts.items() if value.strip()]
    text = "\n".join([f"From {PROGRAM}:", *lines])
    return ImportedNote(source_key, text[:LONGEST_NOTE], PROGRAM, created_at)


def key_of(kind: str, *parts: object) -> str:
    """The key of a note of paperless-ngx: of its kind and content."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()
    return f"paperless:{kind}:{digest[:32]}"
