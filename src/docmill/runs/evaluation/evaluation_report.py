"""The report of an evaluation of a pipeline: its figures, and their comparison with an earlier report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from docmill.errors import MisconfiguredError, RegressionError
from docmill.evaluation.metrics import JudgedDocument
from docmill.evaluation.report import documents_of, read_report_content
from docmill.runs.context import context_of_one
from docmill.runs.evaluation.evaluation_exporters import JsonEvaluationExporter
from docmill.runs.evaluation.score_figures import (
    Figure,
    Regression,
    compare_scores,
    figure_of,
    regressions_of,
)

TOLERANCE = 0.005
"""By how much a figure may fall before it is a regression."""
_SHOWN = 5


@dataclass(frozen=True)
class EvaluationReport:
    """The report of an evaluation. content: all of it as JSON, a report of `docmill eval` with scores."""

    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """The report in a JSON file. Raises MisconfiguredError if it is none that this docmill can read."""
        report = cls(read_report_content(Path(path)))
        try:
            _ = report.documents, report.figures
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise MisconfiguredError(f"{str(path)!r} is no report of an evaluation") from error
        return report

    def write(self, path: Path | str) -> None:
        """Write the report as JSON. Raises MisconfiguredError, ServerError."""
        JsonEvaluationExporter(path).export_evaluation(self.content, context_of_one())

    @property
    def run_id(self) -> str:
        """The name of the run, with which the evaluation is resumed."""
        return self.content["run"]["run_id"]

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures of the evaluators, by name."""
        return {name: figure_of(figure) for name, figure in self.content.get("scores", {}).items()}

    @property
    def documents(self) -> list[JudgedDocument]:
        """The documents with their values beside the true ones, failed documents too."""
        return documents_of(self.content)

    @property
    def failed(self) -> int:
        """The number of documents that failed; nothing was read of them, and all their values are missing."""
        return self.content["statuses"].get("failed", 0)

    def compare(
        self, baseline: "EvaluationReport | Path | str", *, tolerance: float = TOLERANCE
    ) -> dict[str, Any]:
        """The changes of all figures since an earlier report, as JSON; see `compare_scores`."""
        earlier = baseline if isinstance(baseline, EvaluationReport) else EvaluationReport.read(baseline)
        return compare_scores(earlier.content, self.content, tolerance=tolerance)

    def regressions(
        self, baseline: "EvaluationReport | Path | str | None" = None, *, tolerance: float = TOLERANCE
    ) -> list[Regression]:
        """The figures that have fallen by more than `tolerance`, and by more than chance explains.

        baseline: an earlier report; that with which the evaluation was compared unless given, and by its
        tolerance. Raises MisconfiguredError if there is none, or nothing that both have.
        """
        if baseline is not None:
            return regressions_of(self.compare(baseline, tolerance=tolerance))
        if "comparison" not in self.content:
            raise MisconfiguredError("the evaluation was compared with no earlier report; give a baseline")
        return regressions_of(self.content["comparison"])

    def raise_on_regression(
        self, baseline: "EvaluationReport | Path | str | None" = None, *, tolerance: float = TOLERANCE
    ) -> None:
        """Raise RegressionError if there are `regressions`."""
        fallen = self.regressions(baseline, tolerance=tolerance)
        if not fallen:
            return
        changes = [f"{one.name} fell from {one.before:.3f} to {one.now:.3f}" for one in fallen[:_SHOWN]]
        more = f" and {len(fallen) - _SHOWN} more" if len(fallen) > _SHOWN else ""
        raise RegressionError(f"worse than the earlier report: {', '.join(changes)}{more}")

    def __str__(self) -> str:
        statuses = ", ".join(
            f"{count} {status.replace('_', ' ')}" for status, count in self.content["statuses"].items()
        )
        lines = [f"evaluation {self.run_id}: {statuses}"]
        for name, figure in self.figures.items():
            interval = "" if figure.interval is None else "  ({:.3f} to {:.3f})".format(*figure.interval)
            lines.append(f"{name}: {'-' if figure.value is None else f'{figure.value:.3f}'}{interval}")
        if fallen := self.content.get("comparison", {}).get("regressions"):
            lines.append(f"worse than the earlier report: {', '.join(fallen)}")
        return "\n".join(lines)
