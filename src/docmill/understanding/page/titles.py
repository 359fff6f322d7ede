"""Scores of the types of documents by the words of titles and labels."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.understanding.page.labels import Label, Phrases, Spelling
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.text.folding import fold, remembered, tokens
from docmill.understanding.vocabulary import LANGUAGES, Language

KINDS = TRAINED_TYPES
"""The types that words speak for."""


class _Meaning(NamedTuple):
    kind: DocumentType
    weight: float


def _said_by(language: Language) -> Iterator[tuple[str, _Meaning]]:
    """All phrases of titles in the language."""
    for kind, phrases in language.titles.items():
        for phrase, weight in phrases.items():
            yield phrase, _Meaning(kind, weight)
    for phrase, weight in language.others.items():
        yield phrase, _Meaning("other", weight)


def _known() -> frozenset[str]:
    """The words of titles and of labels: what is neither is taken for the nearest of both."""
    phrases = [phrase for language in LANGUAGES for phrase, _ in _said_by(language)]
    phrases += [phrase for language in LANGUAGES for found in language.labels.values() for phrase in found]
    return frozenset(token.text for phrase in phrases for token in tokens(phrase))


def _strongest() -> Iterator[tuple[str, _Meaning]]:
    """Every phrase of all languages with the greatest weight that one of them gives it for a type."""
    weights: dict[tuple[str, DocumentType], float] = {}
    for phrase, meaning in (said for language in LANGUAGES for said in _said_by(language)):
        key = (" ".join(token.text for token in tokens(phrase)), meaning.kind)
        weights[key] = max(meaning.weight, weights.get(key, 0.0))
    return ((phrase, _Meaning(kind, weight)) for (phrase, kind), weight in weights.items())


_TITLES: Phrases[_Meaning] = Phrases(_strongest(), Spelling(_known()))
_HEADING = 2.0
"""How much more a phrase counts that stands alone at the top of the first page."""
_TOP = 0.35
_MOST_OF_IT = 0.6
"""Share of a heading's text that the phrase takes."""
_TITLE = 2.5
"""What a phrase weighs that can be a title by itself."""
_SHORTEST_ENDING, _SHORTEST_BEGINNING = 7, 3
_ENDING_QUALITY = 0.9
_MARKS = 2
"""Signs that may stand around a title."""
_SET_APART = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_](?!\S)")


@dataclass(slots=True)
class Spoken:
    """The scores of one type.

    total: of all phrases. heading: the most that one heading says. strongest: the most that one phrase says,
    wherever it stands. phrases: those that were found.
    """

    total: float = 0.0
    heading: float = 0.0
    strongest: float = 0.0
    phrases: set[str] = field(default_factory=set[str])


def spoken(layout: Layout) -> Mapping[DocumentType, Spoken]:
    """For each type what the document's words say for it. A phrase counts once, and in its best place."""
    found: dict[DocumentType, Spoken] = {kind: Spoken() for kind in KINDS}
    for segment in layout.segments:
        text = closed_up(segment.text)
        for label in _found(text):
            heads = _is_heading(segment) and label.stop - label.start > _MOST_OF_IT * len(text)
            phrase = text[label.start : label.stop].casefold()
            for kind, weight in label.meanings:
                if kind == "other" and segment.page_index > 0:
                    continue  # the terms on the back speak of everything
                one = found[kind]
                said = weight * label.quality
                first = phrase not in one.phrases
                one.phrases.add(phrase)
                one.strongest = max(one.strongest, said)
                if heads:
                    one.heading = max(one.heading, said)
                if first or heads:
                    one.total += said * (_HEADING if heads and first else 1)
    return found


def is_title(text: str) -> bool:
    """True if the text is the title of a document and nothing else."""
    text = closed_up(text.strip())
    return any(
        label.stop - label.start >= len(text) - _MARKS
        and any(weight >= _TITLE for _, weight in label.meanings)
        for label in _found(text)
    )


def closed_up(text: str) -> str:
    """`text` with the letters of words put together that are set apart, as in `R E C H N U N G`."""
    return _SET_APART.sub(lambda run: run[0].replace(" ", ""), text)


@remembered
def _found(text: str) -> tuple[Label[_Meaning], ...]:
    """The phrases of `text`, and the long words that end in one: `Stromrechnung`."""
    found = _TITLES.find(text)
    compounds = [
        Label(meanings, token.start, token.stop, _ENDING_QUALITY)
        for token in tokens(text)
        if (meanings := _of_ending(token.text))
        and not any(token.start < label.stop and label.start < token.stop for label in found)
    ]
    return (*found, *compounds)


@remembered
def _of_ending(word: str) -> tuple[_Meaning, ...]:
    """The meanings of the longest known ending of a compound word."""
    for length in _LENGTHS:
        if length + _SHORTEST_BEGINNING <= len(word) and word[-length:] in _ENDINGS:
            return _ENDINGS[word[-length:]]
    return ()


def _is_heading(segment: Segment) -> bool:
    return segment.page_index == 0 and segment.middle < _TOP


def _endings() -> dict[str, tuple[_Meaning, ...]]:
    """Titles of one word, in the languages that write compounds as one word."""
    found: dict[str, tuple[_Meaning, ...]] = {
        fold(phrase): (meaning,)
        for language in LANGUAGES
        if language.compounds
        for phrase, meaning in _said_by(language)
        if meaning.weight >= _TITLE and phrase.isalpha() and len(phrase) >= _SHORTEST_ENDING
    }
    return found


_ENDINGS = _endings()
_LENGTHS = sorted({len(ending) for ending in _ENDINGS}, reverse=True)
