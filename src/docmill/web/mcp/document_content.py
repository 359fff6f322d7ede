"""The tools that show a document: its values with their places, and the text of its pages."""

import asyncio
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from docmill.errors import ValidationError
from docmill.understanding.text.model_orders import holds_orders
from docmill.web.api.shapes import DocumentSummary
from docmill.web.mcp.tool_answers import (
    ContentOfDocument,
    DocumentAnswer,
    FailedCheck,
    FieldValue,
    PageTextAnswer,
    TextOfPage,
)
from docmill.web.mcp.tool_context import ToolContext
from docmill.web.mcp.untrusted_text import visible
from docmill.web.view import fields as field_views
from docmill.web.view.document import PageSelection, document_view

_MOST_FIELDS = 200
_MOST_CHARACTERS = 60_000
"""Of the values of one answer."""
_MOST_TAGS = 10
_MOST_CHECKS = 50
_MOST_PATHS = 20
_MOST_SUGGESTIONS = 3


class DocumentArguments(BaseModel):
    """A document, and the value from which on it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document_id: UUID
    first_field: Annotated[
        int, Field(ge=0, le=1_000_000, description="index of the first value, from 0; `next_field` before")
    ] = 0


class PageTextArguments(BaseModel):
    """A page of a document, and a piece of its text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document_id: UUID
    page: Annotated[int, Field(ge=1, le=100_000, description="number of the page, from 1")] = 1
    offset: Annotated[
        int, Field(ge=0, le=100_000_000, description="characters to skip; `next_offset` of the answer before")
    ] = 0
    length: Annotated[int, Field(ge=1, le=20_000, description="most characters to return")] = 8000


async def get_document(context: ToolContext, wanted: DocumentArguments) -> DocumentAnswer:
    """The document with its values. Answers 404 as `Vault.document` does."""
    vault = context.vault
    row, history = await vault.document_with_history(wanted.document_id)
    reviewed = await vault.reviewed(wanted.document_id)
    view = document_view(row, history, None, PageSelection(), reviewed, levels=vault.settings.review)
    values = view.values.all_fields
    shown = _within_limits(values[wanted.first_field :])
    following = wanted.first_field + len(shown)
    is_judged = view.result is not None and view.result.verdict is not None
    return DocumentAnswer(
        document_id=row.id,
        document_type=row.document_type,
        state=DocumentSummary.of(row).state,
        verdict=None if not is_judged else "needs_look" if view.failures else "passed",
        needs_human_review=row.needs_human_review,
        rejection=row.rejection,
        error=row.error_message,
        document_date=row.document_date,
        archive_serial_number=row.archive_serial_number,
        page_count=row.page_count,
        media_type=row.media_type,
        created_at=row.created_at,
        updated_at=row.updated_at,
        field_count=len(values),
        next_field=following if following < len(values) else None,
        from_document=ContentOfDocument(
            title=row.title,
            file_name=row.file_name,
            summary=row.summary,
            language=row.language,
            tags=row.tags[:_MOST_TAGS],
            failed_checks=[
                FailedCheck(
                    check=failure.check, message=failure.message, fields=list(failure.fields[:_MOST_PATHS])
                )
                for failure in view.failures[:_MOST_CHECKS]
            ],
            fields=shown,
        ),
    )


def _within_limits(values: Sequence[field_views.Field]) -> list[FieldValue]:
    """The first of the values that fit into one answer; at least one, so that the next call gets further."""
    shown: list[FieldValue] = []
    characters = 0
    for value in values[:_MOST_FIELDS]:
        answer = _value(value)
        characters += len(answer.model_dump_json())
        if shown and characters > _MOST_CHARACTERS:
            break
        shown.append(answer)
    return shown


def _value(value: field_views.Field) -> FieldValue:
    evidence = value.evidence
    return FieldValue(
        path=value.path,
        value=value.value or None,
        certainty=value.certainty,
        confidence=evidence.confidence if evidence else None,
        match=evidence.match if evidence else None,
        text=evidence.text if evidence else None,
        page=evidence.page if evidence else None,
        box=evidence.box if evidence else None,
        problems=list(value.problems),
        suggestions=[suggestion.value for suggestion in value.suggestions[:_MOST_SUGGESTIONS]],
    )


async def get_page_text(context: ToolContext, wanted: PageTextArguments) -> PageTextAnswer:
    """A piece of the text of a page. Raises ValidationError if there is none."""
    _, history = await context.vault.document_with_history(wanted.document_id)
    document = await context.vault.transcription(history)
    if document is None or not document.pages:
        raise ValidationError("no text of this document has been read, or not yet; its `state` says which")
    page = next((page for page in document.pages if page.number == wanted.page), None)
    if page is None:
        raise ValidationError(f"this document has no page {wanted.page}, only {len(document.pages)}")
    text = visible(page.text)
    stop = wanted.offset + wanted.length
    piece = text[wanted.offset : stop]
    return PageTextAnswer(
        document_id=wanted.document_id,
        page=page.number,
        page_count=len(document.pages),
        source=page.source,
        quality=page.quality,
        problem=page.problem,
        has_orders_to_models=await asyncio.to_thread(holds_orders, piece),
        offset=wanted.offset,
        next_offset=stop if stop < len(text) else None,
        from_document=TextOfPage(text=piece),
    )
