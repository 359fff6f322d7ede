"""Strengths with which the texts around a candidate name a field."""

import re

from docmill.understanding.fields.candidates import AnyCandidate
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.page.labels import TERMS
from docmill.understanding.page.value_runs import counted_names
from docmill.understanding.text.standard_numbers import is_beside_isin

COUNTED_TERM = "security"
"""The term of what is counted in shares."""
WEAK = 0.5
"""The strength below which a text hardly names a field."""
_LEFT2 = 0.5
_OUTSIDE = 0.5
"""Factor for a label left of the segment if words stand before the value in it."""
_ABOVE = 0.9
_HEAD = 0.6
_ROW = 0.7
_HEAD_OF_MONEY = 0.9
_BOTH = 0.3
"""Factor for the weaker of the labels in the row and in the column."""
_COUNTED = 0.6
"""The label strength of a name behind a count of shares."""
_BESIDE_CHECKED = 0.6
"""Label strength of a number of its format beside an ISIN: `DE0007164600 (716460)`."""
_BEHIND = 0.9
"""Factor for the words behind a number: `100 shares`."""
_UNIT = re.compile(r"[ \u00a0]?([^\W\d_][^\d,;:(]{1,30})")
_VALUE = re.compile(r"\S*\d\S*")
_LETTERS = re.compile(r"[^\W\d_]{2}")


def joint_strength(beside: float, over: float) -> float:
    """The strength with which all texts around a candidate name the field, of those of `label_strengths`."""
    return max(beside, over) + _BOTH * min(beside, over)


def is_under_label(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """Return whether the label that names the field stands over the candidate rather than in its row."""
    beside, over = label_strengths(meaning, candidate)
    return over > beside


def label_strengths(meaning: FieldMeaning, candidate: AnyCandidate) -> tuple[float, float]:
    """The strengths with which texts in the row of the candidate, and over it, name the field."""
    around, strength = candidate.around, meaning.match_strength
    beside = max(
        strength(around.before) if around.before else 0.0,
        strength(around.left) * (_OUTSIDE if around.before else 1.0),
        _LEFT2 * strength(around.left2),
        _ROW * strength(around.row),
    )
    if meaning.form in ("boolean", "choice"):
        beside = max(beside, strength(around.right))  # a box stands before what it ticks
    if candidate.form == "standard number" and not candidate.marked:
        beside = max(beside, _BESIDE_CHECKED * is_beside_isin(candidate.segment.text, candidate.text))
    if COUNTED_TERM in meaning.terms and candidate.form == "name":
        is_counted = candidate.start in counted_names(candidate.segment.text)
        beside = max(beside, _COUNTED * is_counted)
    if meaning.form == "number":
        unit = _UNIT.match(candidate.segment.text, candidate.stop)
        beside = max(beside, _BEHIND * strength(unit[1]) if unit else 0.0)
    head = _HEAD_OF_MONEY if meaning.form == "money" else _HEAD
    return beside, max(_ABOVE * strength(around.above), head * strength(around.head))


def has_other_label(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """True if the nearest label of a date or number is a term that the field does not have.

    `Valuta` before a day is none of `trade_date`. A field without any term has no others.
    """
    if not meaning.terms or meaning.form not in ("date", "money", "number"):
        return False
    around = candidate.around
    before = _VALUE.split(around.before)[-1]
    label = next(
        (text for text in (before, around.left, around.above or around.head) if _LETTERS.search(text)), ""
    )
    terms = TERMS.find(label)
    return (
        bool(terms)
        and not any(meaning.terms.keys() & term.meanings for term in terms)
        and meaning.match_strength(label) < WEAK
    )


def naming_text(meaning: FieldMeaning, candidate: AnyCandidate) -> str:
    """The text around the candidate that names the field most strongly; empty if none does."""
    around = candidate.around
    weights = {
        around.before: 1.0,
        around.left: _OUTSIDE if around.before else 1.0,
        around.above: _ABOVE,
        around.head: _HEAD,
        around.row: _ROW,
        around.left2: _LEFT2,
    }
    strengths = {text: weight * meaning.match_strength(text) for text, weight in weights.items() if text}
    best = max(strengths, key=strengths.__getitem__, default="")
    return best if strengths.get(best) else ""
