"""Reports of evaluations as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docmill.evaluation.html_report import build_page
from docmill.evaluation.report import documents_of
from docmill.runs.components.atomic_files import make_folder, write_atomically
from docmill.runs.components.config import ComponentConfig
from docmill.runs.context import Context


class EvaluationFileConfig(ComponentConfig):
    """path: of the file, which is replaced."""

    path: Path


class JsonEvaluationExporter:
    """`EvaluationExporter` into a JSON file, from which a later evaluation is compared."""

    def __init__(self, config: EvaluationFileConfig | Path | str) -> None:
        self.config = _config_of(config)

    def export_evaluation(self, report: Mapping[str, Any], context: Context[Any]) -> None:
        """See `EvaluationExporter.export_evaluation`."""
        del context
        _write(self.config.path, json.dumps(report, ensure_ascii=False, indent=1) + "\n")


class HtmlEvaluationExporter:
    """`EvaluationExporter` into one HTML file with all figures and errors; it loads nothing."""

    def __init__(self, config: EvaluationFileConfig | Path | str) -> None:
        self.config = _config_of(config)

    def export_evaluation(self, report: Mapping[str, Any], context: Context[Any]) -> None:
        """See `EvaluationExporter.export_evaluation`."""
        del context
        _write(self.config.path, build_page(report, documents_of(report), {}))


def _config_of(config: EvaluationFileConfig | Path | str) -> EvaluationFileConfig:
    return config if isinstance(config, EvaluationFileConfig) else EvaluationFileConfig(path=Path(config))


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_atomically(path, text.encode("utf-8", "backslashreplace"))
