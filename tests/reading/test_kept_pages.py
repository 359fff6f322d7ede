"""A long scan whose reading was interrupted goes on where it was."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

import pytest
import zstandard
from PIL import Image

from docmill.errors import NetworkError, ServerError, TimeLimitError
from docmill.model.document import Document, Page, Usage
from docmill.pipeline import DocumentIO, Steps, TimeLimits, process
from docmill.ports import Journal, Original, Ref
from docmill.reading.convert import LocalConverter
from docmill.reading.engines.engine import PageRequest
from docmill.reading.images.kept_scans import KeptScan
from docmill.resilience import time_limits
from docmill.resilience.time_limits import TimeLimit
from docmill.runs.in_memory import MemoryExporter, MemoryJournal
from docmill.testing.steps import MemoryReader
from docmill.wiring import steps_for
from docmill.workers.pool import Pool

REF = Ref("scan.tiff", "scan.tiff")
CALL = Usage(input_tokens=10, output_tokens=1, model="seer", cost=Decimal("0.01"))


@dataclass
class Engine:
    """`PageReader` that notes the pages it is asked for; at page `stop_at` it calls `stop` and waits."""

    words: Page
    stop_at: int | None = None
    stop: Callable[[], object] | None = None
    name: str = "engine"
    at_once: int = 1
    asked: list[int] = field(default_factory=list[int])

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        assert so_far is None
        await asyncio.sleep(0)  # as an engine that works elsewhere, which can be cancelled
        if request.number == self.stop_at:
            assert self.stop is not None
            self.stop()
            await asyncio.Event().wait()
        self.asked.append(request.number)
        request.meter.add(CALL)
        page = replace(self.words, number=request.number, engine=self.name, source="ocr")
        if request.number % 2 == 0:
            request.scans.add(page, KeptScan(b"picture of %d" % request.number, 30, 40))
        return page


@pytest.fixture
def words(make_document: Callable[..., Document]) -> Page:
    return make_document("Total").pages[0]


@pytest.fixture
def scan(tmp_path: Path) -> bytes:
    """Of forty small pages."""
    frames = [Image.new("L", (40, 30), shade) for shade in range(40)]
    frames[0].save(tmp_path / "scan.tiff", save_all=True, append_images=frames[1:])
    return (tmp_path / "scan.tiff").read_bytes()


def steps_with(engine: Engine, pool: Pool, *, fingerprint: str = "a") -> Steps:
    return replace(steps_for(pool, engines=[engine]), fingerprint=fingerprint)


def io_with(scan: bytes, folder: Path, journal: Journal) -> DocumentIO:
    return DocumentIO(MemoryReader({REF.key: scan}, folder), MemoryExporter(), journal)


def expire() -> None:
    """Let the time of the document be over."""
    for limit in _limits_around():
        TimeLimit.prolong(limit, -1e6)


def _limits_around() -> tuple[TimeLimit, ...]:
    return time_limits._limits.get()  # pyright: ignore[reportPrivateUsage]


def fail() -> None:
    raise NetworkError("the engine is away")


async def test_a_scan_of_more_pages_than_a_task_opens_is_read(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    path = tmp_path / "scan.tiff"
    assert len(scan) == path.stat().st_size

    document = await LocalConverter(pool, readers=[Engine(words)]).convert(
        Original(path, path.name, "a" * 64)
    )

    assert [page.number for page in document.pages] == list(range(1, 41))


async def test_after_a_failure_only_the_rest_is_recognised(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal = MemoryJournal()
    first, second = Engine(words, stop_at=30, stop=fail), Engine(words)
    with pytest.raises(NetworkError):
        await process(REF, steps_with(first, pool), io_with(scan, tmp_path, journal))

    result = await process(REF, steps_with(second, pool), io_with(scan, tmp_path, journal), attempt=2)

    assert first.asked == list(range(1, 30))
    assert second.asked == list(range(25, 41))
    assert result.document is not None
    assert [page.number for page in result.document.pages] == list(range(1, 41))
    assert {page.text for page in result.document.pages} == {"Total"}


async def test_after_a_time_limit_only_the_rest_is_recognised(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal = MemoryJournal()
    slow, second = Engine(words, stop_at=20, stop=expire), Engine(words)
    with pytest.raises(TimeLimitError):
        await process(REF, steps_with(slow, pool), io_with(scan, tmp_path, journal))

    await process(REF, steps_with(second, pool), io_with(scan, tmp_path, journal), attempt=2)

    assert slow.asked == list(range(1, 20))
    assert second.asked == list(range(17, 41))


async def test_kept_pages_bring_their_pictures_and_what_they_cost(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal = MemoryJournal()
    first, second, whole = Engine(words, stop_at=17, stop=fail), Engine(words), Engine(words)
    with pytest.raises(NetworkError):
        await process(REF, steps_with(first, pool), io_with(scan, tmp_path, journal))

    resumed = await process(REF, steps_with(second, pool), io_with(scan, tmp_path, journal), attempt=2)
    at_once = MemoryJournal()
    unbroken = await process(REF, steps_with(whole, pool), io_with(scan, tmp_path, at_once))

    assert second.asked == list(range(17, 41))
    assert resumed.document is not None
    assert unbroken.document is not None
    assert resumed.document.usage == unbroken.document.usage
    assert resumed.document.usage.cost == Decimal("0.40")
    assert await journal.get("preprocessed") == await at_once.get("preprocessed")


async def test_pages_recognised_by_other_settings_are_recognised_again(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal = MemoryJournal()
    first, second = Engine(words, stop_at=30, stop=fail), Engine(words)
    with pytest.raises(NetworkError):
        await process(REF, steps_with(first, pool), io_with(scan, tmp_path, journal))

    await process(REF, steps_with(second, pool, fingerprint="b"), io_with(scan, tmp_path, journal))

    assert second.asked == list(range(1, 41))
    assert await journal.entries("pages") == []


async def test_kept_pages_go_when_the_transcription_is_stored(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    class Noting(MemoryJournal):
        def __init__(self) -> None:
            super().__init__()
            self.put_so_far: list[str] = []

        async def put(self, step: str, result: bytes) -> None:
            self.put_so_far.append(step)
            await super().put(step, result)

    journal = Noting()

    await process(REF, steps_with(Engine(words), pool), io_with(scan, tmp_path, journal))

    kept = [f"pages/a/{first:05}" for first in (1, 9, 17, 25)]  # the last group completes the document
    assert journal.put_so_far[:4] == kept
    assert await journal.entries("pages") == []


async def test_pages_that_a_kill_left_beside_the_transcription_go_with_the_next_attempt(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal, engine = MemoryJournal(), Engine(words)
    await process(REF, steps_with(engine, pool), io_with(scan, tmp_path, journal))
    await journal.put("pages/a/00001", b"left")

    await process(REF, steps_with(engine, pool), io_with(scan, tmp_path, journal))

    assert len(engine.asked) == 40
    assert await journal.entries("pages") == []


@pytest.mark.parametrize("entry", [b"\0 torn", b"(\xb5/\xfd\x04\x00\x11\x00\x00{}\xc4\x1e\x9b\xc8"])
async def test_kept_pages_that_cannot_be_read_are_recognised_again(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path, entry: bytes
) -> None:
    journal, engine = MemoryJournal(), Engine(words)
    await journal.put("pages/a/00001", entry)

    await process(REF, steps_with(engine, pool), io_with(scan, tmp_path, journal))

    assert engine.asked == list(range(1, 41))


async def test_pages_of_a_later_release_are_recognised_again(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    journal, engine = MemoryJournal(), Engine(words)
    await journal.put("pages/a/00001", zstandard.compress(b'{"format": 2}'))

    await process(REF, steps_with(engine, pool), io_with(scan, tmp_path, journal))

    assert engine.asked == list(range(1, 41))


async def test_a_page_that_could_not_be_read_is_tried_again(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    class Blind(Engine):
        async def read(self, request: PageRequest, so_far: Page | None) -> Page:
            page = await super().read(request, so_far)
            return replace(page, source="none", quality=0.0) if request.number <= 9 else page

    journal = MemoryJournal()
    first, second = Blind(words, stop_at=30, stop=fail), Engine(words)
    with pytest.raises(NetworkError):
        await process(REF, steps_with(first, pool), io_with(scan, tmp_path, journal))

    await process(REF, steps_with(second, pool), io_with(scan, tmp_path, journal), attempt=2)

    assert second.asked == [*range(1, 10), *range(25, 41)]


async def test_a_short_scan_writes_nothing_before_its_transcription(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    assert scan
    frames = [Image.new("L", (40, 30), shade) for shade in range(8)]
    frames[0].save(tmp_path / "short.tiff", save_all=True, append_images=frames[1:])
    journal = MemoryJournal()
    short = (tmp_path / "short.tiff").read_bytes()

    with pytest.raises(NetworkError):
        await process(
            REF, steps_with(Engine(words, stop_at=8, stop=fail), pool), io_with(short, tmp_path, journal)
        )

    assert await journal.entries("pages") == []


async def test_a_store_that_takes_no_pages_does_not_stop_the_document(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    class Full(MemoryJournal):
        async def put(self, step: str, result: bytes) -> None:
            if step.startswith("pages/"):
                raise ServerError("the store is full")
            await super().put(step, result)

        async def remove(self, step: str) -> None:
            raise ServerError(f"cannot remove {step!r}")

        async def entries(self, folder: str) -> list[str]:
            return [f"{folder}/00001"]

    result = await process(REF, steps_with(Engine(words), pool), io_with(scan, tmp_path, Full()))

    assert result.document is not None
    assert len(result.document.pages) == 40


async def test_each_page_adds_to_the_time_of_its_document(
    pool: Pool, scan: bytes, words: Page, tmp_path: Path
) -> None:
    left_s: list[float] = []

    def look() -> None:
        left_s.extend(limit.left_s for limit in _limits_around() if limit.left_s is not None)
        fail()

    engine = Engine(words, stop_at=5, stop=look)
    steps = steps_with(engine, pool)

    with pytest.raises(NetworkError):
        await process(
            REF,
            replace(steps, limits=TimeLimits(document_s=6000, page_s=100)),
            io_with(scan, tmp_path, MemoryJournal()),
        )

    assert 6000 + 39 * 100 < left_s[0] <= 6000 + 40 * 100
