"""Remote engines: a page's picture is sent, and the page is made from the answer."""

import io
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple, Protocol, TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from docmill.errors import DocmillError, TooLargeError
from docmill.model.document import Page, Usage
from docmill.reading.child import tasks
from docmill.reading.child.tasks import Recognition
from docmill.reading.engines.align import align_lines
from docmill.reading.engines.engine import PageReader, PageRequest
from docmill.reading.files.options import ReadingOptions
from docmill.reading.images.image_file import Picture
from docmill.reading.images.kept_scans import KeptScan, encode_scan
from docmill.reading.images.preprocess import map_back, preprocess_picture
from docmill.reading.ocr.page import LONG, PictureSize, RecognisedLines, build_page, characters_right
from docmill.reading.ocr.text_lines import turn_corners, turn_picture
from docmill.resilience.spending import spent
from docmill.resilience.time_limits import Guard, Slots
from docmill.workers.pool import Pool

JPEG_QUALITY = 92


class PageImage(NamedTuple):
    """A page's picture to be sent. jpeg: upright as its file states; rotation: as in `Page`."""

    jpeg: bytes
    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


class PreprocessedImage(NamedTuple):
    """A page's preprocessed picture to be sent. drawn: the picture in its own pixels, points of the page.

    matrix: shape (3, 3), from its pixels to those of the picture that `draw_image` gives, both as they lie.
    """

    drawn: PageImage
    matrix: NDArray[np.float64]


def draw_image(source: tasks.Source, media_type: str, number: int, options: ReadingOptions) -> PageImage:
    """The picture of page `number`. Raises CorruptError, TooLargeError."""
    return _encoded(tasks.draw_picture(source, media_type, number, options))


def draw_preprocessed_image(
    source: tasks.Source, media_type: str, number: int, options: ReadingOptions, turn: int = 0
) -> PreprocessedImage:
    """The preprocessed picture of page `number`, turned clockwise. Raises CorruptError, TooLargeError."""
    picture = tasks.draw_picture(source, media_type, number, options)
    better = preprocess_picture(picture.pixels)
    return PreprocessedImage(
        _encoded(picture._replace(pixels=turn_picture(better.pixels, turn))), better.matrix
    )


def _encoded(picture: Picture) -> PageImage:
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    _, width_pt, height_pt, rotation = picture
    return PageImage(file.getvalue(), picture.width_px, picture.height_px, width_pt, height_pt, rotation)


def page_from_preprocessed(
    recognised: RecognisedLines, improved: PreprocessedImage, drawn: PageImage, number: int, engine: str
) -> tasks.Recognition:
    """Build the page from lines recognised in the preprocessed picture; also that picture, upright.

    drawn: the picture as it was before; boxes are those of the page as displayed.
    """
    corners = map_back(recognised.corners, improved.matrix)
    page = page_from_answer(replace(recognised, corners=corners), drawn, number, engine)
    return tasks.Recognition(page, encode_preprocessed(improved, turn_of(recognised)))


def encode_preprocessed(improved: PreprocessedImage, turn: int = 0) -> KeptScan | None:
    """The preprocessed picture as it is kept, turned clockwise."""
    with Image.open(io.BytesIO(improved.drawn.jpeg)) as image:
        return encode_scan(turn_picture(np.asarray(image, np.uint8), turn))


