"""Changes of tags by people: assigning, naming, merging and removing them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from docmill.errors import ChangedError, ValidationError
from docmill.service.events.wakeups import EventFeed
from docmill.service.store import tags
from docmill.service.store.database import Database
from docmill.service.store.tags import COLORS, TagRow
from docmill.understanding.types.tags import LONGEST, is_same_tag, one_line

MOST_DOCUMENTS = 1000
"""Documents that are tagged at once: their rows are locked meanwhile."""


@dataclass(frozen=True)
class Tagging:
    """The tags of a vault's tenants. Each method is one change, and tells open pages of it."""

    database: Database
    feed: EventFeed

    async def assign(
        self,
        document_ids: Sequence[UUID],
        *,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        tenant_id: UUID,
        assigned_by: UUID,
    ) -> int:
        """Add tags to documents and take others off, by name; the number of documents that this changed.

        New names become tags. What a person added or took off stays so, whatever is read later. Raises
        ValidationError for a name that is none.
        """
        added, removed = [clean_name(name) for name in add], [clean_name(name) for name in remove]
        if any(is_same_tag(name, other) for name in added for other in removed):
            raise ValidationError("A tag cannot be added and taken off at once.")
        # Apart: whoever waits for a new tag of another transaction must hold no document.
        async with self.database.tenant(tenant_id) as conn:
            add_ids = await tags.named_or_new(conn, added, tenant_id=tenant_id) if added else []
            remove_ids = await tags.named(conn, removed)
        async with self.database.tenant(tenant_id) as conn:
            changed = await tags.assign(
                conn, document_ids[:MOST_DOCUMENTS], add=add_ids, remove=remove_ids, assigned_by=assigned_by
            )
        self.feed.announce()
        return changed

    async def create(self, name: str, *, color: str | None = None, tenant_id: UUID) -> TagRow:
        """The tag of this name, made if there is none. Raises ValidationError for a name that is none."""
        async with self.database.tenant(tenant_id) as conn:
            (tag_id,) = await tags.named_or_new(conn, [clean_name(name)], tenant_id=tenant_id)
            if color is not None:
                await tags.recolor(conn, tag_id, known_color(color))
            row = await tags.get(conn, tag_id)
        assert row is not None  # it is there, and its transaction sees it
        return row

    async def rename(self, tag_id: UUID, name: str, *, tenant_id: UUID) -> bool:
        """Give the tag another name; False if there is no such tag.

        Its old name is meant by it from now on, too. Raises ChangedError if another tag has the name.
        """
        new = clean_name(name)
        async with self.database.tenant(tenant_id) as conn:
            if await tags.get(conn, tag_id) is None:
                return False
            if not await tags.is_free(conn, new, tag_id):
                raise ChangedError(
                    f"There is a tag “{new}” already, maybe among the removed ones. Merge this tag into it."
                )
            await tags.rename(conn, tag_id, new)
        self.feed.announce()
        return True

    async def recolor(self, tag_id: UUID, color: str | None, *, tenant_id: UUID) -> bool:
        """Give the tag a colour, or none; False if there is no such tag."""
        async with self.database.tenant(tenant_id) as conn:
            if await tags.get(conn, tag_id) is None:
                return False
            await tags.recolor(conn, tag_id, color and known_color(color))
        return True

    async def merge(self, tag_id: UUID, into: UUID, *, tenant_id: UUID) -> bool:
        """Make two tags one; False if there is no such tag. Raises ValidationError for the same tag twice."""
        if tag_id == into:
            raise ValidationError("A tag cannot be merged into itself. Choose another one.")
        async with self.database.tenant(tenant_id) as conn:
            target = await tags.get(conn, into)
            if target is None or target.removed_at is not None or await tags.get(conn, tag_id) is None:
                return False
            await tags.merge(conn, tag_id, into)
        self.feed.announce()
        return True

    async def set_removed(self, tag_id: UUID, *, is_removed: bool, tenant_id: UUID) -> bool:
        """Remove the tag from all documents, or restore it on them; False if there is no such tag."""
        async with self.database.tenant(tenant_id) as conn:
            if await tags.get(conn, tag_id) is None:
                return False
            await tags.set_removed(conn, tag_id, is_removed=is_removed)
        self.feed.announce()
        return True


def clean_name(name: str) -> str:
    """The name in one line, without what cannot be printed. Raises ValidationError if that is none."""
    plain = one_line(name, len(name) + 1)
    if plain is None:
        raise ValidationError("A tag needs a name.")
    if len(plain) > LONGEST:
        raise ValidationError(f"A tag has at most {LONGEST} characters.")
    return plain


def known_color(color: str) -> str:
    """The colour. Raises ValidationError if it is none of the palette."""
    if color not in COLORS:
        raise ValidationError(f"There is no such colour. Choose one of: {', '.join(COLORS)}.")
    return color
