"""A document: its pages, words, tables, parts."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from docmill.errors import CorruptError

PartKind = Literal["attachment", "member", "section"]
PageSource = Literal["text", "ocr", "none"]
NO_WORD = "no word was read on its pages; if they have text, scan them again, larger and with more contrast"
LayerDoubt = Literal["contradicted", "unmapped", "nonsense"]
"""Reason not to believe the text of a PDF page as it is: its fonts draw other characters than it states, or
letters have no meaning in Unicode, or it makes no sense."""
Edge = Literal["left", "top", "right", "bottom"]


class Box(NamedTuple):
    """A rectangle in fractions of the page as displayed, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one page in reading order, as columns.

    boxes: float32, shape (n, 4), fractions of the page as in `Box`.
    confidences: float32, shape (n,), in [0, 1]; 1 for text that came with the file.
    lines, blocks: int32, shape (n,), counted from 0 and never decreasing; words of a line go left to right.
    Raises CorruptError for a box or confidence that is no number.
    """

    texts: list[str]
    boxes: NDArray[np.float32]
    confidences: NDArray[np.float32]
    lines: NDArray[np.int32]
    blocks: NDArray[np.int32]

    def __post_init__(self) -> None:
        count = len(self.texts)
        if self.boxes.shape != (count, 4) or any(
            column.shape != (count,) for column in (self.confidences, self.lines, self.blocks)
        ):
            raise ValueError("the columns of Words differ in length")
        _check_finite(self.boxes, self.confidences)

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def none(cls) -> "Words":
        """An empty page."""
        return cls(
            texts=[],
            boxes=np.zeros((0, 4), np.float32),
            confidences=np.zeros(0, np.float32),
            lines=np.zeros(0, np.int32),
            blocks=np.zeros(0, np.int32),
        )

    def box(self, start: int, stop: int) -> Box:
        """The rectangle around words `start` to `stop` (exclusive). Raises ValueError if there are none."""
        part = self.boxes[start:stop]
        x0, y0 = part[:, :2].min(axis=0)
        x1, y1 = part[:, 2:].max(axis=0)
        return Box(float(x0), float(y0), float(x1), float(y1))


def _check_finite(*arrays: NDArray[np.floating[Any]]) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise CorruptError(
            "a place on the page is no number (NaN or infinite): correct the converter or engine that read it"
        )


class Code(NamedTuple):
    """A barcode or matrix code on a page.

    symbology: identifier of ISO/IEC 15424, such as `]Q1` for a QR code. text: at most
    `docmill.reading.images.codes.LONGEST` characters, as untrusted as everything on a page.
    """

    symbology: str
    text: str
    box: Box

    @property
    def is_gs1(self) -> bool:
        """True for a code whose text is GS1 element strings (GS1 General Specifications, 5.1.3)."""
        return self.symbology in _GS1_SYMBOLOGIES


_GS1_SYMBOLOGIES = ("]C1", "]e0", "]d2", "]Q3")


class Line(NamedTuple):
    """Words `start` to `stop` (exclusive) of a page, and their text with column gaps kept."""

    start: int
    stop: int
    text: str


class Place(NamedTuple):
    """The place of a text: words `start` to `stop` (exclusive) of page `page_number`."""

    page_number: int
    start: int
    stop: int
    box: Box
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. row, column: of its upper left corner, from 0. words: their indices, ascending."""

    row: int
    column: int
    row_span: int
    column_span: int
    box: Box
    words: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns of a page. cells: by row, then column; a place without a cell is empty."""

    box: Box
    row_count: int
    column_count: int
    cells: tuple[Cell, ...]

    def texts(self, words: Words) -> list[list[str]]:
        """The text at each row and column; that of a cell with spans stands at its first place."""
        grid = [[""] * self.column_count for _ in range(self.row_count)]
        for cell in self.cells:
            grid[cell.row][cell.column] = " ".join(words.texts[index] for index in cell.words)
        return grid


MAX_COLUMNS = 400
"""Wider than any real page in monospace; a stray coordinate must not make megabyte lines."""


def set_lines(texts: Sequence[str], boxes: NDArray[np.float32], lines: NDArray[np.int32]) -> list[str]:
    """One string per line; gaps between columns become runs of at least two spaces.

    boxes: shape (n, 4), any unit, x0 and x1 in columns 0 and 2.
    lines: shape (n,), the line of each word; words of one line are adjacent and ordered from left to right.

    The width of a character cell is the page's median width per character, so that a column's words start
    at the same offset on every line. A gap narrower than one and a half cells is an ordinary space.
    """
    if not texts:
        return []
    lengths = np.array([max(1, len(text)) for text in texts])
    cell = float(np.median((boxes[:, 2] - boxes[:, 0]) / lengths))
    if not cell > 0:
        cell = 1.0
    left = float(boxes[:, 0].min())
    grid: list[str] = []
    previous_line, previous_right = None, 0.0
    for text, (x0, _, x1, _), number in zip(texts, boxes.tolist(), lines.tolist(), strict=True):
        column = min(MAX_COLUMNS, round((x0 - left) / cell))
        if number != previous_line:
            grid.append(" " * max(0, column) + text)
        elif x0 - previous_right < 1.5 * cell:
            grid[-1] += " " + text
        else:
            grid[-1] += " " * max(2, column - len(grid[-1])) + text
        previous_line, previous_right = number, x1
    return grid


@dataclass(frozen=True)
class Page:
    """One page as displayed.

    number: from 1. rotation: degrees clockwise by which the stored page was turned for display.
    source: `text` came with the file, `ocr` was recognised, `none` could not be read.
    quality: in [0, 1], how far the text can be relied on.
    problem: why the page could not be read, in a person's words. tables: from top to bottom.
    engine: which engine recognised it; None for text that came with the file. codes: the barcodes and matrix
    codes on it, from top to bottom. preprocessed: whether it was read in a preprocessed picture, which is
    kept. cut_edges: of its picture, those that run through print, so that text is missing there. layer_doubt:
    why the text that came with a PDF was not believed.
    """

    number: int
    width_pt: float
    height_pt: float
    words: Words
    source: PageSource
    quality: float
    rotation: int = 0
    problem: str | None = None
    tables: tuple[Table, ...] = ()
    engine: str | None = None
    codes: tuple[Code, ...] = ()
    preprocessed: bool = False
    cut_edges: tuple[Edge, ...] = ()
    layer_doubt: LayerDoubt | None = None

    def __post_init__(self) -> None:
        """Raise CorruptError for a size or a box that is no number."""
        cells = [cell.box for table in self.tables for cell in table.cells]
        boxes = [*(code.box for code in self.codes), *(table.box for table in self.tables), *cells]
        _check_finite(np.array((self.width_pt, self.height_pt)), np.array(boxes))

    @cached_property
    def lines(self) -> list[Line]:
        """The page's lines, top to bottom."""
        if not self.words.texts:
            return []
        numbers = self.words.lines
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist()
        stops = [*starts[1:], len(numbers)]
        scale = np.array([self.width_pt, self.height_pt] * 2, np.float32)
        texts = set_lines(self.words.texts, self.words.boxes * scale, numbers)
        return [Line(*line) for line in zip(starts, stops, texts, strict=True)]

    @cached_property
    def text(self) -> str:
        """Lines joined by newlines, columns kept apart by spaces."""
        return "\n".join(line.text for line in self.lines)

    def place(self, start: int, stop: int) -> Place:
        """Words `start` to `stop` (exclusive) as a place."""
        return Place(
            self.number, start, stop, self.words.box(start, stop), " ".join(self.words.texts[start:stop])
        )

    @cached_property
    def _searchable(self) -> tuple[str, NDArray[np.int32]]:
        """The letters and digits of all words in one string, and for each the index of its word."""
        parts = [letters_and_digits(text) for text in self.words.texts]
        owners = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
        return "".join(parts), owners

    def find(self, value: str) -> Iterator[Place]:
        """Every place whose words hold `value`, compared by letters and digits only.

        A find starts and ends at a word's edge, or inside a word when the value is glued to others.
        """
        wanted = letters_and_digits(value)
        if not wanted:
            return
        haystack, owners = self._searchable
        at = haystack.find(wanted)
        while at >= 0:
            yield self.place(int(owners[at]), int(owners[at + len(wanted) - 1]) + 1)
            at = haystack.find(wanted, at + 1)


