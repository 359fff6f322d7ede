"""What the pages of docs/ tell people to type works."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import pytest
import typer.main
from babel import Locale
from typer.core import TyperGroup

from docmill.cli.commands import app
from docmill.demo import Sample
from docmill.service.config.settings import Settings

DOCS = Path(__file__).parents[1] / "docs"
TUTORIAL = DOCS / "tutorial" / "first-documents.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page.read_text())


def commands() -> Iterator[tuple[str, str]]:
    """Each line of a page that starts docmill, beside the page's name."""
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        indented = re.findall(r"(?m)^    (docmill .*)$", page.read_text())
        lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
        for line in [*indented, *lines]:
            for part in re.split(r" & | > ", line.partition(" #")[0]):
                if match := re.search(r"(?:^|\s)(docmill .*)$", part.strip()):
                    yield page.name, match[1]


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words begin with. Raises KeyError if there is none."""
    group = typer.main.get_group(app)
    for word in words:
        command = group.commands[word]
        if not isinstance(command, TyperGroup):
            return {
                option
                for parameter in command.params
                for option in (*parameter.opts, *parameter.secondary_opts)
            }
        group = command
    raise KeyError(words)


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_a_command_of_a_page_exists_with_its_options(page: str, command: str) -> None:
    words = shlex.split(command)[1:]

    unknown = {word for word in words if word.startswith("--")} - options_of(words)

    assert unknown == set(), page


def settings_examples() -> Iterator[tuple[str, str]]:
    for page in DOCS.rglob("*.md"):
        for block in blocks(page, "toml"):
            if set(tomllib.loads(block)) <= set(Settings.model_fields):
                yield page.name, block


@pytest.mark.parametrize(("page", "example"), list(settings_examples()), ids=lambda value: value[:30])
def test_an_example_of_settings_is_accepted(
    page: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docmill.toml").write_text(example)

    loaded = Settings.load()

    assert loaded.model_dump() != Settings().model_dump(), page


def test_the_samples_are_described(samples: list[Sample]) -> None:
    page = (DOCS / "reference" / "samples.md").read_text()
    languages = re.findall(r"(?m)^\| languages \| (.*) \|$", page)

    assert f"docmill can write {len(samples)} made-up" in page
    names = {str(Locale.parse(sample.language).english_name) for sample in samples}
    assert {name for line in languages for name in line.split(", ")} == names


def test_the_tutorials_schema_reads_what_the_tutorial_says(samples: list[Sample], tmp_path: Path) -> None:
    (order,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    (schema,) = blocks(TUTORIAL, "toml")
    (tmp_path / "order.toml").write_text(schema)
    printed = next(block for block in blocks(TUTORIAL, "json") if '"data"' in block)

    done = subprocess.run(
        [Path(sys.executable).with_name("docmill"), "extract", order, "--schema", "order.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith(printed)
    assert json.loads(done.stdout)["verdict"]["passed"]


PYTHON = blocks(DOCS / "how-to" / "run-from-python.md", "python")


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_an_example_in_python_runs(number: int, samples: list[Sample], tmp_path: Path) -> None:
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    (tmp_path / "invoices").mkdir()
    for name in ("invoice.pdf", "order.pdf", "statement.pdf", "invoices/first.pdf"):
        copyfile(paper, tmp_path / name)
    example = PYTHON[number]
    (tmp_path / "example.py").write_text(
        example if "import docmill" in example else f"import docmill\n{example}"
    )

    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
