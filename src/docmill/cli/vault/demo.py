"""`docmill demo`: puts sample documents through a vault, and compares what was read with the truth."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from docmill.cli.console import FAILED, MARKS, stderr, stdout
from docmill.cli.vault.access import load_settings
from docmill.cli.vault.contents import UNFINISHED, file_chunks
from docmill.cli.vault.serving import running_vault
from docmill.demo import Sample, generate
from docmill.model.paths import is_same_value, value_at
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.config.settings import default_data_dir
from docmill.service.store import documents
from docmill.service.store.documents import DocumentRow
from docmill.understanding.types.summary import DAYS

FOLDER = default_data_dir("docmill-demo")
_WIDTH = 170
"""Width of the table in a file or pipe."""


async def demo(data_dir: Path | None, *, serve: bool) -> int:
    """Make the samples, process them and print the comparison; the exit code."""
    settings = load_settings(None, data_dir or FOLDER, None if serve else 0)
    stdout.print(f"making sample documents in {settings.folder / 'samples'}", markup=False)
    samples = await asyncio.to_thread(generate, settings.folder / "samples")
    async with running_vault(settings) as vault:
        stdout.print(f"the vault listens on {vault.address} (this machine only)", markup=False)
        rows = await vault.unless_stopped(_process_samples(vault.service, samples))
        _print_comparison(samples, rows)
        if serve:
            stdout.print(f"open {vault.address} to see them; Ctrl-C ends the demo", markup=False)
            await vault.stop.wait()
        else:
            command = "docmill" if shutil.which("docmill") else sys.argv[0]  # of an environment not activated
            stdout.print(f"to see them: {command} up --data-dir {settings.data_dir}", markup=False)
    return FAILED if any(row.state == "failed" for row in rows) else 0


async def _process_samples(service: Service, samples: Sequence[Sample]) -> list[DocumentRow]:
    """Add the samples and wait until all are processed; their documents, in the samples' order."""
    tenant_id = service.default_tenant_id
    ids = list[UUID]()
    for sample in samples:
        chunks = file_chunks(sample.path)
        accepted = await service.intake.accept(chunks, tenant_id=tenant_id, file_name=sample.name)
        ids.append(accepted.document_id)
    done = set[UUID]()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=len(samples))
        async with aclosing(service.feed.follow(tenant_id, 0)) as batches:
            async for _ in batches:
                async with service.database.tenant(tenant_id) as conn:
                    rows = [row for key in ids if (row := await documents.get(conn, key))]
                for row in rows:
                    if row.state not in UNFINISHED and row.id not in done:
                        done.add(row.id)
                        stdout.print(
                            f"{MARKS[row.outcome]} {escape(row.file_name)}  {escape(row.title or '')}"
                        )
                bar.update(task, completed=len(done))
                if len(done) == len(rows):
                    return rows
    raise AssertionError("the feed of events never ends")


def _print_comparison(samples: Sequence[Sample], rows: Sequence[DocumentRow]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("", "file", "form", "type", "counterparty", "number", "date", "total", "right"):
        numeric = column in {"total", "right"}
        table.add_column(column, no_wrap=True, max_width=34, justify="right" if numeric else "left")
    all_right = all_fields = left_open = wrong_when_ready = 0
    for sample, row in zip(samples, rows, strict=True):
        read, truth = row.structured_data or {}, sample.truth.model_dump(mode="json")
        # The key fields are the critical ones that the paper has, and the document's type.
        critical = [path for path in REGISTRY[sample.document_type].critical if _value(truth, path)]
        right = sum(is_same_value(_value(read, path), _value(truth, path)) for path in critical)
        right += row.document_type == sample.document_type
        missing = sum(not _value(read, path) for path in critical)
        left_open += missing
        wrong_when_ready += row.state == "ready" and right + missing <= len(critical)
        all_right, all_fields = all_right + right, all_fields + len(critical) + 1
        definition = DEFINITIONS[sample.document_type]
        date = next((path for path in DAYS if _value(truth, path)), DAYS[0])
        shown = (definition.counterparty, "number", date, definition.amount or "gross_total")
        table.add_row(
            MARKS[row.outcome],
            Text(row.file_name),
            sample.form,
            _compare(row.document_type or "", sample.document_type),
            *(_compare(_value(read, path), _value(truth, path)) for path in shown),
            f"{right}/{len(critical) + 1}",
        )
    wide = stdout if stdout.is_terminal else Console(width=_WIDTH, highlight=False)
    wide.print(table)
    ready = sum(row.state == "ready" for row in rows)
    stdout.print(
        f"{len(rows)} documents, {all_right} of {all_fields} key fields right,"
        f" {all_fields - all_right - left_open} wrong, {left_open} left to a person;"
        f" {wrong_when_ready} of {ready} ready ones with a wrong key field."
        " Where they differ: [red]what was read[/red] → [green]what is printed on the paper[/green]"
    )


def _value(data: dict[str, Any], path: str) -> str:
    value = value_at(data, path)
    return "" if value is None else str(value)


def _compare(read: str, truth: str) -> Text:
    if is_same_value(read, truth):
        return Text(read)
    return Text.assemble((read or "–", "red"), " → ", (truth or "–", "green"))  # noqa: RUF001  a dash for nothing
