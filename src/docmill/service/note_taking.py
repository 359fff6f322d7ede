"""Notes that people write on documents."""

from dataclasses import dataclass
from uuid import UUID

from docmill.errors import ValidationError
from docmill.service.events.wakeups import EventFeed
from docmill.service.store import documents, notes
from docmill.service.store.database import Database

LONGEST = 10_000
"""Characters of a note."""


@dataclass(frozen=True)
class NoteTaking:
    """Adds and deletes notes. Each method is one change, and tells open pages of it."""

    database: Database
    feed: EventFeed

    async def add(
        self, document_id: UUID, text: str, *, tenant_id: UUID, author: str, author_id: UUID
    ) -> UUID | None:
        """Write a note on a document; its id, None if there is no such document. Raises ValidationError."""
        text = clean_text(text)
        async with self.database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id):
                return None
            note_id = await notes.add(
                conn, document_id, text, tenant_id=tenant_id, author=author, author_id=author_id
            )
        self.feed.announce()
        return note_id

    async def delete(self, document_id: UUID, note_id: UUID, *, tenant_id: UUID) -> bool:
        """Delete a note; False if the tenant's document has none of that id."""
        async with self.database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id):
                return False
            is_deleted = await notes.delete(conn, document_id, note_id)
        self.feed.announce()
        return is_deleted


def clean_text(text: str) -> str:
    """The text of a note with plain line ends. Raises ValidationError if it is empty or too long."""
    plain = "\n".join(text.splitlines()).strip()
    if not plain:
        raise ValidationError("A note needs a text.")
    if len(plain) > LONGEST:
        raise ValidationError(f"A note has at most {LONGEST:,} characters.")
    return plain
