"""What the pages about pipelines tell people to type works, from the first example of a page to its last."""

import re
import subprocess
import sys
from pathlib import Path
from shutil import copyfile

import pytest

from docmill.demo import Sample
from docmill.runs.config.registry import METHODS, component_class, config_model, short_names

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    DOCS / "tutorial" / "own-pipeline.md",
    *(
        DOCS / "how-to" / f"{name}.md"
        for name in (
            "resume-a-run",
            "retry-what-failed",
            "tune-a-run",
            "export-once",
            "several-kinds",
            "write-a-component",
            "configure-a-pipeline",
        )
    ),
]
REFERENCE = (DOCS / "reference" / "pipelines.md").read_text()


@pytest.fixture
def folder(samples: list[Sample], tmp_path: Path) -> Path:
    """Has a folder `inbox` with a document that can be read, and one that cannot."""
    (paper,) = [sample.path for sample in samples if sample.name == "PO-4500231.pdf"]
    (tmp_path / "inbox").mkdir()
    copyfile(paper, tmp_path / "inbox" / "order.pdf")
    (tmp_path / "inbox" / "broken.pdf").write_bytes(b"%PDF-1.7 torn")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path, folder: Path) -> None:
    for content in re.findall(r"(?ms)^```yaml\n(.*?)^```$", page.read_text()):
        name = content.partition("\n")[0].removeprefix("# ")
        (folder / name).write_text(content)
    examples = re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text())
    assert examples
    (folder / "example.py").write_text("\n".join(examples))

    done = subprocess.run(
        [sys.executable, "example.py"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert (folder / ".docmill" / "runs.sqlite").exists() or "pipeline.run" not in "".join(examples)


@pytest.mark.parametrize(
    ("role", "name"), [(role, name) for role in METHODS for name in short_names(role) if ":" not in name]
)
def test_every_component_and_setting_is_described(role: str, name: str) -> None:
    component = component_class(role, name)  # pyright: ignore[reportArgumentType]
    if not component.__module__.startswith("docmill."):
        pytest.skip("a component of another test")
    model, _ = config_model(component)

    (row,) = re.findall(rf"(?m)^\| `{component.__name__}` \| {role} `{name}` \|(.*)\|$", REFERENCE)

    settings = [] if model is None else list(model.model_fields)
    assert [each for each in settings if f"`{each}`" not in row] == []