@dataclass(frozen=True, slots=True)
class Part:
    """A document that another one holds: attached to a mail, a member of an archive, a section of a scan.

    name: unlike that of any other part of the whole; folders in it are parted by "/". first_page, last_page:
    of the whole, for a section. problem: why it is not to be had, in a person's words.
    """

    name: str
    kind: PartKind
    first_page: int | None = None
    last_page: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """A file that the document carries to say the same for programs: an e-invoice's XML, a statement's data.

    content: as it is, not yet looked at by anyone who could trust it.
    """

    name: str
    media_type: str
    content: bytes


class Record(BaseModel):
    """Frozen, closed: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Usage(Record):
    """Tokens and cost of model calls. cost: in US dollars; model: of the last call."""

    input_tokens: int = 0
    output_tokens: int = 0
    model: str | None = None
    cost: Decimal = Decimal(0)

    @property
    def is_nothing(self) -> bool:
        """True if no model was paid. Every document asks this; comparing with an empty `Usage` is slow."""
        return not (self.input_tokens or self.output_tokens or self.cost)

    def plus(self, other: "Usage") -> "Usage":
        """Both together."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            model=other.model or self.model,
            cost=self.cost + other.cost,
        )

    def up_to(self, total: "Usage") -> "Usage":
        """What is missing from this to the total."""
        return Usage(
            input_tokens=total.input_tokens - self.input_tokens,
            output_tokens=total.output_tokens - self.output_tokens,
            model=total.model,
            cost=total.cost - self.cost,
        )


