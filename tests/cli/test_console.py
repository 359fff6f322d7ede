"""What commands write: whole, or not at all."""

import logging
import os
import resource
import subprocess
from pathlib import Path

import pytest

from docmill.cli.console import PlacesFormatter, put
from docmill.errors import InternalError, MisconfiguredError
from docmill.workers.pool import Pool
from support.docmill_processes import DOCMILL


def test_a_file_is_written_with_its_folders_and_over_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "model.json"

    put(path, "old")
    put(path, "new")

    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(MisconfiguredError, match="cannot write"):
        put(tmp_path / "file" / "model.json", "x")


def test_a_full_disk_keeps_the_old_file_and_no_half_of_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    put(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(MisconfiguredError, match="File too large"):
            put(path, "x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_locale_in_which_names_are_not_utf_8_is_refused_in_a_sentence() -> None:
    variables = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}

    done = subprocess.run(
        [DOCMILL, "--version"], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert "set LC_ALL=C.UTF-8, or PYTHONUTF8=1" in done.stderr
    assert "Traceback" not in done.stderr


async def test_the_log_says_where_a_reading_process_failed_and_does_not_quote(
    pool: Pool, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InternalError, match="the log has the details"):
        await pool.run(int, "the text of a document", limit_s=30)

    (line,) = [PlacesFormatter().format(record) for record in caplog.records]

    words, error, *places = line.splitlines()
    assert (words, error) == ("a task failed", "ValueError")
    assert any("child.py" in place for place in places)
    assert "the text of a document" not in line


def test_the_log_shows_control_characters_of_a_reading_process_escaped() -> None:
    record = logging.makeLogRecord({"msg": "failed", "error": "E", "traceback": "one\n\x1b[2Jtwo"})

    assert PlacesFormatter().format(record) == "failed\nE\none\n\\x1b[2Jtwo"
