"""Documents in buckets: against an emulator of S3, and in folders with the same code."""

from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
import pytest
from obstore.store import S3Store

from docmill.errors import CorruptError, MisconfiguredError, ServerError, TooLargeError
from docmill.ports import Ref
from docmill.runs.components.blobs import (
    BlobLister,
    BlobListerConfig,
    BlobReader,
    BlobReaderConfig,
)
from docmill.runs.context import context_of_one
from docmill.runs.document_bytes import DocumentBytes
from support.aws_emulators import Emulator

CONTEXT = context_of_one()
LARGE = bytes(range(256)) * 10_000


async def listed(lister: BlobLister) -> list[Ref]:
    return [ref async for ref in await lister.list(CONTEXT)]


def options_of(emulator: Emulator) -> dict[str, Any]:
    options = {"endpoint": emulator.endpoint, "region": "us-east-1"}
    return {"options": options, "allow_http": True}


@pytest.fixture
def bucket(moto: Emulator, aws_credentials: None) -> str:
    name = f"test-{uuid4()}"
    connection = HTTPConnection("127.0.0.1", moto.port, timeout=30)
    connection.request("PUT", f"/{name}")
    assert connection.getresponse().status == 200
    connection.close()
    store = S3Store(name, endpoint=moto.endpoint, region="us-east-1", client_options={"allow_http": True})
    for number in range(7):
        obstore.put(store, f"in/{number}.pdf", b"x" * number)
    obstore.put(store, "in/deep/ä %.pdf", LARGE)
    obstore.put(store, "in/.DS_Store", b"x")
    obstore.put(store, "other/a.pdf", b"x")
    return name


async def test_files_below_a_prefix_are_listed_and_read(moto: Emulator, bucket: str) -> None:
    config = BlobListerConfig.model_validate({"url": f"s3://{bucket}/in/", **options_of(moto)})
    refs = await listed(BlobLister(config))

    assert {ref.name for ref in refs} == {*(f"{number}.pdf" for number in range(7)), "ä %.pdf"}
    assert len({ref.version for ref in refs}) == len(refs)
    reader = BlobReader(BlobReaderConfig.model_validate(options_of(moto)))
    (large,) = [ref for ref in refs if ref.name == "ä %.pdf"]
    content = await reader.read(large, CONTEXT)
    assert isinstance(content, DocumentBytes)
    assert content.read() == LARGE
    assert content.path is not None
    content.remove()
    assert not content.path.exists()
    (small,) = [ref for ref in refs if ref.name == "3.pdf"]
    assert (await reader.read(small, CONTEXT)).content == b"xxx"


async def test_what_cannot_be_read_is_an_error(moto: Emulator, bucket: str) -> None:
    reader = BlobReader(BlobReaderConfig.model_validate({**options_of(moto), "max_bytes": 1000}))
    with pytest.raises(CorruptError, match="is gone"):
        await reader.read(Ref(f"s3://{bucket}/in/none.pdf", "none.pdf"), CONTEXT)
    with pytest.raises(TooLargeError):
        await reader.read(Ref(f"s3://{bucket}/in/deep/%C3%A4%20%25.pdf", "x"), CONTEXT)
    with pytest.raises((CorruptError, ServerError)):
        await listed(
            BlobLister(BlobListerConfig.model_validate({"url": "s3://no-such-bucket", **options_of(moto)}))
        )


async def test_a_folder_is_listed_and_read_with_the_same_code(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "c#?.pdf").write_bytes(LARGE)
    (ref,) = await listed(BlobLister(f"file://{tmp_path}"))
    content = await BlobReader().read(ref, CONTEXT)
    assert (ref.name, content.read()) == ("c#?.pdf", LARGE)
    content.remove()


@pytest.mark.parametrize("url", ["bucket/prefix", "s3:///x", "https://example.com/x", ""])
async def test_an_address_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(MisconfiguredError, match="no address of a bucket"):
        await BlobLister(url).list(CONTEXT)


@pytest.mark.parametrize("url", ["s3://bucket/x", "gs://bucket/x", "az://container/x"])
async def test_an_unknown_option_is_refused(url: str) -> None:
    with pytest.raises(MisconfiguredError, match="cannot be opened"):
        await BlobLister(BlobListerConfig(url=url, options={"nonsense": "x"})).list(CONTEXT)
