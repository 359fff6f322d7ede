"""Typing errors: the words of documents that a person may have meant."""

from collections.abc import Iterable
from functools import cache

from rapidfuzz.distance import OSA

from docmill.service.search.terms import SearchTerm, fold, search_terms
from docmill.understanding.meaning.word_vectors import thesaurus
from docmill.understanding.text.dates import month_names

_SHORTEST = 4
"""Letters of a word that may be mistyped: of shorter ones, too many others differ by a letter."""
_SHORTEST_OF_TWO = 8
"""Letters of a word in which two may be wrong."""


def doubtful_words(query: str) -> list[str]:
    """The words of a query that may be mistyped: no phrase, no number, no code, nothing to leave out.

    A word that is known to be one is not: it is right, though no document has it.
    """
    return [term.words[0] for term in search_terms(query) if _may_be_mistyped(term)]


def corrected_query(query: str, words: Iterable[tuple[str, int]]) -> str | None:
    """The query with each mistyped word as documents have it; None if nothing is near, or nothing differs.

    words: that documents have, each with the number of them. Of words that are equally near, the one that
    more documents have is taken.
    """
    known = dict(words)
    changed = False
    pieces: list[str] = []
    for term in search_terms(query):
        word = term.words[0] if term.words else ""
        if not _may_be_mistyped(term) or any(each.startswith(word) for each in known):
            pieces.append(term.typed)
            continue
        nearest = _nearest(word, known)
        if nearest is None:
            return None
        changed = True
        pieces.append(nearest)
    return " ".join(pieces) if changed else None


def _nearest(word: str, known: dict[str, int]) -> str | None:
    most = 2 if len(word) >= _SHORTEST_OF_TWO else 1
    near: list[tuple[int, int, str]] = []
    for other, count in known.items():
        distance = OSA.distance(word, other, score_cutoff=most)
        if distance <= most:
            near.append((distance, -count, other))
    return min(near)[2] if near else None


def _may_be_mistyped(term: SearchTerm) -> bool:
    is_word = len(term.words) == 1 and term.words[0].isalpha() and len(term.words[0]) >= _SHORTEST
    if not is_word or term.is_phrase or term.is_excluded or term.exact:
        return False
    return term.words[0] not in _known_words()


@cache
def _known_words() -> frozenset[str]:
    """Words of the thesaurus and names of months, folded."""
    words = thesaurus()
    months = (name for number in range(1, 13) for name in month_names(number))
    return frozenset(fold(word) for each in (*words, *words.values(), *months) for word in each.split())
