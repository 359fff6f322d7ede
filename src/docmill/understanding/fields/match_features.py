"""Features of how well a candidate matches a field: the labels around it, its place, its form.

They are the inputs of the linear scorer; a feature that a candidate does not have is left out, which is zero.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import cast

from docmill.understanding.fields.candidates import AnyCandidate, Candidates
from docmill.understanding.fields.label_sides import is_other_side
from docmill.understanding.fields.label_strengths import (
    WEAK,
    has_other_label,
    joint_strength,
    label_strengths,
)
from docmill.understanding.fields.meaning import FieldMeaning
from docmill.understanding.fields.name_candidates import FORM_WORDS
from docmill.understanding.fields.printed_products import place_of, printed_products
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.value_runs import counted_names, name_before_isin, names_in
from docmill.understanding.text.folding import token_texts, tokens
from docmill.understanding.text.number_forms import may_be_amount

CHECKED = frozenset(("iban", "bic", "vat id", "mail", "currency"))
"""Forms of which a value needs no label."""
Features = dict[str, float]
_UPPER = 0.45
_STRONG = 0.9
_LONG_CODE = 5
_MANY_DIGITS = 5
_LONG_NUMBER = 14
_WHOLES = frozenset(("total", "gross", "amount"))
_PARTS = frozenset(("net", "tax", "commission", "discount", "price"))
_NET = re.compile(r"\bnet\b|\bnett\w*|commission|balance|\btax\b|provision|\bhors\b", re.IGNORECASE)
_CODE_BEFORE, _CODE_BEHIND = re.compile(r"[^\W_][-/.]?$"), re.compile(r"[-/.]?[^\W_]")
_DIGITS_BEFORE = re.compile(r"(?:^|[\s:#])\d{1,6} $")
_DIGITS_BEHIND = re.compile(r" \d{1,6}(?= \d|$)")
_LONG_TAIL = re.compile(r"/[^\W_]{3,}$")
"""The end of a code that is no revision: `B-2026/0447`."""


def match_features(
    candidates: Candidates, meaning: FieldMeaning, offered: Sequence[AnyCandidate]
) -> tuple[list[float], list[Features]]:
    """The label strength of each candidate that is offered for a field, and its features."""
    strengths = [label_strengths(meaning, candidate) for candidate in offered]
    labels = [joint_strength(*pair) for pair in strengths]
    counts = Counter(candidate.key for candidate in offered)
    of_form = _form_features(candidates, meaning, offered)
    rows: list[Features] = []
    for candidate, (beside, over), label in zip(offered, strengths, labels, strict=True):
        is_name = candidate.form == "name"
        features = {
            "label": label,
            "strong": float(label >= _STRONG),
            "under label": float(over > beside),
            "first page": float(candidate.segment.page_index == 0),
            "repeated": math.log2(counts[candidate.key]),
            "only": float(len(counts) == 1),
            "other side": float(is_name and over > beside and is_other_side(candidates, is_above=True)),
            "other label": float(has_other_label(meaning, candidate)),
            **(_name_features(meaning, candidate) if is_name else of_form(candidate, label)),
        }
        rows.append({name: value for name, value in features.items() if value})
    return labels, rows


def is_whole(meaning: FieldMeaning) -> bool:
    """True if the field is a total, so that the largest amounts are preferred."""
    words = meaning.words
    return meaning.form == "money" and bool(_WHOLES & words.keys()) and not _PARTS & words.keys()


def needs_no_label(number: AnyCandidate) -> bool:
    """True for a number whose checksum holds and whose form is that of few other numbers: `DE0007164600`."""
    key = str(number.key)
    is_own_form = any(map(str.isalpha, key)) or len(key) >= _LONG_NUMBER
    return number.form == "standard number" and number.marked and is_own_form


_OfForm = Callable[[AnyCandidate, float], Features]


def _form_features(candidates: Candidates, meaning: FieldMeaning, offered: Sequence[AnyCandidate]) -> _OfForm:
    """A function for the features of a candidate by its form and its label strength."""
    match meaning.form:
        case "money":
            return _money_features(meaning, offered)
        case "number":
            return _number_features(candidates, meaning)
        case "date":
            return lambda candidate, _: {
                "upper": _upper(candidate),
                "own role": float(bool(candidate.role) and candidate.role == meaning.role),
                "other role": float(bool(meaning.role and candidate.role) and candidate.role != meaning.role),
            }
        case "code" | "text" | "standard number":
            return lambda candidate, _: _code_features(candidate)
        case _:
            return lambda candidate, _: {"plain": float(candidate.plain)}


def _upper(candidate: AnyCandidate) -> float:
    return float(candidate.segment.page_index == 0 and candidate.segment.middle < _UPPER)


def _money_features(meaning: FieldMeaning, offered: Sequence[AnyCandidate]) -> _OfForm:
    """The largest amounts are the totals; net amounts are less than the whole."""
    values = {
        abs(candidate.value)
        for candidate in offered
        if isinstance(candidate.value, Decimal) and not candidate.plain
    }
    ranks = {value: rank for rank, value in enumerate(sorted(values, reverse=True))}
    is_total = is_whole(meaning)

    def features(candidate: AnyCandidate, label: float) -> Features:
        value = cast("Decimal", candidate.value)
        around, rank = candidate.around, ranks.get(abs(value))
        is_net = _NET.search(f"{around.before} {around.left} {around.row} {around.head}")
        return {
            "currency": float(candidate.marked),
            "plain": float(candidate.plain),
            # What has its label may be debited.
            "withheld": float(value <= 0 and (value == 0 or label < WEAK)),
            "largest, total": float(is_total and rank == 0),
            "second, total": float(is_total and rank == 1),
            "net words, total": float(is_total and is_net is not None),
        }

    return features


def _number_features(candidates: Candidates, meaning: FieldMeaning) -> _OfForm:
    """A count or rate is no amount with a currency, and no part of a code."""
    printed = printed_products(candidates)
    family = "count" if "number_of_shares" in meaning.terms else "number"

    def features(candidate: AnyCandidate, _: float) -> Features:
        text, place = candidate.segment.text, place_of(candidate)
        is_rate = text[candidate.stop :].lstrip().startswith("%") or "%" in candidate.text
        is_part = _CODE_BEFORE.search(text[: candidate.start]) or _CODE_BEHIND.match(text[candidate.stop :])
        return {
            "currency": float(candidate.marked),
            "rate": float(is_rate and "percent" not in meaning.words),
            "part of code": float(bool(is_part)),
            f"product, {family}": float(place in printed.products),
            f"factor, {family}": float(place in printed.counts and not candidate.marked),
        }

    return features


def _code_features(candidate: AnyCandidate) -> Features:
    if candidate.form == "standard number":
        needs_none = needs_no_label(candidate)
        return {
            "own form": float(needs_none),
            "checked digits": float(candidate.marked and not needs_none),
            "unchecked": float(not candidate.marked),
        }
    key, text = str(candidate.key), candidate.segment.text
    is_cut = _LONG_TAIL.match(text[candidate.stop :]) is not None
    has_revision = "/" in candidate.text and not _LONG_TAIL.search(candidate.text)
    is_part = _DIGITS_BEFORE.search(text[: candidate.start]) or _DIGITS_BEHIND.match(text[candidate.stop :])
    return {
        "code": 1.0,
        "long code": float(len(key) >= _LONG_CODE),
        "plain": float(candidate.plain),
        "upper": _upper(candidate),
        "cut code": float(is_cut or has_revision),
        "amount as code": float(may_be_amount(str(candidate.value))),
        "part of code": float(bool(is_part)),
    }


def _name_features(meaning: FieldMeaning, name: AnyCandidate) -> Features:
    text, previous, following = name.text, name.previous, name.following
    words = token_texts(text)
    segment = name.segment
    is_security = "security" in meaning.terms
    before_isin = name_before_isin(segment.text) if is_security else None
    is_behind_word = previous and previous[-1] not in ":#"
    return {
        "words of forms": max(_form_share(span.text) for span in name.spans),
        "colon in name": float(":" in text or text.endswith("#")),
        "begins text": float(not previous),
        "ends text": float(not following),
        "behind colon": float(previous.endswith(":")),
        "word follows": float(bool(following) and following[0] not in "(["),
        "two lines": float(len(name.spans) > 1),
        "ends in form": float(words[-1] in FORM_WORDS),
        "whole run": float(_is_whole_run(name)),
        "upper": float(segment.middle < _UPPER),
        "many digits": float(sum(map(str.isdecimal, text)) > _MANY_DIGITS),
        "small letter": float(text[0].islower() or text[0].isdecimal()),
        "behind word": float(bool(is_behind_word) and meaning.match_strength(name.around.before) < WEAK),
        "counted": float(is_security and name.start in counted_names(segment.text)),
        "before isin": float(
            before_isin is not None and (before_isin.start, before_isin.stop) == (name.start, name.stop)
        ),
    }


@lru_cache(maxsize=20_000)
def _form_share(text: str) -> float:
    """The share of a text's words that forms print, or that are part of known labels."""
    words, labels = tokens(text), LABELS.find(text)
    printed = sum(
        word.text in FORM_WORDS or any(label.start <= word.start < label.stop for label in labels)
        for word in words
    )
    return printed / max(1, len(words))


def _is_whole_run(name: AnyCandidate) -> bool:
    """Return whether a name is all that stands between two values, under a label or behind a count."""
    text = name.segment.text
    return any(
        run.start == name.start
        and run.stop == name.stop
        and (run.start in counted_names(text) or name.is_under_labels)
        for run in names_in(text)
    )
