"""`docmill demo`: sample documents through a vault, and what was read beside what is true."""

import asyncio
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
from docmill.cli.vault.contents import UNFINISHED, file_chunks, load_settings
from docmill.cli.vault.serving import running_vault
from docmill.demo import Sample, generate
from docmill.model.paths import is_same_value, value_at
from docmill.schemas.registry import REGISTRY
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import documents
from docmill.service.store.documents import DocumentRow

FOLDER = Path("~/.local/share/docmill-demo")


def demo(data_dir: Path | None, *, serve: bool) -> int:
    """Make, process and print; the exit code."""
    settings = load_settings(None, data_dir or FOLDER, None if serve else 0)
    return asyncio.run(_demo(settings, serve=serve))


async def _demo(settings: Settings, *, serve: bool) -> int:
    stdout.print(f"making sample documents in {settings.folder / 'samples'}", markup=False)
    samples = await asyncio.to_thread(generate, settings.folder / "samples")
    async with running_vault(settings) as vault:
        stdout.print(f"the vault listens on {vault.address} (this machine only)", markup=False)
        rows = await vault.unless_stopped(_processed(vault.service, samples))
        _print_table(samples, rows)
        if serve:
            stdout.print(f"open {vault.address} to see them; Ctrl-C ends the demo", markup=False)
            await vault.stop.wait()
        else:
            stdout.print(f"to see them: docmill up --data-dir {settings.data_dir}", markup=False)
    return FAILED if any(row.state == "failed" for row in rows) else 0


async def _processed(service: Service, samples: Sequence[Sample]) -> list[DocumentRow]:
    """The samples' documents once none of them is under way any more, in the samples' order."""
    ids = [
        (
            await service.intake.accept(
                file_chunks(sample.path), tenant_id=service.default_tenant_id, file_name=sample.name
            )
        ).document_id
        for sample in samples
    ]
    told: set[UUID] = set()
    with _bar() as bar:
        task = bar.add_task("reading", total=len(samples))
        async with aclosing(service.feed.follow(service.default_tenant_id, 0)) as news:
            async for _ in news:
                rows = await _rows(service, ids)
                for row in rows:
                    if row.state not in UNFINISHED and row.id not in told:
                        told.add(row.id)
                        stdout.print(f"{MARKS[row.state]} {escape(row.file_name)}  {escape(row.title or '')}")
                bar.update(task, completed=len(told))
                if len(told) == len(rows):
                    return rows
    raise AssertionError("the feed of events never ends")


async def _rows(service: Service, ids: Sequence[UUID]) -> list[DocumentRow]:
    async with service.database.tenant(service.default_tenant_id) as conn:
        rows = [await documents.get(conn, document_id) for document_id in ids]
    return [row for row in rows if row is not None]


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True)


def _print_table(samples: Sequence[Sample], rows: Sequence[DocumentRow]) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("", "file", "form", "type", "counterparty", "number", "date", "total", "right"):
        numeric = column in {"total", "right"}
        table.add_column(column, no_wrap=True, max_width=34, justify="right" if numeric else "left")
    right_in_all = fields_in_all = 0
    for sample, row in zip(samples, rows, strict=True):
        read, truth = row.structured_data or {}, sample.truth.model_dump(mode="json")
        right, count = _right(sample, row.document_type, read)
        right_in_all, fields_in_all = right_in_all + right, fields_in_all + count
        table.add_row(
            MARKS[row.state],
            Text(row.file_name),
            sample.form,
            _compared(row.document_type or "", sample.document_type),
            *(_compared(_value(read, path), _value(truth, path)) for path in _SHOWN),
            f"{right}/{count}",
        )
    wide = stdout if stdout.is_terminal else Console(width=_WIDTH, highlight=False)
    wide.print(table)
    stdout.print(
        f"{len(rows)} documents, {right_in_all} of {fields_in_all} key fields right; "
        "red is what was read, [green]green[/green] what is printed on the paper"
    )


_WIDTH = 170
"""Of the table in a file or pipe, which have no width of their own."""

_SHOWN = ("seller.name", "number", "issue_date", "gross_total")


def _right(sample: Sample, document_type: str | None, read: dict[str, Any]) -> tuple[int, int]:
    """Count the critical fields, with the document's type, that were read right, and all of them."""
    truth = sample.truth.model_dump(mode="json")
    critical = [path for path in REGISTRY[sample.document_type].critical if _value(truth, path)]
    right = sum(is_same_value(_value(read, path), _value(truth, path)) for path in critical)
    return right + (document_type == sample.document_type), len(critical) + 1


def _value(data: dict[str, Any], path: str) -> str:
    value = value_at(data, path)
    return "" if value is None else str(value)


def _compared(read: str, truth: str) -> Text:
    if is_same_value(read, truth):
        return Text(read)
    return Text.assemble((read or "–", "red"), " ", (truth, "green"))  # noqa: RUF001  a dash for nothing
