"""Evaluations out of the YAML files of pipelines."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from docmill.runs.config.loading import EvaluationSettings, PipelineLoader, read_configuration
from docmill.runs.config.registry import Role
from docmill.runs.evaluation.evaluating import Evaluation

_SETTINGS = "evaluation_orchestrator"


def load_evaluation(path: Path | str, *, environment: Mapping[str, str] | None = None) -> Evaluation[Any]:
    """The evaluation that the configuration of a pipeline describes, beside the pipeline itself.

    The keys `test_data_loader`, `evaluator` and `evaluation_exporter` (one of the latter two, or a list), and
    `evaluation_orchestrator` for settings; or files of these names in a folder. As `load_pipeline` otherwise.
    """
    return _EvaluationLoader(read_configuration(path), environment).evaluation()


class _EvaluationLoader(PipelineLoader):
    """Makes the parts of an evaluation, too."""

    def evaluation(self) -> Evaluation[Any]:
        """See `load_evaluation`."""
        pipeline = self.pipeline()
        for key in ("test_data_loader", "evaluator"):
            if self._values.get(key) is None:
                self._source.fail((), f"the key {key!r} is missing; an evaluation needs it")
        content = self._mapping(self._values.get(_SETTINGS) or {}, (_SETTINGS,))
        self._refuse_unknown(content, list(EvaluationSettings.model_fields), (_SETTINGS,))
        settings: EvaluationSettings = self._checked(TypeAdapter(EvaluationSettings), content, (_SETTINGS,))
        return Evaluation(
            pipeline=pipeline,
            loader=self._component("test_data_loader", ("test_data_loader",)),
            evaluators=self._several("evaluator"),
            exporters=self._several("evaluation_exporter"),
            predictions=settings.predictions,
            baseline=settings.baseline,
            tolerance=settings.tolerance,
            month_first=settings.month_first,
        )

    def _several(self, role: Role) -> list[Any]:
        """The components of a role that may have one, several in a list, or none."""
        match self._values.get(role):
            case None:
                return []
            case list() as several:
                return [self._component(role, (role, str(index))) for index in range(len(several))]
            case _:
                return [self._component(role, (role,))]
