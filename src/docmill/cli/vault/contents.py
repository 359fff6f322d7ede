"""The commands that look into a vault or put files into it: `add`, `show`, `status`."""

import json
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from docmill.cli.console import FAILED, MARKS, shown, stderr, stdout
from docmill.cli.vault.access import commanded_service, existing_service, log_command
from docmill.cli.vault.addresses import address_of
from docmill.errors import DocmillError, MisconfiguredError, ValidationError
from docmill.files import chunks, is_junk
from docmill.model.paths import leaves, value_at
from docmill.model.result import Suggestion, percent_text
from docmill.reading.convert import PooledUnlocker
from docmill.schemas.coded_values import value_in_words
from docmill.schemas.registry import in_schema_order
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import already_readable, unlocking
from docmill.service.protocol.queues import INGESTION
from docmill.service.review.review import failures_in
from docmill.service.store import documents, ingestions, near_duplicates, parts, pauses, reviews
from docmill.service.store.database import DEFAULT_USER_ID, Conn
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.reviews import SERIAL_NUMBER, TYPE, CurrentReview
from docmill.workers.pool import Pool

UNFINISHED = ("processing", "stale")

_CANDIDATES = 10


async def add(
    settings: Settings, files: Sequence[Path], *, force: bool, wait: bool, password: str = ""
) -> int:
    """Put files into the vault; the exit code."""
    code = 0
    added: list[UUID] = []
    async with commanded_service(settings) as service, Pool(1) as pool:  # a pool without tasks costs nothing
        unlock = unlocking(service.blobs, PooledUnlocker(pool), password) if password else already_readable
        for file in files:
            if is_junk(file.name):
                stderr.print(f"- {file.name}: skipped: a file that a program left behind", markup=False)
                continue
            try:
                accepted = await service.intake.accept(
                    file_chunks(file),
                    tenant_id=service.default_tenant_id,
                    file_name=file.name,
                    force=force,
                    unlock=unlock,
                )
            except DocmillError as error:
                stderr.print(f"✗ {file.name}: {error.message}", style="red", markup=False)
                code = FAILED
                continue
            added.append(accepted.document_id)
            is_processed = accepted.ingestion_id is None
            repeated = "  (already here)" if is_processed else "  (already here, being processed)"
            note = "" if accepted.is_new else repeated
            stdout.print(f"{accepted.document_id}  {file.name}{note}", markup=False)
        if added:
            await log_command(service, "upload", details={"files": len(added)})
        # A vault on the embedded database runs on this machine, or none does. One on a shared database may be
        # processed by workers elsewhere.
        if settings.database_url is None and address_of(settings.folder) is None:
            start = f"docmill up --data-dir {shlex.quote(str(settings.folder))}"
            stderr.print(f"no vault is running; start it with: {start}", markup=False)
            return code
        if wait:
            code = await _wait_until_processed(service, added) or code
    return code


async def file_chunks(file: Path) -> AsyncIterator[bytes]:
    """Read a file in chunks. Raises MisconfiguredError if it cannot be read."""
    try:
        async for chunk in chunks(file):
            yield chunk
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(file)!r}: {error.strerror}") from error


async def _wait_until_processed(service: Service, added: Sequence[UUID]) -> int:
    """Print each document, and each part of one, when it is processed; the exit code."""
    tenant_id = service.default_tenant_id
    waiting, seen, code = set(added), set(added), 0
    async with aclosing(service.feed.follow(tenant_id, 0)) as batches:
        async for _ in batches:
            to_check = waiting
            while to_check:
                new_parts = set[UUID]()
                async with service.database.tenant(tenant_id) as conn:
                    rows = [row for key in to_check if (row := await documents.get(conn, key))]
                    done = [row for row in rows if row.state not in UNFINISHED]
                    for row in done:
                        held = await parts.of_document(conn, row.id)
                        new_parts |= {part.child_id for part in held if part.child_id} - seen
                for row in done:
                    stdout.print(f"{MARKS[row.outcome]} {escape(row.file_name)}  {escape(row.title or '')}")
                    if row.state == "failed":
                        stderr.print(f"    {row.error_message}", style="red", markup=False)
                        code = FAILED
                waiting = waiting.difference(row.id for row in done) | new_parts
                seen |= new_parts
                to_check = new_parts  # they may be done already: no event will tell of them again
            if not waiting:
                break
    return code


