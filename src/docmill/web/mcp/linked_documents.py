"""The tool that tells which documents belong to a document."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from docmill.web.api.matches import Match, MatchesOfDocument
from docmill.web.mcp.tool_answers import (
    DiscrepancyInDocuments,
    FoundDiscrepancy,
    LinkedDocument,
    LinkInDocument,
    LinksAnswer,
    NameInDocument,
    RelatedDocument,
)
from docmill.web.mcp.tool_context import ToolContext

_MOST = 50
"""Of each list of the answer."""
_MOST_REASONS = 10


class LinksArguments(BaseModel):
    """The document to start from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document_id: UUID


async def get_linked_documents(context: ToolContext, wanted: LinksArguments) -> LinksAnswer:
    """The documents that belong to it. Answers 404 as `Vault.document` does."""
    vault, document_id = context.vault, wanted.document_id
    await vault.document(document_id)
    held, pairs = await vault.links(document_id), await vault.near_duplicates(document_id)
    found = MatchesOfDocument.of(await vault.matches.of_document(document_id, tenant_id=vault.tenant_id))
    lengths = map(len, (found.matches, found.discrepancies, held.parts, held.wholes, pairs))
    return LinksAnswer(
        document_id=document_id,
        links=[_link(match, document_id) for match in found.matches[:_MOST]],
        discrepancies=[
            FoundDiscrepancy(
                code=each.code,
                document_id=each.document_id,
                from_document=DiscrepancyInDocuments(text=each.text),
            )
            for each in found.discrepancies[:_MOST]
        ],
        parts=[
            RelatedDocument(
                document_id=part.child_id,
                first_page=part.first_page,
                last_page=part.last_page,
                from_document=NameInDocument(title=part.title, name=part.name),
            )
            for part in held.parts[:_MOST]
        ],
        part_of=[
            RelatedDocument(
                document_id=whole.parent_id,
                first_page=whole.first_page,
                last_page=whole.last_page,
                from_document=NameInDocument(title=whole.parent_title, name=whole.name),
            )
            for whole in held.wholes[:_MOST]
        ],
        near_duplicates=[
            RelatedDocument(
                document_id=pair.document_id, from_document=NameInDocument(title=pair.title, name=pair.why)
            )
            for pair in pairs[:_MOST]
        ],
        is_complete=found.is_whole and max(lengths) <= _MOST,
    )


def _link(match: Match, document_id: UUID) -> LinkedDocument:
    """The link as seen from one of its ends."""
    is_first = match.first.document_id == document_id
    own, other = (match.first, match.second) if is_first else (match.second, match.first)
    return LinkedDocument(
        document_id=other.document_id,
        document_type=other.document_type,
        relation=match.relation,
        status=match.status,
        score=match.score,
        date=other.date,
        payment=own.payment,
        other_payment=other.payment,
        from_document=LinkInDocument(
            title=other.title,
            amount=other.amount,
            currency=other.currency,
            reasons=[reason.text for reason in match.reasons[:_MOST_REASONS]],
        ),
    )
