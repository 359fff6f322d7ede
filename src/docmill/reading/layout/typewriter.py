"""How text falls into lines of characters that are all equally wide."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

WORD = re.compile(r"\S+")
WIDE = frozenset("WF")
"""East Asian widths that take two characters' room (Unicode, UAX 11)."""
NO_WIDTH = frozenset(("Mn", "Me", "Cf"))
COLUMN_GAP = 3
"""Characters between the columns of a table."""


class Placed(NamedTuple):
    """A word in a line. column: where it starts; width: both in characters."""

    column: int
    width: int
    text: str


def width(text: str) -> int:
    """How many characters' room `text` takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in WIDE else 1


def wrapped(line: str, columns: int, *, is_set: bool = False) -> list[list[Placed]]:
    """The words of one line of text, in as many lines of `columns` as they need; at least one.

    is_set: gaps between words stay as wide as they are.
    """
    if line.isascii() and len(line) <= columns and (is_set or "  " not in line):  # most lines
        text = line if is_set else line.strip()
        return [[Placed(match.start(), len(match[0]), match[0]) for match in WORD.finditer(text)]]
    rows: list[list[Placed]] = [[]]
    end = previous = 0
    for match in WORD.finditer(line):
        gap = match.start() - previous if is_set else bool(rows[-1])
        previous = match.end()
        at = end + gap
        for piece, size in _pieces(match[0], columns):
            if at + size > columns and (rows[-1] or at):
                if rows[-1]:
                    rows.append([])
                at = 0
            rows[-1].append(Placed(at, size, piece))
            end = at = at + size
    return rows


def _pieces(word: str, columns: int) -> Iterator[tuple[str, int]]:
    """The word, broken where it is wider than a line."""
    size = width(word)
    if size <= columns:
        yield word, size
        return
    start = room = 0
    for index, character in enumerate(word):
        size = _character_width(character)
        if room + size > columns and index > start:
            yield word[start:index], room
            start, room = index, 0
        room += size
    yield word[start:], room


def fitted(natural: Sequence[int], least: Sequence[int], available: int) -> list[int]:
    """Widths of columns that together take no more than `available` where `least` allows it.

    The widest columns give way first.
    """
    if sum(natural) <= available:
        return list(natural)
    low, high = 1, max(natural)
    while low < high:  # the highest ceiling under which all fit
        middle = (low + high + 1) // 2
        if sum(_under(middle, natural, least)) <= available:
            low = middle
        else:
            high = middle - 1
    return _under(low, natural, least)


def _under(ceiling: int, natural: Sequence[int], least: Sequence[int]) -> list[int]:
    return [max(min(wish, ceiling), floor) for wish, floor in zip(natural, least, strict=True)]
