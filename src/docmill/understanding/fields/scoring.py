"""What speaks for a candidate before anything is learned: labels around it, its place, its form."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.meaning import OF_FORMS, FieldMeaning
from docmill.understanding.fields.schema_candidates import AnyCandidate, SchemaCandidates
from docmill.understanding.page.layout import Span
from docmill.understanding.text.folding import tokens
from docmill.understanding.vocabulary import LANGUAGES
from docmill.understanding.vocabulary.labels import LABELS

LABEL = 4.0
_LEFT2 = 0.5
_OUTSIDE = 0.5
"""What a label left of the segment counts where words stand before the value in it."""
_ABOVE = 0.9
_HEAD = 0.6
_ROW = 0.7
_HEAD_OF_MONEY = 0.9
_CODE_AS_TEXT = -0.5
_BOTH = 0.3
"""Of the weaker of row and column."""
_FIRST_PAGE = 0.6
_REPEATED = 0.15
_UPPER = 0.45
_ROLE = 2.0
_WRONG_ROLE = 3.0
_LONG_CODE = 5
_MANY_DIGITS = 5
_WEAK = 0.5
_OF_ITS_FORM = 2.5
"""What has the form of an IBAN needs no label."""
CHECKED = frozenset(("iban", "bic", "vat id", "mail", "currency"))
_WHOLES = frozenset(("total", "gross", "amount"))
_PARTS = frozenset(("net", "tax", "commission", "discount", "price"))
_NET = re.compile(r"\bnet\b|\bnett\w*|commission|balance|\btax\b|provision|\bhors\b", re.IGNORECASE)


def _form_words() -> frozenset[str]:
    counts: Counter[str] = Counter()
    for language in LANGUAGES:
        phrases = {phrase for found in language.labels.values() for phrase in found}
        for phrase in phrases:
            words = {token.text for token in tokens(phrase)}
            counts.update({word: _OFTEN if len(words) == 1 else 1 for word in words})
    firms = {
        token.text for one in LANGUAGES for phrase in (*one.firms, *one.legal) for token in tokens(phrase)
    }
    small = {word for one in LANGUAGES for word in one.common if len(word) <= _SMALL}
    return frozenset(word for word, count in counts.items() if count >= _OFTEN) - firms - small


_OFTEN = 3
_SMALL = 3
FORM_WORDS = _form_words() | OF_FORMS
"""Words of printed forms; a name rarely has them."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The candidates of a field.

    labels: how strongly the words around each name the field. is_taught: the scores hold what was learned.
    """

    meaning: FieldMeaning
    candidates: Sequence[AnyCandidate]
    labels: NDArray[np.float64]
    scores: NDArray[np.float64]
    is_taught: bool = False


def candidates_of(meaning: FieldMeaning, all_of: SchemaCandidates) -> Sequence[AnyCandidate]:
    """The candidates of the field's form."""
    match meaning.form:
        case "name":
            return all_of.names(meaning.match_strength)
        case "text":
            return [*all_of.codes, *all_of.names(meaning.match_strength)]
        case "choice":
            return all_of.choices(meaning.choices)
        case _:
            return all_of.of_form(meaning.form)


def scored(meaning: FieldMeaning, all_of: SchemaCandidates) -> Scored:
    """Every candidate of the field with what speaks for it."""
    found = candidates_of(meaning, all_of)
    counts = Counter(one.key for one in found)
    labels = np.array([label_strength(meaning, one) for one in found], np.float64)
    base = np.array(
        [
            _FIRST_PAGE * (one.segment.page_index == 0) + _REPEATED * math.log2(counts[one.key])
            for one in found
        ],
        np.float64,
    )
    scores = LABEL * labels + base + _by_form(meaning, found)
    return Scored(meaning, found, labels, scores)


