"""`docmill run`: a folder in, one JSON line per document out."""

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
from docmill.batch.runner import Delay, Done, Policy, Report, Runner
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

_AHEAD = 2
"""Documents in flight per reading process, so that none waits for the next."""

_REMEDIES = {"encrypted": ": where a password is missing, --retry-failed --ask-password asks for it"}
"""What another run can do about an error, by its code."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Arguments of `docmill run`. None: as the settings have it.

    schema: for every document. model: the schema's trained model, as text.
    """

    folder: Path
    out: Path
    jobs: int | None
    fresh: bool
    retry_failed: bool
    dry_run: bool
    quiet: bool
    max_bytes: int | None = None
    time_limit_s: float | None = None
    schema: Schema | None = None
    model: str | None = field(default=None, repr=False)
    config: Path | None = None
    passwords: tuple[str, ...] = field(default=(), repr=False)


def run_folder(options: RunOptions) -> int:
    """Run and print; the exit code."""
    out = options.out.resolve()
    lister = FolderLister(options.folder)
    refs = [ref for ref in lister.list() if (options.folder / ref.key).resolve() != out]
    if not refs:
        stderr.print(f"there is no document in {options.folder}", markup=False)
    if lister.passed_by:
        files = "file" if lister.passed_by == 1 else "files"
        stderr.print(f"skipped: {lister.passed_by} {files} that programs leave behind")
    warn_about_links(lister)
    config = run_config(
        options.config,
        max_bytes=options.max_bytes,
        time_limit_s=options.time_limit_s,
        passwords=options.passwords,
    )
    warn_about_remote_services(config.settings, options.config)
    if options.dry_run:
        _tell_plan(options, refs, config)
        return 0
    warnings = logging.StreamHandler()
    warnings.setFormatter(PlacesFormatter())
    logging.basicConfig(level="WARNING", handlers=[warnings])
    records = RecordFile(options.out)
    known = records.open(keep=lambda record: _keep(record, options))
    if records.torn:
        torn = counted(records.torn, "record")
        stderr.print(
            f"{options.out} has {torn} that an earlier run did not finish: taken out and read again",
            markup=False,
        )
    try:
        with progress(len(refs), quiet=options.quiet) as told:
            report = asyncio.run(read_all(options, config, refs, records, known=known, told=told))
    except KeyboardInterrupt:
        stderr.print(f"interrupted; what was done is in {options.out}: run it again to go on", markup=False)
        return INTERRUPTED
    finally:
        records.close()
    failed = report.by_status["failed"] or any(record.status == "failed" for record in known.values())
    try:
        _summarise(report)
        _tell_failed(known)
        stdout.print(f"records: {options.out}", markup=False)
    except OSError as error:
        told.stop_printing(error)
    return FAILED if failed or told.is_cut_off else 0


def warn_about_links(lister: FolderLister) -> None:
    """Name the links whose files are not read, after they were listed."""
    for link in lister.not_followed:
        stderr.print(
            f"not followed, since it leads out of the folder or nowhere: {shown(link)}", markup=False
        )


def _tell_plan(options: RunOptions, refs: Sequence[Ref], config: RunConfig) -> None:
    """Print what a run would do, after what an earlier one has done."""
    known = RecordFile(options.out).known(keep=lambda record: _keep(record, options))
    reader = FolderReader(options.folder, max_bytes=config.max_bytes)
    waiting = [ref for ref in refs if not asyncio.run(_is_done(ref, reader, known))]
    for ref in waiting:
        stdout.print(shown(ref.key), markup=False)
    done = len(refs) - len(waiting)
    stdout.print(
        f"{counted(len(refs), 'document')}: {done} done before, {len(waiting)} to do; nothing was written"
    )
    _tell_failed(known)


async def _is_done(ref: Ref, reader: FolderReader, known: Mapping[str, EarlierRecord]) -> bool:
    """Return whether an earlier run has a record of this document as it is now."""
    if ref.key not in known:
        return False
    try:
        return (await reader.read(ref)).content_hash == known[ref.key].content_hash
    except DocmillError:  # a run will say so
        return False


