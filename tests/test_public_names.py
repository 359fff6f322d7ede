import subprocess
import sys
from pathlib import Path

import pytest

import docmill


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(docmill, name) is not None for name in docmill.__all__)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = docmill.nonsense


def test_importing_docmill_loads_none_of_its_heavy_dependencies() -> None:
    code = "import docmill, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"numpy", "pydantic", "PIL", "cv2", "rapidocr", "pypdfium2", "psycopg", "fastapi"} & set(
        loaded
    )


def test_no_library_of_language_models_is_loaded_where_none_is_asked() -> None:
    code = "import sys, docmill.wiring, docmill.understanding.router\nprint('pydantic_ai' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_the_command_line_starts_without_the_service() -> None:
    code = (
        "import sys, docmill.cli\nprint([name for name in sys.modules if name.startswith('docmill.service')])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_command_whose_libraries_are_missing_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['psycopg'] = None; from docmill.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "status", "--data-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "run: pip install 'docmill[all]'" in done.stderr
