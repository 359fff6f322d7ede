"""`python -m bench`: every benchmark is listed, starts, and names the page that holds its results."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench.registry import BENCHMARKS, BY_NAME, GROUPS, RESULTS, Benchmark, newest_figures

ROOT = Path(__file__).parents[2]

NAMES = [benchmark.name for benchmark in BENCHMARKS]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def commands() -> set[str]:
    """The modules of bench that can be started, but the list of them and what runs in other environments."""
    found = {
        path.relative_to(ROOT).with_suffix("")
        for path in (ROOT / "bench").rglob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8") and "peers" not in path.parts
    }
    return {".".join(path.parts).removesuffix(".__main__") for path in found} - {"bench"}


def test_every_module_that_can_be_started_is_listed_once() -> None:
    assert sorted(benchmark.module for benchmark in BENCHMARKS) == sorted(commands())
    assert len(BY_NAME) == len(BENCHMARKS)


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=NAMES)
def test_a_benchmark_is_a_module_with_an_explanation_and_a_main_function(benchmark: Benchmark) -> None:
    name = f"{benchmark.module}.__main__" if benchmark.group == "other" else benchmark.module
    module = importlib.import_module(name)
    assert module.__doc__
    assert callable(module.main)
    assert benchmark.module.endswith(f".{benchmark.name}")


@pytest.mark.parametrize("benchmark", BENCHMARKS, ids=NAMES)
def test_results_tell_what_a_benchmark_measures_and_where_its_figures_stand(benchmark: Benchmark) -> None:
    figure = newest_figures()[benchmark.name]
    assert figure.measures
    assert bool(figure.newest) == bool(figure.measured)
    links: list[str] = re.findall(r"\]\(([^)]+)\)", figure.page)
    assert all((RESULTS.parent / link).is_file() for link in links)
    assert links or not figure.newest


def test_each_row_of_the_results_belongs_to_a_benchmark() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){5}$", RESULTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == NAMES


def test_each_page_of_results_is_named_by_a_row() -> None:
    pages = {path.name for path in (RESULTS.parent / "results").iterdir()}
    assert all(f"results/{page}" in RESULTS.read_text(encoding="utf-8") for page in pages)


def test_the_list_has_one_line_for_each_benchmark_with_its_newest_figure() -> None:
    lines = bench().stdout.splitlines()
    for benchmark in BENCHMARKS:
        line = next(line for line in lines if line.split()[:1] == [benchmark.name])
        assert newest_figures()[benchmark.name].newest in line
        assert benchmark.needs in line


def test_help_of_a_benchmark_names_the_command_that_starts_it() -> None:
    done = bench("run_records", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m bench run_records ")


def test_an_unknown_name_is_refused_with_the_way_to_the_list() -> None:
    done = bench("nothing")
    assert done.returncode == 1
    assert done.stderr == "there is no benchmark nothing; python -m bench lists them\n"


def test_a_benchmark_has_no_name_of_a_module_of_the_library() -> None:
    library = {path.stem for path in (ROOT / "src").rglob("*.py")} | {
        path.name for path in (ROOT / "src").rglob("*") if path.is_dir()
    }
    assert not library & {name for group in GROUPS for name in stems(ROOT / "bench" / group)}
