"""Content hashes and pieces of files, and names of files that come from outside."""

import asyncio
import hashlib
import re
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path

_LONGEST_NAME = 180
_LONGEST_FOLDERS = 300
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")

CHUNK_BYTES = 1 << 20


def digest(path: Path) -> str:
    """The SHA-256 hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


async def chunks(path: Path) -> AsyncIterator[bytes]:
    """A file's content in pieces of `CHUNK_BYTES`, each read in a thread."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
            yield chunk
    finally:
        await asyncio.to_thread(file.close)


def clean_name(name: str) -> str:
    """A relative path that cannot lead anywhere else, of printable letters, not too long."""
    shown = _UNSHOWN.sub("", unicodedata.normalize("NFC", name)).replace("\\", "/")
    steps = [step.strip() for step in re.sub(r"^[A-Za-z]:", "", shown).split("/")]
    *folders, last = [step for step in steps if step.strip(".")] or ["document"]
    stem, dot, ending = last.rpartition(".")
    if len(last) > _LONGEST_NAME:
        last = f"{(stem or ending)[: _LONGEST_NAME - 12]}…{dot}{ending[:10]}" if dot else last[:_LONGEST_NAME]
    kept: list[str] = []  # the folders next to the file, as many as fit
    for folder in reversed(folders):
        if sum(map(len, kept)) + len(folder) > _LONGEST_FOLDERS:
            break
        kept.insert(0, folder)
    return "/".join([*kept, last])


_LITTER = re.compile(
    r"(?:^|/)(?:__MACOSX/|\.DS_Store$|\._[^/]*$|(?:eh)?Thumbs\.db$|desktop\.ini$|~\$[^/]*$|\.~lock\.[^/]*#$)",
    re.IGNORECASE,
)


def is_junk(name: str) -> bool:
    """True for the name of a file that a system or program left, such as Office's `~$letter.docx`."""
    return bool(_LITTER.search(name.replace("\\", "/")))
