import asyncio
import io
import shutil
import subprocess
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from docmill.service.exports.zip_stream import ZipStream

NOW = datetime(2026, 11, 3, 12, 30, 6, tzinfo=UTC)


async def in_chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def added(archive: ZipStream, name: str, *chunks: bytes, is_compressed: bool = False) -> bytes:
    size = sum(map(len, chunks))
    entry = archive.add(
        name, in_chunks(*chunks), byte_size=size, modified_at=NOW, is_compressed=is_compressed
    )
    return b"".join([ready async for ready in entry])


async def test_an_archive_holds_what_was_put_in(tmp_path: Path) -> None:
    archive = ZipStream()
    data = await added(archive, "originals/Müller.pdf", b"one", b"two")
    data += await added(archive, "originals/letter.txt", b"text " * 1000, is_compressed=True)
    data += archive.add_bytes("records/a.json", b"{}", modified_at=NOW)
    data += archive.end()

    with zipfile.ZipFile(io.BytesIO(data)) as unpacked:
        assert unpacked.testzip() is None
        assert unpacked.read("originals/Müller.pdf") == b"onetwo"
        assert unpacked.read("originals/letter.txt") == b"text " * 1000
        assert unpacked.getinfo("records/a.json").date_time == (2026, 11, 3, 12, 30, 6)
    if unzip := shutil.which("unzip"):
        (tmp_path / "a.zip").write_bytes(data)
        command = [unzip, "-tq", tmp_path / "a.zip"]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)


async def test_bytes_come_while_a_file_is_added() -> None:
    archive = ZipStream()
    entry = archive.add("a", in_chunks(b"x" * 1000, b"y" * 1000), byte_size=2000, modified_at=NOW)

    first = await anext(entry)

    assert b"x" * 1000 in first
    assert b"y" not in first


async def test_an_archive_may_have_more_than_65535_files() -> None:
    archive, count = ZipStream(), 66_000
    parts = [archive.add_bytes(f"{number}", b"", modified_at=NOW) for number in range(count)]
    parts.append(archive.end())

    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as unpacked:
        assert len(unpacked.infolist()) == count


async def test_large_files_and_places_are_written_as_zip64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    archive = ZipStream()
    data = await added(archive, "large", b"x" * 1500, b"y" * 1500)
    data += await added(archive, "behind", b"z")
    data += archive.end()
    monkeypatch.undo()

    with zipfile.ZipFile(io.BytesIO(data)) as unpacked:
        assert unpacked.testzip() is None
        assert unpacked.getinfo("large").extract_version == 45
        assert unpacked.getinfo("behind").header_offset > 1000
        assert unpacked.read("large") == b"x" * 1500 + b"y" * 1500
