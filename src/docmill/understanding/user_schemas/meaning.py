"""What a field of a user's schema means, by its name, description and labels; how well a text names it."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from rapidfuzz import fuzz

from docmill.schemas.outline import FieldOutline, Kind
from docmill.understanding.fields.candidates import Form, Role
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import LANGUAGES, NUMBER_WORDS, Concept
from docmill.understanding.vocabulary.labels import LABELS, Label

STRONGEST = 1.6
"""What a text says at most."""

_WORDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8")
)
_SYNONYMS: Mapping[str, str] = {
    **{word: first for first, others in _WORDS["synonyms"].items() for word in (first, *others)},
    **dict.fromkeys(NUMBER_WORDS, "#"),
}
_GENERIC: Mapping[str, float] = _WORDS["generic"]
_SPECIAL: Mapping[str, Form] = _WORDS["special"]
_STOP, _MONEY, _CODE, _NAME = (frozenset(_WORDS[name]) for name in ("stop", "money", "code", "name"))
YES, NO, OF_FORMS = (frozenset(_WORDS[name]) for name in ("yes", "no", "forms"))
_GENERIC_CONCEPTS: Mapping[Concept, float] = {
    Concept.DATE: 0.5,
    Concept.AMOUNT: 0.6,
    Concept.PERIOD: 0.7,
    Concept.DOCUMENT_NUMBER: 0.7,
    Concept.DUE: 0.7,
}
_ANY = frozenset((Concept.OTHER_DATE, Concept.OTHER_NUMBER))
"""Labels of many things: they speak against a field, never for it."""
_NAME_WEIGHT = 1.0
_DESCRIPTION_WEIGHT = 0.4
_OWNER_WEIGHT = 0.6
"""Of the words of `seller` in `seller.name`."""
_RANGE_CLUES: Mapping[Role, Mapping[Concept, float]] = {
    "start": {Concept.PERIOD_START: 0.6, Concept.PERIOD: 0.5},
    "end": {Concept.PERIOD_END: 0.6, Concept.PERIOD: 0.5},
}
_RANGE_WORDS = {"start": {"start": 0.5, "period": 0.3}, "end": {"end": 0.5, "period": 0.3}}
_FOREIGN = 0.4
_OF_CODES = frozenset(("#", "code", "ref", "reference", "id"))
_READ = 60
"""Characters of a text that are looked at, its last."""
_LAST_WORDS = 4


@dataclass(frozen=True, eq=False)
class Meaning:
    """What is known of a field before any document.

    words, concepts: how strongly each, on a label, speaks for the field. aliases: labels that its owner
    named, as word lists.
    """

    path: str
    kind: Kind
    form: Form
    role: Role
    words: Mapping[str, float]
    concepts: Mapping[Concept, float]
    aliases: tuple[tuple[str, ...], ...] = ()
    choices: tuple[str, ...] = ()
    hints: frozenset[str] = frozenset()
    _hinting: dict[str, bool] = field(default_factory=dict[str, bool], compare=False, repr=False)
    _said: dict[str, float] = field(default_factory=dict[str, float], compare=False, repr=False)

    def says(self, text: str) -> float:
        """How strongly `text` names this field, in [0, STRONGEST]."""
        text = text[-_READ:]
        known = self._said.get(text)
        if known is None:
            if len(self._said) > _REMEMBERED:
                self._said.clear()
            known = self._said[text] = self._judged(text)
        return known

    def _judged(self, text: str) -> float:
        written = words_of(text)
        if not written:
            return 0.0
        if self.aliases:
            spelt = spelling_of(text)
            if any(_is_alias(spelt, alias) for alias in self.aliases):
                return STRONGEST
        if not any(self._hints(word) for word in written):
            return 0.0
        labels = LABELS.find(text)
        said = self._by_words([word for word in written if word not in _STOP])
        if self._is_foreign(labels, written):
            said *= _FOREIGN
        if self.form == "name" and _OF_CODES.intersection(written) - set(self.words):
            return _FOREIGN * said
        return max(said, self._by_concepts(text, labels))

    def _hints(self, word: str) -> bool:
        """Whether the word could speak for the field at all."""
        known = self._hinting.get(word)
        if known is None:
            known = self._hinting[word] = (
                word in self.hints
                or any(_same(word, own) for own in self.words)
                or any(own in word for own in self.hints if _SHORTEST_GLUED <= len(own) < len(word))
            )
        return known

    def _is_foreign(self, labels: Sequence[Label[Concept]], written: Sequence[str]) -> bool:
        """Whether the text is one label of something else: `Alt Order #` names no order."""
        if len(labels) != 1 or any(one in self.concepts for one in labels[0].meanings):
            return False
        return len(written) > 1

    def _by_words(self, written: Sequence[str]) -> float:
        used: set[str] = set()
        said, after, before = 0.0, 0, 0
        for word in written:
            match = next((own for own in self.words if own not in used and _same(word, own)), None)
            if match:
                said += self.words[match]
                used.add(match)
            elif said:
                after += 1
            else:
                before += 1
        if not said:
            return 0.0
        if after + before and used <= _GENERIC.keys():
            said *= _FOREIGN  # `Estimate No` names no order, although both are numbers
        best = said - 0.15 * after - 0.45 * min(before, 3)
        if len(written) >= _LAST_WORDS:
            best = max(best, *(0.85 * self._of_last(written[-count:]) for count in (1, 2, 3)))
        return min(max(best, 0.0), STRONGEST)

    def _of_last(self, written: Sequence[str]) -> float:
        said = sum(self.words.get(word, 0.0) for word in set(written))
        return said - 0.3 * sum(word not in self.words for word in written) if said else 0.0

    def _by_concepts(self, text: str, labels: Sequence[Label[Concept]]) -> float:
        """By the labels of all languages in the text; those that mean something else speak against it."""
        said, stop = 0.0, 0
        seen: set[Concept] = set()
        for label in labels:
            known = [one for one in label.meanings if one in self.concepts and one not in seen]
            if known:
                best = max(known, key=lambda one: self.concepts[one])
                seen.add(best)
                said += self.concepts[best] * label.quality
                stop = label.stop
        if not said:
            return 0.0
        others = sum(not any(one in self.concepts for one in label.meanings) for label in labels)
        unknown = len(words_of(text[: labels[0].start])) + 0.4 * len(words_of(text[stop:]))
        return min(max(said - 0.3 * others - 0.3 * min(unknown, 4), 0.0), STRONGEST)


_REMEMBERED = 20_000
_SHORTEST_GLUED = 5


def words_of(text: str) -> list[str]:
    """The words of a label or name, folded, each as the first of its synonyms; no digits."""
    return [_SYNONYMS.get(word, word) for word in _folded_words(text)]


def spelling_of(text: str) -> list[str]:
    """The words of a label as spelt, folded; only words for `number` are alike."""
    return ["#" if word in NUMBER_WORDS else word for word in _folded_words(text)]


def _folded_words(text: str) -> list[str]:
    found: list[str] = re.findall(
        r"[^\W\d_]+|#|\$(?!\s?[\d.])", fold(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))
    )
    return found


def _same(word: str, own: str) -> bool:
    if word == own:
        return True
    return len(word) > 4 and len(own) > 4 and fuzz.ratio(word, own) >= 83  # noqa: PLR2004 - one letter misread


def _is_alias(written: Sequence[str], alias: Sequence[str]) -> bool:
    if len(written) == len(alias):
        return all(map(_same, written, alias))
    return (
        len(written) > len(alias)
        and len(written) >= _LAST_WORDS
        and tuple(written[-len(alias) :]) == tuple(alias)
    )


def meaning_of(outline: FieldOutline) -> Meaning:
    """The meaning of a field by what its author wrote."""
    *owners, name = re.sub(r"\[\]", "", outline.path).split(".")
    words: dict[str, float] = {}
    concepts: dict[Concept, float] = {}
    bare = all(word in _GENERIC for word in words_of(name.replace("_", " ")))
    for text, weight in (
        (_main_clause(outline.description), _DESCRIPTION_WEIGHT),
        (" ".join(owners), _NAME_WEIGHT if bare else _OWNER_WEIGHT),
        (name, _NAME_WEIGHT),
    ):
        spoken = text.replace("_", " ")
        for word in words_of(spoken):
            if word not in _STOP:
                words[word] = weight * _GENERIC.get(word, 1.0)
        for concept in _concepts(spoken):
            strength = weight * _GENERIC_CONCEPTS.get(concept, 1.0)
            concepts[concept] = max(concepts.get(concept, 0.0), strength)
    role = _role(words_of(name.replace("_", " ")))
    form = _form(outline, words_of(f"{name} {outline.description}".replace("_", " ")))
    if role and form == "date":
        concepts = {**_RANGE_CLUES[role], **concepts}
        words = {**_RANGE_WORDS[role], **words}
    aliases = tuple(tuple(spelling_of(label)) for label in outline.labels if spelling_of(label))
    return Meaning(
        path=outline.path,
        kind=outline.kind,
        form=form,
        role=role if form in ("date", "time") else "",
        words=words,
        concepts=concepts,
        aliases=aliases,
        choices=outline.choices,
        hints=frozenset(
            (*words, *(word for label in outline.labels for word in words_of(label)), *_words_for(concepts))
        ),
    )


def _words_for(concepts: Iterable[Concept]) -> Iterator[str]:
    """The words of the labels that mean one of these."""
    wanted = set(concepts)
    for language in LANGUAGES:
        for concept in wanted & language.labels.keys():
            for phrase in language.labels[concept]:
                yield from (word for word in words_of(phrase) if word not in _STOP)


def _concepts(spoken: str) -> Iterator[Concept]:
    """What the phrases and words of a name mean where they are labels; not those that say little alone."""
    telling = [word for word in spoken.split() if set(words_of(word)) - _GENERIC.keys() - _STOP]
    phrases = [label for label in LABELS.find(spoken) if len(spoken[label.start : label.stop].split()) > 1]
    for label in (*phrases, *(label for word in telling for label in LABELS.find(word))):
        yield from (concept for concept in label.meanings if concept not in _ANY)


def _main_clause(description: str) -> str:
    return re.split(r"\b(?:who|whom|whose|which|that|where)\b", description)[0]


def _role(words: Sequence[str]) -> Role:
    if "start" in words:
        return "start"
    return "end" if "end" in words else ""


def _form(outline: FieldOutline, words: Sequence[str]) -> Form:
    if outline.choices:
        return "choice"
    if outline.kind in ("date", "datetime"):
        return "date"
    if outline.kind == "decimal":
        return "money" if _MONEY & set(words) else "number"
    if outline.kind == "integer":
        return "number"
    if outline.kind in ("time", "boolean"):
        return "time" if outline.kind == "time" else "boolean"
    return _form_of_text(words_of(outline.name.replace("_", " ")), words)


def _form_of_text(name: Sequence[str], words: Sequence[str]) -> Form:
    """By the name first, then by the description; the last word of a name says what it is."""
    if {"tax", "#"} <= {*name}:
        return "vat id"
    telling = next((word for word in (*reversed(name), *words) if word in _CODE | _NAME), None)
    special: list[Form] = [_SPECIAL[word] for word in name if word in _SPECIAL]
    if special:
        return special[0]
    if _MONEY & set(name):
        return "money"
    return "text" if telling is None else "code" if telling in _CODE else "name"
