"""Requests and responses of the API. Names and meanings are those of the specification."""

import re
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, create_model, model_validator

from docmill.model.result import Evidence, Failure, Suggestion, Verdict
from docmill.sections.serial_numbers import LARGEST_ASN
from docmill.service.review.edits import EDITED
from docmill.service.review.reviews import DocumentReviews
from docmill.service.search.snippets import Snippet
from docmill.service.store.arrivals import ArrivalRow
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.near_duplicates import NearDuplicate as NearDuplicateRow
from docmill.service.store.parts import Links, PartRow, WholeRow
from docmill.service.store.result_columns import PUBLIC_COLUMNS
from docmill.service.store.reviews import DATE, SERIAL_NUMBER, TITLE
from docmill.web.view.cards import leading_amount

State = Literal["processing", "stale", "needs_classification", "needs_review", "failed", "ready"]


WORD = r"^[a-z0-9_-]{1,60}$"
"""Pattern of error codes and of step names."""


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def _check_day(value: object) -> object:
    if not isinstance(value, date) and not (isinstance(value, str) and _DAY.fullmatch(value)):
        raise ValueError("write the day as year-month-day")
    return value


def _check_moment(value: object) -> object:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _DAY.match(value)):
        raise ValueError("write the time as 2027-01-31T00:00:00Z")
    return value


IsoDate = Annotated[date, BeforeValidator(_check_day)]
IsoDatetime = Annotated[datetime, BeforeValidator(_check_moment)]
"""Days and times as the API describes them. Pydantic alone takes a number for seconds since 1970."""


