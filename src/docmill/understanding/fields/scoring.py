"""Scores of candidates for a user's fields by label, place and form, with weights set by hand."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from docmill.understanding.fields.candidates import AnyCandidate, Candidates
from docmill.understanding.fields.meaning import OF_FORMS, FieldMeaning
from docmill.understanding.fields.names import find_names
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Span
from docmill.understanding.text.folding import tokens
from docmill.understanding.vocabulary import LANGUAGES

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
_OFTEN = 3
_SMALL = 3
_NET = re.compile(r"\bnet\b|\bnett\w*|commission|balance|\btax\b|provision|\bhors\b", re.IGNORECASE)


def _form_words() -> frozenset[str]:
    counts: Counter[str] = Counter()
    for language in LANGUAGES:
        for phrase in {phrase for phrases in language.labels.values() for phrase in phrases}:
            words = {token.text for token in tokens(phrase)}
            counts.update({word: _OFTEN if len(words) == 1 else 1 for word in words})
    for language in LANGUAGES:
        for word in (token.text for phrase in (*language.firms, *language.legal) for token in tokens(phrase)):
            del counts[word]
        for word in language.common:
            if len(word) <= _SMALL:
                del counts[word]
    return frozenset(word for word, count in counts.items() if count >= _OFTEN)


FORM_WORDS = _form_words() | OF_FORMS
"""Words of printed forms; a name rarely has them."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The scored candidates of a field.

    labels: the label strength of each. is_taught: the scores contain learned weights.
    """

    meaning: FieldMeaning
    candidates: Sequence[AnyCandidate]
    labels: NDArray[np.float64]
    scores: NDArray[np.float64]
    is_taught: bool = False


def score_candidates(meaning: FieldMeaning, candidates: Candidates) -> Scored:
    """The candidates of a field with their scores by label, place and form."""
    match meaning.form:
        case "name":
            offered: Sequence[AnyCandidate] = find_names(candidates, meaning.match_strength)
        case "text":
            offered = [*candidates.codes, *find_names(candidates, meaning.match_strength)]
        case "choice":
            offered = candidates.choices(meaning.choices)
        case _:
            offered = candidates.of_form(meaning.form)
    counts = Counter(candidate.key for candidate in offered)
    labels = np.array([label_strength(meaning, candidate) for candidate in offered], np.float64)
    place = np.array(
        [
            _FIRST_PAGE * (candidate.segment.page_index == 0) + _REPEATED * math.log2(counts[candidate.key])
            for candidate in offered
        ],
        np.float64,
    )
    return Scored(meaning, offered, labels, LABEL * labels + place + _form_scores(meaning, offered))


def label_strength(meaning: FieldMeaning, candidate: AnyCandidate) -> float:
    """The strength with which the texts around the candidate name the field."""
    around, strength = candidate.around, meaning.match_strength
    beside = max(
        strength(around.before) if around.before else 0.0,
        strength(around.left) * (_OUTSIDE if around.before else 1.0),
        _LEFT2 * strength(around.left2),
        _ROW * strength(around.row),
    )
    if meaning.form in ("boolean", "choice"):
        beside = max(beside, strength(around.right))  # a box stands before what it ticks
    head = _HEAD_OF_MONEY if meaning.form == "money" else _HEAD
    over = max(_ABOVE * strength(around.above), head * strength(around.head))
    return max(beside, over) + _BOTH * min(beside, over)


def is_whole(meaning: FieldMeaning) -> bool:
    """True if the field is a total, which is among the largest amounts."""
    words = meaning.words
    return meaning.form == "money" and bool(_WHOLES & words.keys()) and not _PARTS & words.keys()


def _form_scores(meaning: FieldMeaning, candidates: Sequence[AnyCandidate]) -> NDArray[np.float64]:
    if meaning.form in CHECKED:
        return np.full(len(candidates), _OF_ITS_FORM)
    match meaning.form:
        case "money":
            scores = _money_scores(candidates, is_total=is_whole(meaning))
        case "date":
            scores = [
                0.8 * _is_upper(candidate)
                + (_ROLE if candidate.role == meaning.role else -_WRONG_ROLE)
                * bool(meaning.role and candidate.role)
                for candidate in candidates
            ]
        case "code" | "name" | "text":
            scores = [_text_score(meaning, candidate) for candidate in candidates]
        case _:
            return np.zeros(len(candidates))
    return np.array(scores, np.float64)


def _is_upper(candidate: AnyCandidate) -> bool:
    return candidate.segment.page_index == 0 and candidate.segment.middle < _UPPER


def _money_scores(candidates: Sequence[AnyCandidate], *, is_total: bool) -> list[float]:
    """The largest amounts are the totals; net amounts are less than the whole."""
    amounts = [Decimal(candidate.value) for candidate in candidates if isinstance(candidate.value, Decimal)]
    values = {value for value, candidate in zip(amounts, candidates, strict=True) if not candidate.plain}
    ranks = {value: rank for rank, value in enumerate(sorted(values, reverse=True))}
    scores: list[float] = []
    for candidate, value in zip(candidates, amounts, strict=True):
        score = 0.5 * candidate.marked - 2.5 * candidate.plain - 3 * (value <= 0)
        if is_total:
            around, rank = candidate.around, ranks.get(value, len(ranks))
            score += 1.2 * (rank == 0) + 0.4 * (rank == 1)
            score -= 1.5 * bool(_NET.search(f"{around.before} {around.left} {around.row} {around.head}"))
        scores.append(score)
    return scores


def _text_score(meaning: FieldMeaning, name: AnyCandidate) -> float:
    if name.form == "code":
        score = 0.5 if len(str(name.key)) >= _LONG_CODE else -0.5
        score += -4 * name.plain + 0.6 * _is_upper(name) - 1.0 * ("/" in name.text)
        return score + _CODE_AS_TEXT * (meaning.form == "text")
    text, previous, following = name.text, name.previous, name.following
    last_word = tokens(text)[-1].text
    of_forms = max(map(_share_of_form_words, name.spans))
    score = -3 * of_forms - 3 * (":" in text or text.endswith("#"))
    score += 0.8 * (not previous) + 1.0 * (not following) + 0.8 * previous.endswith(":")
    if following and following[0] not in "([":
        score -= 1.6
    score -= 0.8 * (len(name.spans) > 1) + 1.0 * (last_word in FORM_WORDS)
    score += 0.4 * (name.segment.middle < _UPPER) - 1.0 * (sum(map(str.isdecimal, text)) > _MANY_DIGITS)
    if text[0].islower() or text[0].isdecimal():
        score -= 1.5
    if previous and previous[-1] not in ":#" and meaning.match_strength(name.around.before) < _WEAK:
        score -= 1.5
    return score


def _share_of_form_words(span: Span) -> float:
    words = tokens(span.text)
    labels = LABELS.find(span.text)
    printed = sum(
        word.text in FORM_WORDS or any(label.start <= word.start < label.stop for label in labels)
        for word in words
    )
    return printed / max(1, len(words))
