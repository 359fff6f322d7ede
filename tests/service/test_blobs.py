from pathlib import Path

import pytest
from obstore.store import LocalStore

from contracts.blobs import BlobsContract
from docmill.errors import ServerError
from docmill.service.blobs import Blobs


class TestBlobsInAFolder(BlobsContract):
    @pytest.fixture
    def blobs(self, tmp_path: Path) -> Blobs:
        return Blobs.in_folder(tmp_path / "blobs")


class TestBlobsInMemory(BlobsContract):
    @pytest.fixture
    def blobs(self) -> Blobs:
        return Blobs.in_memory()


async def test_a_store_that_fails_is_an_error_to_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "in-the-way").write_bytes(b"not a folder")
    blobs = Blobs(LocalStore(prefix=tmp_path))

    with pytest.raises(ServerError):
        await blobs.put_once("in-the-way/a", b"x")
