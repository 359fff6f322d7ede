"""The page on evaluations of pipelines: its examples run, and its tables are complete."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile

import pytest

from docmill.demo import Sample
from docmill.runs.config.evaluation_loading import load_evaluation
from docmill.runs.config.loading import EvaluationSettings
from docmill.runs.config.registry import Role, component_class, config_model, short_names

PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "evaluate-a-pipeline.md").read_text()
ROLES: tuple[Role, ...] = ("evaluator", "test_data_loader", "evaluation_exporter")


SCHEMA = """\
from pydantic import BaseModel

class Order(BaseModel):
    order_number: str
    total: float | None = None
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def test_the_examples_run_one_after_the_other(samples: list[Sample], tmp_path: Path) -> None:
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    (tmp_path / "orders").mkdir()
    copyfile(paper, tmp_path / "orders" / "order.pdf")
    (tmp_path / "orders" / "order.json").write_text('{"order_number": "4500231", "total": "$2,513.10"}')
    (tmp_path / "pipeline.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "my_schemas.py").write_text(SCHEMA)

    for number, example in enumerate(blocks("python")):
        (tmp_path / f"part{number}.py").write_text(example)
        done = subprocess.run(
            [sys.executable, f"part{number}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if (tmp_path / "report.json").exists():
            copyfile(tmp_path / "report.json", tmp_path / "earlier.json")
        if number == 0:
            assert "f1: 1.000" in done.stdout
            assert "numeric: 1.000" in done.stdout


def test_the_example_of_yaml_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "pipeline.yaml").write_text(blocks("yaml")[0])
    (tmp_path / "my_schemas.py").write_text(SCHEMA)

    assert len(load_evaluation(tmp_path / "pipeline.yaml").evaluators) == 2


@pytest.mark.parametrize("role", ROLES)
def test_every_component_and_setting_is_described(role: Role) -> None:
    for name in short_names(role):
        component = component_class(role, name)
        model, _ = config_model(component)
        assert model is not None
        assert f"`{name}`" in PAGE
        assert [field for field in model.model_fields if f"`{field}" not in PAGE and field != "path"] == []


def test_every_setting_of_the_orchestrator_is_described() -> None:
    assert [name for name in EvaluationSettings.model_fields if f"`{name}`" not in PAGE] == []
