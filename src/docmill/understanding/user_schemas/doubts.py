"""Reasons to doubt a value of a user's field although a label names it: another period, state or owner."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from importlib import resources
from typing import Any

from docmill.understanding.fields.candidates import AnyCandidate
from docmill.understanding.fields.label_strengths import has_other_label, naming_text
from docmill.understanding.fields.match_features import CHECKED, is_whole
from docmill.understanding.fields.meaning import GENERIC, NAME_WEIGHT, STOP, FieldMeaning, words_of
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.page.labels import TERMS
from docmill.understanding.page.layout import Layout
from docmill.understanding.text.countries import is_country_name
from docmill.understanding.text.folding import fold, token_texts
from docmill.understanding.text.legal_forms import LEGAL_FORMS

_WORDS: dict[str, Any] = tomllib.loads(
    resources.files(__package__ or "").joinpath("qualifiers.toml").read_text(encoding="utf-8")
)
_PERIOD_OF = {word: period for period, words in _WORDS["periods"].items() for word in words}
_PER, _PARTS, _NOTHING = (frozenset(_WORDS["words"][name]) for name in ("per", "parts", "nothing"))
_OPPOSITES = [
    pair
    for each in _WORDS["opposites"]
    for one, other in [(frozenset(each["one"]), frozenset(each["other"]))]
    for pair in ((one, other), (other, one))
]
QUALIFIERS = frozenset(_PERIOD_OF).union(*(words for pair in _OPPOSITES for words in pair))
"""Words that say of which period or state something is."""
_PLACES, _LONGEST_PLACE = 2, 3
"""Places behind the name of a firm, and words of each."""
_WORD = re.compile(r"[^\W\d_]+|/")
_NAMED = 0.15
"""The least label strength of an e-mail address that is somebody's in particular."""
_WELL_NAMED = 0.6
_EQUAL = 0.95
"""Share of a label's strength from which on another is as strong."""
_EQUAL_IF_DESCRIBED = 0.5
"""The same for a field that only its description names."""
_SHORTEST = 2
_BRACKET = re.compile(r"\d[^()]*\([^)]*$")


