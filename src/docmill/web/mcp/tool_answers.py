"""The answers of the tools to an assistant. What comes from documents is in `from_document` alone."""

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from docmill.model.result import MatchKind
from docmill.schemas.outline import Kind
from docmill.web.api.matches import Relation, Status
from docmill.web.api.shapes import State
from docmill.web.mcp.untrusted_text import NOTICE, DocumentLine, DocumentText, DocumentValue
from docmill.web.view.fields import Certainty


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerWithText(_Answer):
    """An answer with text of documents."""

    notice: str = Field(default=NOTICE, description="how to treat what comes from documents")


class ListedInDocument(_Answer):
    """A document that was found. found: the text around what was searched for."""

    title: DocumentLine | None
    file_name: DocumentLine
    summary: DocumentLine | None
    amount: DocumentLine | None
    currency: DocumentLine | None
    tags: list[DocumentLine]
    found: DocumentLine | None


class ListedDocument(_Answer):
    """A document that a search found.

    archive_serial_number: of its paper. found_on_page: of its text that was searched for.
    """

    document_id: UUID
    document_type: str | None
    state: State
    needs_human_review: bool
    document_date: date | None
    archive_serial_number: int | None
    page_count: int | None
    created_at: datetime
    found_on_page: int | None
    from_document: ListedInDocument


class SearchAnswer(AnswerWithText):
    """Found documents, the best first. next: for `after`, to get those that follow; null at the end.

    corrected: the words that were searched for instead, where nothing has those of the query.
    """

    documents: list[ListedDocument]
    next: str | None
    corrected: str | None


class FieldValue(_Answer):
    """A value with its place.

    certainty: `confirmed` by a person, or how sure docmill is of it; `invalid` failed a check. confidence:
    from 0 to 1; null where nothing was read. text: as on the page. box: x0, y0, x1, y1 in fractions of the
    page, from its top left. suggestions: values that are not believed enough.
    """

    path: str
    value: DocumentValue | None
    certainty: Certainty
    confidence: float | None
    match: MatchKind | None
    text: DocumentValue | None
    page: int | None
    box: tuple[float, float, float, float] | None
    problems: list[DocumentValue]
    suggestions: list[DocumentValue]


class FailedCheck(_Answer):
    """A check that did not hold. fields: the paths that it speaks of."""

    check: str
    message: DocumentValue
    fields: list[str]


class ContentOfDocument(_Answer):
    """The content of a document. fields: some of its values, see `next_field`."""

    title: DocumentLine | None
    file_name: DocumentLine
    summary: DocumentValue | None
    language: DocumentLine | None
    tags: list[DocumentLine]
    failed_checks: list[FailedCheck]
    fields: list[FieldValue]


class DocumentAnswer(AnswerWithText):
    """A document with some of its values.

    verdict: `passed` if no check failed, so that its values can be used without a person; null before it was
    read. error: why it could not be read. archive_serial_number: of its paper. field_count: of all values.
    next_field: for `first_field`, to get the values that follow; null at the end.
    """

    document_id: UUID
    document_type: str | None
    state: State
    verdict: Literal["passed", "needs_look"] | None
    needs_human_review: bool
    rejection: DocumentLine | None
    error: DocumentValue | None
    document_date: date | None
    archive_serial_number: int | None
    page_count: int | None
    media_type: str
    created_at: datetime
    updated_at: datetime
    field_count: int
    next_field: int | None
    from_document: ContentOfDocument


class TextOfPage(_Answer):
    """Text of a page as it was read, with columns kept apart by spaces."""

    text: DocumentText


class PageTextAnswer(AnswerWithText):
    """A piece of the text of a page. next_offset: for `offset`, to get what follows; null at its end.

    source: `text` came with the file, `ocr` was recognised, `none` could not be read. quality: the share of
    words that are probably right. has_orders_to_models: true if some words of the piece seem to be meant for
    a language model; false is no promise.
    """

    document_id: UUID
    page: int
    page_count: int
    source: Literal["text", "ocr", "none"]
    quality: float
    problem: DocumentValue | None
    has_orders_to_models: bool
    offset: int
    next_offset: int | None
    from_document: TextOfPage


class LinkInDocument(_Answer):
    """A linked document. reasons: why they belong together."""

    title: DocumentLine
    amount: DocumentLine | None
    currency: DocumentLine | None
    reasons: list[DocumentValue]


class LinkedDocument(_Answer):
    """A document that belongs to this one.

    status: `confirmed` or `declined` by a person, `automatic`, or `suggested` for a person to decide. score:
    the probability that the link is right. payment, other_payment: numbers of transactions, from 1, where
    this document or the other one is a bank statement.
    """

    document_id: UUID
    document_type: str | None
    relation: Relation
    status: Status
    score: float | None
    date: date | None
    payment: int | None
    other_payment: int | None
    from_document: LinkInDocument


class NameInDocument(_Answer):
    """The title of another document, and its name or the reason why it is listed."""

    title: DocumentLine | None
    name: DocumentValue


class RelatedDocument(_Answer):
    """A part of this document, a document that holds it, or one that seems to be the same.

    document_id: null for a part that could not be taken out.
    """

    document_id: UUID | None
    first_page: int | None = None
    last_page: int | None = None
    from_document: NameInDocument


class DiscrepancyInDocuments(_Answer):
    """A difference between documents that belong together."""

    text: DocumentValue


class FoundDiscrepancy(_Answer):
    """A difference. document_id: of the document that departs from the others."""

    code: str
    document_id: UUID
    from_document: DiscrepancyInDocuments


class LinksAnswer(AnswerWithText):
    """The documents that belong to one. is_complete: false if there is more than is listed."""

    document_id: UUID
    links: list[LinkedDocument]
    discrepancies: list[FoundDiscrepancy]
    parts: list[RelatedDocument]
    part_of: list[RelatedDocument]
    near_duplicates: list[RelatedDocument]
    is_complete: bool


class TypeSummary(_Answer):
    """A type of documents. is_built_in: false for a schema of the settings."""

    name: str
    label: str
    is_built_in: bool
    field_count: int


class TypesAnswer(_Answer):
    """Every type that a document can have."""

    types: list[TypeSummary]


class FieldOfType(_Answer):
    """A field. path: with `[]` for a list. is_critical: without it, a person is asked."""

    path: str
    kind: Kind
    description: str
    is_critical: bool
    choices: list[str]


class TypeAnswer(_Answer):
    """A type with its fields."""

    name: str
    label: str
    is_built_in: bool
    fields: list[FieldOfType]


class FilingAnswer(_Answer):
    """The outcome of filing.

    status: with `already_here`, the vault has this content, and stores it once; with `restored`, it was in
    the bin.
    """

    document_id: UUID
    status: Literal["accepted", "already_here", "restored"]
    is_being_read: bool