async def show(settings: Settings, name: str, *, as_json: bool) -> int:
    """Print a document, its values, and the documents that it holds or that hold it; the exit code."""
    async with (
        existing_service(settings) as service,
        service.database.tenant(service.default_tenant_id) as conn,
    ):
        row = await document_called(conn, name)
        history, links = await ingestions.of_document(conn, row.id), await parts.links(conn, row.id)
        current_reviews = await reviews.current(conn, row.id)
        pairs = await near_duplicates.of_document(conn, row.id)
        reviewed = await service.reviews.of(row.id, tenant_id=service.default_tenant_id)
    if as_json:
        content = {
            **asdict(row),
            "ingestions": [asdict(ingestion) for ingestion in history],
            "parts": [asdict(part) for part in links.parts],
            "part_of": [asdict(whole) for whole in links.wholes],
            "near_duplicates": [asdict(pair) for pair in pairs],
        }
        stdout.print_json(json.dumps(content, default=str, ensure_ascii=False))
        return 0
    _print_document(row, history, current_reviews, reviewed.suggestions if reviewed else {})
    for pair in pairs:
        if pair.is_duplicate is not False:
            perhaps = "a duplicate" if pair.is_duplicate else "perhaps a duplicate"
            later = "" if pair.is_earlier else ", which came later"
            stdout.print(
                f"! {perhaps} of {pair.document_id}  {pair.name}{later}: {pair.why}",
                style="yellow",
                markup=False,
            )
    for whole in links.wholes:
        stdout.print(f"part of {whole.parent_id}  {escape(whole.parent_title)}", style="dim")
    if links.parts:
        stdout.print("documents in it:", style="dim")
    for part in links.parts:
        if part.child_id is None:
            stdout.print(f"! {escape(part.name)}: {escape(part.problem or '')}", style="yellow")
        else:
            stdout.print(f"{MARKS[part.state or '']} {part.child_id}  {escape(part.name)}")
    return 0


async def document_called(conn: Conn, name: str) -> DocumentRow:
    """The document that a person names. Raises ValidationError if there is none, or more than one."""
    matches = await documents.called(conn, name, limit=_CANDIDATES)
    matches = [row for row in matches if row.file_name.lower() == name.lower()] or matches
    if not matches:
        raise ValidationError(f"no document has a file name that begins with {name!r}, or such an id")
    if len(matches) > 1:
        candidates = "".join(
            f"\n  {row.id}  {shown(row.file_name)}" + (f": {shown(row.title)}" if row.title else "")
            for row in matches
        )
        raise ValidationError(f"{name!r} means more than one document; give the id:{candidates}")
    return matches[0]


async def set_type(settings: Settings, name: str, document_type: str | None, *, wait: bool) -> int:
    """Give a document a type, or take that back, and have it read again by it; the exit code."""
    async with existing_service(settings) as service:
        async with service.database.tenant(service.default_tenant_id) as conn:
            row = await document_called(conn, name)
            before = (await reviews.current(conn, row.id)).get(TYPE)
        await service.type_choices.choose(
            row.id, document_type, tenant_id=service.default_tenant_id, reviewed_by=DEFAULT_USER_ID
        )
        await log_command(service, "choose_type", str(row.id), {"type": document_type})
        async with service.database.tenant(service.default_tenant_id) as conn:
            chosen = (await reviews.current(conn, row.id)).get(TYPE)
        if (before and before.id) != (chosen and chosen.id):
            outcome = f"read again as {chosen.value if chosen is not None else 'recognised'}"
        elif chosen is not None:
            outcome = f"has the type {chosen.value} by choice already; nothing is read again"
        else:
            outcome = "nobody has chosen its type; nothing is read again"
        stdout.print(f"{row.id}  {row.file_name}: {outcome}", markup=False)
        return await _wait_until_processed(service, [row.id]) if wait else 0


async def set_serial_number(settings: Settings, name: str, number: str | None) -> int:
    """Give a document an archive serial number, see `Edits.change`; the exit code."""
    async with existing_service(settings) as service:
        tenant_id = service.default_tenant_id
        async with service.database.tenant(tenant_id) as conn:
            document_id = (await document_called(conn, name)).id
        await service.edits.change(
            document_id, {SERIAL_NUMBER: number}, tenant_id=tenant_id, edited_by=DEFAULT_USER_ID
        )
        await log_command(service, "change_document", str(document_id))
        async with service.database.tenant(tenant_id) as conn:
            row = await documents.get(conn, document_id)
        if row is not None:
            has = "no archive serial number" if row.archive_serial_number is None else _serial_number(row)
            stdout.print(f"{row.id}  {row.file_name}: {has}", markup=False)
        return 0


