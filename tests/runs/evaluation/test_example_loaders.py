"""Examples out of files."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.components import FirstWordExtractor, Letter, TextConverter

from docmill.errors import MisconfiguredError
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.components.local import LocalReader
from docmill.runs.context import context_of_one
from docmill.runs.evaluation.evaluating import Evaluation
from docmill.runs.evaluation.evaluators import FieldEvaluator
from docmill.runs.evaluation.example_loaders import (
    FolderExampleLoader,
    FolderExampleLoaderConfig,
    ManifestExampleLoader,
)
from docmill.runs.running import Pipeline
from docmill.runs.stores.memory import MemoryStore

CONTEXT = context_of_one()


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    folder = tmp_path / "letters"
    for name, text in {"a.txt": "anna", "b/b.txt": "bert", "other.txt": "x"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "a.json").write_text('{"sender": "anna"}')
    (folder / "b" / "b.json").write_text(
        '{"data": {"sender": "karl"}, "document_type": "letter", "group": "b"}'
    )
    return folder


def test_documents_of_a_folder_have_their_truth_beside_them(letters: Path) -> None:
    first, second = FolderExampleLoader(letters).load(CONTEXT)

    assert (first.name, first.expected, first.document_type) == ("a.txt", {"sender": "anna"}, None)
    assert (second.name, second.document_type, second.group) == ("b/b.txt", "letter", "b")
    assert Path(second.ref.key) == letters / "b" / "b.txt"
    assert second.ref.version


def test_the_truth_may_lie_elsewhere_in_any_form_of_docmill_eval(letters: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("file,sender\nother,xaver\n")

    (example,) = FolderExampleLoader(FolderExampleLoaderConfig(folder=letters, truth=truth)).load(CONTEXT)

    assert (example.name, example.expected) == ("other.txt", {"sender": "xaver"})


def test_one_document_may_be_given_with_its_truth(letters: Path) -> None:
    config = FolderExampleLoaderConfig(folder=letters / "a.txt", truth=letters, skips_missing=True)

    (example,) = FolderExampleLoader(config).load(CONTEXT)

    assert Path(example.ref.key) == letters / "a.txt"


def test_a_truth_without_a_document_is_an_error_unless_it_may_be_missing(letters: Path) -> None:
    (letters / "gone.json").write_text("{}")

    with pytest.raises(MisconfiguredError, match=r"1 of 3 truths in .* have no document in .*: gone"):
        FolderExampleLoader(letters).load(CONTEXT)
    config = FolderExampleLoaderConfig(folder=letters, skips_missing=True)
    assert len(FolderExampleLoader(config).load(CONTEXT)) == 2


def write_lines(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_manifest_names_documents_with_their_truth(letters: Path) -> None:
    row = {"path": "a.txt", "data": {"sender": "anna"}, "document_type": "letter", "group": 7, "shelf": "x"}
    path = write_lines(letters / "truth.jsonl", row)

    (example,) = ManifestExampleLoader(path).load(CONTEXT)

    assert (example.name, example.expected) == ("a.txt", {"sender": "anna"})
    assert (example.document_type, example.group) == ("letter", "7")
    assert example.ref.metadata == {"shelf": "x"}
    assert Path(example.ref.key) == letters / "a.txt"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"path": "a.txt"}, "a.txt' has no `data`"),
        ({"path": "a.txt", "data": {}, "document_type": 1}, "`document_type` that is no text"),
        ({"data": {}}, "line 1: it has no `path`"),
    ],
)
def test_a_bad_line_of_a_manifest_is_refused(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(MisconfiguredError, match=message):
        list(ManifestExampleLoader(write_lines(tmp_path / "truth.jsonl", row)).load(CONTEXT))


async def test_a_folder_is_evaluated(letters: Path, tmp_path: Path) -> None:
    pipeline = Pipeline(
        schema=Letter,
        reader=LocalReader(),
        converter=TextConverter(),
        extractor=FirstWordExtractor(),
        exporter=JsonLinesExporter(tmp_path / "unused.jsonl"),
    )

    report = await Evaluation(
        pipeline=pipeline,
        loader=FolderExampleLoader(letters),
        evaluators=[FieldEvaluator()],
        predictions=tmp_path / "predictions.jsonl",
    ).arun(store=MemoryStore())

    assert report.figures["recall"].value == 0.5
    assert [row.source for row in report.documents] == ["a.txt", "b/b.txt"]
    assert not (tmp_path / "unused.jsonl").exists()