def page_from_answer(recognised: RecognisedLines, drawn: PageImage, number: int, engine: str) -> Page:
    """Build the page from recognised lines, turned so that its text is upright."""
    turn = turn_of(recognised)
    lying = turn_corners(recognised.corners, turn, width_px=drawn.width_px, height_px=drawn.height_px)
    corners = np.roll(lying, -turn // 90, axis=-2)  # they began with the text's own top left before, too
    upright = replace(recognised, corners=corners, turn=turn)
    return replace(build_page(upright, PictureSize(*drawn[1:]), number), engine=engine)


def turn_of(recognised: RecognisedLines) -> int:
    """Degrees clockwise, a multiple of 90, after which most of the text is upright."""
    lengths = np.array([len(text) for text in recognised.texts])
    if not lengths.size:
        return 0
    long = lengths >= min(LONG, int(lengths.max()))
    across = (recognised.corners[:, 1] - recognised.corners[:, 0])[long]
    quarters = np.rint(np.degrees(np.arctan2(across[:, 1], across[:, 0])) / 90).astype(int) % 4
    return int(-np.bincount(quarters, weights=lengths[long], minlength=4).argmax() * 90) % 360


log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class RemoteEngine(Protocol):
    """Recognises pictures somewhere else."""

    async def recognise(self, drawn: PageImage) -> RecognisedLines:
        """The lines or words in a picture, in its pixels. Ends soon when it is cancelled.

        Raises any TransientError, SetupError or DocumentError.
        """
        ...


class Transcript(NamedTuple):
    """The lines of a page, and their cost."""

    lines: list[str]
    usage: Usage


class Transcriber(Protocol):
    """Transcribes a picture without places."""

    async def transcribe(self, drawn: PageImage) -> Transcript:
        """The lines, top to bottom. Raises any TransientError, SetupError or DocumentError."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteCaller:
    """Services for readers of remote engines: pages are drawn and arranged in the pool."""

    pool: Pool
    options: ReadingOptions
    guard: Guard
    slots: Slots

    async def drawn(self, request: PageRequest) -> PageImage:
        """The picture of a page. Raises CorruptError, TooLargeError, TimeLimitError, CrashedError."""
        return await self.in_child(
            draw_image, request.source, request.media_type, request.number, self.options
        )

    async def preprocessed(self, request: PageRequest, turn: int = 0) -> PreprocessedImage:
        """The preprocessed picture of a page, turned clockwise. Raises what `drawn` raises."""
        arguments = (request.source, request.media_type, request.number, self.options, turn)
        return await self.pool.run(draw_preprocessed_image, *arguments, limit_s=self.options.ocr_limit_s)

    async def in_child(self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments) -> _Result:
        """Run the function in a process of the pool. Raises TimeLimitError, CrashedError."""
        return await self.pool.run(function, *arguments, limit_s=self.options.render_limit_s)

    def reads_well(self, page: Page) -> bool:
        """True if the page's quality needs no second reading."""
        return page.quality >= self.options.quality_threshold

    async def better(self, first: Page, again: Awaitable[Recognition], request: PageRequest) -> Page:
        """Choose between a page and its reading in the preprocessed picture, which is kept with the page.

        A second reading that fails costs nothing of the first.
        """
        try:
            second, picture = await again
        except DocmillError as error:
            details = {"engine": first.engine, "code": error.code}
            log.warning("an engine failed on a preprocessed page", extra=details)
            return first
        if characters_right(second) <= characters_right(first):
            return first
        if picture is not None and self.options.keep_preprocessed:
            request.scans.add(second, picture)
        return second


class RemoteReader:
    """`PageReader` by a remote engine."""

    def __init__(self, name: str, engine: RemoteEngine, caller: RemoteCaller) -> None:
        self.name = name
        self.at_once = caller.slots.count
        self._engine = engine
        self._caller = caller

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        """See `PageReader.read`. A page that is read badly is preprocessed and asked about once more."""
        del so_far
        caller = self._caller
        async with caller.slots.taken():
            drawn = await caller.drawn(request)
            recognised = await self._ask(drawn)
        drawn = drawn._replace(jpeg=b"")
        page = await caller.in_child(page_from_answer, recognised, drawn, request.number, self.name)
        # Without any confidence the better of two readings cannot be told.
        is_unscored = bool(recognised.texts) and not recognised.scores.any()
        if caller.reads_well(page) or is_unscored:
            return page
        return await caller.better(page, self._read_again(request, drawn), request)

    async def _ask(self, drawn: PageImage) -> RecognisedLines:
        async with self._caller.guard():
            return await self._engine.recognise(drawn)

    async def _read_again(self, request: PageRequest, drawn: PageImage) -> Recognition:
        caller = self._caller
        async with caller.slots.taken():
            improved = await caller.preprocessed(request)
            recognised = await self._ask(improved.drawn)
        return await caller.in_child(
            page_from_preprocessed, recognised, improved, drawn, request.number, self.name
        )


class TranscribingReader:
    """`PageReader` by a transcriber, which gives lines without places: these come from a local engine.

    local: asked first, where no engine has been. budget: US dollars that a document may cost.
    """

    def __init__(
        self,
        name: str,
        transcriber: Transcriber,
        local: PageReader,
        *,
        caller: RemoteCaller,
        budget: Decimal,
    ) -> None:
        self.name = name
        self.at_once = caller.slots.count
        self._transcriber = transcriber
        self._local = local
        self._caller = caller
        self._budget = budget

    async def read(self, request: PageRequest, so_far: Page | None) -> Page:
        """See `PageReader.read`. Raises TooLargeError once the document has cost its budget.

        A page on which the two readings hardly agree is preprocessed and asked about once more, as long as
        the budget lasts.
        """
        caller = self._caller
        local = so_far if so_far is not None and len(so_far.words) else await self._local.read(request, None)
        async with caller.slots.taken():
            self._check_budget(request)
            drawn = await caller.drawn(request)
            lines = await self._ask(drawn, request)
        page = await caller.in_child(align_lines, lines, local, self.name)
        is_blank = not lines and not len(local.words)
        if caller.reads_well(page) or is_blank or self._is_spent(request):
            return page
        turn = (local.rotation - drawn.rotation) % 360
        return await caller.better(page, self._read_again(request, local, turn), request)

    async def _ask(self, drawn: PageImage, request: PageRequest) -> list[str]:
        async with self._caller.guard():
            reading = await self._transcriber.transcribe(drawn)
        request.meter.add(reading.usage)
        return reading.lines

    async def _read_again(self, request: PageRequest, local: Page, turn: int) -> Recognition:
        """Read the preprocessed picture, turned like the local page."""
        caller = self._caller
        async with caller.slots.taken():
            self._check_budget(request)
            improved = await caller.preprocessed(request, turn)
            lines = await self._ask(improved.drawn, request)
        page = await caller.in_child(align_lines, lines, local, self.name)
        return Recognition(page, await caller.in_child(encode_preprocessed, improved))

    def _is_spent(self, request: PageRequest) -> bool:
        return max(request.meter.usage.cost, spent().cost) >= self._budget

    def _check_budget(self, request: PageRequest) -> None:
        if self._is_spent(request):
            raise TooLargeError(f"the document has cost its budget of ${self._budget}; raise llm.budget_usd")
