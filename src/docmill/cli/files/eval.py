"""`docmill eval`: compares what is read in a folder with its truth, and reports the accuracy."""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from docmill.cli.console import FAILED, INTERRUPTED, counted, put, shown, stderr, stdout
from docmill.cli.files.run import RunOptions, RunProgress, read_all, warn_about_links
from docmill.cli.files.run_config import run_config, warn_about_remote_services
from docmill.errors import DocmillError, MisconfiguredError
from docmill.evaluation.html_report import build_page
from docmill.evaluation.judge import Judge
from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.report import Report, build_report, compare_reports, judge_document, read_report
from docmill.evaluation.trust_figures import score_trust, without_computed
from docmill.evaluation.trust_picture import draw_trust
from docmill.evaluation.trust_table import (
    FEW,
    GROUP_HEADS,
    TRUST_HEADS,
    group_rows,
    several_groups,
    trust_rows,
)
from docmill.evaluation.truth import Truth, known_fields, read_truths, sources_of
from docmill.model.document import Box
from docmill.model.result import Schema
from docmill.ports import Ref
from docmill.reading.child.render import LocalRenderer
from docmill.reading.files.options import ReadingOptions
from docmill.runs.folder_files import FolderLister
from docmill.runs.folders.record_file import RecordFile
from docmill.schemas.registry import REGISTRY
from docmill.wiring import reading_pool

_MAX_PICTURES = 400
"""In the page of errors: it is to be opened in a browser, and sent."""
_PAGE_PX = 700
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """Arguments of `docmill eval`.

    schema: for every document, instead of those of their types. picture: file for the curves of trust.
    """

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
    trust: bool = False
    picture: Path | None = None


