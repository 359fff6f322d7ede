"""The meaning of a field: the labels and words that name it.

Those of docmill's own fields are in `fields.toml`; those of a user's schema come from the field's name,
description and labels.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any, TypeVar, cast

import snowballstemmer

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.schemas.outline import FieldOutline, Kind
from docmill.understanding.fields.candidates import Form, Role
from docmill.understanding.page.labels import LABELS, TERMS, Label
from docmill.understanding.text.folding import fold
from docmill.understanding.text.money import without_currencies
from docmill.understanding.text.standard_numbers import OF_SCHEMA, compact_number, formats_named
from docmill.understanding.vocabulary import LANGUAGES, NUMBER_WORDS, Concept

Term = TypeVar("Term", bound=str)

STRONGEST = 1.6
"""The greatest match strength."""
NULL = 1.2
"""The score of no value for a field of a user's schema: less than a weak label in a good place."""

_WORDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8")
)
_OF_LANGUAGES = [language.fields for language in LANGUAGES]
_SYNONYMS: Mapping[str, str] = {
    **{
        word: group
        for of_language in _OF_LANGUAGES
        for group, others in of_language.synonyms.items()
        for word in (group, *others)
    },
    **dict.fromkeys(NUMBER_WORDS, "#"),
}
GENERIC: Mapping[str, float] = _WORDS["generic"]
"""Words of names that say little alone, with their weights: `date`, `number`."""
_SPECIAL: dict[str, Form] = dict(_WORDS["special"])
for _of_language in _OF_LANGUAGES:
    _SPECIAL.update(cast("Mapping[str, Form]", _of_language.special))
_MONEY, _PERCENT, _CODE, _NAME, OF_FORMS = (
    frozenset(_WORDS[name]) for name in ("money", "percent", "code", "name", "forms")
)
STOP = frozenset(word for of_language in _OF_LANGUAGES for word in of_language.stop)
"""Words without a meaning of their own."""
_GENERIC_CONCEPTS: Mapping[Concept, float] = {
    Concept.DATE: 0.5,
    Concept.AMOUNT: 0.6,
    Concept.PERIOD: 0.7,
    Concept.DOCUMENT_NUMBER: 0.7,
    Concept.DUE: 0.7,
}
_ANY = frozenset((Concept.OTHER_DATE, Concept.OTHER_NUMBER))
"""Labels of many things: they speak against a field, never for it."""
NAME_WEIGHT = 1.0
"""Weight of the words and terms of a field's name."""
_DESCRIPTION_WEIGHT = 0.4
_WHOLE_DESCRIPTION_WEIGHT = 0.6
"""The same for a label that is all of the description: `date of the invoice`."""
_NEAR: Mapping[str, Sequence[str]] = _WORDS["near"]
_NEAR_WEIGHT = 0.6
"""Weight of a term in whose place another is printed, in that of the term."""
_BESIDE_TERMS = 0.6
"""Factor for words that many labels have, of a field whose description has terms."""
_PHRASE_WEIGHT = 0.8
"""The same for a term of several words in a description: `payment date of a dividend`."""
_OWNER_WEIGHT = 0.6
"""Weight of the words of the owner, such as `seller` in `seller.name`."""
_RANGE_CLUES: Mapping[Role, Mapping[Concept, float]] = {
    "start": {Concept.PERIOD_START: 0.6, Concept.PERIOD: 0.5},
    "end": {Concept.PERIOD_END: 0.6, Concept.PERIOD: 0.5},
}
_RANGE_WORDS = {"start": {"start": 0.5, "period": 0.3}, "end": {"end": 0.5, "period": 0.3}}
_FORMS_OF_KINDS: Mapping[Kind, Form] = {
    "date": "date",
    "datetime": "date",
    "integer": "number",
    "time": "time",
    "boolean": "boolean",
}
_FOREIGN = 0.4
_OF_CODES = frozenset(("#", "code", "ref", "reference", "id"))
_to_stem: Callable[[str], str] = cast("Any", snowballstemmer).stemmer("english").stemWord
_SHORTEST_VARIED = 5
"""Letters of a word that may be misread in one of them, or have another ending."""
_LOOK_ALIKE = tuple(map(frozenset, ("il1t", "oc0", "uv", "s5", "ce", "b8", "gq9")))
"""Letters of which one is read for another."""
_ACTORS: tuple[str, ...] = tuple(_WORDS["actors"])
"""Endings of words for somebody who does something, or to whom it is done."""
_PAIR = 2
_LONGEST_NAME = 3
"""Words of the name of a standard number, as a label: `vehicle identification number`."""
_READ = 60
"""Characters of a text that are looked at, its last."""
_LAST_WORDS = 4


