"""Files that stand in the text of a mail: uuencode, and its form in base64 (POSIX, utility uuencode)."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from functools import partial

from docmill.errors import CorruptError
from docmill.reading.files.containers import Member

_BEGIN = re.compile(r"begin(-base64)? [0-7]{3,4} (\S.*?)[ \t]*")
_ENCODED = re.compile(r"[ -`]{1,90}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}[ \t]*")
_END, _END_OF_BASE64 = "end", "===="
_MOST_CHECKSUM = 4
"""Characters that some programs write behind a line."""
DAMAGED = "this file in the text of the mail is damaged; have it sent again"


def split_uuencoded(text: str) -> tuple[str, list[Member]]:
    """The text without the files in it, and the files; a file without an end is damaged.

    What only looks like the first line of a file stays in the text.
    """
    if "\nbegin" not in f"\n{text}":
        return text, []
    lines = text.replace("\r\n", "\n").split("\n")
    kept: list[str] = []
    members: list[Member] = []
    at = 0
    while at < len(lines):
        begin = _BEGIN.fullmatch(lines[at])
        file = None if begin is None else _base64_file(lines, at + 1) if begin[1] else _file(lines, at + 1)
        if begin is None or file is None:
            kept.append(lines[at])
            at += 1
        else:
            content, at = file
            members.append(Member(begin[2], "attachment", partial(_content, content)))
    return "\n".join(kept), members


def _content(content: bytes | None) -> bytes:
    if content is None:
        raise CorruptError(DAMAGED)
    return content


def _file(lines: Sequence[str], start: int) -> tuple[bytes | None, int] | None:
    """The file whose lines begin at `start`, None if it is damaged, and where it ends; None for no file."""
    block: list[str] = []
    for line in lines[start:]:
        if not _ENCODED.fullmatch(line) or (not block and not _is_whole_line(line)):
            break
        block.append(line)
    if not block:
        return None
    stop = start + len(block)
    rest = lines[stop : stop + 2]
    if rest[:1] == [""]:  # a line of no bytes is a space, which may have been lost on the way
        rest, stop = rest[1:], stop + 1
    if not rest or rest[0].rstrip() != _END:
        return None, stop
    try:
        return b"".join(_decoded_lines(block)), stop + 1
    except binascii.Error:
        return None, stop + 1


def _is_whole_line(line: str) -> bool:
    needed = _needed(line)
    return needed <= len(line) - 1 <= needed + _MOST_CHECKSUM


def _decoded_lines(block: Sequence[str]) -> Iterator[bytes]:
    for line in block:
        needed = _needed(line)
        yield binascii.a2b_uu(line[: 1 + needed].ljust(1 + needed))


def _needed(line: str) -> int:
    """The characters behind the first one of a line, which says how many bytes they stand for."""
    return ((ord(line[0]) - ord(" ")) % 64 + 2) // 3 * 4


def _base64_file(lines: Sequence[str], start: int) -> tuple[bytes | None, int] | None:
    """As `_file`, for a file in base64."""
    stop = start
    while stop < len(lines) and _BASE64.fullmatch(lines[stop]):
        stop += 1
    if stop == len(lines) or lines[stop].rstrip() != _END_OF_BASE64:
        return None
    try:
        return base64.b64decode("".join(lines[start:stop])), stop + 1
    except binascii.Error:
        return None, stop + 1
