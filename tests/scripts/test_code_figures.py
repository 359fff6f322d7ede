"""`scripts/code-figures` on a small tree of modules of which every count is known."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/code-figures"

MODULES = {
    "docmill/__init__.py": "",
    "docmill/schemas/__init__.py": "",
    "docmill/schemas/registry.py": 'REGISTRY = [Schema("invoice", Invoice), Schema("other", Other)]\n',
    "docmill/reading/__init__.py": "",
    "docmill/reading/convert.py": "from docmill.reading.pdf import pages\n\nPages = pages.Pages\n",
    "docmill/reading/pdf/__init__.py": "",
    "docmill/reading/pdf/pages.py": (
        "from docmill.reading.convert import convert\n\n\nclass Pages:\n"
        '    """What the pages are."""\n\n    def read(self):\n        return convert(self)\n'
    ),
    "docmill/understanding/__init__.py": "",
    "docmill/understanding/pages.py": (
        "from docmill.schemas import registry\n\n\nclass Pages:\n"
        '    """The pages."""\n\n\nclass _Row:\n    pass\n\n\n'
        "def rows():\n    return [_row(one) for one in _numbers()] + _numbers()\n\n\n"
        "def _row(one):\n    return _Row()\n\n\ndef _numbers():\n    return []\n\n\n"
        "def _unused():\n    return 1\n"
    ),
    "docmill/understanding/totals.py": 'RECEIPT = "invoice"\nSENTENCE = "an invoice"\n',
    "docmill/demo/__init__.py": "",
    "docmill/demo/papers.py": 'KIND = "invoice"\n',
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in MODULES.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def figures(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def counted(checkout: Path, name: str) -> str:
    lines = figures("--root", checkout).stdout.splitlines()
    return next(line for line in lines if line.split()[0] == name).removeprefix(name).lstrip().split("   ")[0]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("understanding", "27"),
        ("modules", "6"),
        ("modules-with-empty", "12"),
        ("functions", "5"),
        ("private", "3"),
        ("called-once", "1 (33%)"),
        ("unused-private", "1"),
        ("classes-twice", "1"),
        ("public-classes-twice", "1"),
        ("types", "2"),
        ("types-made-up", "1"),
        ("arrows", "1"),
        ("circles", "2"),
        ("questions", "1 of 2"),
        ("one", "2"),
        ("stems", "1 stems, 2 files"),
    ],
)
def test_a_figure_of_a_known_tree_has_its_known_count(checkout: Path, name: str, count: str) -> None:
    assert counted(checkout, name) == count


def test_every_place_is_listed_with_file_and_line(checkout: Path) -> None:
    done = figures("--root", checkout, "--list", "types")
    assert done.stdout.splitlines() == [
        "src/docmill/schemas/registry.py:1: 'invoice'",
        "src/docmill/understanding/totals.py:1: 'invoice'",
    ]


def test_both_sides_of_folders_that_import_each_other_are_listed(checkout: Path) -> None:
    done = figures("--root", checkout, "--list", "arrows")
    assert done.stdout.splitlines() == [
        "src/docmill/reading/convert.py:1: reading.* imports reading.pdf",
        "src/docmill/reading/pdf/pages.py:1: reading.pdf imports reading.*",
    ]


def test_an_older_checkout_is_counted_beside_this_one(checkout: Path, tmp_path: Path) -> None:
    older = tmp_path / "older"
    (older / "src/docmill/schemas").mkdir(parents=True)
    registry = MODULES["docmill/schemas/registry.py"]
    (older / "src/docmill/schemas/registry.py").write_text(registry, encoding="utf-8")
    line = next(
        line
        for line in figures("--root", checkout, "--compare", older).stdout.splitlines()
        if line.startswith("modules ")
    )
    assert line.split()[1:3] == ["1", "6"]


def test_types_are_not_counted_as_none_where_no_registry_is_found(checkout: Path) -> None:
    (checkout / "src/docmill/schemas/registry.py").write_text("REGISTRY = load()\n", encoding="utf-8")
    done = figures("--root", checkout)
    assert done.returncode == 1
    assert "no document type" in done.stderr