@dataclass(frozen=True, eq=False)
class FieldMeaning:
    """The meaning of a field, independent of any document.

    labels: how much each label around a value speaks for the field, below zero against it. null: the score of
    no value. unlabelled: of a date without any label. same_as: another field, which would be the same value.
    words: how strongly each word of a label names the field. aliases: labels that its owner named, as word
    lists. hints: words without which no text names it. formats: of standard numbers that
    its values have. terms: how much each term of business papers speaks for the field. near: of these, those
    that papers print in place of its own.
    """

    path: str
    labels: Mapping[Concept, float]
    null: float = NULL
    unlabelled: float = 0.0
    same_as: str = ""
    form: Form = "text"
    kind: Kind = "text"
    role: Role = ""
    words: Mapping[str, float] = field(default_factory=dict[str, float])
    aliases: tuple[tuple[str, ...], ...] = ()
    choices: tuple[str, ...] = ()
    hints: frozenset[str] = frozenset()
    formats: tuple[str, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict[str, float])
    near: frozenset[str] = frozenset()
    _is_hint: dict[str, bool] = field(default_factory=dict[str, bool], repr=False)
    _strengths: dict[str, float] = field(default_factory=dict[str, float], repr=False)

    def score(self, clues: Mapping[Concept, float]) -> float:
        """The sum of the labels' weights, each times the strength of its label."""
        labels = self.labels
        return sum(strength * labels.get(concept, 0.0) for concept, strength in clues.items())

    def match_strength(self, text: str) -> float:
        """The strength with which `text` names this field, in [0, STRONGEST]."""
        text = text[-_READ:]
        strength = self._strengths.get(text)
        if strength is None:
            if len(self._strengths) > _REMEMBERED:
                self._strengths.clear()
            strength = self._strengths[text] = max(self._match_strength(text), self._by_format(text))
        return strength

    def is_label(self, text: str) -> bool:
        """True if `text` is a label of this field and nothing else, by the words of the field's name."""
        if any(map(str.isdecimal, text)):
            return False
        if tuple(spelling_of(text)) in self.aliases:
            return True
        written = [word for word in words_of(text) if word not in STOP]
        return all(word in self.words for word in written) and any(
            self.words[word] >= NAME_WEIGHT for word in written
        )

    def _match_strength(self, text: str) -> float:
        written = words_of(text)
        if not written:
            return 0.0
        if self.aliases and not self.words and not self.labels:
            # Its labels alone name the field, as they are spelt. One before digits has its value already.
            is_label = not text.rstrip()[-1].isdecimal() and tuple(spelling_of(text)) in self.aliases
            return STRONGEST if is_label else 0.0
        if self.aliases:
            spelt = spelling_of(text)
            if any(_is_alias(spelt, alias) for alias in self.aliases):
                return STRONGEST
        if not any(self._has_hint(word) for word in written):
            return 0.0
        labels = LABELS.find(text)
        strength = self._by_words([word for word in written if word not in STOP])
        # Those before a value name that, if there are others.
        others = [label for label in labels if not any(map(str.isdecimal, text[label.stop :]))] or labels
        is_foreign = (
            len(others) == 1 and len(written) > 1 and self.labels.keys().isdisjoint(others[0].meanings)
        )
        # Its whole name is no other label, unless its owner said how it is printed.
        if is_foreign and (self.aliases or not all(word in self.words for word in written)):
            strength *= _FOREIGN  # one label of something else: `Alt Order #` names no order
        if self.form == "name" and _OF_CODES.intersection(written) - set(self.words):
            return _FOREIGN * strength
        by_terms = _by_labels(text, TERMS.find(text), self.terms) if self.terms else 0.0
        return max(strength, by_terms, _by_labels(text, labels, self.labels))

    def _by_format(self, text: str) -> float:
        """By the names of standard numbers at the end of the text, if the field's values are such numbers."""
        named = formats_named(" ".join(text.split()[-_LONGEST_NAME:])) if self.formats else ()
        return 0.0 if set(self.formats).isdisjoint(named) else NAME_WEIGHT

    def _has_hint(self, word: str) -> bool:
        """True if the word could belong to a name of the field."""
        is_hint = self._is_hint.get(word)
        if is_hint is None:
            is_hint = self._is_hint[word] = (
                word in self.hints
                or any(_is_same_word(word, other) for other in self.words)
                or any(hint in word for hint in self.hints if _SHORTEST_GLUED <= len(hint) < len(word))
            )
        return is_hint

    def _by_words(self, written: Sequence[str]) -> float:
        used: set[str] = set()
        strength, after, before = 0.0, 0, 0
        for word in written:
            match = next(
                (other for other in self.words if other not in used and _is_same_word(word, other)), None
            )
            if match:
                strength += self.words[match]
                used.add(match)
            elif strength:
                after += 1
            else:
                before += 1
        if not strength:
            return 0.0
        if after + before and used <= GENERIC.keys():
            strength *= _FOREIGN  # `Estimate No` names no order, although both are numbers
        best = strength - 0.15 * after - 0.45 * min(before, 3)
        for last_words in (written[-1:], written[-2:], written[-3:]) if len(written) >= _LAST_WORDS else ():
            strength = sum(self.words.get(word, 0.0) for word in set(last_words))
            if strength:
                unknown = sum(word not in self.words for word in last_words)
                best = max(best, 0.85 * (strength - 0.3 * unknown))
        return min(max(best, 0.0), STRONGEST)


