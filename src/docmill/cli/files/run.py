"""`docmill run`: reads a folder, and writes one JSON line for each document."""

import asyncio
import logging
import stat
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue
from rich.markup import escape

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
from docmill.runs.components.records import Record
from docmill.runs.events import Event, RetryScheduled
from docmill.runs.folder_files import FolderLister, FolderReader
from docmill.runs.folders.folder_flow import DocumentOutcome, FolderPolicy, Status
from docmill.runs.folders.folder_run import FolderRun, forget_run_of
from docmill.runs.folders.nested_refs import text_of
from docmill.runs.folders.record_file import EarlierRecord, RecordFile
from docmill.runs.policy import RunPolicy
from docmill.runs.report import RunReport
from docmill.runs.reporting.json_log import JsonLog
from docmill.runs.reporting.progress_bar import ProgressBar
from docmill.runs.stores.memory import MemoryStore
from docmill.runs.stores.opening import DEFAULT_PATH, open_store
from docmill.wiring import reading_pool

_DOCUMENTS_PER_PROCESS = 2
"""Concurrent documents per process, enough that none waits for its next document."""

_RETRY_HINT = "{} failed in an earlier run; --retry-failed tries them again"
_REMEDIES = {"encrypted": ": where a password is missing, --retry-failed --ask-password asks for it"}
"""Hints for another run, by error code."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Arguments of a run, also as part of another command. Where one is None, the settings decide.

    retry: whether failed documents are tried again, or the sources of those that are. json_log: whether the
    run is told as lines of JSON on standard error. schema: for every document. model: the schema's trained
    model, as text. document_type: of every document. keeps_text: whether records have the texts of documents.
    store: address of the state store, see `open_store`; by default it is in the folder of `out`. run_id: name
    of the run. is_temporary: that `out` is removed afterwards. has_summary: whether the counts of the run are
    printed. configuration: of the command, to be kept with the run.
    """

    folder: Path
    out: Path
    jobs: int | None = None
    fresh: bool = False
    retry: Sequence[str] | bool = False
    dry_run: bool = False
    quiet: bool = False
    json_log: bool = False
    max_bytes: int | None = None
    time_limit_s: float | None = None
    schema: Schema | None = None
    model: str | None = field(default=None, repr=False)
    config: Path | None = None
    document_type: str | None = None
    passwords: tuple[str, ...] = field(default=(), repr=False)
    keeps_text: bool = False
    store: str | None = None
    run_id: str | None = None
    is_temporary: bool = False
    has_summary: bool = True
    configuration: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def store_address(self) -> str:
        """The address of the state store: a file beside the records, unless these are not to be kept."""
        if self.store is not None:
            return self.store
        out = self.out.resolve()
        is_special = out.exists() and not stat.S_ISREG(out.stat().st_mode)
        return "memory:" if self.is_temporary or is_special else str(out.parent / DEFAULT_PATH)


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
    earlier = _open_records(records, options)
    report: RunReport | None = None
    with closing(RunProgress(quiet=options.quiet, json_log=options.json_log)) as run_progress:
        reading = read_all(options, config, refs, records, earlier=earlier, progress=run_progress)
        try:
            with suppress(KeyboardInterrupt, asyncio.CancelledError):
                report = asyncio.run(reading)
        finally:
            records.close()
    if report is None or report.is_interrupted:
        kept = "" if options.is_temporary else f"; what was done is in {options.out}: run it again to go on"
        stderr.print(f"interrupted{kept}", markup=False)
        return INTERRUPTED
    failed_before = report.failed - run_progress.by_status["failed"]
    if options.json_log:
        return FAILED if report.failed else 0
    try:
        if options.has_summary:
            _print_summary(report, run_progress)
            if failed_before:
                stdout.print(_RETRY_HINT.format(failed_before))
            if not options.is_temporary:
                stdout.print(f"records: {options.out} (run {report.run_id})", markup=False)
    except OSError as error:
        run_progress.stop_printing(error)
    return FAILED if report.failed or run_progress.is_stdout_closed else 0


def _open_records(records: RecordFile, options: RunOptions) -> Mapping[str, EarlierRecord]:
    """Open the record file; the records of earlier runs that stay."""
    address = options.store_address
    forgets = options.fresh and ("://" in address or Path(address).exists())
    earlier = records.open(
        keep=lambda record: _is_kept(record, options),
        when_locked=(lambda: asyncio.run(_forget(address, options.out))) if forgets else None,
    )
    if records.torn_count:
        stderr.print(
            f"{options.out} has {counted(records.torn_count, 'record')} that an earlier run did not finish:"
            " removed and read again",
            markup=False,
        )
    return earlier


