"""Vectors of texts by the meaning of their words, computed on this machine.

The vector of a word is the mean of those of its pieces, which come with the package wordllama: 32,000 pieces
of words in 256 dimensions, trained for sentences in English. Words of other languages stand in a thesaurus,
by the English words that mean the same. A text is the sum of its different words, the first ones: papers say
what they are about near their beginning, and repeat what they do not.
"""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np

from docmill.errors import MisconfiguredError

DIMENSIONS = 256
NAME = "wordllama-l2-supercat-256/1"
"""Of the model, its version and what is made of it here: vectors of other names are not comparable."""

Vectors = np.ndarray[tuple[int, int], np.dtype[np.float32]]

_MOST_WORDS = 150
_LONGEST_WORD = 60
_LONGEST_TEXT = 200_000
_SHORTEST_PART = 6
"""Letters of a word that is taken for the end of a compound, as in `Hausratversicherung`."""
_WORD = re.compile(r"[^\W\d_]{3,}")


class WordVectors:
    """Turns texts into vectors of length one; texts without a known word into zeros."""

    def __init__(self) -> None:
        """Raises MisconfiguredError where the package with the vectors is missing."""
        self._pieces, self._tokenizer = _load()
        self._thesaurus = thesaurus()
        self._words: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each text."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for index, text in enumerate(texts):
            words = dict.fromkeys(_WORD.findall(text[:_LONGEST_TEXT].lower()))
            for word in list(words)[:_MOST_WORDS]:
                rows[index] += self._vector(word[:_LONGEST_WORD])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def _vector(self, word: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        if word not in self._words:
            if len(self._words) >= _KEPT_WORDS:
                self._words.clear()
            pieces = self._tokenizer.encode(self._english(word), add_special_tokens=False).ids
            self._words[word] = self._pieces[pieces].mean(axis=0, dtype=np.float32)
        return self._words[word]

    def _english(self, word: str) -> str:
        """The English word for one of the thesaurus, or for a compound that ends in one; else the word."""
        if word in self._thesaurus:
            return self._thesaurus[word]
        for start in range(1, len(word) - _SHORTEST_PART + 1):
            if word[start:] in self._thesaurus:
                return self._thesaurus[word[start:]]
        return word


_KEPT_WORDS = 20_000


@cache
def thesaurus() -> dict[str, str]:
    """The English word for each word of the thesaurus."""
    text = resources.files("docmill.understanding.meaning").joinpath("thesaurus.toml").read_text("utf-8")
    return {word: english for english, words in tomllib.loads(text).items() for word in words.split()}


@cache
def _load() -> tuple[np.ndarray[Any, np.dtype[np.float16]], Any]:
    try:
        from safetensors import numpy as safetensors  # noqa: PLC0415  only who embeds needs them
        from tokenizers import Tokenizer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MisconfiguredError(_missing(error.name)) from error
    spec = find_spec("wordllama")  # not imported: it would load what downloads models
    if spec is None or spec.origin is None:
        raise MisconfiguredError(_missing("wordllama"))
    folder = Path(spec.origin).parent
    (pieces,) = cast("Any", safetensors).load_file(folder / "weights/l2_supercat_256.safetensors").values()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    return pieces, tokenizer


def _missing(name: str | None) -> str:
    return f"search by meaning needs {name!r}; run: pip install 'docmill[service]'"