def evaluate(options: EvalOptions) -> int:
    """Read the documents without a record, judge all, print and write the report; the exit code."""
    schema = options.schema
    truths = read_truths(options.truth)
    known = known_fields(truths, {schema.name: schema} if schema else REGISTRY)
    before = read_report(options.baseline) if options.baseline else None
    judge = Judge(known.kinds, known.labelled, options.month_first)
    with tempfile.TemporaryDirectory(prefix="docmill-eval-") as scratch:
        records = RecordFile(options.records or Path(scratch) / "records.jsonl")
        try:
            documents = _judge_documents(options, truths, records, judge)
        except KeyboardInterrupt:
            hint = f"; what was done is in {options.records}" if options.records else ""
            stderr.print(f"interrupted{hint}: run it again to go on", markup=False)
            return INTERRUPTED
    report = build_report(documents, with_types=schema is None)
    print_report(report)
    if options.trust or options.picture:
        report["trust"] = score_trust(list(map(without_computed, documents)), known.kinds)
    if options.trust:
        print_trust(report["trust"])
    if options.picture:
        put(options.picture, draw_trust(report["trust"]))
        stdout.print(f"picture: {options.picture}", markup=False)
    if before is not None:
        report["comparison"] = compare_reports(before, documents, max_regression=options.max_regression)
        print_comparison(report["comparison"])
    if options.out:
        put(options.out, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
        stdout.print(f"report: {options.out}", markup=False)
    if options.html:
        reading = run_config(options.config, max_bytes=None, time_limit_s=None, passwords=()).reading
        folder = options.folder
        places = {item.source: folder / item.source if folder.is_dir() else folder for item in documents}
        files = {source: path for source, path in places.items() if path.is_file()}
        pictures = asyncio.run(draw_errors(files, documents, jobs=options.jobs, reading=reading))
        put(options.html, build_page(report, documents, pictures))
        stdout.print(f"errors: {options.html}", markup=False)
    return FAILED if report.get("comparison", {}).get("regressions") else 0


def _judge_documents(
    options: EvalOptions, truths: Sequence[Truth], records: RecordFile, judge: Judge
) -> list[JudgedDocument]:
    """Judge every document that has a truth, after reading those without a record."""
    given = (options.truth, options.records, options.baseline, options.out, options.html)
    files_of_evaluation = {path.resolve() for path in given if path is not None}
    if options.truth.is_dir():
        files_of_evaluation |= {path.resolve() for path in options.truth.rglob("*.json")}
    lister = FolderLister(options.folder)
    refs = [ref for ref in lister.list() if (options.folder / ref.key).resolve() not in files_of_evaluation]
    warn_about_links(lister)
    keys = [ref.key for ref in refs]
    recorded = [record["source"] for record in records.read()]
    wanted = sources_of(truths, list(dict.fromkeys([*keys, *recorded])))
    to_read = [  # a truth may name a part of a file: `mail.eml/invoice.pdf`
        ref
        for ref in refs
        if ref.key in wanted or any(truth.source.startswith(f"{ref.key}/") for truth in truths)
    ]
    if not wanted and not to_read:
        raise MisconfiguredError(
            f"{str(options.truth)!r} has no truth for any file in {str(options.folder)!r};"
            f" its first is for {truths[0].source!r}"
        )
    _read_documents(options, to_read, records)
    read = {record["source"]: record for record in records.read()}
    wanted = sources_of(truths, list(dict.fromkeys([*keys, *read])))
    matched = {truth.source for truth in wanted.values()}
    if left_out := [truth.source for truth in truths if truth.source not in matched]:
        stderr.print(
            f"{len(left_out)} of {len(truths)} truths have no file and no record and are left out:"
            f" {', '.join(left_out[:_EXAMPLES])}{', …' if len(left_out) > _EXAMPLES else ''}",
            markup=False,
        )
    return [
        judge_document(source, truth, read.get(source), judge) for source, truth in sorted(wanted.items())
    ]


def _read_documents(options: EvalOptions, refs: Sequence[Ref], records: RecordFile) -> None:
    """Read every file that has no record yet, as `docmill run` does."""
    config = run_config(options.config, max_bytes=None, time_limit_s=None, passwords=())
    warn_about_remote_services(config.settings, options.config)
    run_options = RunOptions(
        folder=options.folder,
        out=Path(),
        jobs=options.jobs,
        quiet=True,
        schema=options.schema,
        model=options.model,
    )
    earlier = records.open(keep=lambda _: True)
    try:
        with closing(RunProgress(quiet=True)) as bar:
            asyncio.run(read_all(run_options, config, refs, records, earlier=earlier, progress=bar))
    finally:
        records.close()


async def draw_errors(
    files: Mapping[str, Path],
    documents: Sequence[JudgedDocument],
    *,
    jobs: int | None,
    reading: ReadingOptions,
) -> dict[tuple[str, str], bytes]:
    """Draw at most `_MAX_PICTURES` errors, by source and field path, without those that cannot be drawn.

    A wrong value has the picture of its place; missing values have that of page 1, under an empty path. See
    `docmill.evaluation.html_report.Pictures`. files: by source, as in the result.
    """
    places: dict[tuple[str, str], tuple[int, Box] | None] = {}
    for document in documents:
        if document.source not in files:
            continue
        errors = [cell for cell in document.cells if not cell.is_right]
        for cell in errors:
            proof: Mapping[str, Any] = document.evidence.get(cell.path or "", {})
            if cell.path and proof.get("box"):
                places[document.source, cell.path] = (proof["page"], Box(*proof["box"]))
        if any(cell.read is None for cell in errors):
            places[document.source, ""] = None
    async with reading_pool(jobs) as pool:
        renderer = LocalRenderer(pool, reading)

        async def draw(file: Path, place: tuple[int, Box] | None) -> bytes | None:
            try:
                if place is None:
                    return await renderer.render(file, page_number=1, width_px=_PAGE_PX)
                return await renderer.clip(file, *place)
            except DocmillError:  # an error without a picture is better than no page
                return None

        async with asyncio.TaskGroup() as tasks:
            drawings = {
                key: tasks.create_task(draw(files[key[0]], place))
                for key, place in list(places.items())[:_MAX_PICTURES]
            }
    return {key: picture for key, task in drawings.items() if (picture := task.result()) is not None}


def print_report(report: Report) -> None:
    """Print the figures in tables."""
    figures: Mapping[str, Any] = report["figures"]
    statuses = ", ".join(
        f"{count} {status.replace('_', ' ')}" for status, count in report["statuses"].items()
    )
    errors = ", ".join(f"{count} x {code}" for code, count in report["errors"].items())
    documents = counted(len(report["documents"]), "document")
    stdout.print(f"{documents}: {statuses}{f' ({errors})' if errors else ''}")
    if figures["documents"]:
        tiers = _table("", "precision", "recall", "F1", "95 %", "documents all right", "95 %")
        for tier, row in figures["tiers"].items():
            f1 = (_percent(row["precision"]), _percent(row["recall"]), _percent(row["f1"]))
            right = (_percent(row["documents_right"]), _interval(row["documents_right_interval"]))
            style = "bold" if tier == "S2" else ""
            tiers.add_row(tier, *f1, _interval(row["f1_interval"]), *right, style=style)
        stdout.print(tiers)
        fields = _table("field", "right", "of", "S2", "95 %", "missing", "too much")
        for name, row in figures["fields"].items():
            share = (_percent(row["accuracy"]), _interval(row["interval"]))
            wrong = (str(row["missing"] or ""), str(row["surplus"] or ""))
            fields.add_row(escape(shown(name)), str(row["right"]), str(row["values"]), *share, *wrong)
        stdout.print(fields)
    if types := report["classification"]:
        macro_f1 = _percent(types["macro_f1"])
        stdout.print(f"document types: macro-F1 {macro_f1} of {types['documents']} documents")
        for true, row in types["confusion"].items():
            confused = ", ".join(f"{count} as {read}" for read, count in row.items() if read != true)
            if confused:
                stdout.print(f"  {true}: {confused}", markup=False)
    if confidence := report["confidence"]:
        taken = f"{_percent(confidence['coverage'])} % of the values could be taken unseen"
        if confidence["precision"] is not None:
            taken += f", {_percent(confidence['precision'])} % of them right"
        wanted = f"(wanted {confidence['precision_wanted']:.0%})"
        stdout.print(f"confidence: {taken} {wanted}; calibration error {confidence['ece']:.3f}")


def print_trust(trust: Mapping[str, Any]) -> None:
    """Print the trust figures of all documents with intervals, and those of each type and source."""
    if not trust["all"]["documents"]:
        stdout.print("trust: the truth names no field of these documents, so nothing can be said")
        return
    every = _table(*TRUST_HEADS)
    for row in trust_rows(trust):
        every.add_row(*row)
    stdout.print(every)
    for kind, groups in several_groups(trust):
        table = _table(kind, *GROUP_HEADS)
        for name, *figures in group_rows(groups):
            table.add_row(escape(shown(name)), *figures)
        stdout.print(table)
    stdout.print(FEW, style="dim")


def print_comparison(comparison: Mapping[str, Any]) -> None:
    """Print the changes against the baseline, and which of them are regressions."""
    stdout.print(f"compared with the baseline on {comparison['documents']} documents")
    for key, meaning in (
        ("truth_changed", "have another truth now and are left out"),
        ("only_before", "are in the baseline only"),
        ("only_now", "are new"),
    ):
        if comparison[key]:
            stdout.print(f"  {comparison[key]} {meaning}")
    table = _table("field", "before", "now", "difference", "95 %", "better", "worse")
    for name, change in {"F1": comparison["f1"], **comparison["fields"]}.items():
        table.add_row(
            escape(shown(name)),
            _percent(change["before"]),
            _percent(change["now"]),
            f"{100 * change['difference']:+.1f}",
            " to ".join(f"{100 * bound:+.1f}" for bound in change["interval"]),
            str(change.get("better", "")),
            str(change.get("worse", "")),
            style="red" if change["is_regression"] else "",
        )
    stdout.print(table)
    if comparison["regressions"]:
        stdout.print(f"regression: {', '.join(comparison['regressions'])}", style="red", markup=False)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for index, name in enumerate(columns):
        table.add_column(name, justify="right" if index else "left", no_wrap=True)
    return table


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"{100 * bounds[0]:.1f}-{100 * bounds[1]:.1f}"
