"""Folding of text for comparison: no case, no accents, and the same length so that offsets stay valid."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from itertools import pairwise
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_CACHED_TEXTS = 4096
LONGEST_CACHED = 300
"""Characters of a text whose result is cached; whole pages seldom come twice and would fill the memory."""
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?<!\bMw)(?<!mb)(?=[A-Z])")
"""The start of a word within another, by its capital; `MwSt` and `GmbH` are one word each."""
_TOKEN = re.compile(r"[^\W_]+|#")
_PART = re.compile(r"[^\W\d_]+|\d+|#")
_STROKES = {"ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d"}
"""Letters with a stroke, which Unicode does not take apart."""
_OCR_LETTERS = str.maketrans("01585", "olsbs")


def remembered(
    function: Callable[Concatenate[str, _Arguments], _Result],
) -> Callable[Concatenate[str, _Arguments], _Result]:
    """`function` with a cache of its results for short texts, which must be immutable.

    Every step and every field of a document looks at the same lines.
    """
    cached = lru_cache(maxsize=_CACHED_TEXTS)(function)

    @wraps(function)
    def call(text: str, *args: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        return (cached if len(text) <= LONGEST_CACHED else function)(text, *args, **options)  # type: ignore[arg-type]

    return call


def alternatives(words: Iterable[str]) -> str:
    """A regular expression for any of the words, the longest first; one that never matches for none."""
    return "|".join(map(re.escape, sorted(set(words), key=lambda word: (-len(word), word)))) or "(?!)"


class Token(NamedTuple):
    """A folded word or digit run and where it stands in the text."""

    text: str
    start: int
    stop: int


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in "°º":  # n° and nº are both `no`
        return "o"
    if character in _STROKES:
        return _STROKES[character]
    decomposed = unicodedata.normalize("NFKD", character)
    return (decomposed[:1].casefold() or character)[:1]


def fold(text: str) -> str:
    """`text` in lower case without accents, character by character: the result is as long as `text`."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_character, text.replace(".\u00ba", "o.")))  # `n.\u00ba` is `no`, too


@remembered
def tokens(text: str) -> tuple[Token, ...]:
    """The words, digit runs and number signs of `text`, folded; a word glued in camel case is split."""
    starts = [match.start() for match in _CAMEL.finditer(text)]
    folded = fold(text)
    words: list[Token] = []
    for match in _TOKEN.finditer(folded):
        start, stop = match.span()
        cuts = [start, *starts[bisect_right(starts, start) : bisect_left(starts, stop)], stop]
        words.extend(Token(folded[start:stop], start, stop) for start, stop in pairwise(cuts))
    return tuple(words)


@remembered
def token_texts(text: str) -> tuple[str, ...]:
    """The texts of the tokens of `text`."""
    return tuple(token.text for token in tokens(text))


def parts(token: Token) -> list[Token]:
    """The runs of letters and of digits in a token that has both."""
    return [
        Token(match[0], token.start + match.start(), token.start + match.end())
        for match in _PART.finditer(token.text)
    ]


def letters_for_digits(text: str) -> str:
    """`text` with digits that recognition confuses with letters replaced by these letters."""
    return text.translate(_OCR_LETTERS)


def without_accents(text: str) -> str:
    """`text` with every letter's accents taken off, its case kept."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(character for character in decomposed if not unicodedata.combining(character))
