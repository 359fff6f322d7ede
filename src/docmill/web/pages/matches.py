"""The page of all links between documents, and the forms that decide about them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Request
from pydantic import BaseModel, Field
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docmill.errors import ChangedError
from docmill.service.matches import NotMatchableError
from docmill.service.store import events, pauses
from docmill.service.store.match_decisions import Pair
from docmill.service.store.match_links import LinkCursor, Status
from docmill.web.access import Router, local_address, needs
from docmill.web.api.matches import match_details
from docmill.web.context import TheVault, not_found, parse_document_id
from docmill.web.matching import Done, address_after, notice_of
from docmill.web.pages.documents import RefusedReview, document_page
from docmill.web.reviewing import base_of
from docmill.web.view.match_words import RELATIONS, STATUSES
from docmill.web.view.matches import Action, listed_entry

router = Router(include_in_schema=False)

PAGE_SIZE = 50
_MOST_COUNTED = 1000
_ALL = "all"
_RECORD = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(#[1-9][0-9]{0,6})?"
"""Pattern of the ids of records."""
_DONE: dict[Action, Done] = {
    "confirm": "confirmed",
    "decline": "declined",
    "unlink": "unlinked",
    "undo": "undone",
}


@dataclass(frozen=True, slots=True)
class MatchFilters:
    """The filters that an address names; unknown values are ignored. status: suggestions unless told."""

    status: Status | Literal["all"] = "suggested"
    relation: str = ""
    with_discrepancies: bool = False

    @classmethod
    def of(cls, params: QueryParams) -> "MatchFilters":
        """Read the filters from an address."""
        statuses: dict[str, Status | Literal["all"]] = {_ALL: "all", **{name: name for name in STATUSES}}
        relation = params.get("relation", "")
        return cls(
            statuses.get(params.get("status", ""), "suggested"),
            relation if relation in RELATIONS else "",
            params.get("discrepancies", "") == "1",
        )

    @property
    def is_default(self) -> bool:
        """True for the list of all suggestions."""
        return self == MatchFilters()

    def link(self, after: LinkCursor | None = None) -> str:
        """The address with these filters."""
        pairs = [
            ("status", self.status if self.status != "suggested" else ""),
            ("relation", self.relation),
            ("discrepancies", "1" if self.with_discrepancies else ""),
            ("after", after.text if after else ""),
        ]
        query = urlencode([(name, value) for name, value in pairs if value])
        return f"/matches?{query}" if query else "/matches"


@router.get("/matches")
@needs("read")
async def show_matches(request: Request, vault: TheVault, *, after: str = "") -> HTMLResponse:
    """Links between documents: those that a person should decide about, unless the address says others."""
    filters = MatchFilters.of(request.query_params)
    async with vault.connection() as conn:
        last_event = await events.last_id(conn)  # before the links, so that no change falls between
        paused = await pauses.current(conn)
    page = await vault.matches.page(
        tenant_id=vault.tenant_id,
        status=None if filters.status == _ALL else filters.status,
        relation=filters.relation or None,
        with_discrepancies=filters.with_discrepancies,
        after=LinkCursor.parse(after) if after else None,
        limit=PAGE_SIZE,
    )
    people = {each.link.decided_by for each in page.matches if each.link.decided_by}
    names = await vault.names(people)
    return vault.templates.page(
        request,
        "matches.html",
        review_count=await vault.review_count(),
        entries=[listed_entry(each, names) for each in page.matches],
        filters=filters,
        suggested=await vault.matches.count_suggested(tenant_id=vault.tenant_id, most=_MOST_COUNTED),
        most_counted=_MOST_COUNTED,
        statuses={name: words for name, (words, _) in STATUSES.items()},
        relations=RELATIONS,
        follow=filters.link(page.follow) if page.follow else None,
        match_notice=await notice_of(request, vault),
        last_event=last_event,
        pauses=paused,
    )


@router.post("/matches")
@needs("review")
async def decide_match(
    vault: TheVault,
    *,
    match_id: Annotated[UUID, Form()],
    action: Annotated[Action, Form()],
    decided_at: Annotated[datetime | None, Form()] = None,
    to: Annotated[str, Form(alias="next", max_length=2000)] = "/matches",
) -> RedirectResponse:
    """Confirm, decline or part a link, or undo what was decided last, and go back.

    decided_at: of the decision that the form showed.
    """
    if await vault.matches.get(match_id, tenant_id=vault.tenant_id) is None:
        raise not_found("match")
    if action == "undo":
        try:
            changed = await vault.matches.undo(match_id, tenant_id=vault.tenant_id, decided_at=decided_at)
        except ChangedError:  # pressed twice, or another person was faster: the page shows what holds
            return RedirectResponse(local_address(to), 303)
    else:
        changed = await vault.matches.decide(
            match_id,
            "confirmed" if action == "confirm" else "declined",
            tenant_id=vault.tenant_id,
            decided_by=vault.user_id,
        )
    vault.audit_details["action"] = action
    if changed is not None:
        vault.audit_details.update(match_details(changed))
    return RedirectResponse(address_after(to, _DONE[action], match_id), 303)


class LinkForm(BaseModel):
    """The form that links two documents by hand. link: ids of both records and the relation, by spaces."""

    link: Annotated[str, Field(max_length=200, pattern=f"^{_RECORD} {_RECORD} [a-z_]+$")]

    @property
    def pair(self) -> Pair:
        """The records with their relation."""
        return Pair(*self.link.split(" "))


@router.post("/docs/{document_id}/matches")
@router.post("/review/{document_id}/matches")
@needs("review")
async def link_documents(
    request: Request, document_id: str, vault: TheVault, form: Annotated[LinkForm, Form()]
) -> Response:
    """Link the document with another one, and go back to its matches."""
    key = parse_document_id(document_id)
    await vault.document(key)
    try:
        linked = await vault.matches.link(form.pair, tenant_id=vault.tenant_id, decided_by=vault.user_id)
    except (NotMatchableError, ChangedError) as error:
        refused = RefusedReview("", "", error.message, 422)
        return await document_page(request, key, vault, tab="matches", refused=refused)
    vault.audit_details.update(match_details(linked))
    to = f"{base_of(request, key)}?tab=matches"
    return RedirectResponse(address_after(to, "linked", linked.link.pair.id), 303)


@router.get("/docs/{document_id}/matches")
@router.get("/review/{document_id}/matches")
@needs("read")
async def back(request: Request, document_id: str) -> RedirectResponse:
    """Go to the matches of the document: a refused form leaves the browser at this address."""
    return RedirectResponse(f"{base_of(request, parse_document_id(document_id))}?tab=matches#panel", 303)
