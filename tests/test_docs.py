"""The documentation is complete and its links lead somewhere: what exists is described."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import pytest
import typer.main
from babel import Locale
from bench.registry import BY_NAME
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel
from typer.core import TyperGroup

import docmill
from docmill.cli.commands import app
from docmill.errors import DocmillError
from docmill.model.result import Schema
from docmill.schemas.document_types import DEFINITIONS
from docmill.schemas.registry import REGISTRY
from docmill.service import probes
from docmill.service.observe import metrics
from docmill.service.observe.metrics import Metrics
from docmill.understanding import gate, offline
from docmill.understanding.llm import prompts
from docmill.understanding.vocabulary import CODES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"


def _leaves(error: type[DocmillError] = DocmillError) -> Iterator[type[DocmillError]]:
    children = error.__subclasses__()
    if not children:
        yield error
    for child in children:
        yield from _leaves(child)


@pytest.mark.parametrize("code", [leaf.code for leaf in _leaves() if leaf.__module__ == "docmill.errors"])
def test_every_error_code_is_described(code: str) -> None:
    assert f"| `{code}` |" in (REFERENCE / "errors.md").read_text()


def _commands(group: TyperGroup, above: str = "") -> Iterator[tuple[str, list[str]]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{above}{name} ")
            continue
        options = [
            option for parameter in command.params for option in parameter.opts if option.startswith("--")
        ]
        yield above + name, options


@pytest.mark.parametrize(("name", "options"), list(_commands(typer.main.get_group(app))), ids=str)
def test_every_command_and_option_is_described(name: str, options: list[str]) -> None:
    text = (REFERENCE / "cli.md").read_text()
    section = text.partition(f"## docmill {name}")[2].partition("\n## ")[0]

    assert section, f"docs/reference/cli.md has no section for docmill {name}"
    assert [option for option in options if f"`{option}" not in section] == []


def _metric_names() -> list[str]:
    registry = text_string_to_metric_families(Metrics().exposition().decode())
    source = Path(probes.__file__).read_text() + Path(metrics.__file__).read_text()
    shown = {family.name for family in registry if family.name.startswith("docmill_")}
    asked = set(re.findall(r'GaugeMetricFamily\(\s*"(\w+)"', source))
    return sorted({name for name in shown | asked if not name.endswith("_created")})


@pytest.mark.parametrize("name", _metric_names())
def test_every_metric_is_described(name: str) -> None:
    text = (REFERENCE / "metrics.md").read_text()

    assert f"`{name}`" in text or f"`{name}_total`" in text


def test_the_layers_are_those_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = [
        [part.strip().removeprefix("docmill.") for part in layer.split("|") if "(" not in part]
        for layer in contracts[0]["layers"]
    ]

    (shown,) = re.findall(r"\n((?:    .*→.*\n)+(?:    .*\n)?)", (ROOT / "CONTRIBUTING.md").read_text())

    assert [[part.strip() for part in layer.split(",")] for layer in shown.split("→")] == checked


def test_the_languages_are_counted_right() -> None:
    count = ("seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen")[len(CODES) - 7]

    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"labels, columns and sums, in {count} languages" in text


def test_the_languages_are_listed() -> None:
    names = [str(Locale.parse(code).english_name) for code in CODES]

    text = " ".join((REFERENCE / "fields.md").read_text().split())
    assert f"on one document also mixed: {', '.join(names)}." in text


def _paths(fields: type[BaseModel], above: str = "") -> Iterator[str]:
    """The path of each value of a schema; `lines[].net_amount` for those of a list."""
    for name, field in fields.model_fields.items():
        inner = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        nested = next((kind for kind in inner if issubclass(kind, BaseModel)), None)
        listed = "[]" if get_origin(field.annotation) is tuple else ""
        if nested is None:
            yield above + name
        else:
            yield from _paths(nested, f"{above}{name}{listed}.")


@pytest.mark.parametrize("schema", REGISTRY.values(), ids=REGISTRY.keys())
def test_every_document_type_and_field_is_described(schema: Schema) -> None:
    text = (REFERENCE / "fields.md").read_text()

    assert [path for path in _paths(schema.fields) if f"`{path}`" not in text] == []
    (row,) = re.findall(rf"(?m)^\| `{schema.name}` \|[^|]*\|([^|]*)\|$", text)
    assert re.findall(r"`(\S+)`", row) == list(schema.critical)


def test_every_public_name_is_described() -> None:
    text = (REFERENCE / "python.md").read_text()

    assert [name for name in docmill.__all__ if not re.search(rf"`{name}\b", text)] == []


def test_every_log_line_that_is_described_is_written() -> None:
    table = (REFERENCE / "metrics.md").read_text().partition("| event |")[2].partition("\n\n")[0]
    described = [name for row in table.splitlines()[2:] for name in re.findall(r"`(.*?)`", row.split("|")[1])]
    source = "".join(file.read_text() for file in (ROOT / "src" / "docmill" / "service").rglob("*.py"))

    assert described
    assert [name for name in described if f'"{name}"' not in source] == []


def test_every_check_of_the_gate_is_described() -> None:
    files = [
        *Path(str(gate.__file__)).parent.glob("*.py"),
        *(Path(str(module.__file__)) for module in (prompts, offline)),
    ]
    source = "".join(file.read_text() for file in files)
    checks = set(re.findall(r'(?:check=|CHECK = )"(\w+)"', source))
    checks |= {check.name for definition in DEFINITIONS.values() for check in definition.checks}

    described = set(re.findall(r"`(\w+)`", (REFERENCE / "checks.md").read_text()))
    assert len(checks) > 10
    assert checks - described == set()


def test_what_trains_without_the_extra_does_so() -> None:
    needing = ("lightgbm", "scipy", "docmill.training.scorers")
    code = (
        "import sys\nfrom docmill.understanding.corrections import apply, evaluate, fit\n"
        f"print([name for name in {needing} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_tests_that_close_holes_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", (DOCS / "explanation" / "durability.md").read_text()))
    written = {
        name
        for file in Path(__file__).parent.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text())
    }

    assert named
    assert named - written == set()


def _pages() -> list[Path]:
    """The Markdown files in git, without those that are data of a test, and links to others."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", ":!tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    pages = [ROOT / name for name in listed.stdout.split()]
    return [page for page in pages if page.exists() and not page.is_symlink()]


