"""What cannot be anybody's name: streets, labels, sentences, fragments of them."""

import re

from docmill.understanding.constraints.address_features import (
    FIRM_WORDS,
    NOT_LETTERHEAD,
    STREET_ENDS,
    STREET_WORDS,
    legal_form_end,
)
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.titles import is_title
from docmill.understanding.text.folding import fold, tokens
from docmill.understanding.vocabulary import LANGUAGES, Concept

_COMMON = frozenset(word for language in LANGUAGES for word in language.common)
_NOT_NAMED = NOT_LETTERHEAD | {
    Concept.BANK,
    Concept.SELLER,
    Concept.BUYER,
    Concept.SHIP_TO,
    Concept.SHIP_FROM,
    Concept.ADDRESS,
}
_MOST_OF_IT = 0.75
_INITIALS = 4
_SENTENCE_WORDS = 4
_HOUSE = re.compile(r"\d{1,5}[a-z]?")
_HOUSE_FIRST = re.compile(r"^\W*\d{1,5}\s?[a-z]?(?:\s?(?:bis|ter))?[\s,]+(?=[^\W\d_])")


def is_name(text: str) -> bool:
    """Whether somebody may be called that. A legal form leaves no doubt."""
    if legal_form_end(text):
        return True
    words = [token.text for token in tokens(text)]
    if not words or _is_fragment(text) or _is_street(fold(text), words) or _is_label(text):
        return False
    return not _is_sentence(text, words)


def _is_fragment(text: str) -> bool:
    """It ends a bracket that it does not begin."""
    return text.count(")") > text.count("(") and text.rstrip(" .,;:").endswith(")")


def _is_street(folded: str, words: list[str]) -> bool:
    """A house number with a word of streets: `1 rue de la Banque`, `Hauptstr. 12`."""
    streets = [word in STREET_WORDS or word.endswith(STREET_ENDS) for word in words]
    if _HOUSE_FIRST.match(folded) is not None and any(streets[1:]):
        return True
    numbers = [_HOUSE.fullmatch(word) is not None for word in words]
    return any(number and street for number, street in zip(numbers, streets[1:], strict=False)) or (
        len(words) > 1 and numbers[-1] and streets[-2]
    )


def _is_label(text: str) -> bool:
    """Labels of other things take most of it, or it is what papers are called: `Receipt`.

    Nor is it a register's name: `Reg. Merc. de Madrid`.
    """
    labels = [label for label in LABELS.find(text) if _NOT_NAMED.intersection(label.meanings)]
    if labels and Concept.REGISTRATION_NUMBER in labels[0].meanings and labels[0].start <= 1:
        said = text[labels[0].start : labels[0].stop]
        if " " in said and len(said) > _INITIALS:
            return True
    covered = sum(label.stop - label.start for label in labels)
    return covered > _MOST_OF_IT * len(text.strip()) or is_title(text)


def _is_sentence(text: str, words: list[str]) -> bool:
    """Words run through it that are no one's, and what they join is not written as names are."""
    if len(words) < _SENTENCE_WORDS or FIRM_WORDS.intersection(words) or text.islower() or text.isupper():
        return False
    joined = [word for word in re.findall(r"[^\W\d_]{2,}", text) if fold(word) not in _COMMON]
    common = sum(word in _COMMON for word in words)
    small = sum(word[0].islower() for word in joined)
    return common > 0 and 2 * small > len(joined)
