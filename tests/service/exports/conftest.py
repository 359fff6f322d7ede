"""Folders for vaults with an embedded database of their own."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def make_folder() -> Iterator[Callable[[], Path]]:
    # Not pytest's folder: it is closed to the user under whom the server runs when tests run as root.
    folders: list[tempfile.TemporaryDirectory[str]] = []

    def make() -> Path:
        folders.append(tempfile.TemporaryDirectory(prefix="docmill-"))
        return Path(folders[-1].name)

    yield make
    for folder in folders:
        folder.cleanup()
