"""Scores of places by the texts around them: labels, the field's own name, labels of the vocabulary."""

import re
from collections.abc import Iterator, Sequence

from docmill.model.document import Box
from docmill.model.paths import without_indices
from docmill.model.result import Schema
from docmill.schemas.document_types import known_type
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.locate.searched_pages import Occurrence
from docmill.understanding.page.context import FARTHER, WORD_GAP, Clues, texts_above, texts_left
from docmill.understanding.text.folding import token_texts

GIVEN = 4.0
"""The score of a label that the user gave."""
NAMED = 2.0
"""The score of the field's own name, if all of its words stand there."""
_MOST_ABOVE = 60
_SHORTEST_BEGINNING = 3
"""Letters of a shortened word, as `num` for `number`; with fewer, `no` would be many words."""
_GENERAL_WORDS = frozenset(
    ("name", "value", "text", "field", "of", "the", "data", "item", "number", "no", "date")
)
_NUMBER = re.compile(r"\d[\d.,/:\-]*\d\S*")


class LabelScorer:
    """Scores places by the labels around them for the fields of a schema."""

    def __init__(self, schema: Schema, candidates: Candidates) -> None:
        self._schema = schema
        self._candidates = candidates
        self._contexts: dict[int, list[tuple[str, float]]] = {}

    def score(self, path: str, place: Occurrence) -> float:
        """The score of the texts around a place for the field; below zero, they speak for another one."""
        contexts = self._contexts.get(id(place))
        if contexts is None:
            contexts = self._contexts[id(place)] = list(_texts_around(place))
        phrases = [token_texts(label) for label in self._schema.labels.get(without_indices(path), ())]
        leaf = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
        names = [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", leaf).casefold().split("_") if word]
        score = max((_name_score(phrases, names, text) * weight for text, weight in contexts), default=0.0)
        meaning = built_in_meaning(path, known_type(self._schema.name))
        if not meaning.labels:
            return score
        clues: Clues = {}
        for text, weight in contexts:
            for label in self._candidates.labels_of(text):
                strength = weight * label.quality * WORD_GAP ** len(text[label.stop :].split())
                for concept in label.meanings:
                    clues[concept] = max(clues.get(concept, 0.0), strength)
        return score + meaning.score(clues)


def _texts_around(place: Occurrence) -> Iterator[tuple[str, float]]:
    """The texts before the place on its line, left of it and above it, with how much each counts."""
    span = place.spans[0]
    before = span.segment.text[: span.start]
    # The text before another number is the label of that.
    before = before[max((match.end() for match in _NUMBER.finditer(before)), default=0) :]
    has_label = bool(before.strip())
    if has_label:
        yield before, 1.0
    for other, strength in texts_left(place.sheet, span.segment, strength=FARTHER if has_label else 1.0):
        yield other.text, strength
    box = Box(place.box.x0, place.segment.box.y0, place.box.x1, place.segment.box.y1)
    for other, strength in texts_above(place.sheet, place.segment, box, most=_MOST_ABOVE):
        if not any(map(str.isdecimal, other.text)):
            yield other.text, strength
            break


def _name_score(phrases: Sequence[Sequence[str]], names: Sequence[str], text: str) -> float:
    """The score of a text that holds one of the phrases, or words of the field's name."""
    words = token_texts(text)
    for phrase in phrases:
        count = len(phrase)
        if count and any(words[at : at + count] == phrase for at in range(len(words) - count + 1)):
            return GIVEN
    telling = [name for name in names if name not in _GENERAL_WORDS] or names
    hits = sum(
        any(
            name == word
            or (
                min(len(name), len(word)) >= _SHORTEST_BEGINNING
                and (name.startswith(word) or word.startswith(name))
            )
            for word in words
        )
        for name in telling
    )
    return NAMED * (hits / max(1, len(telling))) ** 2
