"""`docmill eval --pipeline`: evaluates a pipeline of one's own."""

from dataclasses import replace
from pathlib import Path

from docmill.cli.console import FAILED, INTERRUPTED, stderr, stdout
from docmill.errors import RunExistsError
from docmill.runs.config.evaluation_loading import load_evaluation
from docmill.runs.evaluation.evaluation_exporters import HtmlEvaluationExporter, JsonEvaluationExporter
from docmill.runs.states import new_run_id


def evaluate_pipeline(
    path: Path, *, run_id: str | None, baseline: Path | None, out: Path | None, html: Path | None
) -> int:
    """Evaluate a configured pipeline, and print its figures; the exit code.

    run_id: of an evaluation that is begun, or goes on. baseline: in place of that of the configuration. out,
    html: files for the report, beside those of the configuration.
    """
    evaluation = load_evaluation(path)
    exporters = [
        *evaluation.exporters,
        *([] if out is None else [JsonEvaluationExporter(out)]),
        *([] if html is None else [HtmlEvaluationExporter(html)]),
    ]
    evaluation = replace(evaluation, exporters=exporters, baseline=baseline or evaluation.baseline)
    name = run_id or new_run_id()
    try:
        try:
            report = evaluation.run(run_id=name)
        except RunExistsError:
            report = evaluation.resume(name)
    except KeyboardInterrupt:
        stderr.print(f"interrupted; the same command with --run {name} goes on", markup=False)
        return INTERRUPTED
    stdout.print(str(report), markup=False)
    has_fallen = evaluation.baseline is not None and report.regressions()
    return FAILED if has_fallen else 0
