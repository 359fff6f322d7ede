"""`docmill run`: reads a folder, and writes one JSON line for each document."""

import asyncio
import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from docmill.batch.folder import FolderLister, FolderReader
from docmill.batch.records import EarlierRecord, Record, RecordFile
from docmill.batch.runner import Delay, DocumentOutcome, Policy, Report, Runner
from docmill.cli.console import (
    FAILED,
    INTERRUPTED,
    MARKS,
    PlacesFormatter,
    counted,
    give_up_stdout,
    shown,
    stderr,
    stdout,
)
from docmill.cli.files.run_config import RunConfig, run_config, warn_about_remote_services
from docmill.errors import DocmillError
from docmill.model.result import Schema
from docmill.ports import Ref
from docmill.wiring import reading_pool

_DOCUMENTS_PER_PROCESS = 2
"""Concurrent documents per process, enough that none waits for its next document."""

_RETRY_HINT = "{} failed in an earlier run; --retry-failed tries them again"
_REMEDIES = {"encrypted": ": where a password is missing, --retry-failed --ask-password asks for it"}
"""Hints for another run, by error code."""
_READING = "reading"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Arguments of a run, also as part of another command. Where one is None, the settings decide.

    schema: for every document. model: the schema's trained model, as text. document_type: of every document.
    keeps_text: whether records have the texts of documents. is_temporary: that `out` is removed afterwards.
    has_summary: whether the counts of the run are printed.
    """

    folder: Path
    out: Path
    jobs: int | None = None
    fresh: bool = False
    retry_failed: bool = False
    dry_run: bool = False
    quiet: bool = False
    max_bytes: int | None = None
    time_limit_s: float | None = None
    schema: Schema | None = None
    model: str | None = field(default=None, repr=False)
    config: Path | None = None
    document_type: str | None = None
    passwords: tuple[str, ...] = field(default=(), repr=False)
    keeps_text: bool = False
    is_temporary: bool = False
    has_summary: bool = True


def run_folder(options: RunOptions) -> int:
    """Read the folder and print the result. Returns the exit code."""
    out = options.out.resolve()
    lister = FolderLister(options.folder)
    refs = [ref for ref in lister.list() if (options.folder / ref.key).resolve() != out]
    if not refs:
        stderr.print(f"there is no document in {options.folder}", markup=False)
    if lister.junk_count:
        stderr.print(f"skipped: {counted(lister.junk_count, 'file')} that programs leave behind")
    warn_about_links(lister)
    config = run_config(
        options.config,
        max_bytes=options.max_bytes,
        time_limit_s=options.time_limit_s,
        passwords=options.passwords,
    )
    config.check_type(options.document_type)
    warn_about_remote_services(config.settings, options.config)
    if options.dry_run:
        asyncio.run(_print_plan(options, refs, config))
        return 0
    warnings = logging.StreamHandler()
    warnings.setFormatter(PlacesFormatter())
    logging.basicConfig(level="WARNING", handlers=[warnings])
    records = RecordFile(options.out)
    earlier = records.open(keep=lambda record: _is_kept(record, options))
    if records.torn_count:
        stderr.print(
            f"{options.out} has {counted(records.torn_count, 'record')} that an earlier run did not finish:"
            " removed and read again",
            markup=False,
        )
    try:
        with show_progress(len(refs), quiet=options.quiet) as run_progress:
            report = asyncio.run(
                read_all(options, config, refs, records, earlier=earlier, progress=run_progress)
            )
    except KeyboardInterrupt:
        kept = "" if options.is_temporary else f"; what was done is in {options.out}: run it again to go on"
        stderr.print(f"interrupted{kept}", markup=False)
        return INTERRUPTED
    finally:
        records.close()
    failed_before = sum(record.status == "failed" for record in earlier.values())
    try:
        if options.has_summary:
            _print_summary(report)
            if failed_before:
                stdout.print(_RETRY_HINT.format(failed_before))
            if not options.is_temporary:
                stdout.print(f"records: {options.out}", markup=False)
    except OSError as error:
        run_progress.stop_printing(error)
    return FAILED if report.by_status["failed"] or failed_before or run_progress.is_stdout_closed else 0


def warn_about_links(lister: FolderLister) -> None:
    """Print the links that the lister did not follow."""
    for link in lister.skipped_links:
        stderr.print(
            f"not read, since this link leads out of the folder or nowhere: {shown(link)}", markup=False
        )


async def _print_plan(options: RunOptions, refs: Sequence[Ref], config: RunConfig) -> None:
    """Print the documents that a run would read, and how many are unchanged since an earlier run."""
    earlier = RecordFile(options.out).read_earlier(keep=lambda record: _is_kept(record, options))
    reader = FolderReader(options.folder, max_bytes=config.max_bytes)
    done = 0
    for ref in refs:
        try:
            is_done = (
                ref.key in earlier and (await reader.read(ref)).content_hash == earlier[ref.key].content_hash
            )
        except DocmillError:  # the run will report it
            is_done = False
        done += is_done
        if not is_done:
            stdout.print(shown(ref.key), markup=False)
    documents, to_do = counted(len(refs), "document"), len(refs) - done
    stdout.print(f"{documents}: {done} done before, {to_do} to do; nothing was written")
    if failed := sum(record.status == "failed" for record in earlier.values()):
        stdout.print(_RETRY_HINT.format(failed))


def _is_kept(record: Record, options: RunOptions) -> bool:
    """True if the record of an earlier run stays, so that its document is not read again."""
    return not options.fresh and not (options.retry_failed and record["status"] == "failed")


async def read_all(
    options: RunOptions,
    config: RunConfig,
    refs: Sequence[Ref],
    records: RecordFile,
    *,
    earlier: Mapping[str, EarlierRecord],
    progress: "RunProgress",
) -> Report:
    """Read every document and write its record. earlier: the records of earlier runs, by source."""
    async with (
        reading_pool(options.jobs) as pool,
        config.steps(pool, schema=options.schema, model=options.model) as steps,
    ):
        runner = Runner(
            steps,
            FolderReader(options.folder, max_bytes=config.max_bytes),
            records,
            policy=Policy(
                concurrency=pool.workers * _DOCUMENTS_PER_PROCESS,
                parts=config.parts,
                document_type=options.document_type,
                keeps_text=options.keeps_text,
            ),
            on_done=progress.on_done,
            on_found=progress.on_found,
            on_delay=progress.on_delay,
            on_waiting=progress.on_waiting,
        )
        return await runner.run(refs, earlier=earlier)


@dataclass
class RunProgress:
    """Progress of a run: a bar, and a line for each document. is_stdout_closed: no more lines are printed."""

    bar: Progress
    task: TaskID
    total: int
    quiet: bool
    is_stdout_closed: bool = False

    def on_done(self, outcome: DocumentOutcome) -> None:
        """Advance the bar, and print the document and the parts that could not be extracted."""
        self.bar.advance(self.task)
        if not self.quiet:
            title = "" if outcome.ref.key.endswith(outcome.title) else f"  {escape(shown(outcome.title))}"
            self._print(f"{MARKS[outcome.status]} {escape(shown(outcome.ref.key))}{title}")
            for part in outcome.left_out:
                self._print(f"  {MARKS['not_read']} {escape(shown(part))}")

    def on_found(self, parts: int) -> None:
        """Count parts found within a document."""
        self.total += parts
        self.bar.update(self.task, total=self.total)

    def on_delay(self, delay: Delay) -> None:
        """Print the pause before a document's next attempt, unless a paused provider is the reason."""
        if not self.quiet and delay.error.attempted:
            reason = escape(shown(delay.error.message))
            self._print(
                f"[yellow]…[/] {escape(shown(delay.ref.key))}  tried again in {delay.seconds:.0f} s: {reason}"
            )

    def on_waiting(self, count: int) -> None:
        """Show the number of documents that wait for their next attempt."""
        waiting = f" ({count} waiting to be tried again)" if count else ""
        self.bar.update(self.task, description=f"{_READING}{waiting}")

    def stop_printing(self, error: OSError) -> None:
        """Go on without standard output after an error of it: only the records matter."""
        self.is_stdout_closed = self.quiet = True
        give_up_stdout()
        stderr.print(f"docmill: cannot print: {error.strerror}; the records are still written", markup=False)

    def _print(self, line: str) -> None:
        try:
            stdout.print(line)
        except OSError as error:
            self.stop_printing(error)


@contextmanager
def show_progress(total: int, *, quiet: bool) -> Generator[RunProgress]:
    """Show a bar on standard error if it is a terminal, and a line for each document on standard output."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        yield RunProgress(bar, bar.add_task(_READING, total=total), total, quiet)


def _print_summary(report: Report) -> None:
    counts = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in sorted(report.by_status.items())
    )
    pace = f", {60 * report.total / report.seconds:.0f} a minute" if report.seconds and report.pages else ""
    documents = f"{counted(report.total, 'document')} ({counted(report.pages, 'page')})"
    stdout.print(f"{documents} in {report.seconds:.1f} s{pace}: {counts or 'none'}")
    for code, count in report.by_error.most_common():
        stdout.print(f"  {count} x {code}{_REMEDIES.get(code, '')}", markup=False)
