"""Correction of characters that a recogniser of many scripts confuses, by the characters around them.

Each is replaced by one character, so that places stay true. Nothing is looked up in a lexicon: without
a guard that costs more words than it saves.
"""

import math
import re
import unicodedata
from collections.abc import Sequence

from docmill.reading.ocr.ctc import LineText

KINDS = "Aa0. "
"""A capital, a small letter, a digit, any mark, a space."""
FOLLOWING: dict[str, tuple[float, ...]] = {
    "AA": (-0.46, -4.60, -3.70, -2.20, -1.51),
    "Aa": (-4.93, -0.07, -9.25, -3.48, -3.55),
    "A0": (-2.97, -6.61, -0.17, -4.30, -2.38),
    "A.": (-0.86, -5.04, -1.83, -2.49, -1.11),
    "A ": (-0.79, -3.86, -1.03, -1.77, -13.26),
    "aA": (-1.40, -0.59, -5.94, -3.20, -1.87),
    "aa": (-6.18, -0.28, -7.14, -3.05, -1.63),
    "a0": (-4.34, -2.96, -0.36, -2.24, -2.05),
    "a.": (-1.70, -2.21, -2.79, -3.22, -0.50),
    "a ": (-0.66, -1.26, -2.21, -2.45, -14.53),
    "0A": (-0.90, -4.38, -3.57, -1.94, -0.90),
    "0a": (-11.92, -1.85, -4.07, -1.31, -0.59),
    "00": (-4.06, -4.39, -0.90, -1.33, -1.21),
    "0.": (-3.99, -6.92, -0.11, -4.15, -2.65),
    "0 ": (-1.04, -3.18, -0.97, -1.48, -13.80),
    ".A": (-0.89, -0.88, -5.71, -2.41, -2.54),
    ".a": (-5.28, -0.16, -5.08, -2.53, -2.90),
    ".0": (-6.15, -4.05, -0.15, -2.58, -3.17),
    "..": (-2.91, -4.68, -3.55, -0.29, -1.84),
    ". ": (-0.79, -2.46, -1.00, -2.38, -13.46),
    " A": (-1.32, -0.37, -5.56, -4.11, -3.78),
    " a": (-6.63, -0.03, -7.92, -4.42, -4.16),
    " 0": (-4.80, -3.42, -0.55, -1.86, -1.50),
    " .": (-2.23, -3.82, -0.76, -2.81, -1.06),
    "  ": (-0.28, -3.41, -1.86, -3.24, -4.11),
}
"""Log probability of each of `KINDS` after two others. By `bench character_sequences`."""
FOREIGN = -6.0
"""The same of a character that is none of these kinds."""
WEIGHT = 0.5
"""Weight of the kinds beside the probabilities of the recogniser."""

Alternative = tuple[str, float]


def settle_classes(line: LineText) -> str:
    """Choose for each doubtful letter or digit the kind of character that suits its neighbours.

    A line that surely has characters of other scripts stays as it is.
    """
    choices: list[list[Alternative]] = []  # of each character, with log probabilities
    for character, certainty, rivals in zip(line.text, line.certainties.tolist(), line.rivals, strict=True):
        kind = kind_of(character)
        best: dict[str, Alternative] = {kind: (character, certainty)}  # of each kind it may be taken for
        for rival, probability in rivals:
            other = kind_of(rival)
            is_exchangeable = other and (not kind or (kind in "Aa0" and other in "Aa0"))
            if is_exchangeable and (other not in best or probability > best[other][1]):
                best[other] = rival, probability
        choices.append([(alternative, math.log(probability)) for alternative, probability in best.values()])
    if all(len(alternatives) == 1 for alternatives in choices):
        return line.text
    certain = [alternatives[0][0] for alternatives in choices if len(alternatives) == 1]
    if any(character.isalpha() and not kind_of(character) for character in certain):
        return line.text
    return _likeliest(choices)


def kind_of(character: str) -> str:
    """One of `KINDS`; empty for a character of none of them."""
    if character.isspace():
        return " "
    if character.isalpha() and unicodedata.name(character, "").startswith("LATIN "):
        return "A" if character.isupper() else "a"
    if not character.isascii():
        return ""
    return "0" if character.isdigit() else "."


