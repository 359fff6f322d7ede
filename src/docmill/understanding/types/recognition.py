"""Recognition of document types that the shipped classifier was not trained on, by words in their files."""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from rapidfuzz import fuzz

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.page.layout import Layout, Segment
from docmill.understanding.page.titles import closed_up, is_title
from docmill.understanding.text.folding import fold, token_texts
from docmill.understanding.vocabulary import NUMBER_WORDS

_TOP = 0.35
"""The share of the first page that holds its title."""
_MOST_OF_IT = 0.6
"""Share of a heading's letters that the title takes."""
_LARGE = 1.15
"""Print this many times as high as the page's usual text may go on after the title."""
_LONGEST = 8
"""Words of a heading: longer ones are sentences."""
_AS_LARGE = 0.95
_ALIKE = 90
"""Likeness of two words of which one is misread, of 100."""
_SHORTEST_MISREAD = 7
_SHORTEST_WORD = 3
"""Letters of the first word of a title."""
_SEARCHED = 20_000
"""Characters of a document in which words are looked for that settle a doubtful title."""
_LEAST, _EACH, _MOST = 0.75, 0.04, 0.98
"""Confidence in a type that stands alone: least, more for each label, and most."""


class Recognition(NamedTuple):
    """The type of a document. doubt: a question to a person about it; empty if there is none."""

    document_type: DocumentType
    confidence: float
    doubt: str = ""


class _Phrase(NamedTuple):
    text: str
    words: tuple[str, ...]
    is_doubtful: bool


class _Title(NamedTuple):
    segment: Segment
    phrase: _Phrase


def recognise(layout: Layout, document_type: DocumentType, confidence: float) -> Recognition:
    """The type by its own words, or the given one, which the classifier found with this confidence.

    A type that refines the one it extends needs a title; one that stands alone needs labels of its fields,
    too. A larger title of a trained type speaks against both.
    """
    for name, definition in DEFINITIONS.items():
        if definition.is_trained or definition.extends not in ("", document_type):
            continue
        title = _find_title(name, layout)
        if title is None:
            continue
        if definition.extends:
            return _refine(name, layout, title)._replace(confidence=confidence)
        lines = [_words(segment.text) for segment in layout.segments if segment.page_index == 0]
        labelled = sum(
            any(_begins(words, label) for words in lines for label in labels)
            for path, labels in _label_phrases(name).items()
            if path in definition.recognition.fields
        )
        if labelled >= definition.recognition.labels and not _is_outdone(name, layout, title):
            return Recognition(name, min(_MOST, _LEAST + _EACH * labelled))
    return Recognition(document_type, confidence)


def _refine(name: DocumentType, layout: Layout, title: _Title) -> Recognition:
    """The type that the title names, or the one that it extends; without a confidence."""
    definition = DEFINITIONS[name]
    words, label = definition.words, definition.label.lower()
    base = DEFINITIONS[definition.extends].label.lower()
    phrase = title.phrase.text
    if _is_outdone(name, layout, title):
        doubt = f"The document is titled both {base} and {phrase!r}: please say of which type it is."
        return Recognition(definition.extends, 0.0, doubt)
    if not title.phrase.is_doubtful:
        return Recognition(name, 0.0)
    text = f" {' '.join(token_texts(layout.document.text[:_SEARCHED]))} "
    if any(_stands_in(text, against) for phrases in words.contrary.values() for against in phrases):
        return Recognition(definition.extends, 0.0)
    settling = (titles.get(phrase, ()) for titles in words.doubtful.values())
    if any(_stands_in(text, speaking_for) for phrases in settling for speaking_for in phrases):
        return Recognition(name, 0.0)
    doubt = f"{phrase.capitalize()!r} may mean {base} or {label}: please say of which type it is."
    return Recognition(definition.extends, 0.0, doubt)


def _find_title(name: DocumentType, layout: Layout) -> _Title | None:
    """The largest heading that is a title of the type; a sure one before a doubtful one."""
    large = _LARGE * layout.sheets[0].text_height
    titles: list[_Title] = []
    for segment in _headings(layout):
        words = _words(segment.text)
        phrase = _title_at_start(name, words)
        if phrase is not None:
            share = sum(map(len, phrase.words)) / sum(map(len, words))
            if share >= _MOST_OF_IT or (segment.height >= large and len(words) <= _LONGEST):
                titles.append(_Title(segment, phrase))
    return max(titles, key=lambda title: (not title.phrase.is_doubtful, title.segment.height), default=None)


def _title_at_start(name: DocumentType, words: Sequence[str]) -> _Phrase | None:
    """The longest title that the words begin with."""
    if not words or len(words[0]) < _SHORTEST_WORD:
        return None
    beginnings = _beginning_with(name, words[0])
    return next((phrase for phrase in beginnings if _begins(words, phrase.words)), None)


def _headings(layout: Layout) -> list[Segment]:
    return [segment for segment in layout.segments if segment.page_index == 0 and segment.middle < _TOP]


def _is_outdone(name: DocumentType, layout: Layout, title: _Title) -> bool:
    """True if a larger heading is nothing but the title of a trained type."""
    return any(
        _AS_LARGE * heading.height > title.segment.height
        and is_title(heading.text)
        and _title_at_start(name, _words(heading.text)) is None
        for heading in _headings(layout)
    )


@lru_cache(maxsize=20_000)
def _beginning_with(name: DocumentType, word: str) -> Sequence[_Phrase]:
    """The titles whose first word this is, perhaps misread; the longest first."""
    return [phrase for phrase in _title_phrases(name) if _is_same(word, phrase.words[0])]


@cache
def _title_phrases(name: DocumentType) -> Sequence[_Phrase]:
    words = DEFINITIONS[name].words
    sure = {phrase: False for phrases in words.titles.values() for phrase in phrases}
    doubtful = {phrase: True for titles in words.doubtful.values() for phrase in titles}
    phrases = [_Phrase(text, _words(text), is_doubtful) for text, is_doubtful in (doubtful | sure).items()]
    return sorted(phrases, key=lambda phrase: -len(phrase.words))


@cache
def _label_phrases(name: DocumentType) -> Mapping[str, Sequence[tuple[str, ...]]]:
    return {path: [_words(label) for label in labels] for path, labels in DEFINITIONS[name].labels.items()}


def _words(text: str) -> tuple[str, ...]:
    """The words of a text, folded, but those with digits and those that mean `number`."""
    return tuple(
        word
        for word in token_texts(closed_up(text))
        if word not in NUMBER_WORDS and not any(map(str.isdecimal, word))
    )


def _begins(words: Sequence[str], phrase: Sequence[str]) -> bool:
    return bool(phrase) and len(words) >= len(phrase) and all(map(_is_same, words, phrase))


def _is_same(word: str, other: str) -> bool:
    return word == other or (
        min(len(word), len(other)) >= _SHORTEST_MISREAD and fuzz.ratio(word, other) >= _ALIKE
    )


def _stands_in(text: str, phrase: str) -> bool:
    return f" {' '.join(token_texts(fold(phrase)))} " in text
