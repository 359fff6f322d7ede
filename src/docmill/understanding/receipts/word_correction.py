"""OCR post-correction: a misread word of a name or address is replaced if only similar letters differ."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from docmill.understanding.receipts.spans import Field

_SHORTEST = 5
"""Letters of the shortest word that is corrected."""
_TWO_ERRORS = 9
"""Letters from which on two may be wrong."""
_MOST_DIGITS = 2
"""Digits of a word; more of them are a number."""
_GROUPS = (
    "A4R", "ILT1JFE|", "O0DQCGU", "UVHO", "RKPNX", "NMHRWU", "EFCGO", "S5BG", "B8E3RD", "G6C", "CGO", "KXRH",
    "TIYF", "ZS2", "PFR", "WVN", "AU", "EC", "ND", "LU", "LE",
)  # fmt: skip
"""Letters and digits that look alike in print of poor quality."""
_ALIKE = frozenset((letter, other) for group in _GROUPS for letter in group for other in group)
_WORD = re.compile(r"(?:(?<![A-Za-z0-9])[01|]|(?<![A-Za-z])[A-Za-z])[A-Za-z01|']{2,}[A-Za-z01|]")
_LETTERS_ONLY = re.compile(r"[A-Z]{2,}")
_LETTERS, _OTHER_LETTERS = str.maketrans("01|", "OIL"), str.maketrans("01|", "OLI")
_LEGAL_FORM = re.compile(
    r"(?<![A-Z])([S5$8][DUO0BQI]{1,2}[NMHW]{0,2})[.,\s]*([B8SDEHR63]?[HMNI][DBOI0HN])(?=\W*$|\W*\()",
    re.IGNORECASE,
)
_CANADIAN = re.compile(
    r"(?<=\b(?:AB|BC|MB|NB|NL|NS|ON|PE|QC|SK|YT)\s)[A-Z][\dOIlSB][A-Z]\s?[\dOIlSB][A-Z][\dOIlSB]\b"
)
_DIGITS = str.maketrans("OIlSB", "01158")


def _as_letter_digit_letter(match: re.Match[str]) -> str:
    """A postcode of Canada, in which every second character is a digit."""
    code = re.sub(r"\s", "", match[0])
    printed = "".join(sign.translate(_DIGITS) if at % 2 else sign for at, sign in enumerate(code))
    return f"{printed[:3]} {printed[3:]}" if len(match[0]) > len(code) else printed


_NAME_FIXES = (
    (re.compile(r"(?<=\s)[S5]/[B8](?=\W*$|\W*\()"), "S/B"),
    (re.compile(r"(?<=\b[A-Z]\.)1(?=\.)"), "I"),
)
_ADDRESS_FIXES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"\bJ[1I]N\b"), "JLN"),
    (re.compile(r"\b(J|B)[1I](n|k)\b"), r"\1l\2"),  # Jln and Blk
    (re.compile(r"^N0\b"), "NO"),
    (re.compile(r"^(?:L0T|10T|1OT|IOT|LOI|L[O0]1)\b"), "LOT"),
    # an O after a number and before a stroke or the end is a zero
    (re.compile(r"(?<=\d)[OQ](?=\d|\b)|\bO(?=\d\d)"), "0"),
    # a state of two letters before a code of five digits has no digit
    (re.compile(r"\b([AF])[1l](?=\s\d{5}\b)"), r"\1L"),
    (re.compile(r"\b([HMRW])[1l](?=\s\d{5}\b)"), r"\1I"),
    (re.compile(r"\b[1l]([ADLN])(?=\s\d{5}\b)"), r"I\1"),
    (re.compile(r"\b([CM])0(?=\s\d{5}\b)"), r"\1O"),
    (re.compile(r"\b0([HKR])(?=\s\d{5}\b)"), r"O\1"),
    (_CANADIAN, _as_letter_digit_letter),
)


@dataclass(frozen=True)
class WordCorrector:
    """Corrects misread words.

    words: known words, which several vendors have. right: further words that are never changed.
    """

    words: frozenset[str]
    right: frozenset[str]
    _corrections: dict[str, str] = field(default_factory=dict[str, str], compare=False, repr=False)

    def corrected(self, text: str, part: Field) -> str:
        """`text` as it was probably printed."""
        if part == "name":
            text = _LEGAL_FORM.sub(_correct_legal_form, text)
        for pattern, printed in _NAME_FIXES if part == "name" else _ADDRESS_FIXES:
            text = pattern.sub(printed, text)
        return _WORD.sub(self._correct_word, text)

    def known_share(self, text: str) -> float:
        """The share of the letters of `text` that belong to known words."""
        words = _LETTERS_ONLY.findall(text.upper())
        known = sum(len(word) for word in words if word in self.words or word in self.right)
        return known / max(1, sum(map(len, words)))

    def _correct_word(self, match: re.Match[str]) -> str:
        """The corrected word, in capitals or small letters as it was read."""
        word, capitals = match[0], match[0].upper()
        if sum(map(str.isdecimal, word)) > _MOST_DIGITS:
            return word
        corrected = self._corrections.get(capitals)
        if corrected is None:
            corrected = self._corrections[capitals] = self._nearest(capitals)
        if corrected == capitals:
            return word
        if word == capitals:
            return corrected
        return corrected.capitalize() if word[0].isupper() else corrected.lower()

    def _nearest(self, word: str) -> str:
        """The known word it was misread from; itself if there is none, or two that are equally near."""
        letters = word.translate(_LETTERS)
        for spelling in (letters, word.translate(_OTHER_LETTERS)):
            if spelling in self.words or spelling in self.right:
                return spelling
        if len(letters) < _SHORTEST:
            return word
        allowed = 1 if len(letters) < _TWO_ERRORS else 2
        near = sorted(
            (distance, other)
            for length in range(len(letters) - allowed, len(letters) + allowed + 1)
            for other in self._by_length.get(length, ())
            if (distance := Levenshtein.distance(letters, other, score_cutoff=allowed)) <= allowed
            and _is_misreading(letters, other)
        )
        is_clear = bool(near) and (len(near) == 1 or near[0][0] < near[1][0])
        return near[0][1] if is_clear else word

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        table: dict[int, list[str]] = {}
        for word in sorted(self.words):
            if len(word) >= _SHORTEST:
                table.setdefault(len(word), []).append(word)
        return table

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The stored form."""
        return {
            name: np.frombuffer("\n".join(sorted(words)).encode(), np.uint8)
            for name, words in (("words", self.words), ("right", self.right))
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[np.generic]]) -> "WordCorrector":
        """The corrector with these `arrays`."""
        words, right = (frozenset(arrays[name].tobytes().decode().split("\n")) for name in ("words", "right"))
        return cls(words, right)


def _is_misreading(misread: str, word: str) -> bool:
    """True if every letter that differs could be misread and none is added at the ends.

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


def _correct_legal_form(match: re.Match[str]) -> str:
    """The Malaysian legal form: being in nearly every name, it is the word most often misread."""
    if Levenshtein.distance((match[1] + match[2]).upper(), "SDNBHD") > len(match[2]) - 1:
        return match[0]
    return "SDN BHD" if match[0].isupper() else "Sdn Bhd"
