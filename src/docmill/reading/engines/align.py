"""Alignment of a model's lines, which have no places, with words whose places are known."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz

from docmill.model.document import Box, Page, Words
from docmill.reading.text.quality import page_quality

LIKE = 60.0
"""Least similarity, of 100, of two readings of a piece of text."""
ANCHOR = 6
"""Characters from which on a piece is matched by its text alone; shorter ones stand beside such pieces."""
ASTRAY = 40.0
"""Deduction, of 100, for a line at the other end of the page."""
WIDE_GAP = 1.5
"""In heights of a word: words further apart belong to different columns."""
ALONE = 0.5
"""Factor on the confidence of a word that only one of the two has read."""
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


class _Match(NamedTuple):
    """Position of a piece in the model's lines."""

    line: int
    start: int
    stop: int


def align_lines(lines: Sequence[str], page: Page, engine: str) -> Page:
    """Replace the page's words by a model's reading where both can be matched.

    Words that only the model has read have no place on the page and are left out, which lowers the quality;
    words that only we have read stay, with less confidence. No place is made up.
    """
    pieces = _pieces(page)
    matches = _match_pieces(pieces, lines)
    texts: list[str] = []
    rows: list[_Row] = []
    for piece, match in zip(pieces, matches, strict=True):
        if match is None:
            texts += page.words.texts[piece.start : piece.stop]
            for word in range(piece.start, piece.stop):
                confidence = ALONE * float(page.words.confidences[word])
                rows.append(_Row(word, page.words.box(word, word + 1), confidence))
            continue
        words = lines[match.line][match.start : match.stop].split()
        texts += words
        rows += _place_words(words, piece, page.words)
    owners = np.array([row.owner for row in rows], np.intp)
    words = Words(
        texts=texts,
        boxes=np.array([row.box for row in rows], np.float32).reshape(-1, 4),
        confidences=np.array([row.confidence for row in rows], np.float32),
        lines=page.words.lines[owners],
        blocks=page.words.blocks[owners],
    )
    matched = (lines[match.line][match.start : match.stop] for match in matches if match)
    kept, total = (sum(len("".join(text.split())) for text in some) for some in (matched, lines))
    quality = page_quality(words) * (kept / total if total else 0.0)
    return replace(page, words=words, quality=quality, source="ocr", engine=engine, tables=())


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


def _match_pieces(pieces: Sequence[_Piece], lines: Sequence[str]) -> list[_Match | None]:
    """Match each piece to a place in the lines, long pieces first; each character is matched once."""
    free = list(lines)
    matches: list[_Match | None] = [None] * len(pieces)
    for index in sorted(range(len(pieces)), key=lambda index: -len(pieces[index].text)):
        text = pieces[index].text
        first, last = 0, len(lines) - 1
        if len(text) < ANCHOR:  # between the lines of the nearest pieces before and after, with these
            before = next((match.line for match in reversed(matches[:index]) if match), first)
            after = next((match.line for match in matches[index + 1 :] if match), last)
            first, last = min(before, after), max(before, after)
        match = _best_match(text, free, range(first, last + 1), index / max(1, len(pieces) - 1))
        if match is not None:
            matches[index] = match
            line = free[match.line]
            free[match.line] = line[: match.start] + _TAKEN * (match.stop - match.start) + line[match.stop :]
    return matches


def _best_match(text: str, free: Sequence[str], near: range, height: float) -> _Match | None:
    """Best free match of the text in the lines. near: the lines to search; height: from 0 to 1."""
    best, best_score = None, 0.0
    for line in near:
        match = fuzz.partial_ratio_alignment(text, free[line], score_cutoff=LIKE)
        if match is None or not free[line].strip(_TAKEN + " "):
            continue
        score = match.score - ASTRAY * abs(line / max(1, len(free) - 1) - height)
        if score > best_score:
            start, stop = _whole_words(free[line], match.dest_start, match.dest_end)
            stop = _stretched(text, free[line], start, stop)
            if fuzz.ratio(text, free[line][start:stop]) >= LIKE:
                best, best_score = _Match(line, start, stop), score
    return best


def _whole_words(line: str, start: int, stop: int) -> tuple[int, int]:
    while start and not line[start - 1].isspace() and line[start - 1] != _TAKEN:
        start -= 1
    while stop < len(line) and not line[stop].isspace() and line[stop] != _TAKEN:
        stop += 1
    while start < stop and (line[start].isspace() or line[start] == _TAKEN):
        start += 1
    return start, stop


def _stretched(text: str, line: str, start: int, stop: int) -> int:
    """End of a match after the next words that make it more like the text, which we may have joined."""
    while stop < len(line):
        following = line[stop:].lstrip()
        _, further = _whole_words(line, start, len(line) - len(following) + 1)
        if not following or fuzz.ratio(text, line[start:further]) <= fuzz.ratio(text, line[start:stop]):
            break
        stop = further
    return stop


def _place_words(texts: Sequence[str], piece: _Piece, words: Words) -> list[_Row]:
    """Rows for a model's words in the place of a piece."""
    confidences: list[float] = words.confidences[piece.start : piece.stop].tolist()
    rows: list[_Row] = []
    if len(texts) == len(confidences):
        for word, (text, confidence) in enumerate(zip(texts, confidences, strict=True), piece.start):
            agreement = fuzz.ratio(text, words.texts[word]) / 100
            rows.append(_Row(word, words.box(word, word + 1), agreement * (1 + confidence) / 2))
        return rows
    whole = " ".join(texts)
    confidence = fuzz.ratio(whole, piece.text) / 100 * (1 + min(confidences)) / 2
    x0, y0, x1, y1 = words.box(piece.start, piece.stop)
    at = 0
    for text in texts:
        left, right = at / len(whole), (at + len(text)) / len(whole)
        box = Box(x0 + left * (x1 - x0), y0, x0 + right * (x1 - x0), y1)
        rows.append(_Row(piece.start, box, confidence))
        at += len(text) + 1
    return rows