async def _forget(address: str, out: Path) -> None:
    store = open_store(address)
    try:
        await forget_run_of(store, out)
    finally:
        await store.close()


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
    if options.fresh:
        return False
    source, retry = record["source"], options.retry
    is_retried = retry if isinstance(retry, bool) else source in retry or text_of(source) in retry
    return not (is_retried and record["status"] == "failed")


async def read_all(
    options: RunOptions,
    config: RunConfig,
    refs: Sequence[Ref],
    records: RecordFile,
    *,
    earlier: Mapping[str, EarlierRecord],
    progress: "RunProgress",
) -> RunReport:
    """Read every document and write its record. earlier: the records of earlier runs, by source.

    Ctrl-C ends it in good order: documents at work are brought to their end.
    """
    async with (
        reading_pool(options.jobs or config.processes) as pool,
        config.steps(pool, schema=options.schema, model=options.model) as steps,
    ):
        run = FolderRun(
            folder=options.folder,
            out=options.out,
            steps=steps,
            store=MemoryStore() if options.is_temporary else open_store(options.store_address),
            policy=RunPolicy(concurrency=pool.workers * _DOCUMENTS_PER_PROCESS),
            rules=FolderPolicy(
                parts=config.parts, document_type=options.document_type, keeps_text=options.keeps_text
            ),
            max_bytes=config.max_bytes,
            run_id=options.run_id,
            retry=options.retry,
            configuration=options.configuration,
            on_done=progress.on_done,
            on_event=progress.on_event,
            handles_signals=True,
        )
        return await run.run(refs, records, earlier)


class RunProgress:
    """Progress of a run: a bar, a line for each document, and what became of them.

    json_log: whether lines of JSON on standard error are in place of both. pages: that were read.
    is_stdout_closed: no more lines are printed.
    """

    def __init__(self, *, quiet: bool, json_log: bool = False) -> None:
        self.by_status = Counter[Status]()
        self.by_error = Counter[str]()
        self.pages = 0
        self.is_stdout_closed = False
        self._quiet = quiet or json_log
        self._bar = ProgressBar(console=stderr, is_transient=True)
        self._show = JsonLog(sys.stderr) if json_log else self._bar

    def on_done(self, outcome: DocumentOutcome) -> None:
        """Count and print a document, and the parts that could not be extracted."""
        self.by_status[outcome.status] += 1
        self.pages += outcome.pages
        if outcome.code:
            self.by_error[outcome.code] += 1
        if not self._quiet:
            title = "" if outcome.ref.key.endswith(outcome.title) else f"  {escape(shown(outcome.title))}"
            self._print(f"{MARKS[outcome.status]} {escape(shown(outcome.ref.key))}{title}")
            for part in outcome.left_out:
                self._print(f"  {MARKS['not_read']} {escape(shown(part))}")

    def on_event(self, event: Event) -> None:
        """Advance the bar, and print the pause before a document's next attempt."""
        self._show(event)
        if isinstance(event, RetryScheduled) and not self._quiet:
            path, reason = escape(shown(event.path)), escape(shown(event.error))
            self._print(f"[yellow]…[/] {path}  tried again in {event.delay_s:.0f} s: {reason}")

    def stop_printing(self, error: OSError) -> None:
        """Go on without standard output after an error of it: only the records matter."""
        self.is_stdout_closed = self._quiet = True
        give_up_stdout()
        stderr.print(f"docmill: cannot print: {error.strerror}; the records are still written", markup=False)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()

    def _print(self, line: str) -> None:
        try:
            if not (stdout.is_terminal and self._bar.print_above(line)):
                stdout.print(line)
        except OSError as error:
            self.stop_printing(error)


def _print_summary(report: RunReport, progress: RunProgress) -> None:
    by_status = progress.by_status.copy()
    by_status["unchanged"] += report.total - by_status.total()
    counts = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in sorted(by_status.items()) if count
    )
    is_pace_known = report.seconds and progress.pages
    pace = f", {60 * report.total / report.seconds:.0f} a minute" if is_pace_known else ""
    documents = f"{counted(report.total, 'document')} ({counted(progress.pages, 'page')})"
    stdout.print(f"{documents} in {report.seconds:.1f} s{pace}: {counts or 'none'}")
    for code, count in progress.by_error.most_common():
        stdout.print(f"  {count} x {code}{_REMEDIES.get(code, '')}", markup=False)