def label_strength(meaning: FieldMeaning, one: AnyCandidate) -> float:
    """How strongly the texts around the candidate name the field."""
    around, strength = one.around, meaning.match_strength
    beside = max(
        strength(around.before) if around.before else 0.0,
        strength(around.left) * (_OUTSIDE if around.before else 1.0),
        _LEFT2 * strength(around.left2),
    )
    beside = max(beside, _ROW * strength(around.row))
    head = _HEAD_OF_MONEY if meaning.form == "money" else _HEAD
    if meaning.form in ("boolean", "choice"):
        beside = max(beside, strength(around.right))  # a box stands before what it ticks
    over = max(_ABOVE * strength(around.above), head * strength(around.head))
    return max(beside, over) + _BOTH * min(beside, over)


def is_whole(meaning: FieldMeaning) -> bool:
    """Whether the field is a total, which is among the largest amounts."""
    words = meaning.words
    return meaning.form == "money" and bool(_WHOLES & words.keys()) and not _PARTS & words.keys()


def _by_form(meaning: FieldMeaning, found: Sequence[AnyCandidate]) -> NDArray[np.float64]:
    if meaning.form == "money":
        values = {_amount(one) for one in found if not one.plain}
        ranks = {value: rank for rank, value in enumerate(sorted(values, reverse=True))}
        return np.array(
            [_money(meaning, one, ranks.get(_amount(one), len(ranks))) for one in found], np.float64
        )
    if meaning.form in CHECKED:
        return np.full(len(found), _OF_ITS_FORM)
    judge = {"date": _date, "code": _code, "name": _name, "text": _text}.get(meaning.form)
    return np.array([judge(meaning, one) if judge else 0.0 for one in found], np.float64)


def _amount(one: AnyCandidate) -> Decimal:
    assert isinstance(one.value, Decimal)
    return one.value


def _upper(one: AnyCandidate) -> bool:
    return one.segment.page_index == 0 and one.segment.middle < _UPPER


def _money(meaning: FieldMeaning, one: AnyCandidate, rank: int) -> float:
    """The largest amounts are the totals; what is net is less than the whole."""
    score = 0.5 * one.marked - 2.5 * one.plain - 3 * (_amount(one) <= 0)
    if is_whole(meaning):
        around = one.around
        score += 1.2 * (rank == 0) + 0.4 * (rank == 1)
        score -= 1.5 * bool(_NET.search(f"{around.before} {around.left} {around.row} {around.head}"))
    return score


def _date(meaning: FieldMeaning, one: AnyCandidate) -> float:
    score = 0.8 * _upper(one)
    if meaning.role and one.role:
        score += _ROLE if one.role == meaning.role else -_WRONG_ROLE
    return score


def _code(_: FieldMeaning, one: AnyCandidate) -> float:
    value = str(one.key)
    score = 0.5 if len(value) >= _LONG_CODE else -0.5
    return score - 4 * one.plain + 0.6 * _upper(one) - 1.0 * ("/" in one.text)


def _name(meaning: FieldMeaning, one: AnyCandidate) -> float:
    words = [token.text for token in tokens(one.text)]
    of_forms = max(map(_share_of_form_words, one.spans))
    starts, ends = not one.previous, not one.following
    score = -3 * of_forms - 3 * (":" in one.text or one.text.endswith("#"))
    score += 0.8 * starts + 1.0 * ends + 0.8 * one.previous.endswith(":")
    if one.following and one.following[0] not in "([":
        score -= 1.6
    score -= 0.8 * (len(one.spans) > 1) + 1.0 * (words[-1] in FORM_WORDS)
    score += 0.4 * (one.segment.middle < _UPPER) - 1.0 * (sum(map(str.isdecimal, one.text)) > _MANY_DIGITS)
    if one.text[0].islower() or one.text[0].isdecimal():
        score -= 1.5
    if not starts and one.previous[-1] not in ":#" and meaning.match_strength(one.around.before) < _WEAK:
        score -= 1.5
    return score


def _share_of_form_words(span: Span) -> float:
    words = tokens(span.text)
    labels = LABELS.find(span.text)
    printed = sum(
        word.text in FORM_WORDS or any(one.start <= word.start < one.stop for one in labels) for word in words
    )
    return printed / max(1, len(words))


def _text(meaning: FieldMeaning, one: AnyCandidate) -> float:
    return _code(meaning, one) + _CODE_AS_TEXT if one.form == "code" else _name(meaning, one)
