"""Lists and shows links between documents, and carries out what a person decides about them."""

import json
from dataclasses import dataclass
from typing import Literal

from docmill.cli.console import FAILED, counted, shown, stderr, stdout
from docmill.cli.vault.access import existing_service, log_command
from docmill.cli.vault.contents import document_called
from docmill.errors import ChangedError, ValidationError
from docmill.matching.wording import RELATION_NAMES, discrepancy_text, reason_text
from docmill.model.result import percent_text
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.matches import ListedMatch, MatchedRecord, Matches
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.match_decisions import Pair
from docmill.service.store.match_links import LinkRow, Status
from docmill.web.api.matches import Match, MatchesOfDocument, match_details

Action = Literal["confirm_match", "decline_match", "unlink_documents", "undo_match"]
"""As the audit log names it, also for the API."""

_PAGE = 200
_CANDIDATES = 10
_REASONS_SHOWN = 3
_MARKS = {"automatic": "✓", "confirmed": "✓", "suggested": "?", "declined": "✗", "outranked": "-"}


@dataclass(frozen=True, slots=True)
class MatchSelection:
    """The links to list; None: of any status, or of any relation."""

    status: Status | None
    relation: str | None
    limit: int
    with_discrepancies: bool


@dataclass(frozen=True, slots=True)
class EndName:
    """An end of a link as a person names it. payment: a transaction of a bank statement, from 1."""

    document: str
    payment: int | None


async def list_links(settings: Settings, selection: MatchSelection, *, as_json: bool) -> int:
    """Print links, the likeliest first; the exit code."""
    async with existing_service(settings) as service:
        links = await _selected(service, selection)
    if as_json:
        _print_json([_as_data(each) for each in links[: selection.limit]])
        return 0
    if not links:
        stdout.print("no such links")
    for each in links[: selection.limit]:
        _print_link(each.link, each.first, each.second)
        for discrepancy in each.discrepancies:
            stdout.print(f"    ≠ {shown(discrepancy_text(discrepancy))}", markup=False, style="red")
    if len(links) > selection.limit:
        stdout.print(f"these are the likeliest {selection.limit}; --limit shows more")
    return 0


async def _selected(service: Service, selection: MatchSelection) -> list[ListedMatch]:
    """The selected links, and one more if there are more than the limit."""
    links: list[ListedMatch] = []
    after = None
    while True:
        page = await _matches(service).page(
            tenant_id=service.default_tenant_id,
            status=selection.status,
            relation=selection.relation,
            with_discrepancies=selection.with_discrepancies,
            after=after,
            limit=min(selection.limit + 1, _PAGE),
        )
        links += page.matches
        after = page.follow
        if after is None or len(links) > selection.limit:
            return links


async def show_links(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print the links of a document and its cluster; the exit code."""
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        async with service.database.tenant(tenant_id) as conn:
            row = await document_called(conn, name)
        found = await _matches(service).of_document(row.id, tenant_id=tenant_id)
    if as_json:
        _print_json(MatchesOfDocument.of(found).model_dump(mode="json"))
        return 0
    stdout.print(f"{row.id}  {shown(row.title or row.file_name)}", markup=False)
    if not found.links:
        stdout.print("no links")
    for link in found.links:
        _print_link(link, found.records[link.first_id], found.records[link.second_id])
    for discrepancy in found.discrepancies:
        where = found.records[discrepancy.record_id].document.title
        stdout.print(f"≠ {shown(where)}: {shown(discrepancy_text(discrepancy))}", markup=False, style="red")
    for each in found.three_way.totals:
        amounts = [
            f"{amount} {name}" for name, amount in (("net", each.net), ("with tax", each.gross)) if amount
        ]
        count = counted(each.records, "document")
        text = f"{each.stage}: {count}, {', '.join(amounts) or 'no amount'} {each.currency}"
        stdout.print(shown(text.strip()), markup=False)
    return 0


async def decide(settings: Settings, beginning: str, action: Action, *, as_json: bool) -> int:
    """Confirm, decline or part a link, or take the last decision about it back; the exit code.

    beginning: of the link's id.
    """
    async with existing_service(settings) as service:
        matches, tenant_id = _matches(service), service.default_tenant_id
        called = await matches.called(beginning, tenant_id=tenant_id, limit=_CANDIDATES)
        if not called:
            stderr.print(f"there is no link {shown(beginning)}", style="yellow", markup=False)
            return FAILED
        if len(called) > 1:
            candidates = "".join(
                f"\n  {each.link.pair.id}  {_ends(each.first, each.second)}" for each in called
            )
            raise ValidationError(f"{beginning!r} means more than one link; give more of the id:{candidates}")
        match_id = called[0].link.pair.id
        if action == "undo_match":
            try:
                changed = await matches.undo(match_id, tenant_id=tenant_id)
            except ChangedError as error:
                stderr.print(error.message, style="yellow", markup=False)
                return FAILED
        else:
            changed = await matches.decide(
                match_id,
                "confirmed" if action == "confirm_match" else "declined",
                tenant_id=tenant_id,
                decided_by=DEFAULT_USER_ID,
            )
        await log_command(service, action, str(match_id), match_details(changed) if changed else None)
    _print_changed(changed, as_json=as_json)
    return 0


async def link(settings: Settings, first: EndName, second: EndName, *, relation: str, as_json: bool) -> int:
    """Link two documents, or payments of bank statements, by hand; the exit code."""
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        ids: list[str] = []
        async with service.database.tenant(tenant_id) as conn:
            for end in (first, second):
                row = await document_called(conn, end.document)
                ids.append(str(row.id) if end.payment is None else f"{row.id}#{end.payment}")
        pair = Pair(ids[0], ids[1], relation)
        linked = await _matches(service).link(pair, tenant_id=tenant_id, decided_by=DEFAULT_USER_ID)
        await log_command(service, "link_documents", ids[0].partition("#")[0], match_details(linked))
    _print_changed(linked, as_json=as_json)
    return 0


def _matches(service: Service) -> Matches:
    return Matches(service.database, service.feed)


def _print_changed(changed: ListedMatch | None, *, as_json: bool) -> None:
    """Print a link as it is after a change; None if nothing is left of it."""
    if as_json:
        _print_json(None if changed is None else _as_data(changed))
    elif changed is None:
        stdout.print("nothing is left of this link, which only a person had made")
    else:
        _print_link(changed.link, changed.first, changed.second)


def _print_link(link: LinkRow, first: MatchedRecord, second: MatchedRecord) -> None:
    score = "" if link.score is None else f", {percent_text(link.score)}"
    relation = RELATION_NAMES.get(link.link.relation, "related documents")
    stdout.print(f"{_MARKS[link.status]} {link.pair.id}  {_ends(first, second)}", markup=False)
    reasons = [reason_text(each) for each in link.link.reasons[:_REASONS_SHOWN] if each.weight > 0]
    about = f"    {relation}, {link.status}{score}. {' '.join(reasons)}".rstrip()
    stdout.print(shown(about), markup=False, style="dim")


def _ends(*records: MatchedRecord) -> str:
    return " - ".join(map(_end, records))


def _end(record: MatchedRecord) -> str:
    title = shown(record.document.title)
    if record.payment is None:
        return title
    other = f" ({shown(record.counterparty)})" if record.counterparty else ""
    return f"payment {record.payment}{other} of {title}"


def _as_data(match: ListedMatch) -> object:
    return Match.of(match).model_dump(mode="json")


def _print_json(content: object) -> None:
    stdout.print_json(json.dumps(content, ensure_ascii=False))
