"""Titles and dates that people give documents: kept as reviews, and stronger than what is read."""

from collections.abc import Collection, Mapping
from datetime import date
from uuid import UUID

from docmill.schemas.outline import FieldOutline
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.review.review import InvalidValuesError
from docmill.service.review.reviews import Reviews
from docmill.service.review.typed_values import parse_typed
from docmill.service.store import documents, ingestions, reviews
from docmill.service.store.database import Database
from docmill.service.store.documents import DocumentRow
from docmill.service.store.reviews import DATE, TITLE, CurrentReview, ReviewToStore

LONGEST_TITLE = 300
_OUTLINES = {
    TITLE: FieldOutline("title", "text"),
    DATE: FieldOutline("document_date", "date"),
}


class Edits:
    """Stores people's edits of titles and dates. reviews: describes documents whose edits are taken back."""

    def __init__(
        self, database: Database, reviews: Reviews, feed: EventFeed, matching: MatchingRequests = NO_MATCHING
    ) -> None:
        self._matching = matching
        self._database = database
        self._reviews = reviews
        self._feed = feed

    async def change(
        self,
        document_id: UUID,
        edits: Mapping[str, str | None],
        *,
        tenant_id: UUID,
        edited_by: UUID,
        versions: Collection[int] | None = None,
    ) -> bool:
        """Store edits, by path; False if there is no such document.

        An empty date removes it; None takes the latest edit back, so that what is read holds again. versions:
        of the document, one of which the person saw. Raises InvalidValuesError, and OutdatedError for another
        version.
        """
        values = parse_edits(edits)
        takes_back = None in edits.values()
        transcription = (
            await self._reviews.transcription(document_id, tenant_id=tenant_id) if takes_back else None
        )
        async with self._database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id, versions=versions):
                return False
            row = await documents.get(conn, document_id)
            assert row is not None, "it is locked"
            current = await reviews.current(conn, document_id)
            new = [
                review
                for path, value in values.items()
                if (review := _review(path, value, current.get(path), row, takes_back=edits[path] is None))
            ]
            if new:
                await reviews.add(
                    conn,
                    tenant_id=tenant_id,
                    document_id=document_id,
                    ingestion_id=await ingestions.newest_id(conn, document_id),
                    reviewed_by=edited_by,
                    reviews=new,
                )
                if takes_back:
                    described = await self._reviews.description(conn, document_id, transcription)
                    await documents.describe(conn, document_id, described)
                else:
                    await documents.apply_edits(conn, document_id)
                await self._matching.request(conn, [document_id])
        self._matching.announce()
        self._feed.announce()
        return True


def parse_edits(edits: Mapping[str, str | None]) -> dict[str, str | None]:
    """The values to be stored, by path; None for no date and for an edit that is taken back.

    Raises InvalidValuesError.
    """
    values: dict[str, str | None] = {}
    faults: dict[str, str] = {}
    for path, typed in edits.items():
        text = " ".join((typed or "").split())
        if (path == DATE and not text) or typed is None:
            values[path] = None
        else:
            try:
                if path == TITLE and not text:
                    raise ValueError("A document needs a title.")  # noqa: TRY301  one place for all faults
                values[path] = str(parse_typed(_OUTLINES[path], text))
                if path == TITLE and len(text) > LONGEST_TITLE:
                    raise ValueError(f"A title has {LONGEST_TITLE} letters at most.")  # noqa: TRY301
            except ValueError as error:
                faults[path.removeprefix(":")] = str(error)
    if faults:
        raise InvalidValuesError(faults)
    return values


def _review(
    path: str, value: str | None, current: CurrentReview | None, row: DocumentRow, *, takes_back: bool
) -> ReviewToStore | None:
    """The edit as a review; None if it changes nothing. Its read value is the one before any edit."""
    before = row.title if path == TITLE else _iso(row.document_date)
    machine = current.machine if current else before
    if takes_back:
        if current is None:
            return None
        return ReviewToStore(path, "undo", current.before, before, machine, undoes=current.id)
    if current is not None and current.value == value:
        return None
    action = "confirm" if value == before else "clear" if value is None else "correct"
    return ReviewToStore(path, action, value, before, machine)


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()
