from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import MemoryStore

from docmill.errors import ServerError
from docmill.ports import Ref
from docmill.resilience.breaker import Breaker
from docmill.service.processing.process import BlobJournal, BlobReader
from docmill.service.storage.blobs import Blobs


class Away(Blobs):
    """A store that fails, and counts who asks."""

    asked = 0

    async def stream(self, key: str, *, start: int = 0, stop: int | None = None) -> AsyncGenerator[bytes]:
        del start, stop
        self.asked += 1
        raise ServerError(f"no {key!r} today")
        yield b""

    async def put_once(self, key: str, data: bytes) -> bool:
        del data
        self.asked += 1
        raise ServerError(f"no {key!r} today")


@pytest.fixture
def store() -> Away:
    return Away(MemoryStore())


async def test_a_store_that_is_away_is_left_alone_and_costs_no_attempt(store: Away, tmp_path: Path) -> None:
    reader = BlobReader(store, tmp_path, Breaker("files", threshold=2))

    errors = [await _error_of(reader, tmp_path) for _ in range(4)]

    assert [error.attempted for error in errors] == [True, True, False, False]
    assert store.asked == 2


async def test_a_store_that_takes_nothing_is_left_alone(store: Away) -> None:
    journal = BlobJournal(store, uuid4(), Breaker("files", threshold=1))

    with pytest.raises(ServerError) as first:
        await journal.put("transcription", b"x")
    with pytest.raises(ServerError) as second:
        await journal.put("transcription", b"x")

    assert (first.value.attempted, second.value.attempted, store.asked) == (True, False, 1)


async def _error_of(reader: BlobReader, folder: Path) -> ServerError:
    with pytest.raises(ServerError) as caught:
        await reader.read(Ref(f"documents/{'0' * 64}", folder.name))
    return caught.value


async def test_a_journal_lists_and_forgets_the_steps_of_its_own_ingestion() -> None:
    store = Blobs(MemoryStore())
    journal, other = (BlobJournal(store, uuid4(), Breaker("files")) for _ in range(2))
    for step in ("transcription", "pages/a/00009", "pages/a/00001", "pages/b/00001"):
        await journal.put(step, step.encode())
    await other.put("pages/a/00001", b"another's")

    assert await journal.entries("pages") == ["pages/a/00001", "pages/a/00009", "pages/b/00001"]
    assert await journal.entries("pages/a") == ["pages/a/00001", "pages/a/00009"]
    for step in await journal.entries("pages"):
        await journal.remove(step)

    assert await journal.entries("pages") == []
    assert await journal.get("transcription") == b"transcription"
    assert await other.entries("pages") == ["pages/a/00001"]
