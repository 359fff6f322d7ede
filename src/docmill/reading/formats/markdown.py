"""Markdown (CommonMark and the tables of GitHub), as it is meant to be seen."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from docmill.reading.files.options import ReadingOptions
from docmill.reading.formats.html import INLINE, unpacked
from docmill.reading.formats.pictures import Album
from docmill.reading.layout.typeset import Block, Grid, Heading, Paragraph
from docmill.reading.text import encodings

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})\s*$")
RULE = re.compile(r"^ {0,3}\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*$")
PICTURE = re.compile(rf"[(\"']\s*{INLINE.pattern}([^)\"'\s]+)", re.IGNORECASE)
BULLET = re.compile(r"^(\s*)[*+-]\s+")
CELL_END = re.compile(r"(?<!\\)\|")
MARKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"<((?:https?://|mailto:)[^>\s]+)>"), r"\1"),
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(?=[^\s_])([^_\n]+?)(?<=[^\s_])_(?![\w_])"), r"\1"),
    (re.compile(r"~~(?=\S)(.+?)(?<=\S)~~"), r"\1"),
    (re.compile(r"`([^`\n]+)`"), r"\1"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|>~-])"), r"\1"),
)
"""Marks within a line, and what is seen of them."""


def read(path: Path, options: ReadingOptions) -> list[Block]:
    """Headings, tables, code, and everything else as text; pictures that it holds come last."""
    del options
    text = encodings.decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
    album, found = Album(), list(_blocks(text.split("\n")))
    for picture in PICTURE.finditer(text):
        found += album.blocks(partial(unpacked, picture[1]))
    return found


def _blocks(lines: list[str]) -> Iterator[Block]:
    waiting: list[str] = []
    at = 0
    while at < len(lines):
        line, after = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        block, stop = _apart(lines, at, after)
        if block is None:
            waiting.append(line)
            at += 1
            continue
        yield from _paragraph(waiting)
        yield block
        at, waiting = stop, []
    yield from _paragraph(waiting)


def _apart(lines: list[str], at: int, after: str) -> tuple[Block | None, int]:
    """The heading, code or table that starts here, and the line after it; None for running text."""
    line = lines[at]
    if fence := FENCE.match(line):
        return _code(lines, at, fence[1])
    if heading := HEADING.match(line):
        return Heading(_seen(heading[2] or ""), len(heading[1])), at + 1
    if "|" in line and "|" in after and RULE.match(after):
        return _table(lines, at)
    underline = UNDERLINE.match(after)
    if underline and line.strip() and not BULLET.match(line):
        return Heading(_seen(line.strip()), 1 if underline[1][0] == "=" else 2), at + 2
    return None, at


def _code(lines: list[str], at: int, fence: str) -> tuple[Block, int]:
    stop = at + 1
    while stop < len(lines) and not lines[stop].lstrip().startswith(fence):
        stop += 1
    return Paragraph("\n".join(lines[at + 1 : stop]), is_set=True), stop + 1


def _table(lines: list[str], at: int) -> tuple[Block, int]:
    rows = [_row(lines[at])]
    stop = at + 2
    while stop < len(lines) and "|" in lines[stop]:
        rows.append(_row(lines[stop]))
        stop += 1
    return Grid(rows, 1), stop


def _row(line: str) -> list[str]:
    cells = CELL_END.split(line.strip().removeprefix("|").removesuffix("|"))
    return [_seen(cell.strip().replace("<br>", "\n")) for cell in cells]


def _paragraph(lines: list[str]) -> Iterator[Block]:
    text = "\n".join(_seen(BULLET.sub(r"\1• ", line)) for line in lines).strip("\n")
    if text.strip():
        yield Paragraph(text, is_set=True)


def _seen(line: str) -> str:
    for mark, shown in MARKS:
        line = mark.sub(shown, line)
    return line
