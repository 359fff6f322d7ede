"""Office files made on the spot."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeZip = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def make_zip(tmp_path: Path) -> MakeZip:
    """Archives with these members."""

    def make(members: Mapping[str, str]) -> Path:
        path = tmp_path / "made.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path

    return make
