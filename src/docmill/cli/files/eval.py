"""`docmill eval`: compares what is read in a folder with its truth, and reports the accuracy."""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docmill.batch.folder import FolderLister
from docmill.batch.records import Record, RecordFile
from docmill.cli.console import FAILED, INTERRUPTED, put, stderr, stdout
from docmill.cli.files.eval_output import error_pictures, print_comparison, print_report
from docmill.cli.files.run import RunOptions, progress, read_all, warn_about_links
from docmill.cli.files.run_config import run_config, warn_about_remote_services
from docmill.errors import MisconfiguredError
from docmill.evaluation.comparison import compare_reports
from docmill.evaluation.html_report import build_page
from docmill.evaluation.judge import Judge
from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.report import Report, build_report, judge_document, read_report
from docmill.evaluation.truth import Truth, known_fields, read_truths, sources_of
from docmill.model.result import Schema
from docmill.ports import Ref
from docmill.schemas.registry import REGISTRY


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """Arguments of `docmill eval`. schema: for every document, instead of those of their types."""

    folder: Path
    truth: Path
    schema: Schema | None
    model: str | None
    records: Path | None
    baseline: Path | None
    out: Path | None
    html: Path | None
    max_regression: float
    jobs: int | None
    config: Path | None
    month_first: bool


def evaluate(question: EvalOptions) -> int:
    """Read what is not read yet, judge, print and write; the exit code."""
    schema = question.schema
    truths = read_truths(question.truth)
    known = known_fields(truths, {schema.name: schema} if schema else REGISTRY)
    before = read_report(question.baseline) if question.baseline else None
    with tempfile.TemporaryDirectory(prefix="docmill-eval-") as scratch:
        records = question.records or Path(scratch) / "records.jsonl"
        try:
            judge = Judge(known.kinds, known.labelled, question.month_first)
            documents = _documents(question, truths, records, judge)
        except KeyboardInterrupt:
            kept = f"; what was done is in {question.records}" if question.records else ""
            stderr.print(f"interrupted{kept}: run it again to go on", markup=False)
            return INTERRUPTED
    report = build_report(documents, with_types=schema is None)
    print_report(report)
    if before is not None:
        report["comparison"] = compare_reports(before, documents, max_regression=question.max_regression)
        print_comparison(report["comparison"])
    _write(question, report, documents)
    return FAILED if report.get("comparison", {}).get("regressions") else 0


def _documents(
    question: EvalOptions, truths: Sequence[Truth], path: Path, judge: Judge
) -> list[JudgedDocument]:
    """Every document that has a truth, judged."""
    refs = _files(question)
    records = RecordFile(path)
    recorded = [record["source"] for record in records.read()]
    there = list(dict.fromkeys([*(ref.key for ref in refs), *recorded]))
    wanted = sources_of(truths, there)
    waiting = [ref for ref in refs if ref.key in wanted or _holds_one(ref, truths)]
    if not wanted and not waiting:
        raise MisconfiguredError(
            f"{str(question.truth)!r} has no truth for any file in {str(question.folder)!r};"
            f" its first is for {truths[0].source!r}"
        )
    _read(question, waiting, records)
    read = {record["source"]: record for record in records.read()}
    wanted = sources_of(truths, list(dict.fromkeys([*(ref.key for ref in refs), *read])))
    _tell_left_out(truths, wanted)
    return _judged(wanted, read, judge)


def _judged(wanted: Mapping[str, Truth], read: Mapping[str, Record], judge: Judge) -> list[JudgedDocument]:
    return [
        judge_document(source, truth, read.get(source), judge) for source, truth in sorted(wanted.items())
    ]


def _files(question: EvalOptions) -> list[Ref]:
    """The folder's files without those that belong to the evaluation."""
    given = (question.truth, question.records, question.baseline, question.out, question.html)
    own = {path.resolve() for path in given if path is not None}
    if question.truth.is_dir():
        own |= {path.resolve() for path in question.truth.rglob("*.json")}
    lister = FolderLister(question.folder)
    refs = [ref for ref in lister.list() if (question.folder / ref.key).resolve() not in own]
    warn_about_links(lister)
    return refs


def _holds_one(ref: Ref, truths: Sequence[Truth]) -> bool:
    """Return whether a truth names a part of the file: `mail.eml/invoice.pdf`."""
    return any(truth.source.startswith(f"{ref.key}/") for truth in truths)


def _read(question: EvalOptions, refs: Sequence[Ref], records: RecordFile) -> None:
    """Every file that has no record yet, as `docmill run` does."""
    config = run_config(question.config, max_bytes=None, time_limit_s=None, passwords=())
    warn_about_remote_services(config.settings, question.config)
    options = RunOptions(
        folder=question.folder,
        out=Path(),
        jobs=question.jobs,
        fresh=False,
        retry_failed=False,
        dry_run=False,
        quiet=True,
        schema=question.schema,
        model=question.model,
    )
    known = records.open(keep=lambda _: True)
    try:
        with progress(len(refs), quiet=True) as told:
            asyncio.run(read_all(options, config, refs, records, known=known, told=told))
    finally:
        records.close()


def _tell_left_out(truths: Sequence[Truth], wanted: Mapping[str, Truth]) -> None:
    found = {truth.source for truth in wanted.values()}
    lacking = [truth.source for truth in truths if truth.source not in found]
    if lacking:
        stderr.print(
            f"{len(lacking)} of {len(truths)} truths have no file and no record and are left out:"
            f" {', '.join(lacking[:3])}{', …' if len(lacking) > 3 else ''}",  # noqa: PLR2004
            markup=False,
        )


def _write(question: EvalOptions, report: Report, documents: Sequence[JudgedDocument]) -> None:
    if question.out:
        put(question.out, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
        stdout.print(f"report: {question.out}", markup=False)
    if question.html:
        reading = run_config(question.config, max_bytes=None, time_limit_s=None, passwords=()).reading
        pictures = error_pictures(question.folder, documents, jobs=question.jobs, reading=reading)
        put(question.html, build_page(report, documents, pictures))
        stdout.print(f"errors: {question.html}", markup=False)
