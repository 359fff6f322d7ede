"""Alignment of a model's lines, which have no places, with words whose places are known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz

from docmill.model.document import Box, Page, Words
from docmill.reading.text.quality import page_quality

LIKE = 60.0
"""How alike, of 100, two readings of one piece of text are at least."""
ANCHOR = 6
"""Characters from which on a piece is found by its text alone; shorter ones stand beside such pieces."""
ASTRAY = 40.0
"""How much a line at the other end of the page is less likely, of 100."""
WIDE_GAP = 1.5
"""In heights of a word: words further apart belong to different columns."""
ALONE = 0.5
"""What is left of the confidence in a word that only one of the two has seen."""
_TAKEN = "\0"


class _Piece(NamedTuple):
    """Words `start` to `stop` (exclusive) of the page that stand close together."""

    start: int
    stop: int
    text: str


class _Row(NamedTuple):
    """Place of a word on the page. owner: the page's word whose line and block it takes."""

    owner: int
    box: Box
    confidence: float


class _Found(NamedTuple):
    """Position of a piece in the model's lines."""

    line: int
    start: int
    stop: int


def align_lines(lines: Sequence[str], page: Page, engine: str) -> Page:
    """Replace the page's words by a model's reading where both can be matched.

    What the model adds has no place on the page and is left out, which lowers the quality; what only we have
    seen stays, with less confidence. No place is made up.
    """
    pieces = _pieces(page)
    found = _matched(pieces, lines)
    texts: list[str] = []
    rows: list[_Row] = []
    for piece, match in zip(pieces, found, strict=True):
        if match is None:
            own = range(piece.start, piece.stop)
            texts += [page.words.texts[word] for word in own]
            rows += [
                _Row(word, page.words.box(word, word + 1), ALONE * _sure(page.words, word)) for word in own
            ]
            continue
        words = lines[match.line][match.start : match.stop].split()
        texts += words
        rows += _placed(words, piece, page.words)
    owners = np.array([row.owner for row in rows], np.intp)
    words = Words(
        texts=texts,
        boxes=np.array([row.box for row in rows], np.float32).reshape(-1, 4),
        confidences=np.array([row.confidence for row in rows], np.float32),
        lines=page.words.lines[owners],
        blocks=page.words.blocks[owners],
    )
    said = sum(len("".join(line.split())) for line in lines)
    kept = sum(len("".join(lines[match.line][match.start : match.stop].split())) for match in found if match)
    share = kept / said if said else 0.0
    return replace(
        page, words=words, quality=page_quality(words) * share, source="ocr", engine=engine, tables=()
    )


def _pieces(page: Page) -> list[_Piece]:
    words, pieces = page.words, list[_Piece]()
    start = 0
    for word in range(1, len(words) + 1):
        if word < len(words) and words.lines[word] == words.lines[word - 1]:
            gap = float(words.boxes[word, 0] - words.boxes[word - 1, 2]) * page.width_pt
            height = float(words.boxes[word - 1, 3] - words.boxes[word - 1, 1]) * page.height_pt
            if gap <= WIDE_GAP * height:
                continue
        pieces.append(_Piece(start, word, " ".join(words.texts[start:word])))
        start = word
    return pieces if len(words) else []


def _matched(pieces: Sequence[_Piece], lines: Sequence[str]) -> list[_Found | None]:
    """Match each piece to a place in the lines, long pieces first; each character is matched once."""
    free = list(lines)
    found: list[_Found | None] = [None] * len(pieces)
    for index in sorted(range(len(pieces)), key=lambda index: -len(pieces[index].text)):
        text = pieces[index].text
        near = _expected(index, found, len(lines)) if len(text) < ANCHOR else None
        match = _best(text, free, near, index / max(1, len(pieces) - 1))
        if match is not None:
            found[index] = match
            line = free[match.line]
            free[match.line] = line[: match.start] + _TAKEN * (match.stop - match.start) + line[match.stop :]
    return found


def _expected(index: int, found: Sequence[_Found | None], count: int) -> tuple[int, int]:
    """The lines between those of the nearest pieces before and after, with these."""
    before = next((match.line for match in reversed(found[:index]) if match), 0)
    after = next((match.line for match in found[index + 1 :] if match), count - 1)
    return min(before, after), max(before, after)


def _best(text: str, free: Sequence[str], near: tuple[int, int] | None, height: float) -> _Found | None:
    """Best free match of the text in the lines. near: the lines to look at; height: from 0 to 1."""
    first, last = near or (0, len(free) - 1)
    best, best_score = None, 0.0
    for line in range(first, last + 1):
        match = fuzz.partial_ratio_alignment(text, free[line], score_cutoff=LIKE)
        if match is None or not free[line].strip(_TAKEN + " "):
            continue
        score = match.score - ASTRAY * abs(line / max(1, len(free) - 1) - height)
        if score > best_score:
            start, stop = _stretched(
                text, free[line], *_whole_words(free[line], match.dest_start, match.dest_end)
            )
            if fuzz.ratio(text, free[line][start:stop]) >= LIKE:
                best, best_score = _Found(line, start, stop), score
    return best


def _whole_words(line: str, start: int, stop: int) -> tuple[int, int]:
    while start and not line[start - 1].isspace() and line[start - 1] != _TAKEN:
        start -= 1
    while stop < len(line) and not line[stop].isspace() and line[stop] != _TAKEN:
        stop += 1
    while start < stop and (line[start].isspace() or line[start] == _TAKEN):
        start += 1
    return start, stop


def _stretched(text: str, line: str, start: int, stop: int) -> tuple[int, int]:
    """Extend a match by the next words while that is more like the text, which we may have glued together."""
    while stop < len(line):
        following = line[stop:].lstrip()
        _, further = _whole_words(line, start, len(line) - len(following) + 1)
        if not following or fuzz.ratio(text, line[start:further]) <= fuzz.ratio(text, line[start:stop]):
            break
        stop = further
    return start, stop


def _placed(texts: Sequence[str], piece: _Piece, words: Words) -> list[_Row]:
    """Rows for a model's words in the place of a piece."""
    own = range(piece.start, piece.stop)
    if len(texts) == len(own):
        return [
            _Row(
                word,
                words.box(word, word + 1),
                _agreement(text, words.texts[word]) * (1 + _sure(words, word)) / 2,
            )
            for text, word in zip(texts, own, strict=True)
        ]
    whole = " ".join(texts)
    sure = _agreement(whole, piece.text) * (1 + min(_sure(words, word) for word in own)) / 2
    x0, y0, x1, y1 = words.box(piece.start, piece.stop)
    placed: list[_Row] = []
    at = 0
    for text in texts:
        left, right = at / len(whole), (at + len(text)) / len(whole)
        box = Box(x0 + left * (x1 - x0), y0, x0 + right * (x1 - x0), y1)
        placed.append(_Row(piece.start, box, sure))
        at += len(text) + 1
    return placed


def _agreement(first: str, second: str) -> float:
    return fuzz.ratio(first, second) / 100


def _sure(words: Words, word: int) -> float:
    return float(words.confidences[word])
