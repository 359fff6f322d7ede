"""The wheel works in an environment that has what it declares, and nothing else."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
BILL = """Acme Trading Ltd
12 High Street, Leeds LS1 4AB

Invoice number: INV-2041
Invoice date: 12 March 2026

Total                  GBP 119.00
"""
READ_ONE = """
import sys, docmill
result = docmill.process_file("bill.txt")
assert "docmill" in docmill.__file__ and "src" not in docmill.__file__.split("/"), docmill.__file__
print(result.document_type, result.get("gross_total"))
"""


def extras() -> list[str]:
    return sorted(distribution("docmill").metadata.get_all("Provides-Extra") or [])


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--wheel-dir",
            folder,
            ROOT,
        ],
        check=True,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def needed_by(name: str, extra: str | None, seen: set[tuple[str, str | None]]) -> Iterator[str]:
    """The distributions that an extra of a distribution needs, and those that these need."""
    if (name, extra) in seen:
        return
    seen.add((name, extra))
    try:
        requirements = distribution(name).requires or []
    except PackageNotFoundError:  # for another system or Python, or replaced in the lock
        return
    if name != "docmill":
        yield name
    for line in requirements:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra or ""}):
            for wanted in (None, *requirement.extras):
                yield from needed_by(requirement.name, wanted, seen)


def names_of(extra: str | None) -> set[str]:
    names = set(needed_by("docmill", extra, set()))
    # The lock has another build of the same modules.
    return names | ({"opencv-python-headless"} if "rapidocr" in names else set())


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it needs at least, taken from what is installed here."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    scheme = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    with zipfile.ZipFile(wheel) as content:
        content.extractall(packages)
    install(names_of(None), packages)
    subprocess.run([folder / "bin" / "python", "-m", "compileall", "-q", packages / "docmill"], check=True)
    return folder


def install(names: set[str], packages: Path) -> None:
    for name in names:
        installed = distribution(name)
        for file in installed.files or []:
            top = file.parts[0]
            source = Path(str(installed.locate_file(top)))
            if top != ".." and source.exists() and not (packages / top).exists():
                take(source, packages / top)


def take(source: Path, target: Path) -> None:
    """A hard link to each file, or a copy: the sandbox of child processes lets no symbolic link lead out."""

    def link(file: str, copy: str) -> None:
        try:
            os.link(file, copy)
        except OSError:
            shutil.copy2(file, copy)

    if source.is_dir():
        shutil.copytree(source, target, copy_function=link)
    else:
        link(str(source), str(target))


@pytest.mark.parametrize("extra", [None, *extras()], ids=str)
def test_a_document_is_read_with_one_extra_alone(
    environment: Path, tmp_path: Path, extra: str | None
) -> None:
    (tmp_path / "bill.txt").write_text(BILL)
    (tmp_path / "packages").mkdir()
    if extra is not None:
        install(names_of(extra) - names_of(None), tmp_path / "packages")
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DOCMILL"))}

    done = subprocess.run(
        [environment / "bin" / "python", "-c", READ_ONE],
        cwd=tmp_path,
        env={**bare, "PYTHONPATH": str(tmp_path / "packages")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["invoice", "119.00"]


def test_what_no_extra_names_cannot_be_imported(environment: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "python", "-c", "import psycopg"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )

    assert b"No module named 'psycopg'" in done.stderr