def is_contradicted(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """True if the texts around a value, or its form, say that it is another one than the field asks for."""
    label = naming_text(meaning, candidate)
    return (
        _is_of_other_period(meaning, candidate, label)
        or _is_of_other_state(meaning, label)
        or _is_part(meaning, label)
        or _is_named_in_passing(meaning, label)
        or _is_of_nobody(meaning, label)
        or _is_aside(meaning, candidate)
        or _is_in_other_cell(meaning, candidate)
        or (candidate.form == "code" and meaning.form == "standard number")
        or (meaning.form in ("name", "text") and _is_broken_off(str(candidate.value)))
        or (meaning.form == "name" and is_country_name(str(candidate.value)))
        or (meaning.form == "name" and _may_go_on(candidate))
    )


def is_named_weakly(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """True if the label of a value may well be that of another one that the field does not ask for."""
    label = naming_text(meaning, candidate)
    return _is_only_described(meaning, label) or _is_general(meaning, label) or _is_near(meaning, label)


def has_equal_label(field: Scored, index: int) -> bool:
    """True if a term of the field is the label of another value, too: `Total 760 EUR`, `Total -761 EUR`."""
    meaning, chosen = field.meaning, field.candidates[index]
    if field.is_taught or not meaning.terms or meaning.form not in ("date", "money", "number"):
        return False
    share = _EQUAL if max(meaning.terms.values()) >= NAME_WEIGHT else _EQUAL_IF_DESCRIBED
    return any(
        label >= share * field.labels[index]
        and _size(other.value) != _size(chosen.value)
        and other.marked == chosen.marked
        and not has_other_label(meaning, other)
        for label, other in zip(field.labels, field.candidates, strict=True)
    )


def is_of_several_currencies(field: Scored, index: int) -> bool:
    """True where amounts in several currencies are printed, and the field may mean that of any of them.

    So does a currency without a label, or one of several with labels, and an amount that only the description
    of the field names: `net amount debited` may be printed in the currency of the price, too.
    """
    meaning, chosen = field.meaning, field.candidates[index]
    if meaning.form == "currency":
        others = [
            label
            for label, candidate in zip(field.labels, field.candidates, strict=True)
            if candidate.value != chosen.value
        ]
        return bool(others) and (field.labels[index] < _WELL_NAMED or max(others) >= _NAMED)
    is_described = bool(meaning.terms) and max(meaning.terms.values()) < NAME_WEIGHT
    if meaning.form != "money" or not is_described or field.is_taught:
        return False
    return len({candidate.currency for candidate in field.candidates if candidate.currency}) > 1


def _size(value: object) -> object:
    """The value, a number without its sign."""
    return abs(value) if isinstance(value, Decimal) else value


def _is_broken_off(text: str) -> bool:
    """True for words that go on behind a preposition, as of a label: `Data di`."""
    last = "".join(text.split()[-1:])
    return len(last) >= _SHORTEST and last.islower() and fold(last) in STOP


def _may_go_on(candidate: AnyCandidate) -> bool:
    """True for a name whose end is open: put together of two lines, or before a comma that ends its text."""
    return len(candidate.spans) > 1 or candidate.segment.text[candidate.stop :].strip() == ","


def ends_in_place(name: str) -> bool:
    """True for a firm with its town, and perhaps its country, behind a comma: `Kimura Jewels K.K., Osaka`."""
    first, comma, rest = name.partition(", ")
    parts = rest.split(", ")
    return (
        bool(comma)
        and _has_legal_form(first)
        and len(parts) <= _PLACES
        and all(
            part[:1].isupper()
            and not any(map(str.isdecimal, part))
            and len(part.split()) <= _LONGEST_PLACE
            and not _has_legal_form(part)
            for part in parts
        )
    )


def _has_legal_form(text: str) -> bool:
    """True if a text ends with the legal form of a firm, or is one."""
    words = token_texts(text)
    return any(words[-len(form) :] == form for form in LEGAL_FORMS)


def paths_without_value(layout: Layout, meanings: Sequence[FieldMeaning]) -> set[str]:
    """The paths of fields beside or below whose labels a dash stands, or a word for nothing."""
    return {
        meaning.path
        for label in _labels_of_nothing(layout)
        for meaning in meanings
        if meaning.is_label(label)
    }


def _labels_of_nothing(layout: Layout) -> Iterator[str]:
    """The texts left of and above each text that says that there is nothing."""
    for sheet in layout.sheets:
        for segment in sheet.segments:
            if fold(segment.text.strip()) in _NOTHING or segment.text.strip() in _NOTHING:
                for other in (*sheet.left_of(segment)[:1], *sheet.above(segment.box)[:1]):
                    yield other.text.rstrip(" :")


def _is_of_other_period(meaning: FieldMeaning, candidate: AnyCandidate, label: str) -> bool:
    """True for `38.50 per month` where the field asks for a year or for a total."""
    if meaning.form != "money":
        return False
    wanted = _periods(_own_words(meaning))
    behind = _WORD.findall(fold(candidate.segment.text[candidate.stop :]))[:2]
    said = _periods(behind[1:]) if behind[:1] and behind[0] in _PER else set[str]()
    if not said and wanted:
        said = _periods(_spoken(label))
    return bool(said) and (said.isdisjoint(wanted) if wanted else is_whole(meaning))


def _periods(words: Sequence[str]) -> set[str]:
    found = {_PERIOD_OF.get(word) or _PERIOD_OF.get(word.removesuffix("s")) for word in words}
    return {period for period in found if period}


def _is_of_other_state(meaning: FieldMeaning, label: str) -> bool:
    """True for a label `Deposit required` of a field `deposit_paid`."""
    own, said = set(_own_words(meaning)), set(_spoken(label))
    return any(own & one and said & other and not said & one for one, other in _OPPOSITES)


def _is_part(meaning: FieldMeaning, label: str) -> bool:
    """True for a label `of which tax` of another field than the tax."""
    spoken = fold(label)
    part = next((part for part in _PARTS if spoken.startswith(f"{part} ")), None)
    if part is None:
        return False
    name = {word for word in _own_words(meaning) if word not in GENERIC}
    return name.isdisjoint(words_of(spoken.removeprefix(part)))


def _is_named_in_passing(meaning: FieldMeaning, label: str) -> bool:
    """True if a text about another paper names the field by a general word alone: `Credit LC-5120 dated`."""
    if meaning.form != "date" or meaning.role or not any(map(str.isdecimal, label)):
        return False
    written = [word for word in words_of(label) if word not in STOP]
    specific = set(_own_words(meaning)) - GENERIC.keys()
    is_named = any(word in meaning.words and word not in GENERIC for word in written)
    return bool(specific) and not is_named


def _is_of_nobody(meaning: FieldMeaning, label: str) -> bool:
    """True for an e-mail address without a label where the field asks for that of somebody."""
    if meaning.form != "mail" or meaning.match_strength(label) >= _NAMED:
        return False
    return any(word not in GENERIC and word not in ("mail", "address") for word in meaning.words)


def _is_only_described(meaning: FieldMeaning, label: str) -> bool:
    """True if it takes one of several terms of the description to see that a label names the field.

    `trade date, or payment date of a dividend`: which of them a paper means is seldom said.
    """
    if meaning.form in ("money", "number") and len(meaning.terms) == 1:
        return False
    named = {term: weight for term, weight in meaning.terms.items() if weight >= NAME_WEIGHT}
    if len(named) == len(meaning.terms) or meaning.form in CHECKED:
        return False
    own = replace(meaning, terms=named, _is_hint={}, _strengths={})
    return meaning.match_strength(label) > own.match_strength(label) + _NAMED


def _is_general(meaning: FieldMeaning, label: str) -> bool:
    """True for a label of words that many have, `Date:`, where terms say which of several is meant."""
    written = {*words_of(label)} - STOP
    return bool(meaning.terms) and written <= GENERIC.keys() and meaning.form not in CHECKED


def _is_near(meaning: FieldMeaning, label: str) -> bool:
    """True for a label that names the field only by a term that is printed in place of its own."""
    terms = {term for found in TERMS.find(label) for term in found.meanings if term in meaning.terms}
    return bool(terms) and terms <= meaning.near


def _is_aside(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """True for a count in brackets behind another number: `8 weeks (1 week during probation)`."""
    before = candidate.segment.text[: candidate.start + 1]  # with the bracket that it may begin with
    return meaning.form == "number" and _BRACKET.search(before) is not None


def _is_in_other_cell(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """True for `Introduced by | Member 17002`: the cell has another label, and the field's is in it."""
    around = candidate.around
    if meaning.form not in ("code", "name") or not around.before or around.before[-1] in ":#":
        return False
    if "#" in words_of(around.before):  # `Invoice No. R-104` is a label of its own
        return False
    has_label = around.left and not any(map(str.isdecimal, around.left)) and not around.left.isupper()
    return bool(has_label) and meaning.match_strength(around.left) < _NAMED


def _own_words(meaning: FieldMeaning) -> list[str]:
    """The words of the field's name as they are written."""
    return _spoken(meaning.path.rpartition(".")[2].replace("_", " "))


def _spoken(text: str) -> list[str]:
    return _WORD.findall(fold(text))
