"""Stores people's reviews of a document's values, and judges the values with them."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from docmill.errors import ChangedError, CorruptError
from docmill.model.document import Document
from docmill.model.result import Classification, Failure, Schema, Suggestion
from docmill.ports import Gate
from docmill.resilience.concurrency import off_loop
from docmill.schemas.outline import outline
from docmill.schemas.registry import REGISTRY
from docmill.service.events.matching_requests import NO_MATCHING, MatchingRequests
from docmill.service.events.wakeups import EventFeed
from docmill.service.review.description import describe_reviewed
from docmill.service.review.redo import redo_last, undos_to_redo
from docmill.service.review.review import (
    FieldReview,
    FittedReviews,
    ReviewSession,
    dependent_values_of,
    evidence_of,
    failures_in,
    fit_to_schema,
    row_paths,
    schema_path,
    suggestions_of,
)
from docmill.service.storage.blobs import Blobs, load_transcription
from docmill.service.store import documents, near_duplicates, reviewed_documents, reviews
from docmill.service.store.database import DEFAULT_USER_ID, Conn, Database
from docmill.service.store.near_duplicates import NearDuplicate, failures_of_pairs
from docmill.service.store.reviews import (
    NOT_VALUES,
    PROPERTIES,
    REJECTION,
    TYPE,
    CurrentReview,
    ReviewableResult,
    ReviewRow,
    ReviewToStore,
)
from docmill.understanding.dependent_values import NO_DEPENDENT_VALUES, DependentValues
from docmill.understanding.duplicates import facts_of

log = logging.getLogger(__name__)

ReviewMaker = Callable[[ReviewSession], list[ReviewToStore]]
"""Makes the reviews that a session is to store."""


@dataclass(frozen=True, slots=True)
class DocumentReviews:
    """All reviews of a document.

    current: by path, with values of the kinds of their fields. history: newest first. schema: of its type.
    near_duplicates: documents that seem to be the same. unfit: paths of reviews whose values the fields of
    its type cannot take. dependent: what follows from the reviews for other values.
    """

    result: ReviewableResult
    current: dict[str, CurrentReview]
    history: list[ReviewRow]
    schema: Schema | None = None
    near_duplicates: Sequence[NearDuplicate] = ()
    unfit: Sequence[str] = ()
    dependent: DependentValues = NO_DEPENDENT_VALUES

    @property
    def evidence(self) -> dict[str, Any]:
        """The evidence of the values by path, as read and as people gave it."""
        return evidence_of(self.result.evidence, self.current.values(), self.dependent)

    @property
    def suggestions(self) -> dict[str, tuple[Suggestion, ...]]:
        """Values to accept, by the path of a field that is null or an ambiguous date, and not reviewed."""
        every = suggestions_of(self.result.suggestions) | dict(self.dependent.suggestions)
        return {
            path: suggestions
            for path, suggestions in every.items()
            if suggestions and path not in self.current
        }

    @property
    def has_reviewed_values(self) -> bool:
        """True if there is a review of a value, or of the document as a whole, to undo."""
        return any(path not in PROPERTIES for path in self.current)

    @property
    def can_redo(self) -> bool:
        """True if the last thing that happened is an undo, which can be taken back."""
        return bool(undos_to_redo(self.history))

    @property
    def rejection(self) -> CurrentReview | None:
        """The review by which a person has rejected the document."""
        return self.current.get(REJECTION)

    @property
    def set_aside(self) -> list[str]:
        """The paths of values that people reviewed and that the document's type has no fitting field for."""
        if self.schema is None:
            return []
        fields = {leaf.path for leaf in outline(self.schema)} | row_paths(self.schema)
        without = [
            path for path in self.current if path not in NOT_VALUES and schema_path(path) not in fields
        ]
        return [*without, *self.unfit]

    @property
    def chosen_type(self) -> str | None:
        """The type that a person gave the document."""
        choice = self.current.get(TYPE)
        return choice and str(choice.value)

    @property
    def failures(self) -> list[Failure]:
        """The failed checks that nobody has let pass."""
        return [*failures_of_pairs(self.near_duplicates), *failures_in(self.result.verdict)]

    @property
    def accepted(self) -> list[Failure]:
        """The failed checks that people have accepted."""
        return failures_in(self.result.verdict, "accepted")