@dataclass(frozen=True)
class Document:
    """A document that has been read: what the specification calls its transcription.

    content_hash: SHA-256 of the original bytes, lower-case hexadecimal. pages: none for an archive, which
    has parts only. embedded: what it says for programs; other attachments are left where they are.
    """

    content_hash: str
    media_type: str
    pages: Sequence[Page]
    language: str | None = None
    parts: tuple[Part, ...] = ()
    usage: Usage = field(default_factory=Usage)
    embedded: tuple[Embedded, ...] = ()

    @property
    def is_collection(self) -> bool:
        """True if its content is in its parts: an archive, or a scan of several documents."""
        return bool(self.parts) and (not self.pages or any(part.kind == "section" for part in self.parts))

    @property
    def word_count(self) -> int:
        """The number of words on all its pages."""
        return sum(len(page.words) for page in self.pages)

    @cached_property
    def text(self) -> str:
        """The whole text, layout kept; pages are parted by form feeds."""
        return "\f".join(page.text for page in self.pages)

    @property
    def quality(self) -> float:
        """The pages' quality, weighted by their number of words; 0 when nothing was read."""
        weights = [len(page.words) for page in self.pages]
        total = sum(weights)
        if not total:
            return 0.0
        return sum(page.quality * weight for page, weight in zip(self.pages, weights, strict=True)) / total

    @property
    def is_other_xml(self) -> bool:
        """True for XML that is no e-invoice of a known kind: its text is that of the markup."""
        return self.media_type == "application/xml" and not self.embedded

    @property
    def unread_reason(self) -> str | None:
        """The reason why nothing of the content is known: no page has a word; None if one has.

        A page with a problem counts as unread. Pages that could not be looked at are for a person.
        """
        if not self.pages or self.parts or self.embedded or any(page.source == "none" for page in self.pages):
            return None
        if any(page.words.texts and page.problem is None for page in self.pages):
            return None
        return next((page.problem for page in self.pages if page.problem), NO_WORD)

    def find(self, value: str) -> list[Place]:
        """Every place that holds `value`, page by page. See `Page.find`."""
        return [place for page in self.pages for place in page.find(value)]


_NEITHER = re.compile(r"[\W_]+")


def letters_and_digits(text: str) -> str:
    """`text` in NFKC, case folded, without anything that is neither letter nor digit."""
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    return _NEITHER.sub("", unicodedata.normalize("NFKC", text).casefold())
