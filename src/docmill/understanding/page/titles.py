"""Scores of the document types by the words of titles."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from docmill.schemas.document_types import TRAINED_TYPES, DocumentType
from docmill.understanding.page.labels import Label, Phrases, Spelling
from docmill.understanding.page.layout import Layout
from docmill.understanding.text.folding import fold, remembered, token_texts, tokens
from docmill.understanding.vocabulary import LANGUAGES, Language

_HEADING = 2.0
"""Factor for a phrase that stands alone at the top of the first page."""
_TOP = 0.35
_MOST_OF_HEADING = 0.6
"""Share of a heading's text that the phrase takes."""
_TITLE = 2.5
"""The smallest weight of a phrase that can be a title by itself."""
_SHORTEST_ENDING, _SHORTEST_BEGINNING = 7, 3
_ENDING_QUALITY = 0.9
_MARKS = 2
"""Characters that may stand around a title."""
_SET_APART = re.compile(r"(?<!\S)(?:[^\W\d_] ){3,}[^\W\d_](?!\S)")


class _Meaning(NamedTuple):
    document_type: DocumentType
    weight: float


def _meanings(language: Language) -> list[tuple[str, _Meaning]]:
    """All phrases of titles in the language."""
    titles = [
        (phrase, _Meaning(document_type, weight))
        for document_type, phrases in language.titles.items()
        for phrase, weight in phrases.items()
    ]
    return [*titles, *((phrase, _Meaning("other", weight)) for phrase, weight in language.others.items())]


def _title_phrases() -> Phrases[_Meaning]:
    """Every title of all languages, with the greatest weight that one of them gives it for a type."""
    weights: dict[tuple[str, DocumentType], float] = {}
    # A word that is in neither titles nor labels is taken for the nearest of both.
    words = {
        word
        for language in LANGUAGES
        for phrases in language.labels.values()
        for phrase in phrases
        for word in token_texts(phrase)
    }
    for language in LANGUAGES:
        for phrase, meaning in _meanings(language):
            words.update(token_texts(phrase))
            key = (" ".join(token_texts(phrase)), meaning.document_type)
            weights[key] = max(meaning.weight, weights.get(key, 0.0))
    phrases = (
        (phrase, _Meaning(document_type, weight)) for (phrase, document_type), weight in weights.items()
    )
    return Phrases(phrases, Spelling(frozenset(words)))


_TITLES = _title_phrases()
_ENDINGS: Mapping[str, tuple[_Meaning, ...]] = {
    fold(phrase): (meaning,)
    for language in LANGUAGES
    if language.compounds
    for phrase, meaning in _meanings(language)
    if meaning.weight >= _TITLE and phrase.isalpha() and len(phrase) >= _SHORTEST_ENDING
}
"""Titles of one word, in the languages that write compounds as one word."""
_LONGEST_FIRST = tuple(sorted(_ENDINGS, key=len, reverse=True))


@dataclass(slots=True)
class TitleScore:
    """Scores of one document type by the printed titles; they are weights of the vocabulary.

    total: the sum for all phrases. heading: the strongest phrase that is a heading of the first page.
    strongest: the strongest phrase anywhere. phrases: all that were found, case-folded.
    """

    total: float = 0.0
    heading: float = 0.0
    strongest: float = 0.0
    phrases: set[str] = field(default_factory=set[str])


def title_scores(layout: Layout) -> Mapping[DocumentType, TitleScore]:
    """Score each type by the titles on the pages. A repeated phrase adds to the total only as a heading."""
    scores: dict[DocumentType, TitleScore] = {name: TitleScore() for name in TRAINED_TYPES}
    for segment in layout.segments:
        text = closed_up(segment.text)
        is_top = segment.page_index == 0 and segment.middle < _TOP
        for label in _find_titles(text):
            is_heading = is_top and label.stop - label.start > _MOST_OF_HEADING * len(text)
            phrase = text[label.start : label.stop].casefold()
            for document_type, weight in label.meanings:
                if document_type == "other" and segment.page_index > 0:
                    continue  # the terms on the back speak of everything
                score, strength = scores[document_type], weight * label.quality
                is_first = phrase not in score.phrases
                score.phrases.add(phrase)
                score.strongest = max(score.strongest, strength)
                if is_heading:
                    score.heading = max(score.heading, strength)
                if is_first or is_heading:
                    score.total += strength * (_HEADING if is_heading and is_first else 1)
    return scores


def is_title(text: str) -> bool:
    """True if the text is the title of a document and nothing else."""
    text = closed_up(text.strip())
    return any(
        label.stop - label.start >= len(text) - _MARKS
        and any(weight >= _TITLE for _, weight in label.meanings)
        for label in _find_titles(text)
    )


def titled_type(text: str, least: float) -> DocumentType | None:
    """The type of document whose title the whole text is; None if there is none, or several.

    least: the smallest weight of a title that counts; titles that are not spelt exactly weigh less.
    """
    text = closed_up(text.strip())
    types = {
        document_type
        for label in _find_titles(text)
        if label.stop - label.start >= len(text) - _MARKS
        for document_type, weight in label.meanings
        if weight * label.quality >= least
    }
    return types.pop() if len(types) == 1 else None


def closed_up(text: str) -> str:
    """`text` with letter-spaced words joined: `R E C H N U N G` becomes `RECHNUNG`."""
    return _SET_APART.sub(lambda run: run[0].replace(" ", ""), text)


@remembered
def _find_titles(text: str) -> tuple[Label[_Meaning], ...]:
    """The phrases of `text`, and the long words that end in one: `Stromrechnung`."""
    titles = _TITLES.find(text)
    compounds: list[Label[_Meaning]] = []
    for token in tokens(text):
        is_apart = not any(token.start < label.stop and label.start < token.stop for label in titles)
        if is_apart and token.text.endswith(_LONGEST_FIRST):
            endings = (ending for ending in _LONGEST_FIRST if token.text.endswith(ending))
            fitting = (ending for ending in endings if len(ending) + _SHORTEST_BEGINNING <= len(token.text))
            if ending := next(fitting, None):
                compounds.append(Label(_ENDINGS[ending], token.start, token.stop, _ENDING_QUALITY))
    return (*titles, *compounds)
