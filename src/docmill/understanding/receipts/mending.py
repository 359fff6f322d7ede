"""Misread words of names and addresses put right, where only letters that look alike differ."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from docmill.understanding.receipts.spans import Field

SHORTEST = 5
"""Letters of a word that is put right."""
_TWICE = 9
"""Letters from which on two may be wrong."""
_GROUPS = (
    "A4R", "ILT1JFE|", "O0DQCGU", "UVHO", "RKPNX", "NMHRWU", "EFCGO", "S5BG", "B8E3RD", "G6C", "CGO", "KXRH",
    "TIYF", "ZS2", "PFR", "WVN", "AU", "EC", "ND", "LU", "LE",
)  # fmt: skip
"""Letters and digits that look alike in print of poor quality."""
_ALIKE = frozenset((one, other) for group in _GROUPS for one in group for other in group)
_WORD = re.compile(r"(?:(?<![A-Za-z0-9])[01|]|(?<![A-Za-z])[A-Za-z])[A-Za-z01|']{2,}[A-Za-z01|]")
_LETTERS_ONLY = re.compile(r"[A-Z]{2,}")
_DIGITS = re.compile(r"\d")
_LETTERS, _OTHERWISE = str.maketrans("01|", "OIL"), str.maketrans("01|", "OLI")
_LEGAL = "SDNBHD"
_LEGAL_END = re.compile(
    r"(?<![A-Z])([S5$8][DUO0BQI]{1,2}[NMHW]{0,2})[.,\s]*([B8SDEHR63]?[HMNI][DBOI0HN])(?=\W*$|\W*\()",
    re.IGNORECASE,
)
_LEGAL_SHORT = re.compile(r"(?<=\s)[S5]/[B8](?=\W*$|\W*\()")
_INITIAL = re.compile(r"(?<=\b[A-Z]\.)1(?=\.)")
_LOT = re.compile(r"^(?:L0T|10T|1OT|IOT|LOI|L[O0]1)\b")
_JLN = re.compile(r"\bJ[1I]N\b")
_SMALL = re.compile(r"\b(J|B)[1I](n|k)\b")
"""Jln and Blk with a small L misread."""
_NO = re.compile(r"^N0\b")
_ZERO = re.compile(r"(?<=\d)[OQ](?=\d|\b)|\bO(?=\d\d)")


@dataclass(frozen=True)
class Mender:
    """Puts words right. words: those known of several vendors; right: more that are never changed."""

    words: frozenset[str]
    right: frozenset[str]
    _known: dict[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)

    def mended(self, text: str, part: Field) -> str:
        """`text` as it was probably printed."""
        text = _company(text) if part == "name" else _street(text)
        return _WORD.sub(lambda match: self._cased(match[0]), text)

    def known(self, text: str) -> float:
        """The share of the letters of `text` that belong to known words."""
        found = _LETTERS_ONLY.findall(text.upper())
        letters = sum(map(len, found))
        return sum(len(word) for word in found if word in self.words or word in self.right) / max(1, letters)

    def _cased(self, word: str) -> str:
        capitals = word.upper()
        found = self._word(capitals)
        if found == capitals:
            return word
        return found if word == capitals else found.capitalize() if word[0].isupper() else found.lower()

    def _word(self, word: str) -> str:
        if len(_DIGITS.findall(word)) > 2:  # noqa: PLR2004 - a number
            return word
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = self._nearest(word)
        return found

    def _nearest(self, word: str) -> str:
        for letters in (word.translate(_LETTERS), word.translate(_OTHERWISE)):
            if letters in self.words or letters in self.right:
                return letters
        letters = word.translate(_LETTERS)
        if len(letters) < SHORTEST:
            return word
        allowed = 1 if len(letters) < _TWICE else 2
        found: list[tuple[int, str]] = []
        for length in range(len(letters) - allowed, len(letters) + allowed + 1):
            for other in self._by_length.get(length, ()):
                distance = Levenshtein.distance(letters, other, score_cutoff=allowed)
                if distance <= allowed and _looks_alike(letters, other):
                    found.append((distance, other))
        found.sort()
        if found and (len(found) == 1 or found[0][0] < found[1][0]):
            return found[0][1]
        return word

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        table: dict[int, list[str]] = {}
        for word in sorted(self.words):
            if len(word) >= SHORTEST:
                table.setdefault(len(word), []).append(word)
        return table

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """As stored."""
        return {"words": _packed(self.words), "right": _packed(self.right)}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "Mender":
        """From `arrays`."""
        return cls(_unpacked(arrays["words"]), _unpacked(arrays["right"]))


def _packed(words: frozenset[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(sorted(words)).encode(), np.uint8)


def _unpacked(packed: NDArray[np.generic]) -> frozenset[str]:
    return frozenset(packed.tobytes().decode().split("\n"))


def _looks_alike(misread: str, word: str) -> bool:
    """Tell whether every letter that differs could be misread; none is added at the ends.

    Nor is an S taken away there: a plural is a word of its own.
    """
    if misread[0] != word[0] and misread[-1] != word[-1]:
        return False
    for change in Levenshtein.editops(misread, word):
        if change.tag == "replace" and (misread[change.src_pos], word[change.dest_pos]) not in _ALIKE:
            return False
        if change.tag == "insert" and change.dest_pos in (0, len(word) - 1):
            return False
        if change.tag == "delete" and misread[change.src_pos :] == "S":
            return False
    return True


def _company(text: str) -> str:
    """The Malaysian legal form: being in nearly every name, it is the word most often misread."""

    def form(match: re.Match[str]) -> str:
        letters = (match[1] + match[2]).upper()
        if Levenshtein.distance(letters, _LEGAL) > len(match[2]) - 1:
            return match[0]
        return "SDN BHD" if match[0].isupper() else "Sdn Bhd"

    return _INITIAL.sub("I", _LEGAL_SHORT.sub("S/B", _LEGAL_END.sub(form, text)))


def _street(text: str) -> str:
    """Words and numbers of streets; an O after a number and before a stroke or the end is a zero."""
    text = _LOT.sub("LOT", _NO.sub("NO", _SMALL.sub(r"\1l\2", _JLN.sub("JLN", text))))
    return _ZERO.sub("0", text)
