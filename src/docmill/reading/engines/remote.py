"""Remote engines: the picture of a page is sent, and the page is built from the answer."""

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
from docmill.reading.ocr.levelling import LONG
from docmill.reading.ocr.page import PictureSize, RecognisedLines, build_page, characters_right
from docmill.reading.ocr.text_lines import turn_corners, turn_picture
from docmill.resilience.spending import spent
from docmill.resilience.time_limits import Guard, Slots
from docmill.workers.pool import Pool

JPEG_QUALITY = 92

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")


class PageImage(NamedTuple):
    """Picture of a page for a remote engine. jpeg: turned as the file states. rotation: as in `Page`."""

    jpeg: bytes
    width_px: int
    height_px: int
    width_pt: float
    height_pt: float
    rotation: int


class PreprocessedImage(NamedTuple):
    """Preprocessed picture of a page, to be sent to a remote engine.

    image: its size in pixels is that of the preprocessed picture, its size in points that of the page.
    matrix: shape (3, 3), transforms pixels of the preprocessed picture, before any turn, to those of
    `draw_image`.
    """

    image: PageImage
    matrix: NDArray[np.float64]


def draw_image(source: tasks.Source, media_type: str, number: int, options: ReadingOptions) -> PageImage:
    """Draw page `number`. Raises CorruptError, TooLargeError."""
    return _encode_picture(tasks.draw_picture(source, media_type, number, options))


def draw_preprocessed_image(
    source: tasks.Source, media_type: str, number: int, options: ReadingOptions, turn: int = 0
) -> PreprocessedImage:
    """Draw and preprocess page `number`. turn: degrees clockwise. Raises CorruptError, TooLargeError."""
    picture = tasks.draw_picture(source, media_type, number, options)
    cleaned = preprocess_picture(picture.pixels)
    return PreprocessedImage(
        _encode_picture(picture._replace(pixels=turn_picture(cleaned.pixels, turn))), cleaned.matrix
    )


def _encode_picture(picture: Picture) -> PageImage:
    file = io.BytesIO()
    Image.fromarray(picture.pixels).save(file, "JPEG", quality=JPEG_QUALITY)
    _, width_pt, height_pt, rotation = picture
    return PageImage(file.getvalue(), picture.width_px, picture.height_px, width_pt, height_pt, rotation)


def build_page_from_preprocessed(
    recognised: RecognisedLines, preprocessed: PreprocessedImage, image: PageImage, number: int, engine: str
) -> tasks.Recognition:
    """Build the page from lines recognised in its preprocessed picture, which is returned with it, upright.

    image: the picture before preprocessing, to whose pixels the boxes are mapped back.
    """
    corners = map_back(recognised.corners, preprocessed.matrix)
    page = build_upright_page(replace(recognised, corners=corners), image, number, engine)
    return tasks.Recognition(page, encode_preprocessed(preprocessed, find_upright_turn(recognised)))


def encode_preprocessed(preprocessed: PreprocessedImage, turn: int = 0) -> KeptScan | None:
    """Encode the preprocessed picture for storage; None if it is too large. turn: degrees clockwise."""
    with Image.open(io.BytesIO(preprocessed.image.jpeg)) as image:
        return encode_scan(turn_picture(np.asarray(image, np.uint8), turn))