_REMEMBERED = 20_000
_ANY_WORDS = ("example", "Example", "EXAMPLE", "Some Example")
"""Texts without digits; a pattern that matches one of them is no form of a number."""
_SHORTEST_GLUED = 5


def _by_labels(text: str, labels: Sequence[Label[Term]], weights: Mapping[Term, float]) -> float:
    """By the labels of all languages in the text; those that mean something else speak against it."""
    strength, stop = 0.0, 0
    seen: set[Term] = set()
    for label in labels:
        meant = [meaning for meaning in label.meanings if meaning in weights and meaning not in seen]
        if meant:
            best = max(meant, key=lambda meaning: weights[meaning])
            seen.update(meant)
            strength += weights[best] * label.quality
            stop = label.stop
    if not strength:
        return 0.0
    others = sum(weights.keys().isdisjoint(label.meanings) for label in labels)
    rest = without_currencies(text[stop:])  # `Bruttobetrag in EUR`
    behind = [word for word in words_of(rest) if word not in STOP]
    unknown = len(words_of(text[: labels[0].start])) + 0.4 * len(behind)
    return min(max(strength - 0.3 * others - 0.3 * min(unknown, 4), 0.0), STRONGEST)


def goes_on_label(text: str, previous: str) -> bool:
    """True if `text` begins with a word that ends labels, right behind another: `Member | name Ada Ruf`."""
    first = words_of(text.split(maxsplit=1)[0])
    return bool(previous) and previous[-1] not in ":#" and bool(first) and first[0] in GENERIC


def words_of(text: str) -> list[str]:
    """The words of a label or name, folded, each as the first of its synonyms; no digits."""
    return [_SYNONYMS.get(word, word) for word in _folded_words(text)]


def spelling_of(text: str) -> list[str]:
    """The words of a label as spelt, folded; only words for `number` are alike."""
    return ["#" if word in NUMBER_WORDS else word for word in _folded_words(text)]


def _folded_words(text: str) -> list[str]:
    words: list[str] = re.findall(
        r"[^\W\d_]+|#|\$(?!\s?[\d.])", fold(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text))
    )
    return words


def _is_same_word(word: str, other: str) -> bool:
    """True for one word in two forms, or with a letter that is misread for one that looks like it.

    Who does something is not whom it is done to: `employer` and `employee`, `insurer` and `insured`.
    """
    if word == other:
        return True
    if min(len(word), len(other)) < _SHORTEST_VARIED or _actor_ending(word) != _actor_ending(other):
        return False
    return _is_misread(word, other) or _stem(word) == _stem(other)


def _is_misread(word: str, other: str) -> bool:
    different = [pair for pair in zip(word, other, strict=False) if pair[0] != pair[1]]
    return (
        len(word) == len(other)
        and len(different) == 1
        and any(letters.issuperset(different[0]) for letters in _LOOK_ALIKE)
    )


def _actor_ending(word: str) -> str:
    """The ending of a word for somebody who does something, such as `er`; empty without one."""
    singular = word.removesuffix("s")
    return next((ending for ending in _ACTORS if singular.endswith(ending)), "")


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return _to_stem(word)


