"""Quality of a page's text, from 0 to 1: the share of its words that are probably right."""

import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from docmill.model.document import Words

UNSURE = 0.9
"""A word with less confidence than this counts as one that may be wrong."""
WEIGHTS = (-1.119, 0.714, -0.921)
"""A constant and a weight per feature. Fitted by `python -m bench page_quality` (docs/decisions/017)."""

DIGITS_FOR_LETTERS = 2
"""Most changes between letters and digits in a piece of a word."""
CONSONANTS = 8
"""More than in any word in Latin letters, `Rechtsschutz` included."""
SHORT = 5
"""Most letters of a word without a vowel."""
LONGEST = 40
"""Characters of the longest believable piece: an account number, a German compound."""
EDGES = re.compile(r"^[\W_]+|[\W_]+$")
MARKS = re.compile(r"[\W_]+")
RUNS = re.compile(r"[^\W\d_]+|\d+")
ODD_CASE = re.compile(r"[^\W\d_A-Z][A-Z][^\W\d_A-Z]?$|[^\W\d_A-Z]{2,3}[A-Z]{2}")
"""`tHe`, `ofTHE`; yet `iPhone`, `eBay`."""
NO_VOWEL = re.compile(rf"[bcdfghjklmnpqrstvwxz]{{{CONSONANTS},}}")
VOWELS = frozenset("aeiouyøœæ")
PLAIN = re.compile(r"[!-~]+")
WRITTEN = frozenset("LNPSM")
"""Unicode's categories of written characters. Fonts without a map to Unicode give controls, private use."""


def page_quality(words: Words) -> float:
    """The share of words that are probably right, of a page that was recognised; 0 for one without words.

    1 / (1 + exp(-x)), x being the sum of `WEIGHTS` times 1 and the features.
    """
    if not any(words.texts):
        return 0.0
    bias, *weights = WEIGHTS
    x = bias + sum(weight * feature for weight, feature in zip(weights, features(words), strict=True))
    return 1 / (1 + math.exp(-x))


def features(words: Words) -> tuple[float, float]:
    """Features that tell good pages from bad ones, weighted by characters; the page must have words.

    The log-odds of the mean confidence, and the share of words of little confidence. Whether words could be
    words (`texts_quality`) adds nothing to these: recognisers invent words that could be.
    """
    lengths = np.array([len(text) for text in words.texts])
    mean = float(np.clip(np.average(words.confidences, weights=lengths), 0.01, 0.999))
    unsure = float(np.average(words.confidences < UNSURE, weights=lengths))
    return math.log(mean / (1 - mean)), unsure


def texts_quality(texts: Iterable[str]) -> float:
    """The share of characters in words that could be ones of some language, amounts, dates or identifiers.

    0 for a page without words. Lone punctuation counts for nothing. Only impossible words such as `05t19t20`
    or `tHe` lower it, not words that are merely wrong.
    """
    believed = total = 0
    for text in texts:
        core = EDGES.sub("", text)
        if not core and len(text) <= DIGITS_FOR_LETTERS:
            continue
        total += len(text)
        believed += len(text) * believable(core)
    return believed / total if total else 0.0


def believable(word: str) -> bool:
    """True if a word, without the punctuation around it, could stand in a document."""
    return bool(
        word
        and (
            PLAIN.fullmatch(word) or all(unicodedata.category(character)[0] in WRITTEN for character in word)
        )
        and all(_is_piece(piece) for piece in MARKS.split(word) if piece)
    )


def _is_piece(piece: str) -> bool:
    """True if a word's piece without marks could be a name, a number or an identifier."""
    runs = RUNS.findall(piece)
    if len(piece) > LONGEST or len(runs) - 1 > DIGITS_FOR_LETTERS:
        return False
    if len(runs) > DIGITS_FOR_LETTERS:
        # No small letter among digits, except of `3x4`, and no digits among letters: `05t19`, `T0TAL`.
        middle = runs[1]
        if middle not in "xX" and (middle.isdigit() or (len(middle) == 1 and middle.islower())):
            return False
    return all(run.isdigit() or _is_name(run) for run in runs)


def _is_name(run: str) -> bool:
    """True if letters are in a usual case and, in Latin script, can be spoken."""
    if not run.isascii() and not _is_latin(run):
        return not any(_is_latin(character) for character in run)
    rises = sum(before.islower() and after.isupper() for before, after in pairwise(run))
    if rises > 1 or ODD_CASE.match(run):
        return False
    small = unicodedata.normalize("NFD", run.lower())
    speakable = run.isupper() or len(run) <= SHORT or not VOWELS.isdisjoint(small)
    return speakable and not NO_VOWEL.search(small)


def _is_latin(text: str) -> bool:
    return all(unicodedata.name(character, "").startswith("LATIN") for character in text)
