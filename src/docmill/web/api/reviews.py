"""Routes for reviews of a document's values: confirm, correct, clear, undo."""

from datetime import datetime
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from docmill.errors import ChangedError
from docmill.model.document import Box
from docmill.model.result import Evidence, Failure
from docmill.service.review.review import FieldReview, shown
from docmill.web.access import Router, needs
from docmill.web.context import TheVault, Vault

router = Router(prefix="/documents/{document_id}/reviews", tags=["reviews"])

_NOTHING_READ = "Nothing was read in this document, so there is nothing to review."

Fraction = Annotated[float, Field(ge=0, le=1)]


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NewReview(_Request):
    """A new review of one value, or of the document as a whole where `path` is empty.

    action: `remove` takes a row out of a list, by its path such as `lines[2]`. value: of a correction, as in
    the document's data. seen: the value that the person saw; if it has changed
    since, nothing is stored. page, box: the place that the person marked.
    """

    path: Annotated[str, Field(max_length=300)]
    action: Literal["confirm", "correct", "clear", "remove", "undo"]
    value: JsonValue = None
    seen: JsonValue = None
    page: Annotated[int, Field(ge=1)] | None = None
    box: tuple[Fraction, Fraction, Fraction, Fraction] | None = None

    @model_validator(mode="after")
    def _page_with_box(self) -> Self:
        if (self.page is None) != (self.box is None):
            raise ValueError("give page and box together")
        return self

    @property
    def field_review(self) -> FieldReview:
        """The review as the service takes it."""
        return FieldReview(
            path=self.path,
            action=self.action,
            value=self.value,
            seen=shown(self.seen) if "seen" in self.model_fields_set else None,
            page=self.page,
            box=Box(*self.box) if self.box else None,
        )


class OfResult(_Request):
    """The result that the person saw. ingestion_id: that of `GET …/reviews`."""

    ingestion_id: UUID


class Confirmation(OfResult):
    """A confirmation of all values. reason: why without a look at them; it is kept with each of them."""

    reason: Annotated[str, Field(min_length=1, max_length=500)] | None = None


class Rejection(OfResult):
    """A rejection of the document. reason: why it cannot be used, or is not wanted."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


class ReviewsToCheck(_Request):
    """Reviews whose effect on the checks is asked for."""

    reviews: Annotated[list[NewReview], Field(max_length=500)]


class CheckedReviews(BaseModel):
    """The checks that would still fail with the reviews. Nothing of them is stored."""

    failures: list[Failure]


class NewReviews(OfResult):
    """Reviews that are sent together; all of them are kept or none."""

    reviews: Annotated[list[NewReview], Field(min_length=1, max_length=500)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class Review(_Shape):
    """A person's review of a value. before: the value that it replaced; machine: the value that was read.

    undoes: the review that this one takes back; redoes: the undo that this one takes back. reason: why a
    value was confirmed without a look at it.
    """

    id: UUID
    ingestion_id: UUID
    path: str
    action: Literal["confirm", "correct", "clear", "remove", "reject", "undo"]
    value: JsonValue
    before: JsonValue
    machine: JsonValue
    page: int | None
    box: list[float] | None
    undoes: UUID | None
    redoes: UUID | None
    reason: str | None
    reviewed_by: UUID
    at: datetime


class Held(_Shape):
    """The current review of a value. is_contradicted: a later result has another value: `read_now`."""

    id: UUID
    action: Literal["confirm", "correct", "clear", "remove", "reject"]
    value: JsonValue
    read_now: JsonValue
    is_contradicted: bool
    evidence: Evidence | None
    reviewed_by: UUID
    at: datetime


class ReviewState(_Shape):
    """The state of a document's review.

    ingestion_id: the result that is reviewed, null while nothing has been read. failures: failed checks;
    accepted: those that a person has accepted. current: by field path; set_aside: the paths of those that fit
    no field of the document's type. history: newest first.
    """

    ingestion_id: UUID | None
    document_type: str | None
    needs_human_review: bool
    failures: list[Failure]
    accepted: list[Failure]
    current: dict[str, Held]
    set_aside: list[str]
    history: list[Review]


@router.get("")
@needs("read")
async def get_reviews(document_id: UUID, vault: TheVault) -> ReviewState:
    """Return the reviews of the document's values and the checks that still fail."""
    row, reviewed = await vault.document(document_id), await vault.reviewed(document_id)
    if reviewed is None:
        return ReviewState(
            ingestion_id=None,
            document_type=None,
            needs_human_review=row.needs_human_review,
            failures=[],
            accepted=[],
            current={},
            set_aside=[],
            history=[],
        )
    return ReviewState(
        ingestion_id=reviewed.result.ingestion_id,
        document_type=reviewed.result.document_type,
        needs_human_review=row.needs_human_review,
        failures=reviewed.failures,
        accepted=reviewed.accepted,
        current={path: Held.model_validate(review) for path, review in reviewed.current.items()},
        set_aside=reviewed.set_aside,
        history=[Review.model_validate(review) for review in reviewed.history],
    )


