"""Choice of a document's type by a person, after which its fields are read again."""

from collections.abc import Collection
from uuid import UUID

from docmill.errors import ChangedError, ValidationError
from docmill.schemas.user_schemas import nearest
from docmill.service.intake.accept import Intake
from docmill.service.store import documents, ingestions, reviews
from docmill.service.store.database import Database
from docmill.service.store.reviews import TYPE, CurrentReview, ReviewableResult, ReviewToStore


class TypeChoices:
    """Stores the types that people choose, as reviews, and has the documents read again.

    types: the names to choose from.
    """

    def __init__(self, database: Database, intake: Intake, types: Collection[str]) -> None:
        self._database = database
        self._intake = intake
        self.types = tuple(types)

    async def choose(
        self,
        document_id: UUID,
        document_type: str | None,
        *,
        tenant_id: UUID,
        reviewed_by: UUID,
        seen: str | None = None,
        versions: Collection[int] | None = None,
    ) -> UUID | None:
        """Set the type of a document for all later processing, and have its fields read again.

        document_type: None withdraws the latest choice. seen: that choice, if the person was shown it.
        Returns the ingestion that reads the document, or the newest one if the type does not change; None
        if there is no such document. Raises ValidationError for an unknown type, ChangedError if nothing
        has been read in the document, or another choice holds than `seen`, or the document has none of
        `versions`.
        """
        if document_type is not None and document_type not in self.types:
            raise ValidationError(f"there is no type {document_type!r}{nearest(document_type, self.types)}")
        async with self._database.tenant(tenant_id) as conn:
            if not await documents.lock(conn, document_id, versions=versions):
                return None
            result = await reviews.reviewable_result(conn, document_id)
            if result is None:
                raise ChangedError("The type can be changed once the document has been read.")
            if result.machine is None:
                raise ChangedError(
                    "Nothing was read in this file itself, so it has no type. Documents in it have their own."
                )
            current = (await reviews.current(conn, document_id)).get(TYPE)
            chosen = current.value if current else None
            if document_type is None and seen is not None and seen != chosen:
                raise ChangedError("Somebody has changed the type meanwhile. Look at it as it is now.")
            if document_type == chosen:
                return await ingestions.newest_id(conn, document_id)
            await reviews.add(
                conn,
                tenant_id=tenant_id,
                document_id=document_id,
                ingestion_id=result.ingestion_id,
                reviewed_by=reviewed_by,
                reviews=[_review(document_type, current, result)],
            )
            ingestion_id = await self._intake.read_again(
                conn,
                document_id,
                tenant_id=tenant_id,
                uploaded_by=reviewed_by,
                reread_of=result.ingestion_id,
            )
        self._intake.announce()
        return ingestion_id


def _review(
    document_type: str | None, current: CurrentReview | None, result: ReviewableResult
) -> ReviewToStore:
    """The choice as a review. Its read value is the type that was recognised before any choice."""
    machine = current.machine if current else result.document_type
    if document_type is None:
        assert current is not None, "without a choice, none is taken back"
        return ReviewToStore(TYPE, "undo", current.before, result.document_type, machine, undoes=current.id)
    action = "confirm" if document_type == result.document_type else "correct"
    return ReviewToStore(TYPE, action, document_type, result.document_type, machine)