SerialNumber = Annotated[int, Field(ge=0, le=LARGEST_ASN)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class Fault(_Shape):
    """The reason of a failure. code: stable; message: for people."""

    code: str
    message: str


class SourceReference(_Shape):
    """The source from which something came."""

    id: UUID
    name: str
    kind: str


class Arrival(_Shape):
    """The arrival of a document from a source. metadata: what the source says, such as sender and subject."""

    source: SourceReference
    metadata: dict[str, Any]
    arrived_at: datetime

    @classmethod
    def of(cls, row: ArrivalRow) -> "Arrival":
        """The row as the API shows it."""
        source = SourceReference(id=row.doc_source_id, name=row.source_name, kind=row.source_kind)
        return cls(source=source, metadata=row.metadata, arrived_at=row.arrived_at)


class FoundText(_Shape):
    """The place of a document's text that a search found.

    text: around it. page: from 1. marks: first character and the one behind the last of each word that was
    found.
    """

    text: str
    page: int
    marks: list[tuple[int, int]]


class DocumentSummary(_Shape):
    """A document of a list. step: of the processing under way. version: grows with every visible change.

    rejection: the reason for which a person has rejected it; null if nobody has. amount: that a card shows,
    the total of most types. archive_serial_number: of its paper; no other document has the same.
    found: where a search found it in its text; null without a search, and where its title or a value has it.
    is_similar: whether it was found by its meaning, without the words.
    """

    id: UUID
    content_hash: str
    media_type: str
    byte_size: int
    file_name: str
    page_count: int | None
    document_type: str | None
    title: str | None
    summary: str | None
    document_date: date | None
    language: str | None
    archive_serial_number: int | None
    amount: str | None
    currency: str | None
    tags: list[str]
    state: State
    step: str | None
    needs_human_review: bool
    rejection: str | None
    error: Fault | None
    progress_at: datetime | None
    created_at: datetime
    updated_at: datetime
    version: int
    found: FoundText | None = None
    is_similar: bool = False

    @classmethod
    def of(
        cls, row: DocumentRow, found: Snippet | None = None, *, is_similar: bool = False
    ) -> "DocumentSummary":
        """The row as the API shows it."""
        return cls.model_validate(
            {
                **vars(row),
                "tags": row.tags or [],
                "error": _fault(row),
                "found": found and asdict(found),
                "is_similar": is_similar,
                **_amount(row),
            }
        )


class DocumentChange(BaseModel):
    """A change of a document; what is not given stays. Null takes the latest choice of a person back.

    document_type: built in, or a schema of the settings. document_date: year-month-day; empty for none.
    archive_serial_number: one that no other document has; empty for none. seen: the type whose choice is
    taken back; if another one holds meanwhile, nothing is changed.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"examples": [{"title": "Rent, November", "document_date": "2026-11-03"}]},
    )

    document_type: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    title: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    document_date: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] | None = None
    archive_serial_number: SerialNumber | Literal[""] | None = None
    seen: Annotated[str, Field(min_length=1, max_length=100)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set - {"seen"}:
            raise ValueError("give one of: document_type, title, document_date, archive_serial_number")
        return self

    @property
    def edits(self) -> dict[str, str | None]:
        """The edits of title, date and number, by the path of their review."""
        paths = {path.removeprefix(":"): path for path in EDITED}
        values = {paths[name]: getattr(self, name) for name in self.model_fields_set & paths.keys()}
        return {path: None if value is None else str(value) for path, value in values.items()}


class Part(_Shape):
    """A part of a document. document_id: null if it could not be extracted; `problem` gives the reason."""

    document_id: UUID | None
    kind: Literal["attachment", "member", "section"]
    name: str
    first_page: int | None
    last_page: int | None
    state: State | None
    title: str | None
    document_type: str | None
    problem: str | None

    @classmethod
    def of(cls, row: PartRow) -> "Part":
        """The row as the API shows it."""
        return cls.model_validate({**vars(row), "document_id": row.child_id})


class NearDuplicate(_Shape):
    """A document that seems to be the same as another file.

    why: in words. is_earlier: it was here before. is_duplicate: as a person decided; null before. link: its
    address.
    """

    document_id: UUID
    title: str
    file_name: str
    why: str
    is_earlier: bool
    is_duplicate: bool | None
    link: str

    @classmethod
    def of(cls, row: NearDuplicateRow) -> "NearDuplicate":
        """The row as the API shows it."""
        values = {name: getattr(row, name) for name in cls.model_fields if name != "link"}
        return cls.model_validate({**values, "link": f"/api/v1/documents/{row.document_id}"})


class NearDuplicateList(_Shape):
    """The documents that seem to be the same."""

    near_duplicates: list[NearDuplicate]

    @classmethod
    def of(cls, rows: Sequence[NearDuplicateRow]) -> "NearDuplicateList":
        """The rows as the API shows them."""
        return cls(near_duplicates=[NearDuplicate.of(row) for row in rows])


class DuplicateDecision(BaseModel):
    """A person's decision whether two documents are the same; null takes it back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    is_duplicate: bool | None


class Whole(_Shape):
    """A document that holds this one as a part."""

    document_id: UUID
    title: str
    kind: Literal["attachment", "member", "section"]
    name: str
    first_page: int | None
    last_page: int | None

    @classmethod
    def of(cls, row: WholeRow) -> "Whole":
        """The row as the API shows it."""
        return cls.model_validate({**vars(row), "document_id": row.parent_id, "title": row.parent_title})


class MatchingProgress(_Shape):
    """How far the matching of a document is.

    attempts: since it was asked for. error: of the last one that failed; once it has succeeded, why rules
    alone have linked the document. failed_at: when it was given up.
    """

    status: Literal["pending", "in-progress", "succeeded", "failed"]
    attempts: int
    error: str | None
    failed_at: datetime | None


class DocumentDetail(DocumentSummary):
    """A document with its values and parts.

    chosen_type: the type that a person gave it; null while it is recognised. edited: those of `title`,
    `document_date` and `archive_serial_number` that a person gave it. evidence: the place of each value, by
    field path. pages: addresses of their pictures. preprocessed:
    address of the enhanced pictures in which hardly readable pages were read. parts: the documents in it;
    part_of: the documents that hold it. near_duplicates: those that seem to be the same.
    suggestions: values to accept, by the path of a field that is null. matching: null if documents of its
    type are not matched. arrivals: how it came from sources, the newest first.
    """

    chosen_type: str | None
    edited: list[Literal["title", "document_date", "archive_serial_number"]]
    data: dict[str, Any] | None
    evidence: dict[str, Evidence]
    verdict: Verdict | None
    original: str
    pages: list[str]
    preprocessed: str | None
    parts: list[Part]
    part_of: list[Whole]
    near_duplicates: list[NearDuplicate]
    suggestions: dict[str, tuple[Suggestion, ...]]
    matching: MatchingProgress | None = None
    arrivals: list[Arrival] = []

    @classmethod
    def of_result(
        cls,
        row: DocumentRow,
        failures: list[Failure],
        links: Links,
        reviewed: DocumentReviews | None,
        *,
        edits: Collection[str],
        is_judged: bool,
        is_preprocessed: bool,
        page_count: int,
    ) -> "DocumentDetail":
        """Build it from the row, its result with the reviews, and its parts. edits: paths of reviews."""
        pairs = reviewed.near_duplicates if reviewed else ()
        address = f"/api/v1/documents/{row.id}"
        return cls.model_validate(
            {
                **vars(row),
                "tags": row.tags or [],
                "error": _fault(row),
                **_amount(row),
                "chosen_type": reviewed and reviewed.chosen_type,
                "edited": [path[1:] for path in (TITLE, DATE, SERIAL_NUMBER) if path in edits],
                "data": row.structured_data,
                "evidence": reviewed.evidence if reviewed else {},
                "verdict": Verdict(failures=tuple(failures)) if is_judged else None,
                "original": f"{address}/file",
                "pages": [f"{address}/pages/{number}.webp" for number in range(1, page_count + 1)],
                "preprocessed": f"{address}/preprocessed.pdf" if is_preprocessed else None,
                "parts": [Part.of(part) for part in links.parts],
                "part_of": [Whole.of(whole) for whole in links.wholes],
                "near_duplicates": [NearDuplicate.of(pair) for pair in pairs],
                "suggestions": reviewed.suggestions if reviewed else {},
            }
        )


class PageReading(_Shape):
    """The reading of one page. engine: the OCR engine; null for text that came with the file.

    quality: the share of words that are probably right. problem: why the page could not be read.
    preprocessed: true if it was read in an enhanced picture, which is stored.
    """

    number: int
    source: Literal["text", "ocr", "none"]
    engine: str | None
    quality: float
    rotation: int
    problem: str | None
    preprocessed: bool


class PageReadings(_Shape):
    """Every page that has been read."""

    pages: list[PageReading]


class DocumentList(_Shape):
    """Documents in the order of the list. next: the address of those that follow, null on the last page.

    corrected: the words that were searched for instead, where nothing has those of the query.
    """

    documents: list[DocumentSummary]
    next: str | None
    corrected: str | None = None


class UploadedFile(_Shape):
    """The outcome of one uploaded file.

    already_here: the vault had its content, and stores it once. restored: it was in the bin.
    """

    file_name: str
    status: Literal["accepted", "already_here", "restored", "refused"]
    document_id: UUID | None
    ingestion_id: UUID | None
    error: Fault | None


class UploadResult(_Shape):
    """One entry per file, in the order of the form."""

    results: list[UploadedFile]


class Reprocessing(_Shape):
    """The ingestion that is under way. skipped: nothing was begun, since this type of file cannot be read."""

    ingestion_id: UUID | None
    skipped: bool = False


class Pause(_Shape):
    """A pause: documents wait for a repair. part: an engine, a model, the file store or a step."""

    part: str
    step: str | None
    code: str
    message: str
    since: datetime


class PauseList(_Shape):
    """Everything that is paused now."""

    pauses: list[Pause]


class Password(BaseModel):
    """The password of a document."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    password: Annotated[SecretStr, Field(min_length=1, max_length=1000)]


class _IngestionRequest(_Shape):
    id: UUID
    document_id: UUID
    status: Literal["in-progress", "completed", "failed"]
    step: str | None
    attempt_count: int
    started_at: datetime | None
    completed_at: datetime | None
    created_at: datetime
    next_attempt_at: datetime | None


_RESULT_FIELDS: dict[str, Any] = {name: (kind, ...) for name, kind in PUBLIC_COLUMNS.items()}
_IngestionResult = create_model("_IngestionResult", __base__=_IngestionRequest, **_RESULT_FIELDS)


class Ingestion(_IngestionResult):
    """One request to process a document, with its result. cost: in US dollars.

    source: null if a person asked for it. source_metadata: what the source says about the item.
    """

    source: SourceReference | None
    source_metadata: dict[str, Any] | None

    evidence: dict[str, Evidence] | None
    failed_step: str | None
    error: Fault | None

    @classmethod
    def of(cls, row: IngestionRow) -> "Ingestion":
        """The row as the API shows it."""
        source = None
        if row.doc_source_id is not None:
            name, kind = row.source_name or "", row.source_kind or ""
            source = SourceReference(id=row.doc_source_id, name=name, kind=kind)
        return cls.model_validate({**vars(row), "source": source, "error": _fault(row)})


class IngestionList(_Shape):
    """Newest first."""

    ingestions: list[Ingestion]


class IngestionPage(IngestionList):
    """Ingestions, newest first. next: the address of those that follow, null on the last page."""

    next: str | None


class Health(_Shape):
    """The health of a process, with the outcome of each check."""

    status: Literal["ok", "failing", "stopping"]
    checks: dict[str, Literal["ok", "failing", "silent"]]


class DeadLetterChoice(BaseModel):
    """A selection of dead letters: by ids, all, or by error code. Give one of the three.

    step: of all or of an error code, only those that failed at this step.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[list[UUID], Field(max_length=1000)] | None = None
    all: Literal[True] | None = None
    code: Annotated[str, Field(pattern=WORD)] | None = None
    step: Annotated[str, Field(pattern=WORD)] | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if sum(choice is not None for choice in (self.ids, self.all, self.code)) != 1:
            raise ValueError("give one of: ids, all, code")
        if self.ids is not None and self.step is not None:
            raise ValueError("give a step with all or code, not with ids")
        return self


class Redriving(_Shape):
    """The outcome of trying dead letters again.

    redriven: tried again now. dropped: their document has been processed again since. unknown: ids that do
    not exist (any more).
    """

    redriven: int
    dropped: int
    unknown: int


class Purging(_Shape):
    """The number of dead letters that were deleted."""

    purged: int


def _amount(row: DocumentRow) -> dict[str, str | None]:
    amount, currency = leading_amount(row.structured_data, row.document_type)
    return {"amount": amount, "currency": currency}


def _fault(row: DocumentRow | IngestionRow) -> Fault | None:
    if row.error_code is None:
        return None
    return Fault(code=row.error_code, message=row.error_message or "")
