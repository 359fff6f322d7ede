"""Evaluations out of YAML files."""

from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from tests.runs.components import Letter

from docmill.errors import MisconfiguredError
from docmill.runs.config.evaluation_loading import load_evaluation
from docmill.runs.config.loading import configuration_schema, dump_pipeline, load_pipeline
from docmill.runs.context import Context
from docmill.runs.evaluation.evaluators import (
    ExactEvaluator,
    FieldEvaluator,
    FunctionEvaluator,
    NumericEvaluator,
)
from docmill.runs.evaluation.example_loaders import FolderExampleLoader

HERE = "tests.runs.evaluation.test_evaluation_loading"
PIPELINE = {
    "reader": "kind: local",
    "converter": "kind: tests.runs.components:TextConverter",
    "extractor": "kind: tests.runs.components:FirstWordExtractor",
    "extraction_exporter": "kind: json-lines\npath: unused.jsonl",
    "extraction_orchestrator": "schema: tests.runs.components:Letter\nstore: 'memory:'",
}
EVALUATION = {
    "test_data_loader": "kind: folder\nfolder: letters",
    "evaluator": f"""\
- kind: f1
- {{kind: numeric, relative: 0.01, name: near}}
- kind: function
  function: {HERE}:judge
  name: ${{FIGURE:-judge}}
""",
    "evaluation_exporter": "- {kind: json, path: report.json}\n- {kind: html, path: report.html}",
    "evaluation_orchestrator": "predictions: read.jsonl\ntolerance: 0.1",
}
KEYS = {"extraction_exporter": "exporter"}


