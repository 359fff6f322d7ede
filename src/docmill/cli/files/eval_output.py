"""Printed report of an evaluation, and pictures of its errors."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.markup import escape
from rich.table import Table

from docmill.cli.console import counted, shown, stdout
from docmill.errors import DocmillError
from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.report import Report
from docmill.model.document import Box
from docmill.reading.child.render import LocalClipper, LocalRenderer
from docmill.reading.files.options import ReadingOptions
from docmill.wiring import reading_pool

MOST = 400
"""Pictures of a page: it is to be opened in a browser, and sent."""

_PAGE_PX = 700


class _Wanted(NamedTuple):
    """box: None for the first page as a whole."""

    source: str
    path: str
    page_number: int = 1
    box: Box | None = None


def error_pictures(
    folder: Path, documents: Sequence[JudgedDocument], *, jobs: int | None, reading: ReadingOptions
) -> dict[tuple[str, str], bytes]:
    """See `docmill.evaluation.html_report.Pictures`; without those that cannot be drawn; at most `MOST`."""
    files = {one.source: folder / one.source if folder.is_dir() else folder for one in documents}
    wanted = [one for document in documents for one in _wanted(document) if files[one.source].is_file()]
    return asyncio.run(_drawn(wanted[:MOST], files, jobs, reading))


def _wanted(document: JudgedDocument) -> Iterator[_Wanted]:
    errors = [cell for cell in document.cells if not cell.is_right]
    for cell in errors:
        proof: Mapping[str, Any] = document.evidence.get(cell.path or "", {})
        if cell.path and proof.get("box"):
            yield _Wanted(document.source, cell.path, proof["page"], Box(*proof["box"]))
    if any(cell.said is None for cell in errors):
        yield _Wanted(document.source, "")


async def _drawn(
    wanted: Sequence[_Wanted], files: dict[str, Path], jobs: int | None, reading: ReadingOptions
) -> dict[tuple[str, str], bytes]:
    async with reading_pool(jobs) as pool:
        clipper, renderer = LocalClipper(pool, reading), LocalRenderer(pool, reading)

        async def draw(one: _Wanted) -> bytes | None:
            try:
                if one.box is None:
                    return await renderer.render(files[one.source], page_number=1, width_px=_PAGE_PX)
                return await clipper.clip(files[one.source], one.page_number, one.box)
            except DocmillError:  # an error without a picture is better than no page
                return None

        async with asyncio.TaskGroup() as tasks:
            drawing = {(one.source, one.path): tasks.create_task(draw(one)) for one in wanted}
    return {key: picture for key, task in drawing.items() if (picture := task.result()) is not None}


def print_report(report: Report) -> None:
    """The figures in tables."""
    figures: Mapping[str, Any] = report["figures"]
    told = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in report["statuses"].items())
    failed = ", ".join(f"{count} x {code}" for code, count in report["errors"].items())
    stdout.print(f"{counted(len(report['documents']), 'document')}: {told}{f' ({failed})' if failed else ''}")
    if figures["documents"]:
        _print_tiers(figures)
        _print_fields(figures)
    if report["classification"]:
        _print_types(report["classification"])
    if report["confidence"]:
        sure = report["confidence"]
        stdout.print(
            f"confidence: {_percent(sure['coverage'])} % of the values could be taken unseen,"
            f" {_percent(sure['precision'])} % of them right (wanted {sure['precision_wanted']:.0%});"
            f" calibration error {sure['ece']:.3f}"
        )


def _print_tiers(figures: Mapping[str, Any]) -> None:
    table = _table("", "precision", "recall", "F1", "95 %", "documents all right", "95 %")
    for tier, row in figures["tiers"].items():
        table.add_row(
            tier,
            _percent(row["precision"]),
            _percent(row["recall"]),
            _percent(row["f1"]),
            _span(row["f1_interval"]),
            _percent(row["documents_right"]),
            _span(row["documents_right_interval"]),
            style="bold" if tier == "S2" else "",
        )
    stdout.print(table)


def _print_fields(figures: Mapping[str, Any]) -> None:
    table = _table("field", "right", "of", "S2", "95 %", "missing", "too much")
    for name, row in figures["fields"].items():
        table.add_row(
            escape(shown(name)),
            str(row["right"]),
            str(row["values"]),
            _percent(row["accuracy"]),
            _span(row["interval"]),
            str(row["missing"] or ""),
            str(row["surplus"] or ""),
        )
    stdout.print(table)


def _print_types(types: Mapping[str, Any]) -> None:
    stdout.print(f"document types: macro-F1 {_percent(types['macro_f1'])} of {types['documents']} documents")
    for true, row in types["confusion"].items():
        wrong = ", ".join(f"{count} as {said}" for said, count in row.items() if said != true)
        if wrong:
            stdout.print(f"  {true}: {wrong}", markup=False)


def print_comparison(comparison: Mapping[str, Any]) -> None:
    """Print the changes against the baseline, and which of them are regressions."""
    stdout.print(f"compared with the baseline on {comparison['documents']} documents")
    for key, said in (
        ("truth_changed", "have another truth now and are left out"),
        ("only_before", "are in the baseline only"),
        ("only_now", "are new"),
    ):
        if comparison[key]:
            stdout.print(f"  {comparison[key]} {said}")
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


def _span(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{100 * interval[0]:.1f}-{100 * interval[1]:.1f}"
