"""What `Blobs` does, wherever it keeps files."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from docmill.errors import CorruptError, ServerError, TooLargeError
from docmill.service.storage.blobs import Blobs

CLOCKS_DIFFER = timedelta(seconds=5)
LARGE = bytes(range(256)) * 20_000


class BlobsContract(ABC):
    """A subclass brings the fixture `blobs`: empty."""

    @pytest.fixture
    @abstractmethod
    def blobs(self) -> Blobs: ...

    async def test_a_streamed_file_comes_back_with_its_hash(self, blobs: Blobs) -> None:
        stored = await blobs.put_stream("a/b", parts(LARGE), max_bytes=len(LARGE))

        assert stored.byte_size == len(LARGE)
        assert stored.content_hash == sha256(LARGE).hexdigest()
        assert await blobs.get("a/b") == LARGE
        assert await blobs.size("a/b") == len(LARGE)
        assert b"".join([chunk async for chunk in blobs.stream("a/b")]) == LARGE

    async def test_a_file_too_large_is_not_kept(self, blobs: Blobs) -> None:
        with pytest.raises(TooLargeError):
            await blobs.put_stream("a/b", parts(LARGE), max_bytes=len(LARGE) - 1)

        assert await blobs.find("a/b") is None
        assert await blobs.keys("a") == []

    async def test_a_file_that_breaks_off_is_not_kept(self, blobs: Blobs) -> None:
        async def breaking() -> AsyncIterator[bytes]:
            yield LARGE
            raise ServerError("gone")

        with pytest.raises(ServerError, match="gone"):
            await blobs.put_stream("a/b", breaking(), max_bytes=len(LARGE))

        assert await blobs.keys("a") == []

    async def test_the_first_of_two_writers_wins(self, blobs: Blobs) -> None:
        assert await blobs.put_once("a", b"first")
        assert not await blobs.put_once("a", b"second")

        assert await blobs.get("a") == b"first"

    async def test_a_file_is_copied_over_another(self, blobs: Blobs) -> None:
        await blobs.put_once("a", b"new")
        await blobs.put_once("b/c", b"old")

        await blobs.copy("a", "b/c")
        await blobs.delete("a")

        assert await blobs.get("b/c") == b"new"

    @pytest.mark.parametrize(("start", "stop"), [(0, 5), (3, 7), (3, None), (5, 100), (0, None)])
    async def test_a_part_of_a_file_is_streamed(self, blobs: Blobs, start: int, stop: int | None) -> None:
        await blobs.put_once("a", b"0123456789")

        part = b"".join([chunk async for chunk in blobs.stream("a", start=start, stop=stop)])

        assert part == b"0123456789"[start:stop]

    async def test_a_missing_file_is_corrupt_for_who_needs_it(self, blobs: Blobs) -> None:
        with pytest.raises(CorruptError):
            await blobs.get("missing")
        with pytest.raises(CorruptError):
            await blobs.size("missing")
        with pytest.raises(CorruptError):
            await anext(blobs.stream("missing"))
        assert await blobs.find("missing") is None

    async def test_a_listing_tells_size_and_time(self, blobs: Blobs) -> None:
        before = datetime.now(UTC) - CLOCKS_DIFFER
        await blobs.put_once("a/b", b"x")
        await blobs.put_once("a/c/d", b"xyz")
        await blobs.put_once("ab", b"not below a")

        entries = sorted([entry async for entry in blobs.entries("a")], key=lambda entry: entry.key)

        assert [(entry.key, entry.byte_size) for entry in entries] == [("a/b", 1), ("a/c/d", 3)]
        assert all(before <= entry.modified_at <= datetime.now(UTC) + CLOCKS_DIFFER for entry in entries)
        assert [entry async for entry in blobs.entries("nothing")] == []

    async def test_finished_files_are_not_unfinished(self, blobs: Blobs) -> None:
        await blobs.put_once("a", b"x")

        assert await blobs.drop_unfinished(datetime.now(UTC) + timedelta(days=1)) == 0
        assert await blobs.find("a") == b"x"

    async def test_deleting_twice_is_deleting_once(self, blobs: Blobs) -> None:
        await blobs.put_once("a", b"x")

        await blobs.delete("a")
        await blobs.delete("a")

        assert await blobs.find("a") is None

    @pytest.mark.parametrize(
        "key", ["", "/a", "a/", "../a", "a/../../b", "a//b", "a/./b", "a\0", "a\\b", "ä", "a b", "a\n"]
    )
    async def test_no_key_leads_out(self, blobs: Blobs, key: str) -> None:
        with pytest.raises(ValueError, match="cannot be a key"):
            await blobs.put_once(key, b"x")
        with pytest.raises(ValueError, match="cannot be a key"):
            await blobs.get(key)


async def parts(data: bytes) -> AsyncIterator[bytes]:
    yield b""
    for start in range(0, len(data), 1 << 20):
        yield data[start : start + (1 << 20)]
