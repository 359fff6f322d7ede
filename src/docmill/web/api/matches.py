"""Routes for what belongs together: parts, near duplicates, and links between documents."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from docmill.matching import outcome
from docmill.matching.outcome import Discrepancy as DiscrepancyFound
from docmill.matching.three_way import ThreeWayMatch
from docmill.matching.wording import discrepancy_text, reason_text
from docmill.service.matches import DocumentMatches, ListedMatch, MatchedRecord
from docmill.service.store.match_decisions import Decision, Pair
from docmill.service.store.match_links import LinkCursor, LinkRow
from docmill.web.access import Router, needs
from docmill.web.api.shapes import NearDuplicate, Part, Whole
from docmill.web.context import TheVault, Vault, not_found

router = Router(tags=["matches"])

_EXAMPLE_ID = "019ab2c4-0000-7000-8000-000000000000"

Status = Literal["automatic", "suggested", "outranked", "confirmed", "declined"]
Relation = Literal[outcome.Relation, "related"]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True)


class MatchEnd(_Shape):
    """A document at one end of a link.

    payment: the number of the transaction in a bank statement, from 1; null for a document as a whole.
    amount: with tax, if that is known. date: of the document or the transaction.
    """

    document_id: UUID
    payment: int | None
    title: str
    document_type: str | None
    date: dt.date | None
    amount: str | None
    currency: str | None

    @classmethod
    def of(cls, record: MatchedRecord) -> "MatchEnd":
        """The record as the API shows it."""
        return cls(
            document_id=record.document.id,
            payment=record.payment,
            title=record.document.title,
            document_type=record.document.document_type,
            date=record.day,
            amount=None if record.amount is None else str(record.amount),
            currency=record.currency or None,
        )


class MatchReason(_Shape):
    """A piece of evidence. weight: what it adds to the log-odds of the link, below zero against it."""

    code: str
    text: str
    weight: float


class Discrepancy(_Shape):
    """A difference between linked documents, with its figures as text.

    document_id: of the one that departs from the others. line: number of its line item, from 1.
    """

    code: str
    text: str
    document_id: UUID
    other_ids: list[UUID]
    line: int | None
    expected: str
    found: str
    difference: str

    @classmethod
    def of(cls, discrepancy: DiscrepancyFound) -> "Discrepancy":
        """The discrepancy as the API shows it."""
        return cls(
            code=discrepancy.code,
            text=discrepancy_text(discrepancy),
            document_id=_document_id(discrepancy.record_id),
            other_ids=list(map(_document_id, discrepancy.other_ids)),
            line=None if discrepancy.line is None else discrepancy.line + 1,
            expected=discrepancy.expected,
            found=discrepancy.found,
            difference=discrepancy.difference,
        )


class Match(_Shape):
    """A link between two documents, in the order of its relation: first an order, second its invoice.

    status: what a person decided, else `automatic` (taken), `suggested` (for a person to decide) or
    `outranked` (plausible, but others are better). score: the probability that it is right, null for one that
    only a person made. decided_by: the user; null before somebody decided.
    """

    id: UUID
    first: MatchEnd
    second: MatchEnd
    relation: Relation
    status: Status
    score: float | None
    reasons: list[MatchReason]
    decision: Literal["confirmed", "declined"] | None
    decided_by: UUID | None
    decided_at: dt.datetime | None
    created_at: dt.datetime
    discrepancies: list[Discrepancy]

    @classmethod
    def of(cls, listed: ListedMatch) -> "Match":
        """The link of a list as the API shows it."""
        ends = {listed.first.id: listed.first, listed.second.id: listed.second}
        return _match(listed.link, ends, [Discrepancy.of(each) for each in listed.discrepancies])


class MatchList(_Shape):
    """Links, the likeliest first. next: the place of those that follow, for `after`; null at the end."""

    matches: list[Match]
    next: str | None


class StageTotal(_Shape):
    """The sum of a stage in a currency. net, gross: null if a document of it has no such amount."""

    stage: Literal["ordered", "delivered", "billed", "paid"]
    currency: str | None
    documents: int
    net: str | None
    gross: str | None


class StageDifference(_Shape):
    """By how much a stage departs from the one before it. basis: which amounts are compared."""

    stage: Literal["ordered", "delivered", "billed", "paid"]
    of: Literal["ordered", "delivered", "billed", "paid"]
    currency: str | None
    basis: Literal["net", "gross"]
    amount: str


class ItemQuantities(_Shape):
    """An item with its quantity by stage; null where one of its lines has none."""

    description: str
    quantities: dict[Literal["ordered", "delivered", "billed", "paid"], str | None]


class Summary(_Shape):
    """What was ordered, delivered, billed and paid."""

    totals: list[StageTotal]
    differences: list[StageDifference]
    items: list[ItemQuantities]

    @classmethod
    def of(cls, three_way: ThreeWayMatch) -> "Summary":
        """The three-way match as the API shows it."""
        return cls(
            totals=[
                StageTotal(
                    stage=each.stage,
                    currency=each.currency or None,
                    documents=each.records,
                    net=_text(each.net),
                    gross=_text(each.gross),
                )
                for each in three_way.totals
            ],
            differences=[
                StageDifference(
                    stage=each.stage,
                    of=each.of,
                    currency=each.currency or None,
                    basis=each.basis,
                    amount=str(each.amount),
                )
                for each in three_way.differences
            ],
            items=[
                ItemQuantities(
                    description=each.description,
                    quantities={stage: _text(value) for stage, value in each.quantities.items()},
                )
                for each in three_way.items
            ],
        )


class MatchesOfDocument(_Shape):
    """The links of a document, and the cluster that links connect it to.

    matches: those of the document, without outranked ones. cluster: the automatic and confirmed links between
    all documents of the cluster. is_whole: false if the cluster is too large to be shown.
    """

    matches: list[Match]
    cluster: list[Match]
    discrepancies: list[Discrepancy]
    summary: Summary
    is_whole: bool

    @classmethod
    def of(cls, found: DocumentMatches) -> "MatchesOfDocument":
        """The matches as the API shows them."""
        return cls(
            matches=[_match(link, found.records, []) for link in found.links],
            cluster=[_match(link, found.records, []) for link in found.cluster_links],
            discrepancies=[Discrepancy.of(each) for each in found.discrepancies],
            summary=Summary.of(found.three_way),
            is_whole=found.is_whole,
        )


class Related(_Shape):
    """Everything that belongs to a document. matches: its links, without outranked ones."""

    parts: list[Part]
    part_of: list[Whole]
    near_duplicates: list[NearDuplicate]
    matches: list[Match]


PaymentNumber = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


class NewMatch(BaseModel):
    """A link to make by hand. payment, other_payment: which transaction of a bank statement, from 1."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "examples": [{"other_id": _EXAMPLE_ID, "relation": "invoice_to_payment", "other_payment": 3}]
        },
    )

    other_id: UUID
    relation: Relation = "related"
    payment: PaymentNumber | None = None
    other_payment: PaymentNumber | None = None