def _is_alias(written: Sequence[str], alias: Sequence[str]) -> bool:
    if len(written) == len(alias):
        return all(map(_is_same_word, written, alias))
    return (
        len(written) > len(alias)
        and len(written) >= _LAST_WORDS
        and tuple(written[-len(alias) :]) == tuple(alias)
    )


_FIELDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("fields.toml").read_text(encoding="utf-8")
)


@cache
def built_in_meaning(path: str, document_type: DocumentType = "other") -> FieldMeaning:
    """The meaning of a field of docmill's own types; it has no labels if none is known."""
    owner, _, name = path.rpartition(".")
    if "[" in path:
        table: Any = _FIELDS["members"].get(name, {})
    else:
        table = _FIELDS["objects"].get(owner, {}) if owner else _FIELDS.get(name, {})
    if "other" in table:
        extended = DEFINITIONS[document_type].extends
        table = table.get(document_type) or table.get(extended) or table["other"]
    labels = [_FIELDS["groups"][group] for group in table.get("based_on", ())]
    weights = {name: weight for each in (*labels, table.get("labels", {})) for name, weight in each.items()}
    return FieldMeaning(
        path,
        {Concept(name): weight for name, weight in weights.items()},
        table.get("null", 0.0),
        table.get("unlabelled", 0.0),
        table.get("reference", ""),
    )


@lru_cache(maxsize=500)
def meaning_of(outline: FieldOutline) -> FieldMeaning:
    """The meaning of a field of a user's schema by what its author wrote."""
    *owners, name = re.sub(r"\[\]", "", outline.path).split(".")
    name_words = words_of(name.replace("_", " "))
    clause = re.split(r"\b(?:who|whom|whose|which|that|where)\b", outline.description)[0]
    words, concepts = _weigh(clause, owners, name)
    role: Role = "start" if "start" in name_words else "end" if "end" in name_words else ""
    form = _form(outline, name_words, words_of(f"{name} {outline.description}".replace("_", " ")))
    is_named = form == "name" and not _NAME.isdisjoint(name_words)  # not only described by a word for a name
    formats = _formats(outline) if form in ("code", "text", "name") and not is_named else ()
    form = "standard number" if formats else form
    if role and form == "date":
        concepts = {**_RANGE_CLUES[role], **concepts}
        words = {**_RANGE_WORDS[role], **words}
    phrases = [
        phrase
        for language in LANGUAGES
        for concept in concepts.keys() & language.labels.keys()
        for phrase in language.labels[concept]
    ]
    terms = _terms(name, "" if formats else clause)
    near = _near_terms(terms)
    terms |= near
    phrases += [
        phrase for language in LANGUAGES for term in terms for phrase in language.fields.terms.get(term, ())
    ]
    # `Date` says less than `Payment date` where the description speaks of payments.
    if terms and max(terms.values()) < NAME_WEIGHT:
        words = {word: weight * (_BESIDE_TERMS if word in GENERIC else 1) for word, weight in words.items()}
    hints = {word for phrase in phrases for word in words_of(phrase)} - STOP
    return FieldMeaning(
        path=outline.path,
        kind=outline.kind,
        form=form,
        role=role if form in ("date", "time") else "",
        words=words,
        labels=concepts,
        aliases=tuple(tuple(spelling_of(label)) for label in outline.labels if spelling_of(label)),
        choices=outline.choices,
        hints=frozenset(hints.union(words, *map(words_of, outline.labels))),
        formats=formats,
        terms=terms,
        near=frozenset(near),
    )


def _terms(name: str, clause: str) -> dict[str, float]:
    """The terms of business papers that a field's name or the clause of its description names, with weights.

    Those of one word in a description count only where there are no others.
    """
    terms: dict[str, float] = {}
    words: dict[str, float] = {}
    for text in (clause, *_turned(clause)):
        for label in _spelt_terms(text):
            is_phrase = len(text[label.start : label.stop].split()) >= _PAIR
            for term in label.meanings:
                (terms if is_phrase else words)[term] = _PHRASE_WEIGHT if is_phrase else _DESCRIPTION_WEIGHT
    terms |= {term: NAME_WEIGHT for label in _spelt_terms(name.replace("_", " ")) for term in label.meanings}
    return terms or words


def _near_terms(terms: Mapping[str, float]) -> dict[str, float]:
    """The terms that papers print in place of these."""
    return {
        other: _NEAR_WEIGHT * weight
        for term, weight in terms.items()
        for other in _NEAR.get(term, ())
        if other not in terms
    }


