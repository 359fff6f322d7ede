"""How much speaks for a field around a place: labels, the field's own name, words of the vocabulary."""

import re
from collections.abc import Iterator, Mapping, Sequence

from docmill.model.document import Box
from docmill.model.paths import without_indices
from docmill.model.result import Schema, known_type
from docmill.understanding.fields import weights
from docmill.understanding.fields.weights import Weights
from docmill.understanding.locate.sheets import Sighting
from docmill.understanding.page.context import FARTHER, WORD_GAP, texts_above, texts_left
from docmill.understanding.text.folding import tokens
from docmill.understanding.vocabulary import Concept
from docmill.understanding.vocabulary.labels import LABELS

GIVEN = 4.0
"""What a label counts that the user gave."""
NAMED = 2.0
"""What the field's own name counts, if all of its words stand there."""
_MOST_ABOVE = 60
_TELL_NOTHING = frozenset(
    ("name", "value", "text", "field", "of", "the", "data", "item", "number", "no", "date")
)
_PARTIES: Mapping[str, Weights] = {
    "seller": {Concept.SELLER: 3, Concept.BUYER: -2, Concept.SHIP_TO: -2, Concept.ADVERTISER: -2},
    "buyer": {Concept.BUYER: 3, Concept.ADVERTISER: 3, Concept.SHIP_TO: 1, Concept.SELLER: -2},
    "payment": {Concept.IBAN: 2, Concept.BIC: 2, Concept.BANK: 2, Concept.ACCOUNT: 1, Concept.DUE: 0.5},
}
_LISTED: Mapping[str, Weights] = {
    "quantity": {Concept.QUANTITY: 3},
    "unit_price": {Concept.PRICE: 3},
    "net_amount": {Concept.AMOUNT: 2, Concept.TOTAL: 1.5, Concept.NET: 1},
    "tax_rate": {Concept.TAX: 2},
}


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
        own = max(
            (_own(self._phrases(path), self._names(path), text) * strength for text, strength in contexts),
            default=0.0,
        )
        return own + self._known(path, contexts)

    def _phrases(self, path: str) -> list[list[str]]:
        general = without_indices(path)
        return [_words(label) for label in self._schema.labels.get(general, ())]

    def _names(self, path: str) -> list[str]:
        leaf = re.sub(r"\[\d+\]$", "", path).rpartition(".")[2]
        return [word for word in re.sub(r"(?<=[a-z])(?=[A-Z])", "_", leaf).casefold().split("_") if word]

    def _known(self, path: str, contexts: Sequence[tuple[str, float]]) -> float:
        table = _weights(self._schema.name, path)
        if not table:
            return 0.0
        clues: dict[Concept, float] = {}
        for text, weight in contexts:
            for label in LABELS.find(text):
                gap = len(text[label.stop :].split())
                strength = weight * label.quality * WORD_GAP**gap
                for concept in label.meanings:
                    clues[concept] = max(clues.get(concept, 0.0), strength)
        return weights.score(clues, table)


def _weights(document_type: str, path: str) -> Weights:
    kind, (owner, _, leaf) = known_type(document_type), path.rpartition(".")
    if "[" in path:
        return _LISTED.get(leaf, {})
    if path == "number":
        return weights.OWN_NUMBER[kind]
    if path == "issue_date":
        return weights.issue_date(kind)
    for table in (weights.DATES, weights.MONEY, weights.REFERENCES):
        if path in table:
            return table[path]
    return _PARTIES.get(owner, {})


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