class Reviews:
    """Stores reviews and judges the values with them. gate: judges. schemas: by document type."""

    def __init__(
        self,
        database: Database,
        blobs: Blobs,
        feed: EventFeed,
        gate: Gate,
        schemas: Mapping[str, Schema] = REGISTRY,
        *,
        matching: MatchingRequests = NO_MATCHING,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._feed = feed
        self._gate = gate
        self._schemas = schemas
        self._matching = matching

    async def of(self, document_id: UUID, *, tenant_id: UUID) -> DocumentReviews | None:
        """The reviews of a document; None if nothing was read in it, or there is none of that id."""
        async with self._database.tenant(tenant_id) as conn:
            result = await reviews.reviewable_result(conn, document_id)
            if result is None:
                return None
            current = await reviews.current(conn, document_id)
            schema = self._schemas.get(result.document_type or "")
            fitted = (
                FittedReviews(result, current) if schema is None else fit_to_schema(result, current, schema)
            )
            return DocumentReviews(
                fitted.result,
                fitted.current,
                await reviews.history(conn, document_id),
                schema,
                await near_duplicates.of_document(conn, document_id),
                unfit=tuple(path for path in current if path not in fitted.current),
                dependent=NO_DEPENDENT_VALUES if schema is None else dependent_values_of(*fitted, schema),
            )

    async def add(
        self,
        document_id: UUID,
        field_reviews: Sequence[FieldReview],
        *,
        tenant_id: UUID,
        ingestion_id: UUID,
        reviewed_by: UUID,
    ) -> bool:
        """Store a person's reviews of the result of `ingestion_id`, all or none.

        False if nothing was read in the document, or there is none of that id. Raises ChangedError if it is
        not any more as the person saw it, InvalidValuesError for values that their fields do not take.
        """
        return await self._change(
            document_id, lambda session: session.accept(field_reviews), tenant_id, ingestion_id, reviewed_by
        )

    async def confirm_all(
        self,
        document_id: UUID,
        *,
        tenant_id: UUID,
        ingestion_id: UUID,
        reason: str | None = None,
        reviewed_by: UUID,
    ) -> bool:
        """Confirm every value that nobody has spoken of, those that are missing, and the checks that failed.

        reason: why without a look at them; it is kept with each. Returns and raises as `add`.
        """
        return await self._change(
            document_id, lambda session: session.confirm_all(reason), tenant_id, ingestion_id, reviewed_by
        )

    async def reject(
        self,
        document_id: UUID,
        reason: str,
        *,
        tenant_id: UUID,
        ingestion_id: UUID,
        reviewed_by: UUID,
    ) -> bool:
        """Keep that the document cannot be used, or is not wanted, until that is undone.

        Returns and raises as `add`.
        """
        review = FieldReview(REJECTION, "reject", reason)
        return await self._change(
            document_id, lambda session: session.accept([review]), tenant_id, ingestion_id, reviewed_by
        )

    async def undo_last(
        self, document_id: UUID, *, tenant_id: UUID, ingestion_id: UUID, reviewed_by: UUID
    ) -> bool:
        """Take back the latest review, or all that were given at once. Returns and raises as `add`."""
        return await self._change(document_id, ReviewSession.undo_last, tenant_id, ingestion_id, reviewed_by)

    async def redo_last(
        self, document_id: UUID, *, tenant_id: UUID, ingestion_id: UUID, reviewed_by: UUID
    ) -> bool:
        """Repeat what was undone last, as new reviews. Returns and raises as `add`."""
        return await self._change(document_id, redo_last, tenant_id, ingestion_id, reviewed_by)

    async def check(
        self, document_id: UUID, field_reviews: Sequence[FieldReview], *, tenant_id: UUID
    ) -> list[Failure] | None:
        """The checks that would still fail with these reviews, of which nothing is stored.

        None and errors as `add`.
        """
        async with self._database.tenant(tenant_id) as conn:
            result = await reviews.reviewable_result(conn, document_id)
            if result is None or result.machine is None:
                return None
            document = await self._document(result)
            session = await self._open_session(conn, document_id, document)
        size = document.word_count if document else 0
        failures, _ = await off_loop(lambda: session.with_reviews(field_reviews).judge(), size=size)
        return failures

    async def decide_duplicate(
        self,
        document_id: UUID,
        other_id: UUID,
        *,
        is_duplicate: bool | None,
        tenant_id: UUID,
        decided_by: UUID,
    ) -> bool:
        """Keep whether two documents are the same, as a person says; None takes that back.

        False if they do not seem to be.
        """
        async with self._database.tenant(tenant_id) as conn:
            is_pair = await near_duplicates.decide(
                conn, document_id, other_id, is_duplicate=is_duplicate, decided_by=decided_by
            )
        self._feed.announce()
        return is_pair

    async def settle(self, document_id: UUID, *, tenant_id: UUID) -> None:
        """Judge a new result with the earlier reviews, if there are any."""
        async with self._database.tenant(tenant_id) as conn:
            result = await reviews.reviewable_result(conn, document_id)
            current = result and await reviews.current(conn, document_id)
            if current:
                await reviewed_documents.delete(conn, document_id)  # it was made from the old result
        if result and current:
            try:
                await self._change(document_id, lambda _: [], tenant_id, result.ingestion_id, DEFAULT_USER_ID)
            except ChangedError:  # a newer result is there, and is settled by whoever brought it
                return

    async def transcription(self, document_id: UUID, *, tenant_id: UUID) -> Document | None:
        """The text of the result that people review; None if there is none."""
        async with self._database.tenant(tenant_id) as conn:
            result = await reviews.reviewable_result(conn, document_id)
        return None if result is None else await self._document(result)

    async def description(
        self, conn: Conn, document_id: UUID, document: Document | None
    ) -> Classification | None:
        """The title, summary and date as they follow from the values as reviewed; None without a result.

        The caller has locked the document. document: its text, see `transcription`.
        """
        result = await reviews.reviewable_result(conn, document_id)
        if result is None:
            return None
        if result.machine is None:
            return Classification.model_validate(result.classification or {})
        session = await self._open_session(conn, document_id, document)
        return await asyncio.to_thread(describe_reviewed, session)

    async def _change(
        self,
        document_id: UUID,
        make_reviews: ReviewMaker,
        tenant_id: UUID,
        ingestion_id: UUID,
        reviewed_by: UUID,
    ) -> bool:
        async with self._database.tenant(tenant_id) as conn:
            result = await reviews.reviewable_result(conn, document_id)
        if result is None or result.machine is None:
            return False
        document = await self._document(result)
        size = document.word_count if document else 0
        async with self._database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id):
                return False
            session = await self._open_session(conn, document_id, document)
            if session.result.ingestion_id != ingestion_id:
                raise ChangedError(
                    "The document was processed again meanwhile. Look at its values as they are now."
                )
            new_reviews = await off_loop(make_reviews, session, size=size)
            if new_reviews:
                await reviews.add(
                    conn,
                    tenant_id=tenant_id,
                    document_id=document_id,
                    ingestion_id=ingestion_id,
                    reviewed_by=reviewed_by,
                    reviews=new_reviews,
                )
                session = await self._open_session(conn, document_id, document)
            await self._store_judgement(conn, document_id, session, tenant_id=tenant_id)
            await self._matching.request(conn, [document_id])
        self._matching.announce()
        self._feed.announce()
        return True

    async def judge_again(
        self, conn: Conn, document_id: UUID, document: Document | None, *, tenant_id: UUID
    ) -> None:
        """Judge the values of a document that has a result. The caller has locked it.

        document: its text, see `transcription`.
        """
        session = await self._open_session(conn, document_id, document)
        await self._store_judgement(conn, document_id, session, tenant_id=tenant_id)

    async def _store_judgement(
        self, conn: Conn, document_id: UUID, session: ReviewSession, *, tenant_id: UUID
    ) -> None:
        size = session.document.word_count if session.document else 0
        failures, accepted = await off_loop(ReviewSession.judge, session, size=size)
        description = await asyncio.to_thread(describe_reviewed, session)
        await reviews.settle(
            conn,
            document_id,
            data=session.data,
            failures=[failure.model_dump(mode="json") for failure in failures],
            accepted=[failure.model_dump(mode="json") for failure in accepted],
            description=description,
            has_reviewed_values=session.has_reviewed_values,
            rejection=session.rejection,
        )
        await near_duplicates.refresh(
            conn,
            document_id,
            facts_of(session.result.document_type, session.data),
            tenant_id=tenant_id,
            ingestion_id=session.result.ingestion_id,
        )

    async def _open_session(self, conn: Conn, document_id: UUID, document: Document | None) -> ReviewSession:
        result = await reviews.reviewable_result(conn, document_id)
        assert result is not None, "a result does not go while its document is locked"
        schema = self._schemas.get(result.document_type or "") or self._schemas["other"]
        result, current = fit_to_schema(result, await reviews.current(conn, document_id), schema)
        history = await reviews.history(conn, document_id)
        return ReviewSession(result, current, schema, document, self._gate, history)

    async def _document(self, result: ReviewableResult) -> Document | None:
        """The document's text; None if it is gone or unreadable. Raises ServerError for a newer format."""
        if result.transcription_file_path is None:
            return None
        try:
            return await load_transcription(self._blobs, result.transcription_file_path)
        except CorruptError:
            log.warning("a transcription cannot be read", extra={"ingestion_id": str(result.ingestion_id)})
            return None