def _likeliest(choices: Sequence[Sequence[Alternative]]) -> str:
    """The most likely text by the recogniser's probabilities and the order of kinds (Viterbi's algorithm)."""
    ways = {"  ": (0.0, "")}
    for alternatives in [*choices, [(" ", 0.0)]]:
        longer = dict[str, tuple[float, str]]()
        for before, (so_far, text) in ways.items():
            for character, likelihood in alternatives:
                kind = kind_of(character)
                fits = FOLLOWING[before][KINDS.index(kind)] if kind else FOREIGN
                way = so_far + likelihood + WEIGHT * fits, text + character
                ending = before[1] + (kind or ".")
                longer[ending] = max(way, longer.get(ending, way))
        ways = longer
    return max(ways.values())[1][:-1]


RARE = 0.01
"""Accented letters are rare below this share of a page's letters; languages with accents have more."""
CERTAIN = 0.97
"""An accent of this probability is believed on any page."""
IDEOGRAPHIC = re.compile(r"[\u3040-\u30fa\u3105-\u312f\u3400-\u4dff\u4e01-\u9fff\uac00-\ud7af]")
"""Letters of Chinese, Japanese and Korean, without the strokes that are taken for dashes."""
STROKES = {ord(stroke): "-" for stroke in "\u4e00\u30fc\u2014\u2013\u2015"}
FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3000: " "}
LATIN = {**FULL_WIDTH, **STROKES, 0x3002: ".", 0x3001: ",", 0xD7: "x"}
"""Replacements in a line without ideographs."""
OH_IN_NUMBER = re.compile(
    r"(?<![^\W_])(?=[\d.,:/-]*\d[\d.,:/-]*[\dOo])(?:[\dOo]+[.,:/-]?)*\d[\dOo.,:/-]*(?![^\W_])"
)
ZERO_IN_WORD = re.compile(r"(?<=[A-Z])0(?=[A-Z]{2})|(?<=[A-Z]{2})0(?=[A-Z])")

SIGNS = {"\u0e3f": "B86", "\u20b1": "P29", "$": "S58"}
"""Signs of currencies, each with the letter and the digits for which they are taken: baht, peso, dollar."""
AMOUNT = re.compile(r"(?<![^\s(:=+\-])[A-Z]?\d[\d.,]*[.,]\d\d(?![\w.,/:%])")
"""An amount, perhaps with a letter before it."""
SIGN_BEFORE_AMOUNT = re.compile(r"(?<![^\s(:=+\-])[A-Z\d](?=\d[\d.,]*[.,]\d\d(?![\w.,/:%]))")
FEWEST = 3
"""Amounts from which on a page shows that all of them begin with the same sign."""


def correct_spelling(lines: Sequence[LineText]) -> list[str]:
    """Correct the texts of one page's lines; each keeps its length."""
    letters = [character for line in lines for character in line.text if character.isalpha()]
    has_accents = sum(_without_accent(letter) != letter for letter in letters) > RARE * len(letters)
    texts: list[str] = []
    for line in lines:
        text = settle_classes(line)
        if not has_accents:
            text = "".join(
                _without_accent(character) if certainty < CERTAIN else character
                for character, certainty in zip(text, line.certainties.tolist(), strict=True)
            )
        if not IDEOGRAPHIC.search(text):
            text = text.translate(LATIN)
        # An O among digits is a zero, and a zero among capitals an O.
        text = OH_IN_NUMBER.sub(lambda number: number[0].replace("O", "0").replace("o", "0"), text)
        texts.append(ZERO_IN_WORD.sub("O", text))
    return restore_signs(texts)


def restore_signs(texts: Sequence[str]) -> list[str]:
    """The texts of a page's lines with the currency's sign where it was read as a letter or a digit.

    Every amount begins with a look-alike of one sign then, some with the letter and some with a digit: that
    all amounts happen to begin with the same digit, which sometimes is read as a letter, is too improbable.
    """
    amounts = [amount[0] for text in texts for amount in AMOUNT.finditer(text)]
    first = {amount[0] for amount in amounts}
    if len(set(amounts)) >= FEWEST and all(amount[1].isdecimal() for amount in amounts):
        for sign, alike in SIGNS.items():
            if len(first) > 1 and alike[0] in first <= set(alike):
                return [SIGN_BEFORE_AMOUNT.sub(sign, text) for text in texts]
    return list(texts)


def _without_accent(character: str) -> str:
    """A Latin letter without its accent; any other character as it is."""
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isascii() else character
