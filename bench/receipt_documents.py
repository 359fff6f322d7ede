"""The receipts of ../shared/data/sroie as documents, from the recognised lines kept there."""

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from docmill.model import Document, Page, Words

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


class Read(NamedTuple):
    """A recognised line: left, top, right, bottom in pixels of the straightened page, its text and score."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    score: float

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

    @property
    def height(self) -> float:
        return max(1.0, self.y1 - self.y0)


def documents() -> Iterator[tuple[str, Document]]:
    """Every receipt by its name."""
    for path in sorted((SHARED / "data/sroie/ocr").glob("*.json")):
        yield path.stem, _document(path.stem, json.loads(path.read_text())["lines"])


def _document(name: str, lines: Sequence[Sequence[object]]) -> Document:
    reads = _straightened(lines)
    page = Page(number=1, width_pt=1, height_pt=1, words=Words.none(), source="ocr", quality=0)
    if reads:
        page = _page(_rows(reads))
    return Document(content_hash=name.rjust(64, "0"), media_type="image/jpeg", pages=[page])


def _straightened(lines: Sequence[Sequence[object]]) -> list[Read]:
    corners = [np.array(line[0], float) for line in lines]
    angles = [
        math.atan2(box[1][1] - box[0][1], box[1][0] - box[0][0])
        for box, line in zip(corners, lines, strict=True)
        if len(str(line[1])) > 5 and box[1][0] > box[0][0]
    ]
    angle = statistics.median(angles) if angles else 0.0
    angle = angle if abs(angle) < 0.3 else 0.0
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    found: list[Read] = []
    for box, line in zip(corners, lines, strict=True):
        p = box @ turn
        x0, x1 = (p[0][0] + p[3][0]) / 2, (p[1][0] + p[2][0]) / 2
        y0, y1 = (p[0][1] + p[1][1]) / 2, (p[2][1] + p[3][1]) / 2
        if str(line[1]).strip():
            found.append(Read(x0, y0, x1, y1, str(line[1]), float(str(line[2]))))
    return found


def _rows(reads: list[Read]) -> list[list[Read]]:
    rows: list[list[Read]] = []
    for read in sorted(reads, key=lambda one: one.middle):
        fitting = [
            (min(abs(read.middle - other.middle) / min(read.height, other.height) for other in row), row)
            for row in rows[-4:]
            if not any(
                min(read.x1, other.x1) - max(read.x0, other.x0)
                > 0.3 * min(read.x1 - read.x0, other.x1 - other.x0)
                for other in row
            )
        ]
        distance, row = min(fitting, key=lambda pair: pair[0], default=(1.0, []))
        if distance < 0.5:
            row.append(read)
        else:
            rows.append([read])
    rows.sort(key=lambda row: statistics.mean(one.middle for one in row))
    return [sorted(row, key=lambda one: one.x0) for row in rows]


def _page(rows: list[list[Read]]) -> Page:
    reads = [read for row in rows for read in row]
    x0, y0 = min(read.x0 for read in reads), min(read.y0 for read in reads)
    width = max(read.x1 for read in reads) - x0
    height = max(read.y1 for read in reads) - y0
    texts: list[str] = []
    boxes: list[tuple[float, ...]] = []
    scores: list[float] = []
    lines: list[int] = []
    for index, row in enumerate(rows):
        for read in row:
            at = 0
            cell = (read.x1 - read.x0) / len(read.text)
            for word in read.text.split():
                at = read.text.index(word, at)
                left = read.x0 + at * cell - x0
                right = left + len(word) * cell
                boxes.append((left / width, (read.y0 - y0) / height, right / width, (read.y1 - y0) / height))
                texts.append(word)
                scores.append(read.score)
                lines.append(index)
                at += len(word)
    return Page(
        number=1,
        width_pt=width,
        height_pt=height,
        words=Words(
            texts,
            np.array(boxes, np.float32),
            np.array(scores, np.float32),
            np.array(lines, np.int32),
            np.zeros(len(texts), np.int32),
        ),
        source="ocr",
        quality=float(np.mean(scores)),
    )
