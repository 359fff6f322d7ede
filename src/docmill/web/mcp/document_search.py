"""The tool that searches documents."""

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from docmill.service.search.snippets import Snippet
from docmill.service.store.documents import DocumentRow
from docmill.web.api.document_query import DocumentQuery
from docmill.web.api.documents import find_documents
from docmill.web.api.shapes import DocumentSummary
from docmill.web.mcp.tool_answers import ListedDocument, ListedInDocument, SearchAnswer
from docmill.web.mcp.tool_context import ToolContext

_MOST_TAGS = 10


class SearchArguments(DocumentQuery):
    """Filters, order and place as those of the API. All filters hold together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: Annotated[int, Field(ge=1, le=50)] = 20


async def search_documents(context: ToolContext, wanted: SearchArguments) -> SearchAnswer:
    """Find documents as the list of the API does."""
    listed, snippets = await find_documents(context.vault, wanted)
    return SearchAnswer(
        documents=[_listed(row, snippets) for row in listed.rows],
        next=listed.follow.text if listed.follow else None,
        corrected=listed.corrected,
    )


def _listed(row: DocumentRow, snippets: Mapping[UUID, Snippet]) -> ListedDocument:
    summary, snippet = DocumentSummary.of(row), snippets.get(row.id)
    return ListedDocument(
        document_id=row.id,
        document_type=row.document_type,
        state=summary.state,
        needs_human_review=row.needs_human_review,
        document_date=row.document_date,
        archive_serial_number=row.archive_serial_number,
        page_count=row.page_count,
        created_at=row.created_at,
        found_on_page=snippet.page if snippet else None,
        from_document=ListedInDocument(
            title=row.title,
            file_name=row.file_name,
            summary=row.summary,
            amount=summary.amount,
            currency=summary.currency,
            tags=summary.tags[:_MOST_TAGS],
            found=snippet.text if snippet else None,
        ),
    )