def judge(expected: Letter, extracted: Letter, context: Context[Any]) -> float:
    del context
    return float(expected == extracted)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file for each component, and with two letters beside what is true of them."""
    monkeypatch.chdir(tmp_path)
    for name, content in {**PIPELINE, **EVALUATION}.items():
        (tmp_path / "config" / f"{name}.yaml").parent.mkdir(exist_ok=True)
        (tmp_path / "config" / f"{name}.yaml").write_text(content)
    (tmp_path / "letters").mkdir()
    for name in ("anna", "bert"):
        (tmp_path / "letters" / f"{name}.txt").write_text(name)
        (tmp_path / "letters" / f"{name}.json").write_text('{"sender": "anna"}')
    return tmp_path / "config"


def as_one_file(folder: Path, **changes: str) -> Path:
    """The same configuration in one file."""
    parts = {**PIPELINE, **EVALUATION, **changes}
    lines = parts.pop("extraction_orchestrator").splitlines()
    for name, content in parts.items():
        lines += [f"{KEYS.get(name, name)}:", *(f"  {line}" for line in content.splitlines())]
    path = folder / "whole.yml"
    path.unlink(missing_ok=True)
    path = folder.parent / "whole.yml"
    path.write_text("\n".join(lines))
    return path


def test_a_folder_of_files_is_an_evaluation_that_runs(folder: Path) -> None:
    evaluation = load_evaluation(folder, environment={"FIGURE": "same"})

    report = evaluation.run()

    first, second, third = evaluation.evaluators
    assert isinstance(first, FieldEvaluator)
    assert isinstance(second, NumericEvaluator)
    assert isinstance(third, FunctionEvaluator)
    assert isinstance(evaluation.loader, FolderExampleLoader)
    assert list(report.figures) == ["f1", "precision", "recall", "documents_right", "near", "same"]
    assert report.figures["same"].value == 0.5
    assert evaluation.tolerance == 0.1
    for name in ("report.json", "report.html", "read.jsonl"):
        assert (folder.parent / name).is_file()
    assert not (folder.parent / "unused.jsonl").exists()


def test_the_keys_of_one_file_are_the_names_of_the_files(folder: Path) -> None:
    one, several = load_evaluation(as_one_file(folder)), load_evaluation(folder)

    assert one.pipeline.fingerprint == several.pipeline.fingerprint
    assert [type(evaluator) for evaluator in one.evaluators] == [
        type(evaluator) for evaluator in several.evaluators
    ]


def test_one_evaluator_needs_no_list_and_exporters_are_not_needed(folder: Path) -> None:
    (folder / "evaluation_exporter.yaml").unlink()
    (folder / "evaluation_orchestrator.yaml").unlink()
    (folder / "evaluator.yaml").write_text("kind: exact\nfields: [sender]")

    evaluation = load_evaluation(folder)

    (exact,) = evaluation.evaluators
    assert isinstance(exact, ExactEvaluator)
    assert exact.config.fields == ("sender",)
    assert evaluation.exporters == []


def test_a_pipeline_with_an_evaluation_runs_without_what_only_that_needs(folder: Path) -> None:
    (folder / "evaluator.yaml").write_text("{kind: function, function: 'no.such:thing', name: '${UNSET}'}")

    report = load_pipeline(folder, environment={}).run([folder.parent / "letters" / "anna.txt"])

    assert report.completed == 1
    with pytest.raises(MisconfiguredError, match=r"evaluator\.yaml:1:.*'UNSET' is not set"):
        load_evaluation(folder, environment={})


def test_a_dump_has_the_evaluation_too(folder: Path) -> None:
    evaluation = load_evaluation(folder)
    path = folder.parent / "dump.yaml"

    path.write_text(dump_pipeline(evaluation.pipeline))

    again = load_evaluation(path)
    assert again.pipeline.configuration == evaluation.pipeline.configuration
    assert again.tolerance == 0.1
    assert "${FIGURE:-judge}" in path.read_text()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "evaluator",
            "- kind: f1\n- kind: numerc",
            r"evaluator\.yaml:2:3: .*no evaluator 'numerc'.*'numeric'",
        ),
        (
            "evaluator",
            "- kind: f1\n  teir: S0",
            r"evaluator\.yaml:2:3: unknown key 'teir'; do you mean 'tier'",
        ),
        ("evaluator", "- kind: f1\n  tier: S9", r"evaluator\.yaml:2:3: evaluator\.0\.tier: Input should be"),
        ("evaluator", "kind: local", r"evaluator\.yaml:1:1: there is no evaluator 'local'"),
        ("evaluator", "- 7", r"evaluator\.yaml:1:3: evaluator\.0 must have keys and values"),
        ("evaluator", "kind: tests.runs.components:Letter", r"yaml:1:1: .* method 'evaluate'"),
        ("evaluator", "kind: function\nfunction: no.such:x", r"yaml:2:1: evaluator\.function: .*no\.such"),
        ("test_data_loader", "kind: foldr", r"test_data_loader\.yaml:1:1: .*do you mean 'folder'"),
        ("test_data_loader", "kind: folder", r"test_data_loader\.yaml:1:1: test_data_loader\.folder: Field"),
        ("evaluation_exporter", "kind: jsn", r"evaluation_exporter\.yaml:1:1: .*do you mean 'json'"),
        ("evaluation_orchestrator", "tolerence: 1", r"yaml:1:1: unknown key 'tolerence'; do you mean 'tol"),
        ("evaluation_orchestrator", "tolerance: -1", r"yaml:1:1: evaluation_orchestrator\.tolerance: "),
        ("evaluation_orchestrator", "baseline", r"yaml:1:1: evaluation_orchestrator must have keys"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(folder: Path, name: str, content: str, message: str) -> None:
    (folder / f"{name}.yaml").write_text(content)

    with pytest.raises(MisconfiguredError, match=message):
        load_evaluation(folder)


@pytest.mark.parametrize("name", ["evaluator", "test_data_loader"])
def test_what_an_evaluation_needs_is_told(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").unlink()

    with pytest.raises(MisconfiguredError, match=f"the key '{name}' is missing; an evaluation needs it"):
        load_evaluation(folder)


def test_a_misspelt_file_is_told_with_the_nearest(folder: Path) -> None:
    (folder / "evaluater.yaml").write_text("kind: f1")

    with pytest.raises(MisconfiguredError, match=r"evaluater\.yaml: unknown file; do you mean 'evaluator'"):
        load_evaluation(folder)


def test_the_schema_for_editors_knows_evaluations(folder: Path) -> None:
    validator = Draft202012Validator(configuration_schema())
    content: Any = load_evaluation(as_one_file(folder)).pipeline.configuration

    assert validator.is_valid(content)
    assert validator.is_valid({**content, "evaluator": {"kind": "exact"}})
    assert not validator.is_valid({**content, "evaluator": [{"kind": "exact", "tolerance": 1}]})
    assert not validator.is_valid({**content, "evaluation_orchestrator": {"tolerence": 1}})
