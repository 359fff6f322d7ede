"""Names of files that come from outside."""

import re
import unicodedata
from collections.abc import Sequence

_LONGEST_NAME = 180
_LONGEST_FOLDERS = 300
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def clean_name(name: str) -> str:
    """A relative path that cannot lead anywhere else, of printable letters, not too long."""
    shown = _UNSHOWN.sub("", unicodedata.normalize("NFC", name)).replace("\\", "/")
    steps = [step.strip() for step in re.sub(r"^[A-Za-z]:", "", shown).split("/")]
    *folders, last = [step for step in steps if step.strip(".")] or ["document"]
    stem, dot, ending = last.rpartition(".")
    if len(last) > _LONGEST_NAME:
        last = f"{(stem or ending)[: _LONGEST_NAME - 12]}…{dot}{ending[:10]}" if dot else last[:_LONGEST_NAME]
    return "/".join([*_near(folders), last])


def _near(folders: Sequence[str]) -> list[str]:
    """The folders next to the file: as many as fit."""
    kept: list[str] = []
    for folder in reversed(folders):
        if sum(map(len, kept)) + len(folder) > _LONGEST_FOLDERS:
            break
        kept.insert(0, folder)
    return kept