def build_upright_page(recognised: RecognisedLines, image: PageImage, number: int, engine: str) -> Page:
    """Build the page from recognised lines, turned so that its text is upright."""
    turn = find_upright_turn(recognised)
    lying = turn_corners(recognised.corners, turn, width_px=image.width_px, height_px=image.height_px)
    corners = np.roll(lying, -turn // 90, axis=-2)  # each line still begins with the top left of its text
    upright = replace(recognised, corners=corners, turn=turn)
    return replace(build_page(upright, PictureSize(*image[1:]), number), engine=engine)


def find_upright_turn(recognised: RecognisedLines) -> int:
    """Find the turn that makes most of the text upright, in degrees clockwise, a multiple of 90."""
    lengths = np.array([len(text) for text in recognised.texts])
    if not lengths.size:
        return 0
    long = lengths >= min(LONG, int(lengths.max()))
    across = (recognised.corners[:, 1] - recognised.corners[:, 0])[long]
    quarters = np.rint(np.degrees(np.arctan2(across[:, 1], across[:, 0])) / 90).astype(int) % 4
    return int(-np.bincount(quarters, weights=lengths[long], minlength=4).argmax() * 90) % 360


class RemoteEngine(Protocol):
    """Recognises text with places in pictures, by a remote service."""

    async def recognise(self, image: PageImage) -> RecognisedLines:
        """Recognise the lines or words of a picture, with places in pixels. Ends soon when it is cancelled.

        Raises any TransientError, SetupError or DocumentError.
        """
        ...


class Transcript(NamedTuple):
    """The text lines of a page, and the cost of their transcription."""

    lines: list[str]
    usage: Usage


class Transcriber(Protocol):
    """Recognises text without places in pictures, by a remote service."""

    async def transcribe(self, image: PageImage) -> Transcript:
        """Transcribe the lines, top to bottom. Raises any TransientError, SetupError or DocumentError."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteCaller:
    """The steps that both readers of remote engines share: they run in the pool, within limits.

    guard: around every call of the service. slots: limit how many pages are read at the same time.
    """

    pool: Pool
    options: ReadingOptions
    guard: Guard
    slots: Slots

    async def draw_page(self, request: PageRequest) -> PageImage:
        """Draw the page. Raises CorruptError, TooLargeError, TimeLimitError, CrashedError."""
        return await self.run_in_child(
            draw_image, request.source, request.media_type, request.number, self.options
        )

    async def draw_preprocessed(self, request: PageRequest, turn: int = 0) -> PreprocessedImage:
        """Draw and preprocess the page. turn: degrees clockwise. Raises what `draw_page` raises."""
        arguments = (request.source, request.media_type, request.number, self.options, turn)
        return await self.pool.run(draw_preprocessed_image, *arguments, limit_s=self.options.ocr_limit_s)

    async def run_in_child(
        self, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Run the function in a process of the pool. Raises TimeLimitError, CrashedError."""
        return await self.pool.run(function, *arguments, limit_s=self.options.render_limit_s)

    async def choose_better(self, first: Page, again: Awaitable[Recognition], request: PageRequest) -> Page:
        """Choose the better of a page and its second reading, whose preprocessed picture is then kept.

        If the second reading fails, the first one stays.
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
        """See `PageReader.read`. A page that is read badly is preprocessed and sent a second time."""
        del so_far
        caller = self._caller
        async with caller.slots.taken():
            image = await caller.draw_page(request)
            recognised = await self._ask(image)
        image = image._replace(jpeg=b"")
        page = await caller.run_in_child(build_upright_page, recognised, image, request.number, self.name)
        # Without confidences two readings cannot be compared.
        is_unscored = bool(recognised.texts) and not recognised.scores.any()
        if page.quality >= caller.options.quality_threshold or is_unscored:
            return page
        return await caller.choose_better(page, self._read_again(request, image), request)

    async def _ask(self, image: PageImage) -> RecognisedLines:
        async with self._caller.guard():
            return await self._engine.recognise(image)

    async def _read_again(self, request: PageRequest, image: PageImage) -> Recognition:
        caller = self._caller
        async with caller.slots.taken():
            preprocessed = await caller.draw_preprocessed(request)
            recognised = await self._ask(preprocessed.image)
        return await caller.run_in_child(
            build_page_from_preprocessed, recognised, preprocessed, image, request.number, self.name
        )


class TranscribingReader:
    """`PageReader` by a transcriber, whose lines get their places from a local engine.

    local: reads the page first, unless an earlier engine found words on it. budget: in US dollars, for a
    document.
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

        A page on which the two readings hardly agree is preprocessed and sent a second time, as long as the
        budget lasts.
        """
        caller = self._caller
        local = so_far if so_far is not None and len(so_far.words) else await self._local.read(request, None)
        async with caller.slots.taken():
            self._check_budget(request)
            image = await caller.draw_page(request)
            lines = await self._ask(image, request)
        page = await caller.run_in_child(align_lines, lines, local, self.name)
        is_enough = page.quality >= caller.options.quality_threshold or not (lines or len(local.words))
        if is_enough or self._is_budget_spent(request):
            return page
        turn = (local.rotation - image.rotation) % 360
        return await caller.choose_better(page, self._read_again(request, local, turn), request)

    async def _ask(self, image: PageImage, request: PageRequest) -> list[str]:
        async with self._caller.guard():
            reading = await self._transcriber.transcribe(image)
        request.meter.add(reading.usage)
        return reading.lines

    async def _read_again(self, request: PageRequest, local: Page, turn: int) -> Recognition:
        """Transcribe the preprocessed picture, turned like the local page."""
        caller = self._caller
        async with caller.slots.taken():
            self._check_budget(request)
            preprocessed = await caller.draw_preprocessed(request, turn)
            lines = await self._ask(preprocessed.image, request)
        page = await caller.run_in_child(align_lines, lines, local, self.name)
        return Recognition(page, await caller.run_in_child(encode_preprocessed, preprocessed))

    def _is_budget_spent(self, request: PageRequest) -> bool:
        return max(request.meter.usage.cost, spent().cost) >= self._budget

    def _check_budget(self, request: PageRequest) -> None:
        if self._is_budget_spent(request):
            raise TooLargeError(f"the document has cost its budget of ${self._budget}; raise llm.budget_usd")
