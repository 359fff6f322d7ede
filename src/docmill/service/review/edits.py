"""Titles, dates and archive serial numbers by people: kept as reviews, and stronger than what is read."""

from collections.abc import Collection, Mapping
from uuid import UUID

from pydantic import JsonValue

from docmill.model.document import Document
from docmill.schemas.outline import FieldOutline
from docmill.sections.serial_numbers import LARGEST_ASN
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.review.review import InvalidValuesError
from docmill.service.review.reviews import Reviews
from docmill.service.review.typed_values import parse_typed
from docmill.service.store import documents, ingestions, reviews, serial_numbers
from docmill.service.store.database import Conn, Database
from docmill.service.store.documents import DocumentRow
from docmill.service.store.reviews import DATE, SERIAL_NUMBER, TITLE, CurrentReview, ReviewToStore
from docmill.service.store.serial_numbers import ReadNumbers

LONGEST_TITLE = 300
_OUTLINES = {
    TITLE: FieldOutline("title", "text"),
    DATE: FieldOutline("document_date", "date"),
    SERIAL_NUMBER: FieldOutline("archive_serial_number", "integer"),
}
EDITED = frozenset(_OUTLINES)
"""The paths of edits."""


class Edits:
    """Stores people's edits. reviews: describes documents whose edits are taken back, and judges them."""

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

        An empty date or number removes it; None takes the latest edit back, so that what is read holds again.
        versions: of the document, one of which the person saw. Raises InvalidValuesError, also for a number
        that another document has, and OutdatedError for another version.
        """
        values = parse_edits(edits)
        takes_back = None in edits.values()
        transcription = None
        if takes_back or SERIAL_NUMBER in edits:
            transcription = await self._reviews.transcription(document_id, tenant_id=tenant_id)
        async with self._database.tenant(tenant_id) as conn:
            if SERIAL_NUMBER in edits:
                await serial_numbers.lock_documents(conn, [document_id], labelled=[document_id])
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
                if any(review.path == SERIAL_NUMBER for review in new):
                    await self._file(conn, row, current.get(SERIAL_NUMBER), transcription)
                if takes_back:
                    described = await self._reviews.description(conn, document_id, transcription)
                    await documents.describe(conn, document_id, described)
                else:
                    await documents.apply_edits(conn, document_id)
                await self._matching.request(conn, [document_id])
        self._matching.announce()
        self._feed.announce()
        return True

    async def _file(
        self, conn: Conn, row: DocumentRow, before: CurrentReview | None, transcription: Document | None
    ) -> None:
        """Give the document the number that a person says now; of an edit taken back, that of its label.

        before: the review that counted until now. Raises InvalidValuesError if another document has the
        number that the person says.
        """
        review = (await reviews.current(conn, row.id)).get(SERIAL_NUMBER)
        result = await reviews.reviewable_result(conn, row.id)
        await serial_numbers.lock(conn, row.tenant_id)
        if review is None:
            await serial_numbers.give(conn, row.id, None)
            read = before and before.machine
            if result is not None and result.archive_serial_number is not None:
                read = result.archive_serial_number
            if result is not None and isinstance(read, int):
                numbers = ReadNumbers(row.id, result.ingestion_id, (read,), result.read_verdict)
                await serial_numbers.file_read(conn, numbers, tenant_id=row.tenant_id)
        else:
            number = review.value if isinstance(review.value, int) else None
            holder = None
            if number is not None:
                holder = await serial_numbers.holder(conn, number, besides=row.id)
            if holder is not None:
                fault = f"{holder.place} has the archive serial number {number} already."
                raise InvalidValuesError({SERIAL_NUMBER.removeprefix(":"): fault})
            await serial_numbers.give(conn, row.id, number)
        if result is not None and result.machine is not None:
            await self._reviews.judge_again(conn, row.id, transcription, tenant_id=row.tenant_id)
        elif result is not None and review is not None and result.read_verdict is not None:
            await serial_numbers.settle(conn, row.id)


def parse_edits(edits: Mapping[str, str | None]) -> dict[str, JsonValue]:
    """The values to be stored, by path; None for no date or number and for an edit that is taken back.

    Raises InvalidValuesError.
    """
    values: dict[str, JsonValue] = {}
    faults: dict[str, str] = {}
    for path, typed in edits.items():
        text = " ".join((typed or "").split())
        if (path != TITLE and not text) or typed is None:
            values[path] = None
        else:
            try:
                values[path] = _parse(path, text)
            except ValueError as error:
                faults[path.removeprefix(":")] = str(error)
    if faults:
        raise InvalidValuesError(faults)
    return values


def _parse(path: str, text: str) -> JsonValue:
    """Raises ValueError with a sentence for the person."""
    if path == TITLE and not text:
        raise ValueError("A document needs a title.")
    value = parse_typed(_OUTLINES[path], text)
    if path == TITLE and len(text) > LONGEST_TITLE:
        raise ValueError(f"A title has {LONGEST_TITLE} letters at most.")
    if isinstance(value, int) and not 0 <= value <= LARGEST_ASN:
        raise ValueError(f"An archive serial number is a number from 0 to {LARGEST_ASN}.")
    return value


def _review(
    path: str, value: JsonValue, current: CurrentReview | None, row: DocumentRow, *, takes_back: bool
) -> ReviewToStore | None:
    """The edit as a review; None if it changes nothing. Its read value is the one before any edit."""
    before: JsonValue = {
        TITLE: row.title,
        DATE: None if row.document_date is None else row.document_date.isoformat(),
        SERIAL_NUMBER: row.archive_serial_number,
    }[path]
    machine = current.machine if current else before
    if takes_back:
        if current is None:
            return None
        return ReviewToStore(path, "undo", current.before, before, machine, undoes=current.id)
    if current is not None and current.value == value:
        return None
    action = "confirm" if value == before else "clear" if value is None else "correct"
    return ReviewToStore(path, action, value, before, machine)
