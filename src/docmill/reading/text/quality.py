"""Quality and language of a page's text, by its words alone."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from docmill.model.document import Page, Words

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


MOST_PAGES = 40
MOST_WORDS = 400
"""Words of a page that are looked at; more do not change the result."""
FEWEST_BYTES = 40
"""Least UTF-8 bytes of a page's words; single words occur in several languages."""
LATIN = frozenset(
    ("cs", "da", "de", "en", "es", "fi", "fr", "hr", "hu", "it", "nl", "no", "pl", "pt", "ro", "sk", "sl")
) | {"sv", "tr"}
OTHER_SCRIPTS = frozenset(
    ("ar", "bg", "el", "fa", "he", "hi", "ja", "ka", "ko", "ru", "sr", "ta", "te", "th", "uk", "ur", "zh")
)
KNOWN = LATIN | OTHER_SCRIPTS
"""Languages of documents. Rarer ones would be detected in names and in misread words."""
_ALIASES = {"iw": "he", "nb": "no", "nn": "no"}
_UNKNOWN = "un"


def excerpts(pages: Sequence[Page]) -> list[str]:
    """Enough text of each page to detect its language; of a long document, of pages from all over it."""
    step = max(1, -(-len(pages) // MOST_PAGES))
    return [" ".join(page.words.texts[:MOST_WORDS]) for page in pages[::step]]


class LanguageFit(NamedTuple):
    """The language of a text. share: of its bytes that are in it; score: how well the text fits it.

    score: 600 and more for a printed text in a language, below 150 for letters in any order. That of East
    Asian scripts, which have more bytes for a character, is above 1,500. size: bytes of the words looked at.
    """

    language: str | None
    share: float
    score: float
    size: int


def language_fit(texts: Iterable[str]) -> LanguageFit:
    """The most likely language of the words, by their sequences of letters, and how well they fit it.

    No language where there is too little text to tell.
    """
    words = _telling_words(texts)
    size = len(words.encode())
    guesses = _detect(words) if size >= FEWEST_BYTES else []
    fits = (LanguageFit(language, share, share * score, size) for language, share, score in guesses)
    return max(fits, key=lambda fit: fit.score, default=LanguageFit(None, 0, 0, size))


def _telling_words(texts: Iterable[str]) -> str:
    """The words without numbers, codes, signs and repetitions, in one text."""
    letters = {word: sum(map(str.isalpha, word)) for word in texts if word.isprintable()}
    return " ".join(word for word, count in letters.items() if count > 1 and 2 * count >= len(word))


def _detect(text: str) -> list[tuple[str | None, float, float]]:
    """The languages of a text, each with its share and its score."""
    library: Any = import_module("pycld2")  # here, for its 9 MB, which only children need; it has no types
    _, _, guesses = library.detect(text, bestEffort=True)
    return [
        (_ALIASES.get(code := full.partition("-")[0], code), percent / 100, score)
        for _, full, percent, score in guesses
        if full != _UNKNOWN
    ]


def dominant_language(texts: Sequence[str]) -> str | None:
    """The ISO 639-1 code of the language of most of the texts, by their length.

    None where there is too little text to tell.
    """
    votes: Counter[str] = Counter()
    for text in texts:
        words = _telling_words(text.split())
        size = len(words.encode())
        if size < FEWEST_BYTES:
            continue
        languages = (language for language, _, _ in _detect(words))
        language = next((language for language in languages if language in KNOWN), None)
        if language is not None:
            votes[language] += size
    return votes.most_common(1)[0][0] if votes else None
