"""`docmill runs`: what became of runs and of their documents, as their state store knows it."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import typer

from docmill.cli.console import FAILED, MARKS, counted, local_time, shown, stderr, stdout
from docmill.errors import MisconfiguredError, ValidationError
from docmill.runs.report import RunReport
from docmill.runs.states import DocumentState, DocumentStatus, Run, StateStore
from docmill.runs.stores.opening import DEFAULT_PATH, open_store

_MARKS: Mapping[str, str] = {
    **MARKS,
    "pending": "[dim]·[/dim]",
    "in_progress": "[blue]…[/blue]",
    "vanished": "[dim]-[/dim]",
}


@asynccontextmanager
async def opened_store(address: str | None) -> AsyncGenerator[StateStore]:
    """The store at this address, which must exist if it is a file; closed afterwards."""
    place = str(DEFAULT_PATH) if address is None else address
    if "://" not in place and not await asyncio.to_thread(Path(place).is_file):
        raise MisconfiguredError(
            f"no run has its state in {place!r}; give --store: {str(DEFAULT_PATH)!r} in the folder of a run's"
            " records, or the address of a server"
        )
    store = open_store(place)
    try:
        yield store
    finally:
        await store.close()


async def list_runs(address: str | None, *, as_json: bool) -> int:
    """Print all runs, the newest first; the exit code."""
    async with opened_store(address) as store:
        runs = [(run, await store.count(run.run_id)) for run in await store.list_runs()]
    if as_json:
        print_json([{**_summary(run), "counts": counts} for run, counts in runs])
        return 0
    if not runs:
        stdout.print("no runs")
    for run, counts in runs:
        stdout.print(
            f"{run.run_id}  {local_time(run.started_at)}  {run.status}: {_told(counts)}", markup=False
        )
    return 0


async def show_run(
    address: str | None, run_id: str, *, status: DocumentStatus | None, limit: int, as_json: bool
) -> int:
    """Print a run and its documents, or those of one status; the exit code."""
    async with opened_store(address) as store:
        run = await store.find_run(run_id)
        counts = await store.count(run_id)
        documents: list[DocumentState] = []
        async for document in store.documents(run_id, status=status):
            if len(documents) > limit:
                break
            documents.append(document)
    if as_json:
        print_json(
            {**_summary(run), "counts": counts, "documents": [asdict(each) for each in documents[:limit]]}
        )
        return 0
    stdout.print(f"{run.run_id}: {run.status}, {_told(counts)}", markup=False)
    ended = "" if run.completed_at is None else f", ended {local_time(run.completed_at)}"
    stdout.print(f"began {local_time(run.started_at)}{ended}; pipeline {run.fingerprint}", markup=False)
    for document in documents[:limit]:
        _print_document(document)
    if len(documents) > limit:
        stdout.print(f"… these are the first {limit}; --limit shows more, --status those of one status")
    return 0


async def write_page(address: str | None, run_id: str, path: Path) -> int:
    """Write a run as an HTML page; the exit code."""
    async with opened_store(address) as store:
        run = await store.find_run(run_id)
        counts = await store.count(run_id)
        configuration = run.configuration
        folder = configuration.get("folder", "") if isinstance(configuration, dict) else ""
        ended = run.completed_at or datetime.now(UTC)
        seconds = (ended - run.started_at).total_seconds()
        report = RunReport(run, counts, seconds, run.status == "interrupted", store=store)
        await report.awrite_html(path, folder=str(folder))
    stdout.print(f"report: {path}", markup=False)
    return 0


async def remove_run(address: str | None, run_id: str, *, yes: bool) -> int:
    """Forget a run after asking; the exit code."""
    async with opened_store(address) as store:
        run = await store.find_run(run_id)
        question = f"forget the run {run.run_id!r} with the states of its documents?"
        if not confirmed(question, yes=yes):
            return FAILED
        await store.remove_run(run_id)
    stdout.print(f"{run_id} is forgotten; its results stay where they are", markup=False)
    return 0


def confirmed(question: str, *, yes: bool) -> bool:
    """True if a person agrees. Raises ValidationError where nobody can be asked."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise ValidationError("cannot ask for confirmation here: give --yes")
    if typer.confirm(question, err=True):
        return True
    stderr.print("nothing was changed")
    return False


def print_json(content: object) -> None:
    """Print it as JSON; moments in ISO 8601, amounts as text."""
    text = json.dumps(content, ensure_ascii=False, indent=1, default=_as_json)
    stdout.print(text, markup=False)


def _as_json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _summary(run: Run) -> dict[str, object]:
    return {name: value for name, value in asdict(run).items() if name != "listing"}


def _told(counts: Mapping[DocumentStatus, int]) -> str:
    told = (f"{count} {status.replace('_', ' ')}" for status, count in counts.items() if count)
    return ", ".join(told) or "no documents"


def _print_document(document: DocumentState) -> None:
    stdout.print(f"{_MARKS[document.status]} ", end="")
    tries = f"  ({counted(document.attempts, 'attempt')})" if document.attempts > 1 else ""
    stdout.print(f"{shown(document.path)}{tries}", markup=False)
    if document.error:
        stdout.print(f"    {shown(document.error)}", markup=False, style="dim")