@router.post("")
@needs("review")
async def add_reviews(document_id: UUID, new: NewReviews, vault: TheVault) -> ReviewState:
    """Store a person's reviews. If a field does not take its value, none of them is stored."""
    await vault.document(document_id)
    is_stored = await vault.service.reviews.add(
        document_id,
        [review.field_review for review in new.reviews],
        tenant_id=vault.tenant_id,
        ingestion_id=new.ingestion_id,
        reviewed_by=vault.user_id,
    )
    return await _state_after(document_id, vault, is_stored=is_stored)


@router.post("/confirm")
@needs("review")
async def confirm_all(document_id: UUID, of: Confirmation, vault: TheVault) -> ReviewState:
    """Confirm every value without a review, and accept the failed checks."""
    await vault.document(document_id)
    is_stored = await vault.service.reviews.confirm_all(
        document_id,
        tenant_id=vault.tenant_id,
        ingestion_id=of.ingestion_id,
        reviewed_by=vault.user_id,
        reason=of.reason,
    )
    return await _state_after(document_id, vault, is_stored=is_stored)


@router.post("/reject")
@needs("review")
async def reject(document_id: UUID, rejection: Rejection, vault: TheVault) -> ReviewState:
    """Reject the document: it leaves the review queue until the rejection is undone."""
    await vault.document(document_id)
    is_stored = await vault.service.reviews.reject(
        document_id,
        rejection.reason,
        tenant_id=vault.tenant_id,
        ingestion_id=rejection.ingestion_id,
        reviewed_by=vault.user_id,
    )
    return await _state_after(document_id, vault, is_stored=is_stored)


@router.post("/check")
@needs("review", logged=False)
async def check(document_id: UUID, new: ReviewsToCheck, vault: TheVault) -> CheckedReviews:
    """Return the checks that would still fail with these reviews. Nothing is stored."""
    await vault.document(document_id)
    failures = await vault.service.reviews.check(
        document_id, [review.field_review for review in new.reviews], tenant_id=vault.tenant_id
    )
    if failures is None:
        raise ChangedError(_NOTHING_READ)
    return CheckedReviews(failures=failures)


@router.post("/undo")
@needs("review")
async def undo_last(document_id: UUID, of: OfResult, vault: TheVault) -> ReviewState:
    """Undo the last reviews: all that were sent together."""
    await vault.document(document_id)
    is_stored = await vault.service.reviews.undo_last(
        document_id,
        tenant_id=vault.tenant_id,
        ingestion_id=of.ingestion_id,
        reviewed_by=vault.user_id,
    )
    return await _state_after(document_id, vault, is_stored=is_stored)


@router.post("/redo")
@needs("review")
async def redo_last(document_id: UUID, of: OfResult, vault: TheVault) -> ReviewState:
    """Repeat what was undone last, unless something else was reviewed since."""
    await vault.document(document_id)
    is_stored = await vault.service.reviews.redo_last(
        document_id,
        tenant_id=vault.tenant_id,
        ingestion_id=of.ingestion_id,
        reviewed_by=vault.user_id,
    )
    return await _state_after(document_id, vault, is_stored=is_stored)


async def _state_after(document_id: UUID, vault: Vault, *, is_stored: bool) -> ReviewState:
    if not is_stored:
        raise ChangedError(_NOTHING_READ)
    return await get_reviews(document_id, vault)
