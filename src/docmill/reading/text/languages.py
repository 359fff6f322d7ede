"""Detection of a document's language, offline, by the letters of its words (docs/decisions/018)."""

from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from docmill.model.document import Page

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


def dominant_language(texts: Sequence[str]) -> str | None:
    """The ISO 639-1 code of the language of most of the texts, by their length.

    None where there is too little text to tell.
    """
    votes: Counter[str] = Counter()
    for text in texts:
        # Without numbers, codes, signs, and repeated words.
        letters = {word: sum(map(str.isalpha, word)) for word in text.split() if word.isprintable()}
        words = " ".join(word for word, count in letters.items() if count > 1 and 2 * count >= len(word))
        size = len(words.encode())
        if size < FEWEST_BYTES:
            continue
        library: Any = import_module(
            "pycld2"
        )  # here, for its 9 MB, which only children need; it has no types
        _, _, guesses = library.detect(words, bestEffort=True)
        codes = (code.partition("-")[0] for _, code, _, _ in guesses if code != _UNKNOWN)
        languages = (_ALIASES.get(code, code) for code in codes)
        language = next((language for language in languages if language in KNOWN), None)
        if language is not None:
            votes[language] += size
    return votes.most_common(1)[0][0] if votes else None