def _without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"(?ms)^ *```.*?^ *```", "", text))


def _anchors(page: Path) -> set[str]:
    """The anchors of the page's headings, as GitHub and MkDocs make them."""
    headings = re.findall(r"(?m)^#+ +(.*)$", re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text()))
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings}


def _dead_links(page: Path) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", _without_code(page.read_text()))
    dead: list[str] = []
    for link in links:
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            dead.append(link)
    return dead


def test_every_link_between_pages_leads_somewhere() -> None:
    dead = {page.relative_to(ROOT).as_posix(): _dead_links(page) for page in _pages()}

    assert {page: links for page, links in dead.items() if links} == {}


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[a](#a-title) [b](#no-title) [c](gone.md) [d](page.md) [e](https://example.org/)\n"
    )

    assert _dead_links(page) == ["#no-title", "gone.md"]


def test_the_index_leads_to_every_page() -> None:
    indexes = {
        DOCS / "index.md": [page for page in DOCS.rglob("*.md") if page.parent.name != "decisions"],
        DOCS / "decisions" / "README.md": list((DOCS / "decisions").glob("0*.md")),
    }

    for index, pages in indexes.items():
        links = re.findall(r"\]\(([^)\s#]+)", index.read_text())
        linked = {(index.parent / link).resolve() for link in links}

        assert [page.name for page in pages if page not in linked | {index}] == []


def test_no_two_decisions_have_one_number() -> None:
    numbers = [page.name[:3] for page in (DOCS / "decisions").glob("0*.md")]

    assert sorted(numbers) == sorted(set(numbers))


def test_no_line_of_a_page_is_longer_than_140_characters() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    long = {
        f"{page.relative_to(ROOT)}:{number}"
        for page in pages
        for number, line in enumerate(page.read_text().splitlines(), 1)
        if len(line) > 140
    }

    assert long == set()


def test_every_file_that_a_page_names_exists() -> None:
    named = {
        (page.name, path)
        for page in DOCS.rglob("*.md")
        for path in re.findall(r"`((?:bench|docs|scripts|src|tests)/[\w./-]+)`", page.read_text())
    }

    assert named
    assert {(page, path) for page, path in named if not (ROOT / path).exists()} == set()


def test_every_module_that_a_page_names_exists() -> None:
    modules = {
        f"/{path.relative_to(ROOT)}" for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")
    }
    named = {
        (page.name, path)
        for page in DOCS.rglob("*.md")
        for path in re.findall(r"`(\w+(?:/\w+)*\.py)`", page.read_text())
        if "/" in path or page.parent.name == "decisions"  # readers' own files have such names elsewhere
    }

    assert named
    assert {
        (page, path) for page, path in named if not any(module.endswith(f"/{path}") for module in modules)
    } == set()


def test_every_benchmark_that_a_page_names_exists() -> None:
    named = {
        (page.name, name)
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"python -m bench (\w+)", page.read_text())
    }

    assert {(page, name) for page, name in named if name not in BY_NAME} == set()
