"""An evaluation on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from docmill.cli.printing import counted, shown, stdout
from docmill.evaluation.report import Report


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
    """What changed, and whether that is a regression."""
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
