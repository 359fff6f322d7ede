"""The commands that look into a vault or put files into it: `add`, `show`, `status`."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from docmill.cli.console import FAILED, MARKS, shown, stderr, stdout
from docmill.cli.vault.addresses import address_of
from docmill.errors import DocmillError, MisconfiguredError, ValidationError
from docmill.files import chunks, is_junk
from docmill.model.paths import leaves
from docmill.reading.unpack import PooledUnlocker
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.intake.accept import Accepted, already_readable, unlocking
from docmill.service.ports import Depth
from docmill.service.review.review import failures_in
from docmill.service.store import documents, ingestions, parts, pauses, reviews
from docmill.service.store.documents import DocumentRow
from docmill.service.store.ingestions import IngestionRow
from docmill.service.store.parts import Links
from docmill.service.store.pauses import PauseRow
from docmill.service.store.reviews import CurrentReview
from docmill.workers.pool import Pool

UNFINISHED = ("processing", "stale")

_CANDIDATES = 10


def load_settings(
    config: Path | None,
    data_dir: Path | None = None,
    port: int | None = None,
    *,
    worker_port: int | None = None,
    aws: bool = False,
) -> Settings:
    """The settings of file and environment, with what the command line says on top."""
    settings = Settings.load(config)
    changes: dict[str, Any] = {}
    if data_dir is not None:
        changes["data_dir"] = data_dir
    if port is not None:
        changes["web"] = settings.web.model_copy(update={"port": port})
    if worker_port is not None:
        changes["worker"] = settings.worker.model_copy(update={"port": worker_port})
    if aws:
        changes["aws"] = settings.aws.model_copy(update={"enabled": True})
    return settings.model_copy(update=changes)


@asynccontextmanager
async def existing_service(settings: Settings) -> AsyncGenerator[Service]:
    """The service of a vault that is there; MisconfiguredError if none is: who only looks makes none."""
    if settings.database_url is None and not (settings.folder / "postgres").is_dir():
        raise MisconfiguredError(
            f"there is no vault in {str(settings.folder)!r}: `docmill up` makes one, --data-dir names another"
        )
    async with open_service(settings) as service:
        yield service


def add(settings: Settings, files: Sequence[Path], *, force: bool, wait: bool, password: str = "") -> int:
    """Put files into the vault; the exit code."""
    return asyncio.run(_add(settings, files, force=force, wait=wait, password=password))


async def _add(settings: Settings, files: Sequence[Path], *, force: bool, wait: bool, password: str) -> int:
    code = 0
    added: list[UUID] = []
    async with open_service(settings) as service, Pool(1) as pool:  # a pool without tasks costs nothing
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
            stdout.print(f"{accepted.document_id}  {file.name}{_note(accepted)}", markup=False)
        # With a database of its own this folder is alone; who works on a shared one cannot be seen from here.
        if settings.database_url is None and address_of(settings.folder) is None:
            stderr.print("no vault is running; start it with: docmill up")
            return code
        if wait:
            code = await _wait(service, added) or code
    return code


def _note(accepted: Accepted) -> str:
    """Remark printed behind the name of an added file: empty if the file is new to the vault."""
    if accepted.is_new:
        return ""
    return "  (already here)" if accepted.ingestion_id is None else "  (already here, being processed)"


async def file_chunks(file: Path) -> AsyncIterator[bytes]:
    """A file's bytes in pieces. Raises MisconfiguredError if it cannot be read."""
    try:
        async for chunk in chunks(file):
            yield chunk
    except OSError as error:
        raise MisconfiguredError(f"cannot read {str(file)!r}: {error.strerror}") from error


def show(settings: Settings, document: str, *, as_json: bool) -> int:
    """Print what is known about a document; the exit code."""
    row, history, links, said = asyncio.run(_known(settings, document))
    if as_json:
        content = {
            **asdict(row),
            "ingestions": [asdict(ingestion) for ingestion in history],
            "parts": [asdict(part) for part in links.parts],
            "part_of": [asdict(whole) for whole in links.wholes],
        }
        stdout.print_json(json.dumps(content, default=str, ensure_ascii=False))
        return 0
    _print_document(row, history, said)
    _print_links(links)
    return 0


async def _known(
    settings: Settings, name: str
) -> tuple[DocumentRow, list[IngestionRow], Links, dict[str, CurrentReview]]:
    async with (
        existing_service(settings) as service,
        service.database.tenant(service.default_tenant_id) as conn,
    ):
        found = await documents.called(conn, name, limit=_CANDIDATES)
        found = [row for row in found if row.file_name.lower() == name.lower()] or found
        if not found:
            raise ValidationError(f"no document has a file name that begins with {name!r}, or such an id")
        if len(found) > 1:
            candidates = "".join(f"\n  {row.id}  {shown(row.file_name)}" for row in found)
            raise ValidationError(f"{name!r} means more than one document; give the id:{candidates}")
        row = found[0]
        history, links = await ingestions.of_document(conn, row.id), await parts.links(conn, row.id)
        return row, history, links, await reviews.current(conn, row.id)


