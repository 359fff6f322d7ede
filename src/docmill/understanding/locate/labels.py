"""How much speaks for a field around a place: labels, the field's own name, words of the vocabulary."""

import re
from collections.abc import Iterator, Sequence

from docmill.model.document import Box
from docmill.model.paths import without_indices
from docmill.model.result import Schema, known_type
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.locate.sheets import Sighting
from docmill.understanding.page.context import FARTHER, WORD_GAP, Clues, texts_above, texts_left
from docmill.understanding.text.folding import tokens
from docmill.understanding.vocabulary.labels import LABELS

GIVEN = 4.0
"""What a label counts that the user gave."""
NAMED = 2.0
"""What the field's own name counts, if all of its words stand there."""
_MOST_ABOVE = 60
_TELL_NOTHING = frozenset(
    ("name", "value", "text", "field", "of", "the", "data", "item", "number", "no", "date")
)


class Labels:
    """What speaks for the fields of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._contexts: dict[int, list[tuple[str, float]]] = {}

    def score(self, path: str, one: Sighting) -> float:
        """How much is said for the field where the value stands; below zero, that it is another one."""
        contexts = self._contexts.get(id(one))
        if contexts is None:
            contexts = self._contexts[id(one)] = list(_texts_around(one))
        phrases, names = self._phrases(path), self._names(path)
        own = max((_own(phrases, names, text) * strength for text, strength in contexts), default=0.0)
        return own + self._known(path, contexts)

    def _phrases(self, path: str) -> list[list[str]]:
        general = without_indices(path)
        return [_words(label) for label in self._schema.labels.get(general, ())]

    def _names(self, path: str) -> list[str]:
        leaf = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
        return [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", leaf).casefold().split("_") if word]

    def _known(self, path: str, contexts: Sequence[tuple[str, float]]) -> float:
        meaning = built_in_meaning(path, known_type(self._schema.name))
        if not meaning.labels:
            return 0.0
        clues: Clues = {}
        for text, weight in contexts:
            for label in LABELS.find(text):
                gap = len(text[label.stop :].split())
                strength = weight * label.quality * WORD_GAP**gap
                for concept in label.meanings:
                    clues[concept] = max(clues.get(concept, 0.0), strength)
        return meaning.score(clues)


def _texts_around(one: Sighting) -> Iterator[tuple[str, float]]:
    """The texts before the place on its line, left of it and above it, with how much each counts."""
    span = one.spans[0]
    before = _since_the_last_value(span.segment.text[: span.start])
    has_label = bool(before.strip())
    if has_label:
        yield before, 1.0
    for other, strength in texts_left(one.sheet, span.segment, strength=FARTHER if has_label else 1.0):
        yield other.text, strength
    box = Box(one.box.x0, one.segment.box.y0, one.box.x1, one.segment.box.y1)
    for other, strength in texts_above(one.sheet, one.segment, box, most=_MOST_ABOVE):
        if not any(map(str.isdecimal, other.text)):
            yield other.text, strength
            break


def _since_the_last_value(text: str) -> str:
    """What follows the last number of some length: it has a label of its own."""
    last = max((match.end() for match in re.finditer(r"\d[\d.,/:\-]*\d\S*", text)), default=0)
    return text[last:]


def _own(phrases: Sequence[Sequence[str]], names: Sequence[str], text: str) -> float:
    there = _words(text)
    if any(_holds(there, phrase) for phrase in phrases):
        return GIVEN
    telling = [name for name in names if name not in _TELL_NOTHING] or names
    share = sum(any(_same(name, word) for word in there) for name in telling) / max(1, len(telling))
    return NAMED * share**2


def _words(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


def _holds(there: Sequence[str], phrase: Sequence[str]) -> bool:
    count = len(phrase)
    return count > 0 and any(
        list(there[at : at + count]) == list(phrase) for at in range(len(there) - count + 1)
    )


def _same(name: str, word: str) -> bool:
    """The same word, or one cut short: `num` and `number`."""
    short, long = sorted((name, word), key=len)
    return short == long or (len(short) >= 3 and long.startswith(short))  # noqa: PLR2004 - `no` is many words
