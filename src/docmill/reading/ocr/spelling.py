"""Characters that a recogniser of many scripts confuses, put right where the text around them is plain.

Each is replaced by one character, so that places stay true. Nothing is looked up in a lexicon: without
a guard that costs more words than it saves.
"""

import re
import unicodedata
from collections.abc import Sequence

from docmill.reading.ocr.character_classes import settled
from docmill.reading.ocr.ctc import LineText

RARE = 0.01
"""Of the letters of a page: a language with accents has more of them."""
CERTAIN = 0.97
"""An accent as probable as that is believed on any page."""
IDEOGRAPHIC = re.compile(r"[\u3040-\u30fa\u3105-\u312f\u3400-\u4dff\u4e01-\u9fff\uac00-\ud7af]")
"""Letters of Chinese, Japanese and Korean, without the strokes that are taken for dashes."""
STROKES = {ord(stroke): "-" for stroke in "\u4e00\u30fc\u2014\u2013\u2015"}
FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
LATIN = {**FULL_WIDTH, **STROKES, 0x3002: ".", 0x3001: ",", 0xD7: "x"}
"""What stands for what in a line that has no ideographs."""
OH_IN_NUMBER = re.compile(
    r"(?<![^\W_])(?=[\d.,:/-]*\d[\d.,:/-]*[\dOo])(?:[\dOo]+[.,:/-]?)*\d[\dOo.,:/-]*(?![^\W_])"
)
ZERO_IN_WORD = re.compile(r"(?<=[A-Z])0(?=[A-Z]{2})|(?<=[A-Z]{2})0(?=[A-Z])")
WORD = re.compile(r"\S+")


def corrected(lines: Sequence[LineText]) -> list[str]:
    """The texts of one page's lines, each as long as it was."""
    accents = _accents_are_rare(lines)
    return [_corrected(line, plain=accents) for line in lines]


def _accents_are_rare(lines: Sequence[LineText]) -> bool:
    letters = [character for line in lines for character in line.text if character.isalpha()]
    accented = sum(_plain(letter) != letter for letter in letters)
    return accented <= RARE * len(letters)


def _corrected(line: LineText, *, plain: bool) -> str:
    text = settled(line)
    if plain:
        certainties = line.certainties.tolist()
        text = "".join(
            _plain(character) if certainty < CERTAIN else character
            for character, certainty in zip(text, certainties, strict=True)
        )
    if not IDEOGRAPHIC.search(text):
        text = text.translate(LATIN)
    return WORD.sub(lambda found: _digits(found.group()), text)


def _plain(character: str) -> str:
    """A Latin letter without its accent; any other character as it is."""
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isascii() else character


def _digits(word: str) -> str:
    """An O among digits is a zero, and a zero among capitals an O."""
    word = OH_IN_NUMBER.sub(lambda found: found.group().replace("O", "0").replace("o", "0"), word)
    return ZERO_IN_WORD.sub("O", word)
