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
"""Of a constant and of each of `features`. Fitted by `python -m bench page_quality` (docs/decisions/017)."""

DIGITS_FOR_LETTERS = 2
"""More changes than this between letters and digits in one piece of a word are none that people write."""
CONSONANTS = 8
"""So many in a row are in no word of a language written in Latin letters, `Rechtsschutz` included."""
SHORT = 5
"""Letters up to which a word may do without a vowel."""
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
"""Unicode's categories of what people write. Fonts without a map to Unicode give controls and private use."""


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
    words (`text_quality`) adds nothing to these: recognisers invent words that could be.
    """
    lengths = np.array([len(text) for text in words.texts])
    mean = float(np.clip(np.average(words.confidences, weights=lengths), 0.01, 0.999))
    unsure = float(np.average(words.confidences < UNSURE, weights=lengths))
    return math.log(mean / (1 - mean)), unsure


def text_quality(words: Words) -> float:
    """The share of characters in words that could be ones of some language, amounts, dates or identifiers.

    Whoever read them; 0 for a page without words. Lone punctuation counts for nothing. It sees words that
    cannot be, such as `05t19t20` or `tHe`, not those that are only wrong.
    """
    return texts_quality(words.texts)


def texts_quality(texts: Iterable[str]) -> float:
    """See `text_quality`."""
    sound = weight = 0
    for text in texts:
        core = EDGES.sub("", text)
        if not core and len(text) <= DIGITS_FOR_LETTERS:
            continue
        weight += len(text)
        sound += len(text) * believable(core)
    return sound / weight if weight else 0.0


def believable(word: str) -> bool:
    """True if a word, without the punctuation around it, could stand in a document."""
    return bool(
        word
        and (
            PLAIN.fullmatch(word) or all(unicodedata.category(character)[0] in WRITTEN for character in word)
        )
        and all(_piece(piece) for piece in MARKS.split(word) if piece)
    )


def _piece(piece: str) -> bool:
    runs = RUNS.findall(piece)
    return (
        len(piece) <= LONGEST
        and len(runs) - 1 <= DIGITS_FOR_LETTERS
        and _one_after_another(runs)
        and all(run.isdigit() or _name(run) for run in runs)
    )


def _one_after_another(runs: list[str]) -> bool:
    """No small letter among digits, except of `3x4`, and no digits among letters: `05t19`, `T0TAL`."""
    if len(runs) <= DIGITS_FOR_LETTERS:
        return True
    return runs[1] in "xX" or not (runs[1].isdigit() or (len(runs[1]) == 1 and runs[1].islower()))


def _name(run: str) -> bool:
    """True if letters are in a sensible case and can be spoken, as far as their script tells."""
    if not run.isascii() and not _latin(run):
        return not any(_latin(character) for character in run)
    if sum(before.islower() and after.isupper() for before, after in pairwise(run)) > 1 or ODD_CASE.match(
        run
    ):
        return False
    small = unicodedata.normalize("NFD", run.lower())
    speakable = run.isupper() or len(run) <= SHORT or not VOWELS.isdisjoint(small)
    return speakable and not NO_VOWEL.search(small)


def _latin(text: str) -> bool:
    return all(unicodedata.name(character, "").startswith("LATIN") for character in text)