def _serial_number(row: DocumentRow) -> str:
    return "" if row.archive_serial_number is None else f"ASN {row.archive_serial_number}"


def _print_document(
    row: DocumentRow,
    history: Sequence[IngestionRow],
    current_reviews: Mapping[str, CurrentReview],
    suggestions: Mapping[str, Sequence[Suggestion]],
) -> None:
    stdout.print(f"{MARKS[row.outcome]} [bold]{escape(row.title or row.file_name)}[/bold]")
    is_chosen = TYPE in current_reviews and row.document_type
    document_type = f"{row.document_type} (chosen by a person)" if is_chosen else row.document_type
    facts = [
        row.outcome.replace("_", " "),
        document_type,
        _serial_number(row),
        row.file_name,
        f"{row.byte_size:,} bytes",
    ]
    stdout.print("  ".join(fact for fact in facts if fact), markup=False, style="dim")
    if row.tags:
        stdout.print(", ".join(row.tags), markup=False, style="dim")
    if row.error_message:
        style = "yellow" if row.outcome == documents.NOT_READ else "red"
        stdout.print(row.error_message, style=style, markup=False)
    result = next((ingestion for ingestion in history if ingestion.status == "completed"), None)
    if result is None:
        return
    if row.structured_data:
        table = _values_table(row.structured_data, row.document_type, result, current_reviews)
        for path, of_field in suggestions.items():
            if value_at(row.structured_data, path) is None:
                table.add_row(path, Text(f"perhaps {_listed(of_field)}", style="dim"))
        stdout.print(table)
    for failure in failures_in(row.verdict or result.verdict):
        stdout.print(f"! {failure.message}", style="yellow", markup=False)


def _values_table(
    data: dict[str, Any],
    document_type: str | None,
    result: IngestionRow,
    current_reviews: Mapping[str, CurrentReview],
) -> Table:
    """The values of a document."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("field", "value", "read as", "page", "sure"):
        table.add_column(column)
    in_order = list(leaves(in_schema_order(data, document_type)))
    for path, value in sorted(in_order, key=lambda entry: "[" in entry[0]):  # items behind the other fields
        review = current_reviews.get(path)
        proof: dict[str, Any] = (result.evidence or {}).get(path) or {}
        sure = percent_text(proof["confidence"]) if "confidence" in proof else ""
        if review is not None:
            sure = "corrected" if review.action == "correct" else "confirmed"
            if review.action == "correct":  # a confirmed value stands where it was read
                proof = review.evidence or {}
        page = str(proof.get("page") or "")
        table.add_row(
            path,
            Text(value_in_words(path, str(value))),
            Text(proof.get("text") or "", style="dim"),
            page,
            sure,
        )
    return table


def _listed(suggestions: Sequence[Suggestion]) -> str:
    """Suggested values with their confidence, the most probable first."""
    return " or ".join(
        f"{suggestion.value} ({percent_text(suggestion.evidence.confidence)})" for suggestion in suggestions
    )


async def status(settings: Settings) -> int:
    """Print the number of documents by state, the queue and the pauses; the exit code."""
    async with existing_service(settings) as service:
        async with service.database.tenant(service.default_tenant_id) as conn:
            counts = await documents.counts(conn)
            current_pauses = await pauses.current(conn)
        depths = {name: await queue.depth() for name, queue in service.queues.items()}
    address = address_of(settings.folder) or "not running; start it with: docmill up"
    stdout.print(f"vault: {address}", markup=False)
    stdout.print(f"kept in: {settings.folder}", markup=False)
    stdout.print(f"documents: {sum(counts.values())}")
    for state, count in counts.items():
        if count:
            stdout.print(f"  {MARKS[state]} {count} {state.replace('_', ' ')}")
    for name, queue in depths.items():
        label = "queue" if name == INGESTION.name else f"queue of {name}"
        stdout.print(f"{label}: {queue.due} due, {queue.delayed} delayed, {queue.in_flight} in work")
        if queue.due:
            stdout.print(f"  the oldest has waited {queue.oldest_age_s:.0f} s")
    for pause in current_pauses:
        stdout.print(f"paused: {pause.part}: {pause.message}", markup=False)
    return 0