def _keep(record: Record, options: RunOptions) -> bool:
    if options.fresh:
        return False
    return not (options.retry_failed and record["status"] == "failed")


async def read_all(
    options: RunOptions,
    config: RunConfig,
    refs: Sequence[Ref],
    records: RecordFile,
    *,
    known: Mapping[str, EarlierRecord],
    told: "RunProgress",
) -> Report:
    """Every document to its record."""
    async with (
        reading_pool(options.jobs) as pool,
        config.steps(pool, schema=options.schema, model=options.model) as steps,
    ):
        runner = Runner(
            steps,
            FolderReader(options.folder, max_bytes=config.max_bytes),
            records,
            policy=Policy(concurrency=pool.workers * _AHEAD, parts=config.parts),
            on_done=told.on_done,
            on_found=told.on_found,
            on_delay=told.on_delay,
            on_waiting=told.on_waiting,
        )
        return await runner.run(refs, known=known)


_READING = "reading"


@dataclass
class RunProgress:
    """Shows how far a run is."""

    bar: Progress
    task: TaskID
    total: int
    quiet: bool
    is_cut_off: bool = False

    def on_done(self, done: Done) -> None:
        """See `Runner`."""
        self.bar.advance(self.task)
        if not self.quiet:
            named = "" if done.ref.key.endswith(done.title) else f"  {escape(shown(done.title))}"
            self._print(f"{MARKS[done.status]} {escape(shown(done.ref.key))}{named}")
            for part in done.left_out:
                self._print(f"  {MARKS['not_read']} {escape(shown(part))}")

    def on_found(self, parts: int) -> None:
        """See `Runner`."""
        self.total += parts
        self.bar.update(self.task, total=self.total)

    def on_delay(self, delay: Delay) -> None:
        """See `Runner`. That nobody was asked, because a provider is left alone, only the bar says."""
        if not self.quiet and delay.error.attempted:
            reason = escape(shown(delay.error.message))
            self._print(
                f"[yellow]…[/] {escape(shown(delay.ref.key))}  tried again in {delay.seconds:.0f} s: {reason}"
            )

    def on_waiting(self, count: int) -> None:
        """See `Runner`."""
        waiting = f" ({count} waiting to be tried again)" if count else ""
        self.bar.update(self.task, description=f"{_READING}{waiting}")

    def stop_printing(self, error: OSError) -> None:
        """Standard output takes no more: the records matter, and the lines beside them do not."""
        self.is_cut_off = self.quiet = True
        give_up_stdout()
        stderr.print(f"docmill: cannot print: {error.strerror}; the records are still written", markup=False)

    def _print(self, line: str) -> None:
        try:
            stdout.print(line)
        except OSError as error:
            self.stop_printing(error)


@contextmanager
def progress(total: int, *, quiet: bool) -> Generator[RunProgress]:
    """A bar on standard error where that is a terminal; a line per document on standard output."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal, transient=True) as bar:
        yield RunProgress(bar, bar.add_task(_READING, total=total), total, quiet)


def _summarise(report: Report) -> None:
    counts = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in sorted(report.by_status.items())
    )
    pace = f", {60 * report.total / report.seconds:.0f} a minute" if report.seconds else ""
    what = f"{counted(report.total, 'document')} ({counted(report.pages, 'page')})"
    stdout.print(f"{what} in {report.seconds:.1f} s{pace}: {counts or 'none'}")
    for code, count in report.by_error.most_common():
        stdout.print(f"  {count} x {code}{_REMEDIES.get(code, '')}", markup=False)


def _tell_failed(known: Mapping[str, EarlierRecord]) -> None:
    """Say how many failed before and are not tried again."""
    failed = sum(record.status == "failed" for record in known.values())
    if failed:
        stdout.print(f"{failed} failed in an earlier run; --retry-failed tries them again")
