"""Evaluates a pipeline: runs it over documents whose values are known, and compares."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, TypeAlias, Unpack
from urllib.parse import quote

from docmill.errors import MisconfiguredError
from docmill.evaluation.report import Report, build_report, judge_document
from docmill.ports import Ref
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.context import Context
from docmill.runs.definition import Data
from docmill.runs.evaluation.evaluation_report import TOLERANCE, EvaluationReport
from docmill.runs.evaluation.predictions import read_predictions
from docmill.runs.evaluation.score_figures import add_up, describe_figure, describe_score
from docmill.runs.evaluation.scoring_documents import ScoredDocument, Scorer
from docmill.runs.evaluation.typed_examples import TypedExamples, type_examples
from docmill.runs.report import RunReport
from docmill.runs.roles import EvaluationExporter, Evaluator, Example, ExampleLoader
from docmill.runs.running import Pipeline, RunOptions, run_to_end
from docmill.runs.stages import call_anywhere, opened
from docmill.runs.states import new_run_id
from docmill.runs.stores.opening import DEFAULT_PATH, open_store

PREDICTIONS = DEFAULT_PATH.parent / "evaluations"
"""Folder of the files with what was extracted, by the names of the runs, unless another file is given."""

Runs: TypeAlias = Callable[[Pipeline[Any], Sequence[Ref]], Awaitable[RunReport]]


@dataclass(frozen=True, kw_only=True)
class Evaluation(Generic[Data]):
    """An evaluation of a pipeline.

    The pipeline reads the documents of the examples in a run that can be resumed, and its results go to the
    file `predictions` instead of its exporters. baseline: an earlier report, with which figures are compared;
    tolerance: by how much they may fall. month_first: whether 03/04/2026 in a truth means March 4th.
    """

    pipeline: Pipeline[Data]
    loader: ExampleLoader[Data]
    evaluators: Sequence[Evaluator[Data]]
    exporters: Sequence[EvaluationExporter] = ()
    predictions: Path | str | None = None
    baseline: EvaluationReport | Path | str | None = None
    tolerance: float = TOLERANCE
    month_first: bool = False

    def run(self, *, run_id: str | None = None, **options: Unpack[RunOptions]) -> EvaluationReport:
        """As `arun`, and wait for the end.

        SIGINT and SIGTERM stop it in good order by KeyboardInterrupt; `resume` goes on. A terminal shows how
        far it is, as for `Pipeline.run`.
        """
        options.setdefault("handles_signals", True)
        options.setdefault("progress", "auto")
        return run_to_end(lambda: self.arun(run_id=run_id, **options), "evaluation.arun")

    async def arun(self, *, run_id: str | None = None, **options: Unpack[RunOptions]) -> EvaluationReport:
        """Read all documents and compare; documents that fail count with all their values missing.

        Raises RunExistsError for a name that is taken, MisconfiguredError for examples that cannot be used,
        SetupError where a person must act.
        """
        name = run_id or new_run_id()

        async def run(pipeline: Pipeline[Any], refs: Sequence[Ref]) -> RunReport:
            return await pipeline.arun(refs, run_id=name, **options)

        return await self._evaluate(name, run, options)

    def resume(
        self, run_id: str, *, retry_failed: bool = False, **options: Unpack[RunOptions]
    ) -> EvaluationReport:
        """As `aresume`, and wait for the end, as `run` does."""
        options.setdefault("handles_signals", True)
        options.setdefault("progress", "auto")
        return run_to_end(
            lambda: self.aresume(run_id, retry_failed=retry_failed, **options), "evaluation.aresume"
        )

    async def aresume(
        self, run_id: str, *, retry_failed: bool = False, **options: Unpack[RunOptions]
    ) -> EvaluationReport:
        """Read the documents that are left, new or changed, and compare all.

        retry_failed: whether failed documents are tried again. Raises UnknownRunError, MisconfiguredError if
        the pipeline has changed, since figures of two pipelines cannot be added up, and what `arun` raises.
        """
        store = open_store(options.get("store") or self.pipeline.store)
        try:
            begun = await store.find_run(run_id)
        finally:
            await store.close()
        if begun.fingerprint != self.pipeline.fingerprint:
            raise MisconfiguredError(
                f"the pipeline has changed since the evaluation {run_id!r} was begun; begin another one"
            )

        async def run(pipeline: Pipeline[Any], refs: Sequence[Ref]) -> RunReport:
            return await pipeline.aresume(run_id, refs, retry_failed=retry_failed, **options)

        return await self._evaluate(run_id, run, options)

    async def _evaluate(self, run_id: str, run: Runs, options: RunOptions) -> EvaluationReport:
        pipeline, baseline = self.pipeline, self.baseline
        if baseline is not None and not isinstance(baseline, EvaluationReport):
            baseline = await asyncio.to_thread(EvaluationReport.read, baseline)
        metadata = dict(options.get("metadata") or {})
        context = Context(run_id, options.get("shared"), metadata, pipeline.fingerprint)
        file = Path(self.predictions or PREDICTIONS / f"{quote(run_id, safe='')}.jsonl")
        async with AsyncExitStack() as stack:
            for component in self._checked_components():
                await stack.enter_async_context(opened(component, context))
            examples = await self._load(context)
            if baseline is not None:
                _check_baseline(baseline, examples)
            scorer = Scorer(self.evaluators, context, pipeline.policy)
            await scorer.prepare(examples.examples)
            read = await run(_recording(pipeline, file), [example.ref for example in examples.examples])
            if read.is_interrupted:
                raise KeyboardInterrupt(f"evaluation {run_id} was stopped; resume it to go on")
            predictions = await read_predictions(read, file, examples.examples, pipeline)
            documents = await scorer.score(predictions)
            report = EvaluationReport(await asyncio.to_thread(_build, read, examples, documents, pipeline))
            if baseline is not None:
                comparison = await asyncio.to_thread(report.compare, baseline, tolerance=self.tolerance)
                report = EvaluationReport({**report.content, "comparison": comparison})
            for exporter in self.exporters:
                await call_anywhere(exporter.export_evaluation, report.content, context)
        return report

    def _checked_components(self) -> list[object]:
        """The loader, evaluators and exporters, each once. Raises MisconfiguredError if one is none."""
        roles: list[tuple[object, str]] = [(self.loader, "load")]
        roles += [(evaluator, "evaluate") for evaluator in self.evaluators]
        roles += [(exporter, "export_evaluation") for exporter in self.exporters]
        for component, method in roles:
            if not callable(getattr(component, method, None)):
                raise MisconfiguredError(f"{type(component).__name__} has no method {method!r}")
        return list({id(component): component for component, _ in roles}.values())

    async def _load(self, context: Context[Any]) -> TypedExamples:
        loaded: Iterable[Example[Any]] = await call_anywhere(self.loader.load, context)
        return await asyncio.to_thread(
            lambda: type_examples(loaded, self.pipeline, month_first=self.month_first)
        )


def evaluate(
    pipeline: Pipeline[Data],
    loader: ExampleLoader[Data],
    evaluators: Sequence[Evaluator[Data]],
    exporters: Sequence[EvaluationExporter] = (),
    *,
    baseline: EvaluationReport | Path | str | None = None,
    tolerance: float = TOLERANCE,
    predictions: Path | str | None = None,
    run_id: str | None = None,
    **options: Unpack[RunOptions],
) -> EvaluationReport:
    """Evaluate a pipeline and wait for the end; see `Evaluation`, which can also be resumed."""
    evaluation = Evaluation(
        pipeline=pipeline,
        loader=loader,
        evaluators=evaluators,
        exporters=exporters,
        baseline=baseline,
        tolerance=tolerance,
        predictions=predictions,
    )
    return evaluation.run(run_id=run_id, **options)


async def aevaluate(
    pipeline: Pipeline[Data],
    loader: ExampleLoader[Data],
    evaluators: Sequence[Evaluator[Data]],
    exporters: Sequence[EvaluationExporter] = (),
    *,
    baseline: EvaluationReport | Path | str | None = None,
    tolerance: float = TOLERANCE,
    predictions: Path | str | None = None,
    run_id: str | None = None,
    **options: Unpack[RunOptions],
) -> EvaluationReport:
    """As `evaluate`, where an event loop is running."""
    evaluation = Evaluation(
        pipeline=pipeline,
        loader=loader,
        evaluators=evaluators,
        exporters=exporters,
        baseline=baseline,
        tolerance=tolerance,
        predictions=predictions,
    )
    return await evaluation.arun(run_id=run_id, **options)


def _recording(pipeline: Pipeline[Data], file: Path) -> Pipeline[Data]:
    """The pipeline with all results written to a file of records.

    It has no configuration: who resumes its run by that would send results to the exporters of the pipeline.
    """
    kinds = {name: replace(kind, exporter=None) for name, kind in pipeline.kinds.items()}
    return replace(pipeline, exporter=JsonLinesExporter(file), kinds=kinds, lister=None, configuration=None)


def _check_baseline(baseline: EvaluationReport, examples: TypedExamples) -> None:
    """Tell before documents are read what cannot be compared. Raises MisconfiguredError."""
    if not baseline.figures:
        raise MisconfiguredError(
            "the baseline has no figures of evaluators; give the report of an evaluation"
        )
    known = {document.source for document in baseline.documents}
    if not any(example.name in known for example in examples.examples):
        raise MisconfiguredError("the baseline has none of these documents; nothing can be compared")


def _build(
    read: RunReport,
    examples: TypedExamples,
    documents: Sequence[ScoredDocument],
    pipeline: Pipeline[Any],
) -> Report:
    """The report as `docmill eval` has it, with the scores of the evaluators."""
    judged = [
        judge_document(
            example.name, example.truth, document.prediction.record, examples.judges[example.schema]
        )
        for document in documents
        for example in (document.prediction.example,)
    ]
    figures = add_up([document.scores for document in documents], [row.group for row in judged])
    states = [document.prediction.state for document in documents]
    report = build_report(judged, with_types=pipeline.classifier is not None)
    for row, document in zip(report["documents"], documents, strict=True):
        row["scores"] = {name: describe_score(score) for name, score in document.scores.items()}
        if document.errors:
            row["evaluator_errors"] = document.errors
    return {
        **report,
        "run": {
            "run_id": read.run_id,
            "fingerprint": read.run.fingerprint,
            "started_at": read.run.started_at.isoformat(),
            "tokens": sum(state.tokens for state in states),
            "cost": str(sum((state.cost for state in states), Decimal(0))),
            "evaluator_tokens": sum(document.tokens for document in documents),
            "evaluator_cost": str(sum((document.cost for document in documents), Decimal(0))),
        },
        "scores": {name: describe_figure(figure) for name, figure in figures.items()},
    }
