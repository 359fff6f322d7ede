"""Pictures that go out and pages that come back, through real children."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docmill.errors import CorruptError, DocmillError, NetworkError, UnauthorizedError
from docmill.model.document import Page
from docmill.reading.engines.engine import PageRequest
from docmill.reading.engines.remote import (
    PageImage,
    RemoteCaller,
    RemoteReader,
    build_upright_page,
    find_upright_turn,
)
from docmill.reading.files.options import ReadingOptions
from docmill.reading.ocr.page import RecognisedLines
from docmill.resilience.time_limits import Slots, TimeLimit
from docmill.workers.pool import Pool

OPTIONS = ReadingOptions()
BOX = np.array([[40, 20], [120, 20], [120, 40], [40, 40]], np.float32)


def seen(*texts: str, corners: np.ndarray = BOX, score: float = 0.99) -> RecognisedLines:
    return RecognisedLines(
        list(texts), np.stack([corners] * len(texts)), np.full(len(texts), score, np.float32)
    )


class Elsewhere:
    """`RemoteEngine` that sees what it is told, call by call, or fails."""

    def __init__(self, *outcomes: RecognisedLines | DocmillError) -> None:
        self.outcomes = list(outcomes)
        self.drawn: list[PageImage] = []

    async def recognise(self, image: PageImage) -> RecognisedLines:
        outcome = self.outcomes[len(self.drawn)]
        self.drawn.append(image)
        if isinstance(outcome, DocmillError):
            raise outcome
        return outcome


@asynccontextmanager
async def unguarded() -> AsyncGenerator[None]:
    yield


@pytest.fixture
def scan(tmp_path: Path) -> PageRequest:
    path = tmp_path / "scan.png"
    Image.new("RGB", (400, 200), "white").save(path)
    return PageRequest(path, "image/png", 1)


async def test_a_picture_goes_out_and_a_page_comes_back(pool: Pool, scan: PageRequest) -> None:
    engine = Elsewhere(seen("Invoice 4711"))
    reader = RemoteReader("elsewhere", engine, RemoteCaller(pool, OPTIONS, unguarded, Slots(3)))

    page = await reader.read(scan, None)

    assert (page.words.texts, page.engine, page.source, page.number) == (
        ["Invoice", "4711"],
        "elsewhere",
        "ocr",
        1,
    )
    (drawn,) = engine.drawn
    assert Image.open(io.BytesIO(drawn.jpeg)).size == (drawn.width_px, drawn.height_px) == (400, 200)
    assert reader.at_once == 3


async def read(engine: Elsewhere, pool: Pool, scan: PageRequest, *, keeps: bool = True) -> Page:
    options = ReadingOptions(keep_preprocessed=keeps)
    reader = RemoteReader("elsewhere", engine, RemoteCaller(pool, options, unguarded, Slots(1)))
    return await reader.read(scan, None)


async def test_a_page_that_reads_badly_is_preprocessed_and_asked_about_once_more(
    pool: Pool, scan: PageRequest
) -> None:
    engine = Elsewhere(seen("1nvo1ce", score=0.4), seen("Invoice", corners=2 * BOX))

    page = await read(engine, pool, scan)

    first, second = engine.drawn
    assert (first.width_px, second.width_px) == (400, 800)  # a small picture is enlarged
    assert Image.open(io.BytesIO(second.jpeg)).size == (800, 400)
    assert (page.words.texts, page.engine, page.number) == (["Invoice"], "elsewhere", 1)
    assert page.words.boxes[0].tolist() == pytest.approx([0.1, 0.1, 0.3, 0.2], abs=0.01)
    kept = scan.scans.of(page)
    assert kept is not None
    assert (kept.width_px, kept.height_px) == (800, 400)


async def test_a_page_that_lies_on_its_side_keeps_its_places_and_its_picture_upright(
    pool: Pool, scan: PageRequest
) -> None:
    standing = np.stack([400 - BOX[:, 1], BOX[:, 0]], axis=-1)  # text that runs down
    engine = Elsewhere(seen("1nvo1ce", score=0.4), seen("Invoice", corners=2 * standing))

    page = await read(engine, pool, scan)

    assert (page.rotation, page.width_pt < page.height_pt) == (270, True)
    assert page.words.boxes.min() >= 0
    assert page.words.boxes.max() <= 1
    kept = scan.scans.of(page)
    assert kept is not None
    assert (kept.width_px, kept.height_px) == (400, 800)


async def test_pictures_are_kept_only_where_they_are_asked_for_and_were_read_better(
    pool: Pool, scan: PageRequest
) -> None:
    unasked = Elsewhere(seen("1nvo1ce", score=0.4), seen("Invoice"))
    worse = Elsewhere(seen("1nvo1ce", score=0.4), seen("1nvo", score=0.3))

    better = await read(unasked, pool, scan, keeps=False)
    assert (better.words.texts, scan.scans.of(better)) == (["Invoice"], None)
    first = await read(worse, pool, scan)

    assert (first.words.texts, len(worse.drawn), scan.scans.of(first)) == (["1nvo1ce"], 2, None)


@pytest.mark.parametrize(
    "error", [NetworkError("gone"), UnauthorizedError("no"), NetworkError("rests", attempted=False)]
)
async def test_a_second_reading_that_fails_costs_nothing_of_the_first(
    pool: Pool, scan: PageRequest, error: DocmillError, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Elsewhere(seen("1nvo1ce", score=0.4), error)

    page = await read(engine, pool, scan)

    assert page.words.texts == ["1nvo1ce"]
    (record,) = caplog.records
    assert (record.levelname, record.__dict__["engine"], record.__dict__["code"]) == (
        "WARNING",
        "elsewhere",
        error.code,
    )


async def test_the_second_call_is_guarded_as_the_first(pool: Pool, scan: PageRequest) -> None:
    entered: list[int] = []

    @asynccontextmanager
    async def resting_after_one() -> AsyncGenerator[None]:
        entered.append(1)
        if len(entered) > 1:
            raise NetworkError("left alone", attempted=False)
        yield

    engine = Elsewhere(seen("1nvo1ce", score=0.4), seen("Invoice"))
    reader = RemoteReader("elsewhere", engine, RemoteCaller(pool, OPTIONS, resting_after_one, Slots(1)))

    page = await reader.read(scan, None)

    assert (page.words.texts, len(engine.drawn), len(entered)) == (["1nvo1ce"], 1, 2)


async def test_an_engine_that_tells_no_confidence_is_not_paid_twice(pool: Pool, scan: PageRequest) -> None:
    engine = Elsewhere(seen("Invoice", score=0))

    page = await read(engine, pool, scan)

    assert (page.quality < OPTIONS.quality_threshold, len(engine.drawn)) == (True, 1)


async def test_errors_come_out_as_they_are(pool: Pool, scan: PageRequest) -> None:
    engine = Elsewhere(NetworkError("gone"))
    reader = RemoteReader("elsewhere", engine, RemoteCaller(pool, OPTIONS, unguarded, Slots(1)))

    with pytest.raises(NetworkError, match="gone"):
        await reader.read(scan, None)


async def test_a_picture_that_cannot_be_drawn_is_not_sent(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    engine = Elsewhere(seen("x"))
    reader = RemoteReader("elsewhere", engine, RemoteCaller(pool, OPTIONS, unguarded, Slots(1)))

    with pytest.raises(CorruptError):
        await reader.read(PageRequest(tmp_path / "bad.png", "image/png", 1), None)

    assert engine.drawn == []


async def test_who_waits_for_a_slot_is_not_timed() -> None:
    slots = Slots(1)
    waiting = asyncio.Event()

    async def second() -> bool:
        async with TimeLimit(10) as limit:
            waiting.set()
            async with slots.taken():
                return limit.running

    async with slots.taken():
        task = asyncio.create_task(second())
        await waiting.wait()
        await asyncio.sleep(0)
        assert not task.done()
    assert await task


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_page_is_turned_until_its_text_is_upright(turn: int) -> None:
    width, height = 400, 200
    corners = BOX
    for _ in range((360 - turn) // 90 % 4):  # as if the page had been laid on its side by so much
        corners = np.stack([height - corners[:, 1], corners[:, 0]], axis=-1)
        width, height = height, width
    drawn = PageImage(b"", width, height, width / 2, height / 2, 90)

    page = build_upright_page(seen("Invoice", corners=corners), drawn, 1, "elsewhere")

    assert find_upright_turn(seen("Invoice", corners=corners)) == turn
    assert page.rotation == (90 + turn) % 360
    assert (page.width_pt, page.height_pt) == (200, 100)
    assert page.words.boxes[0].tolist() == pytest.approx([0.1, 0.1, 0.3, 0.2])


def test_most_of_the_text_decides_which_way_up_it_is() -> None:
    upside_down = np.roll(BOX, 2, axis=0)
    found = RecognisedLines(["Invoice", "x"], np.stack([upside_down, BOX]), np.ones(2, np.float32))

    assert find_upright_turn(found) == 180
    assert (
        find_upright_turn(RecognisedLines([], np.zeros((0, 4, 2), np.float32), np.zeros(0, np.float32))) == 0
    )