class UndoneDecision(BaseModel):
    """What is to be undone. decided_at: of the decision that was seen; the one that holds, unless told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    decided_at: AwareDatetime | None = None


@router.get("/documents/{document_id}/related", tags=["documents"])
@needs("read")
async def get_related(document_id: UUID, vault: TheVault) -> Related:
    """The documents in a document, those that hold it, those that seem to be the same, and its matches."""
    await vault.document(document_id)
    links, pairs = await vault.links(document_id), await vault.near_duplicates(document_id)
    found = await vault.matches.of_document(document_id, tenant_id=vault.tenant_id)
    return Related(
        parts=[Part.of(part) for part in links.parts],
        part_of=[Whole.of(whole) for whole in links.wholes],
        near_duplicates=[NearDuplicate.of(pair) for pair in pairs],
        matches=[_match(link, found.records, []) for link in found.links],
    )


@router.get("/documents/{document_id}/matches")
@needs("read")
async def get_matches(document_id: UUID, vault: TheVault) -> MatchesOfDocument:
    """The links of a document, its cluster, what differs in it, and what was ordered, billed and paid."""
    await vault.document(document_id)
    return MatchesOfDocument.of(await vault.matches.of_document(document_id, tenant_id=vault.tenant_id))


@router.post("/documents/{document_id}/matches", status_code=201)
@needs("review")
async def link_documents(document_id: UUID, new: NewMatch, vault: TheVault) -> Match:
    """Link a document with another one by hand. The link stays, whatever is matched later."""
    await vault.document(document_id)
    await vault.document(new.other_id)
    pair = Pair(
        _record_id(document_id, new.payment), _record_id(new.other_id, new.other_payment), new.relation
    )
    linked = await vault.matches.link(pair, tenant_id=vault.tenant_id, decided_by=vault.user_id)
    vault.audit_details.update(match_details(linked))
    return Match.of(linked)


def _check_place(after: str | None) -> str | None:
    if after is not None and LinkCursor.parse(after) is None:
        raise ValueError("this is no place in a list; follow the `next` of an answer")
    return after


@router.get("/matches")
@needs("read")
async def list_matches(
    vault: TheVault,
    *,
    document_id: Annotated[UUID | None, Query(description="only those of this document")] = None,
    status: Annotated[Status | None, Query(description="only those with this status")] = None,
    relation: Annotated[Relation | None, Query(description="only those of this relation")] = None,
    discrepancies: Annotated[
        bool,
        Query(description="only those whose documents differ; a page may have fewer than `limit` then"),
    ] = False,
    after: Annotated[
        str | None,
        AfterValidator(_check_place),
        Query(max_length=1000, description="the place where the page before this one ended"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> MatchList:
    """Links between documents, the likeliest first."""
    page = await vault.matches.page(
        tenant_id=vault.tenant_id,
        status=status,
        relation=relation,
        document_id=document_id,
        with_discrepancies=discrepancies,
        after=LinkCursor.parse(after) if after else None,
        limit=limit,
    )
    return MatchList(
        matches=[Match.of(each) for each in page.matches], next=page.follow.text if page.follow else None
    )


@router.post("/matches/{match_id}/confirm")
@needs("review")
async def confirm_match(match_id: UUID, vault: TheVault) -> Match:
    """Confirm a link: it stays, whatever is matched later. Confirmed already, it stays as it is."""
    return await _decide(match_id, "confirmed", vault)


@router.post("/matches/{match_id}/decline")
@needs("review")
async def decline_match(match_id: UUID, vault: TheVault) -> Match:
    """Decline a suggested link: it is never made by itself. Declined already, it stays as it is."""
    return await _decide(match_id, "declined", vault)


@router.post("/matches/{match_id}/unlink")
@needs("review")
async def unlink_documents(match_id: UUID, vault: TheVault) -> Match:
    """Part two documents that were linked, by whomever: they are not linked again by themselves."""
    return await _decide(match_id, "declined", vault)


@router.post("/matches/{match_id}/undo")
@needs("review")
async def undo_match(match_id: UUID, vault: TheVault, seen: UndoneDecision | None = None) -> Match | None:
    """Take the last decision about a link back: what was before it holds again.

    Null if nothing is left of the link, since only a person had made it. With `decided_at` of the decision,
    it can be repeated: it takes no earlier one back, too.
    """
    if await vault.matches.get(match_id, tenant_id=vault.tenant_id) is None:
        raise not_found("match")
    decided_at = seen.decided_at if seen else None
    undone = await vault.matches.undo(match_id, tenant_id=vault.tenant_id, decided_at=decided_at)
    if undone is None:
        return None
    vault.audit_details.update(match_details(undone))
    return Match.of(undone)


async def _decide(match_id: UUID, decision: Decision, vault: Vault) -> Match:
    decided = await vault.matches.decide(
        match_id, decision, tenant_id=vault.tenant_id, decided_by=vault.user_id
    )
    if decided is None:
        raise not_found("match")
    vault.audit_details.update(match_details(decided))
    return Match.of(decided)


def match_details(match: ListedMatch) -> dict[str, str]:
    """What the audit log tells of a change of a link."""
    return {
        "relation": match.link.relation,
        "first": match.first.id,
        "second": match.second.id,
        "status": match.link.status,
    }


def _match(link: LinkRow, ends: Mapping[str, MatchedRecord], discrepancies: list[Discrepancy]) -> Match:
    return Match.model_validate(
        {
            "id": link.pair.id,
            "first": MatchEnd.of(ends[link.first_id]),
            "second": MatchEnd.of(ends[link.second_id]),
            "relation": link.relation,
            "status": link.status,
            "score": link.score,
            "reasons": [
                MatchReason(code=reason.code, text=reason_text(reason), weight=reason.weight)
                for reason in link.link.reasons
            ],
            "decision": link.decision,
            "decided_by": link.decided_by,
            "decided_at": link.decided_at,
            "created_at": link.created_at,
            "discrepancies": discrepancies,
        }
    )


def _record_id(document_id: UUID, payment: int | None) -> str:
    return str(document_id) if payment is None else f"{document_id}#{payment}"


def _document_id(record_id: str) -> UUID:
    return UUID(record_id.partition("#")[0])


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)