def _formats(outline: FieldOutline) -> tuple[str, ...]:
    """The formats of a standard number that the field's pattern, name, labels or description name."""
    own = f"{OF_SCHEMA}{outline.pattern}"
    if outline.pattern and not any(compact_number(own, words) for words in _ANY_WORDS):
        return (own,)
    return formats_named(outline.name, outline.description, outline.labels)


def _weigh(clause: str, owners: Sequence[str], name: str) -> tuple[dict[str, float], dict[Concept, float]]:
    """The words and concepts of a field with the weights of where they stand.

    clause: of its description. owners: the names of the objects that it is in.
    """
    name_words = words_of(name.replace("_", " "))
    words: dict[str, float] = {}
    concepts: dict[Concept, float] = {}
    for text, weight in (
        (clause, _DESCRIPTION_WEIGHT),
        (" ".join(owners), NAME_WEIGHT if GENERIC.keys() >= {*name_words} else _OWNER_WEIGHT),
        (name, NAME_WEIGHT),
    ):
        spoken = text.replace("_", " ")
        for word in words_of(spoken):
            if word not in STOP:
                words[word] = weight * GENERIC.get(word, 1.0)
        for concept in _concepts(spoken):
            strength = weight * _GENERIC_CONCEPTS.get(concept, 1.0)
            concepts[concept] = max(concepts.get(concept, 0.0), strength)
    for concept in _whole_meanings(clause):
        strength = _WHOLE_DESCRIPTION_WEIGHT * _GENERIC_CONCEPTS.get(concept, 1.0)
        concepts[concept] = max(concepts.get(concept, 0.0), strength)
    if Concept.DUE in concepts:
        concepts.pop(Concept.PAID, None)  # what is to be paid is not what was
    return words, concepts


def _spelt_terms(spoken: str) -> Iterator[Label[str]]:
    """The terms as they are spelt: `insurer` is no misread `insured`."""
    return (label for label in TERMS.find(spoken) if label.quality == 1)


def _concepts(spoken: str) -> Iterator[Concept]:
    """Concepts of the phrases and words of a name; words that say little alone are left out."""
    telling = [word for word in spoken.split() if set(words_of(word)) - GENERIC.keys() - STOP]
    for phrase in _turned(spoken):
        yield from _whole_meanings(phrase)
    phrases = [label for label in LABELS.find(spoken) if len(spoken[label.start : label.stop].split()) > 1]
    for label in (*phrases, *(label for word in telling for label in LABELS.find(word))):
        yield from (concept for concept in label.meanings if concept not in _ANY)


def _whole_meanings(spoken: str) -> Iterator[Concept]:
    """The meanings of a phrase that is one label as a whole, or the other way round."""
    is_pair = sum(fold(word) not in STOP for word in spoken.split()) == _PAIR
    for phrase in (spoken, *(_turned(spoken) if is_pair else ())):
        count = len(phrase.split())
        for label in LABELS.find(phrase):
            if count >= _PAIR and len(phrase[label.start : label.stop].split()) == count:
                yield from (concept for concept in label.meanings if concept not in _ANY)


def _turned(spoken: str) -> Iterator[str]:
    """The pairs of words with `of the` and its like between them, the other way round: `invoice date`."""
    words = spoken.split()
    places = [index for index, word in enumerate(words) if fold(word) not in STOP]
    for first, second in pairwise(places):
        if second - first > 1:
            yield f"{words[second]} {words[first]}"


def _form(outline: FieldOutline, name: Sequence[str], words: Sequence[str]) -> Form:
    """The form by the kind of the value, else by words of the name, else by words of the description."""
    if outline.choices:
        return "choice"
    if outline.kind == "decimal":
        return "number" if _PERCENT & set(words) or not _MONEY & set(words) else "money"
    if outline.kind != "text":
        return _FORMS_OF_KINDS[outline.kind]
    if {"tax", "#"} <= {*name}:
        return "vat id"
    named: list[Form] = [_SPECIAL[word] for word in name if word in _SPECIAL]
    is_code = bool(name) and name[-1] in _CODE  # a tax code is no amount
    if named or (_MONEY & set(name) and not is_code):
        return named[0] if named else "money"
    # The last word of a name tells its kind, as in `customer number`.
    followed = zip(words, (*words[1:], ""), strict=True)
    described = [word for word, following in followed if not (word in _NAME and following in _CODE)]
    telling = next((word for word in (*reversed(name), *described) if word in _CODE | _NAME), None)
    return "text" if telling is None else "code" if telling in _CODE else "name"
