"""The examples in Python that README and the documentation show are accepted by strict type checkers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
"""Examples that begin with `import docmill` are whole; others are parts of something."""
EXAMPLES = [
    (page.name, number, block)
    for page in PAGES
    for number, block in enumerate(re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text()))
    if "import docmill" in block
]


MYPY = """[mypy]
strict = True
[mypy-anthropic.*,openai.*,google.*,pydantic_ai.*,sqlalchemy.*,opentelemetry.*]
follow_imports = skip
"""
"""What these packages export is in no type that an example sees, and to read them takes a minute."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for page, number, example in EXAMPLES:
        name = re.sub(r"\W", "_", page.removesuffix(".md"))
        (folder / f"example_{name}_{number}.py").write_text(example)
    (folder / "mypy.ini").write_text(MYPY)
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    return folder


def test_the_examples_are_more_than_a_few() -> None:
    assert any(page == "README.md" for page, _, _ in EXAMPLES)
    assert len(EXAMPLES) > 5


def test_mypy_accepts_the_examples(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "."],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_pyright_accepts_the_examples(folder: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("pyright"), "--pythonpath", sys.executable, "--project", folder],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
