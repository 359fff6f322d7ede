"""What pages show of the links between documents, and searches for others to link."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from starlette.requests import Request

from docmill.service.store import document_list
from docmill.service.store.document_list import DocumentFilters
from docmill.web.access import local_address
from docmill.web.context import Vault, parse_id
from docmill.web.languages import day_text, gettext_noop
from docmill.web.view.cards import money, title
from docmill.web.view.filters import LONGEST_QUERY
from docmill.web.view.matches import (
    FoundDocument,
    MatchEntry,
    MatchesView,
    link_options,
    listed_entry,
    matches_view,
)
from docmill.web.view.words import type_name

Done = Literal["confirmed", "declined", "unlinked", "linked", "undone"]
DONE: tuple[Done, ...] = ("confirmed", "declined", "unlinked", "linked", "undone")

REFUSALS = (
    gettext_noop("A document cannot be linked with itself. Choose another one."),
    gettext_noop("One of the documents is in the bin. Restore it first."),
    gettext_noop("There is no such document to link with."),
    gettext_noop(
        "One of the documents has no values by which it can be matched. Link them as related instead."
    ),
    gettext_noop("Name a payment of the bank statement by its number, from 1, that it has."),
    gettext_noop("A payment cannot be related to a document. Link the whole statement."),
    gettext_noop(
        "Documents of these types cannot have this relation. Choose another one, or link them as related."
    ),
    gettext_noop("One of the documents was deleted meanwhile."),
)
"""What the service says of a link that cannot be: it knows no catalogues."""

_MOST_FOUND = 10


@dataclass(frozen=True, slots=True)
class MatchNotice:
    """What was just done about a link. entry: None if nothing is left of the link."""

    done: Done
    entry: MatchEntry | None


async def load_matches(vault: Vault, document_id: UUID) -> MatchesView:
    """Build what a document's page shows of its links."""
    found = await vault.matches.of_document(document_id, tenant_id=vault.tenant_id)
    links = (*found.links, *found.cluster_links)
    people = await vault.names({link.decided_by for link in links if link.decided_by})
    state = await vault.matching_state(document_id)
    return matches_view(found, people, state, patience_s=vault.settings.worker.patience_s)


async def notice_of(request: Request, vault: Vault) -> MatchNotice | None:
    """What the address says was done about a link; None if it names none."""
    for done in DONE:
        match_id = parse_id(request.query_params.get(done, ""))
        if match_id is None:
            continue
        listed = await vault.matches.get(match_id, tenant_id=vault.tenant_id)
        if listed is None:
            return MatchNotice(done, None) if done == "undone" else None
        names = await vault.names({listed.link.decided_by} if listed.link.decided_by else ())
        return MatchNotice(done, listed_entry(listed, names))
    return None


async def documents_to_link(vault: Vault, document_id: UUID, query: str) -> list[FoundDocument]:
    """The documents that a search finds, each with the ways to link it with this one."""
    near = await vault.service.meaning.near(query, "both")
    async with vault.connection() as conn:
        listed = await document_list.page(
            conn, DocumentFilters(query=query), limit=_MOST_FOUND + 1, near=near, mode="both"
        )
    rows = [row for row in listed.rows if row.id != document_id][:_MOST_FOUND]
    choices = await vault.matches.choices(document_id, [row.id for row in rows], tenant_id=vault.tenant_id)
    found: list[FoundDocument] = []
    for row in rows:
        amount = money(row.structured_data, row.document_type)
        details = (day_text(row.document_date), f"{amount.amount} {amount.currency}" if amount else "")
        found.append(
            FoundDocument(
                row.id,
                title(row),
                type_name(row.document_type),
                " · ".join(filter(None, details)),
                link_options(choices.get(row.id, ())),
            )
        )
    return found


def query_of(request: Request) -> str:
    """What is searched for to be linked."""
    return request.query_params.get("find", "").strip()[:LONGEST_QUERY]


def address_after(to: str, done: Done, match_id: UUID) -> str:
    """The address to go to after a change, which tells what was done."""
    address, _, query = local_address(to).partition("?")
    kept = [(name, value) for name, value in parse_qsl(query) if name not in (*DONE, "find")]
    fragment = "#panel" if address.startswith(("/docs/", "/review/")) else ""
    return f"{address}?{urlencode([*kept, (done, str(match_id))])}{fragment}"