def _print_document(
    row: DocumentRow, history: Sequence[IngestionRow], said: Mapping[str, CurrentReview]
) -> None:
    stdout.print(f"{MARKS[row.state]} [bold]{escape(row.title or row.file_name)}[/bold]")
    facts = [row.state.replace("_", " "), row.document_type, row.file_name, f"{row.byte_size:,} bytes"]
    stdout.print("  ".join(fact for fact in facts if fact), markup=False, style="dim")
    if row.tags:
        stdout.print(", ".join(row.tags), markup=False, style="dim")
    if row.error_message:
        stdout.print(row.error_message, style="red", markup=False)
    result = next((ingestion for ingestion in history if ingestion.status == "completed"), None)
    if result is None:
        return
    if row.structured_data:
        stdout.print(_fields_table(row.structured_data, result.evidence or {}, said))
    for failure in failures_in(row.verdict or result.verdict):
        stdout.print(f"! {failure.message}", style="yellow", markup=False)


def _print_links(links: Links) -> None:
    for whole in links.wholes:
        stdout.print(f"part of {whole.parent_id}  {escape(whole.parent_title)}", style="dim")
    if links.parts:
        stdout.print("in it:", style="dim")
    for part in links.parts:
        if part.child_id is None:
            stdout.print(f"! {escape(part.name)}: {escape(part.problem or '')}", style="yellow")
        else:
            stdout.print(f"{MARKS[part.state or '']} {part.child_id}  {escape(part.name)}")


def _fields_table(data: dict[str, Any], evidence: dict[str, Any], said: Mapping[str, CurrentReview]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("field", "value", "read as", "page", "sure"):
        table.add_column(column)
    for path, value in leaves(data):
        review = said.get(path)
        is_own = (
            review is not None and review.action == "correct"
        )  # what was confirmed stands where it was read
        proof: dict[str, Any] = (review.evidence if is_own and review else evidence.get(path)) or {}
        table.add_row(
            path,
            Text(str(value)),
            Text(proof.get("text") or "", style="dim"),
            str(proof.get("page") or ""),
            _sure(proof, review),
        )
    return table


def _sure(proof: Mapping[str, Any], review: CurrentReview | None) -> str:
    if review is not None:
        return "corrected" if review.action == "correct" else "confirmed"
    return f"{proof['confidence']:.0%}" if "confidence" in proof else ""


def status(settings: Settings) -> int:
    """Print how the vault is doing; the exit code."""
    counts, depth, paused = asyncio.run(_counted(settings))
    stdout.print(
        f"vault: {address_of(settings.folder) or 'not running; start it with: docmill up'}", markup=False
    )
    stdout.print(f"kept in: {settings.folder}", markup=False)
    stdout.print(f"documents: {sum(counts.values())}")
    for state, count in counts.items():
        if count:
            stdout.print(f"  {MARKS[state]} {count} {state.replace('_', ' ')}")
    stdout.print(f"queue: {depth.due} due, {depth.delayed} delayed, {depth.in_flight} in work")
    if depth.due:
        stdout.print(f"  the oldest has waited {depth.oldest_age_s:.0f} s")
    for pause in paused:
        stdout.print(f"paused: {pause.part}: {pause.message}", markup=False)
    return 0


async def _counted(settings: Settings) -> tuple[dict[str, int], Depth, list[PauseRow]]:
    async with existing_service(settings) as service:
        async with service.database.tenant(service.default_tenant_id) as conn:
            counts = await documents.counts(conn)
            paused = await pauses.current(conn)
        return counts, await service.queue.depth(), paused


async def _wait(service: Service, added: Sequence[UUID]) -> int:
    """Follow the documents to their end; the exit code."""
    open_ids, seen = set(added), set(added)
    code = 0
    async with aclosing(service.feed.follow(service.default_tenant_id, 0)) as batches:
        async for _ in batches:
            looked_at = set(open_ids)
            while looked_at:
                async with service.database.tenant(service.default_tenant_id) as conn:
                    rows = [await documents.get(conn, document_id) for document_id in looked_at]
                looked_at = set[UUID]()
                for row in rows:
                    if row is None or row.state in UNFINISHED:
                        continue
                    open_ids.discard(row.id)
                    # They may have ended before what holds them: no event will tell of them again.
                    looked_at |= await _new_parts(service, row.id, seen)
                    code = _told(row) or code
                open_ids |= looked_at
            if not open_ids:
                break
    return code


def _told(row: DocumentRow) -> int:
    """Print how a document ended; the exit code."""
    stdout.print(f"{MARKS[row.state]} {escape(row.file_name)}  {escape(row.title or '')}")
    if row.state != "failed":
        return 0
    stderr.print(f"    {row.error_message}", style="red", markup=False)
    return FAILED


async def _new_parts(service: Service, document_id: UUID, seen: set[UUID]) -> set[UUID]:
    """The documents that one holds which nobody has followed yet; they are seen from now on."""
    async with service.database.tenant(service.default_tenant_id) as conn:
        held = await parts.of_document(conn, document_id)
    new = {part.child_id for part in held if part.child_id is not None} - seen
    seen |= new
    return new
