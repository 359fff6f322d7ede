"""What commands write: whole, or not at all."""

from pathlib import Path

import pytest

from docmill.cli.writing import put
from docmill.errors import MisconfiguredError


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
