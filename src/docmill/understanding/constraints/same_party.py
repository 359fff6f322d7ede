"""Comparison of the names of parties: another spelling of a name, or another party."""

from rapidfuzz.distance import Levenshtein

from docmill.model.document import letters_and_digits
from docmill.understanding.text.folding import fold, token_texts
from docmill.understanding.text.legal_forms import without_legal_form

_ALLOWED = ((8, 2), (4, 1))
"""Letters of the shorter name from which on so many letters may differ."""
_SHORTEST_WORD = 4
"""Letters of a word that tells who is meant."""


def is_same_party(name: str, other: str) -> bool:
    """Return whether two names are of the same party.

    Capitals, accents, signs, spaces and the legal form make no difference, nor do one or two letters, nor
    words that only one of the names has before or behind all words of the other.
    """
    short, long = sorted((without_legal_form(name), without_legal_form(other)), key=len)
    letters, others = (letters_and_digits(fold(text)) for text in (short, long))
    if not letters:
        return False
    allowed = next((most for least, most in _ALLOWED if min(len(letters), len(others)) >= least), 0)
    if Levenshtein.distance(letters, others, score_cutoff=allowed) <= allowed:
        return True
    words, others_words = token_texts(short), token_texts(long)
    count = len(words)
    is_part = words in (others_words[:count], others_words[-count:])
    return is_part and any(len(word) >= _SHORTEST_WORD for word in words)
