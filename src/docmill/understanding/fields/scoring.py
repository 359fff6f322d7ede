"""Scores of candidates for a user's fields by label, place and form; candidates for names and texts, too."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import (
    MOST_CANDIDATES,
    SHORTEST,
    AnyCandidate,
    Candidate,
    Candidates,
)
from docmill.understanding.fields.label_sides import is_other_side
from docmill.understanding.fields.meaning import OF_FORMS, FieldMeaning
from docmill.understanding.page.context import ValueContext
from docmill.understanding.page.labels import LABELS, TERMS
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.page.value_runs import counted_names, label_over, names_in, values_in
from docmill.understanding.text.folding import tokens
from docmill.understanding.text.number_forms import may_be_amount
from docmill.understanding.text.standard_numbers import is_beside_isin
from docmill.understanding.vocabulary import LANGUAGES, Concept

LABEL = 4.0
_LEFT2 = 0.5
_OUTSIDE = 0.5
"""Factor for a label left of the segment if words stand before the value in it."""
_ABOVE = 0.9
_HEAD = 0.6
_ROW = 0.7
_HEAD_OF_MONEY = 0.9
_AMOUNT_AS_CODE = 2.0
_PART_OF_CODE = 1.5
_CODE_AS_TEXT = -0.5
_BOTH = 0.3
"""Factor for the weaker of the labels in the row and in the column."""
_FIRST_PAGE = 0.6
_REPEATED = 0.15
_UPPER = 0.45
_ONLY_CHOICE = 1.0
_OTHER_SIDE = 3.0
"""Penalty of a name under a label in a document whose labels stand left of their values."""
_ROLE = 2.0
_WRONG_ROLE = 3.0
_LONG_CODE = 5
_MANY_DIGITS = 5
_WEAK = 0.5
_OF_ITS_FORM = 2.5
"""Score of a value by its form alone: an IBAN needs no label."""
_UNLIKE_OTHERS, _CHECKED_DIGITS, _OF_ITS_LENGTH, _NOT_OF_FORM = 4.0, 1.5, 0.8, -2.0
"""The same for a standard number that needs no label, for digits alone whose checksum holds, for a format
without a checksum, and for what is of another form."""
_LONG_NUMBER = 14
_OTHER_LABEL = 2.0
"""Penalty of a value whose nearest label names something else."""
_COUNTED_TERM, _COUNTED = "security", 0.6
"""The term of what is counted in shares, and the label strength of a name behind such a count."""
_WHOLE_RUN = 1.6
_OTHER_CURRENCY = 1.5
"""Penalty of a currency that is not the document's, which only a label can outweigh."""
_BESIDE_CHECKED = 0.6
"""Label strength of a number of its format beside an ISIN: `DE0007164600 (716460)`."""
_BEHIND = 0.9
"""Factor for the words behind a number: `100 shares`."""
_UNIT = re.compile(r"[ \u00a0]?([^\W\d_][^\d,;:(]{1,30})")
_VALUE = re.compile(r"\S*\d\S*")
_LETTERS = re.compile(r"[^\W\d_]{2}")
CHECKED = frozenset(("iban", "bic", "vat id", "mail", "currency"))
_WHOLES = frozenset(("total", "gross", "amount"))
_PARTS = frozenset(("net", "tax", "commission", "discount", "price"))
_OFTEN = 3
_SMALL = 3
_NET = re.compile(r"\bnet\b|\bnett\w*|commission|balance|\btax\b|provision|\bhors\b", re.IGNORECASE)


_AMOUNT_AS_NUMBER = 2.0
_CODE_BEFORE, _CODE_BEHIND = re.compile(r"[^\W_][-/.]?$"), re.compile(r"[-/.]?[^\W_]")
_DIGITS_BEFORE = re.compile(r"(?:^|[\s:#])\d{1,6} $")
_DIGITS_BEHIND = re.compile(r" \d{1,6}(?= \d|$)")
_LONG_TAIL = re.compile(r"/[^\W_]{3,}$")
"""The end of a code that is no revision: `B-2026/0447`."""
_DASH = re.compile(r"[-\u2013] ")
_LETTER_BEFORE = re.compile(r"[^\W\d_]\)? $")

_NEXT_LINE = 0.9
"""Text heights to the line in which a name goes on."""
_FLUSH = 0.005
_LEADERS = " .\u00b7\u2026_:"
"""Dots and lines that lead from a label to its value."""
_LONGEST_NAME = 11
_ANY_END = 6
_LONGEST_LABEL = 4
_LEAST_MATCH = 0.3
"""Least strength of the texts around for the runs of words in a text to be tried."""
_IS_LABEL = 1.2
_FEWEST_LETTERS = 2
_LONGEST_CONTINUED = 8
_LONGEST_CONTINUATION = 6


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

    def only(self, indices: Sequence[int]) -> "Scored":
        """The field with these of its candidates."""
        return replace(
            self,
            candidates=[self.candidates[index] for index in indices],
            labels=self.labels[list(indices)],
            scores=self.scores[list(indices)],
        )


@once
def score_candidates(candidates: Candidates, meaning: FieldMeaning) -> Scored:
    """The candidates of a field with their scores by label, place and form."""
    match meaning.form:
        case "name":
            offered: Sequence[AnyCandidate] = find_names(candidates, meaning)
        case "text":
            offered = [
                *candidates.codes,
                *candidates.short_texts,
                *find_names(candidates, meaning),
            ]
        case "choice":
            offered = candidates.choices(meaning.choices)
        case "standard number":
            offered = [*candidates.standard_numbers(meaning.formats), *candidates.codes]
        case _:
            offered = candidates.of_form(meaning.form)
    offered = [_without_dash(candidate) for candidate in offered]
    counts = Counter(candidate.key for candidate in offered)
    labels = np.array([label_strength(meaning, candidate) for candidate in offered], np.float64)
    place = np.array(
        [
            _FIRST_PAGE * (candidate.segment.page_index == 0) + _REPEATED * math.log2(counts[candidate.key])
            for candidate in offered
        ],
        np.float64,
    )
    sides = np.array([_is_label_on_other_side(candidates, meaning, candidate) for candidate in offered])
    others = np.array([has_other_label(meaning, candidate) for candidate in offered], np.bool_)
    scores = (
        LABEL * labels
        + place
        + _form_scores(meaning, offered, labels)
        - _OTHER_SIDE * sides
        - _OTHER_LABEL * others
    )
    return Scored(meaning, offered, labels, scores)


def _is_label_on_other_side(candidates: Candidates, meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """Return whether the label of a name stands where the document has none: it may be a label itself."""
    if candidate.form != "name":
        return False
    return is_under_label(meaning, candidate) and is_other_side(candidates, is_above=True)


def _without_dash(candidate: AnyCandidate) -> AnyCandidate:
    """A number without the dash that parts it from its label: `Meter reading - 4,120` is no negative one."""
    value = candidate.value
    if not isinstance(value, Decimal) or value >= 0:
        return candidate
    is_dash = _DASH.match(candidate.text) and _LETTER_BEFORE.search(candidate.segment.text[: candidate.start])
    return replace(candidate, value=-value) if is_dash else candidate


def label_strength(meaning: FieldMeaning, candidate: AnyCandidate) -> float:
    """The strength with which the texts around the candidate name the field."""
    beside, over = _label_strengths(meaning, candidate)
    return max(beside, over) + _BOTH * min(beside, over)


def is_under_label(meaning: FieldMeaning, candidate: AnyCandidate) -> bool:
    """Return whether the label that names the field stands over the candidate rather than in its row."""
    beside, over = _label_strengths(meaning, candidate)
    return over > beside


def _label_strengths(meaning: FieldMeaning, candidate: AnyCandidate) -> tuple[float, float]:
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
    if _COUNTED_TERM in meaning.terms and candidate.form == "name":
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
        and meaning.match_strength(label) < _WEAK
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


def is_whole(meaning: FieldMeaning) -> bool:
    """True if the field is a total, so that the largest amounts are preferred."""
    words = meaning.words
    return meaning.form == "money" and bool(_WHOLES & words.keys()) and not _PARTS & words.keys()


def _form_scores(
    meaning: FieldMeaning, candidates: Sequence[AnyCandidate], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    if meaning.form in CHECKED:
        plain = np.array([candidate.plain for candidate in candidates], np.float64)
        return _OF_ITS_FORM - _OTHER_CURRENCY * plain
    match meaning.form:
        case "money":
            scores = _money_scores(candidates, labels, is_total=is_whole(meaning))
        case "date":
            scores = [
                0.8 * _is_upper(candidate)
                + (_ROLE if candidate.role == meaning.role else -_WRONG_ROLE)
                * bool(meaning.role and candidate.role)
                for candidate in candidates
            ]
        case "choice":
            # The only one of the choices that is printed may be the value, whatever it is called there.
            return np.full(len(candidates), _ONLY_CHOICE * (len(candidates) == 1))
        case "code" | "name" | "text" | "standard number":
            scores = [_text_score(meaning, candidate) for candidate in candidates]
        case "number":
            scores = [_number_score(meaning, candidate) for candidate in candidates]
        case _:
            return np.zeros(len(candidates))
    return np.array(scores, np.float64)


def _number_score(meaning: FieldMeaning, number: AnyCandidate) -> float:
    """A count or rate is no amount with a currency, and no part of a code."""
    text = number.segment.text
    is_rate = text[number.stop :].lstrip().startswith("%") or "%" in number.text
    is_part = _CODE_BEFORE.search(text[: number.start]) or _CODE_BEHIND.match(text[number.stop :])
    return (
        -_AMOUNT_AS_NUMBER * number.marked
        - _AMOUNT_AS_NUMBER * (is_rate and "percent" not in meaning.words)
        - _AMOUNT_AS_NUMBER * bool(is_part)
    )


def _is_upper(candidate: AnyCandidate) -> bool:
    return candidate.segment.page_index == 0 and candidate.segment.middle < _UPPER


def _money_scores(
    candidates: Sequence[AnyCandidate], labels: NDArray[np.float64], *, is_total: bool
) -> list[float]:
    """The largest amounts are the totals; net amounts are less than the whole."""
    amounts = [Decimal(candidate.value) for candidate in candidates if isinstance(candidate.value, Decimal)]
    values = {value for value, candidate in zip(amounts, candidates, strict=True) if not candidate.plain}
    ranks = {value: rank for rank, value in enumerate(sorted(values, reverse=True))}
    scores: list[float] = []
    for candidate, value, label in zip(candidates, amounts, labels, strict=True):
        is_withheld = value <= 0 and (value == 0 or label < _WEAK)  # what has its label may be debited
        score = 0.5 * candidate.marked - 2.5 * candidate.plain - 3 * is_withheld
        if is_total:
            around, rank = candidate.around, ranks.get(value, len(ranks))
            score += 1.2 * (rank == 0) + 0.4 * (rank == 1)
            score -= 1.5 * bool(_NET.search(f"{around.before} {around.left} {around.row} {around.head}"))
        scores.append(score)
    return scores


def needs_no_label(number: AnyCandidate) -> bool:
    """True for a number whose checksum holds and whose form is that of few other numbers: `DE0007164600`."""
    key = str(number.key)
    is_own_form = any(map(str.isalpha, key)) or len(key) >= _LONG_NUMBER
    return number.form == "standard number" and number.marked and is_own_form


def _text_score(meaning: FieldMeaning, name: AnyCandidate) -> float:
    if name.form == "standard number":
        return _UNLIKE_OTHERS if needs_no_label(name) else _CHECKED_DIGITS if name.marked else _OF_ITS_LENGTH
    if name.form == "code":
        score = 0.5 if len(str(name.key)) >= _LONG_CODE else -0.5
        is_cut = _LONG_TAIL.match(name.segment.text[name.stop :]) is not None
        has_revision = "/" in name.text and not _LONG_TAIL.search(name.text)
        score += -4 * name.plain + 0.6 * _is_upper(name) - 1.0 * (is_cut or has_revision)
        score -= _AMOUNT_AS_CODE * may_be_amount(str(name.value)) + _PART_OF_CODE * _is_part_of_code(name)
        return (
            score
            + _CODE_AS_TEXT * (meaning.form == "text")
            + _NOT_OF_FORM * (meaning.form == "standard number")
        )
    text, previous, following = name.text, name.previous, name.following
    last_word = tokens(text)[-1].text
    shares: list[float] = []
    for span in name.spans:
        words, labels = tokens(span.text), LABELS.find(span.text)
        printed = sum(
            word.text in FORM_WORDS or any(label.start <= word.start < label.stop for label in labels)
            for word in words
        )
        shares.append(printed / max(1, len(words)))
    score = -3 * max(shares) - 3 * (":" in text or text.endswith("#"))
    score += 0.8 * (not previous) + 1.0 * (not following) + 0.8 * previous.endswith(":")
    if following and following[0] not in "([":
        score -= 1.6
    score -= 0.8 * (len(name.spans) > 1) + 1.0 * (last_word in FORM_WORDS)
    score += _WHOLE_RUN * _is_whole_run(name)
    score += 0.4 * (name.segment.middle < _UPPER) - 1.0 * (sum(map(str.isdecimal, text)) > _MANY_DIGITS)
    if text[0].islower() or text[0].isdecimal():
        score -= 1.5
    if previous and previous[-1] not in ":#" and meaning.match_strength(name.around.before) < _WEAK:
        score -= 1.5
    return score


def _is_whole_run(name: AnyCandidate) -> bool:
    """Return whether a name is all that stands between two values, under a label or behind a count."""
    text = name.segment.text
    return any(
        run.start == name.start
        and run.stop == name.stop
        and (run.start in counted_names(text) or name.is_under_labels)
        for run in names_in(text)
    )


def _is_part_of_code(code: AnyCandidate) -> bool:
    """Return whether more groups of digits follow a code, or stand before it."""
    text = code.segment.text
    return bool(_DIGITS_BEFORE.search(text[: code.start]) or _DIGITS_BEHIND.match(text[code.stop :]))


def find_names(candidates: Candidates, meaning: FieldMeaning) -> list[Candidate[str]]:
    """Runs of words near a label of the field, as names, in the order of the pages."""
    names: list[Candidate[str]] = []
    for segment in candidates.layout.segments:
        page = candidates.layout.sheet(segment).page
        texts = page.words.texts[segment.start : segment.stop]
        ends = {value.start for value in values_in(segment.text) if value.kind == "code"}
        for start in _starts(candidates, segment, texts, meaning):
            for stop in range(start + 1, min(len(texts), start + _LONGEST_NAME) + 1):
                # A name may end anywhere near its start; farther away, only before marks and labels.
                if (
                    stop == len(texts)
                    or stop - start <= _ANY_END
                    or segment.offsets[stop] in ends
                    or texts[stop].startswith(("(", "[", "-", "/", "|"))
                    or texts[stop].endswith(":")
                ):
                    names.extend(_names_at(candidates, segment, texts, start, stop))
    return names[:MOST_CANDIDATES]


def _starts(
    candidates: Candidates, segment: Segment, texts: Sequence[str], meaning: FieldMeaning
) -> list[int]:
    """Indices of the words that may start a name: the first one, and those after a label or other values."""
    around, match_strength = candidates.contexts.texts(segment), meaning.match_strength
    outside = max(map(match_strength, (around.left, around.above, around.head, around.row)))
    starts = {0} if outside >= _LEAST_MATCH else set[int]()
    for count in range(1, min(len(texts), _LONGEST_LABEL + 1)):
        is_marked = texts[count - 1].endswith((":", "#"))
        if is_marked or match_strength(" ".join(texts[:count])) >= _LEAST_MATCH:
            starts.add(count)
    if starts and len(texts) < _LONGEST_LABEL and match_strength(segment.text) >= _IS_LABEL:
        return []
    behind = {
        name.start
        for name in (names_in(segment.text) if outside >= _LEAST_MATCH else ())
        if any(label_over(labels, segment.text, name.start) for labels in (around.above, around.head))
    }
    behind |= counted_names(segment.text) if _COUNTED_TERM in meaning.terms else frozenset()
    starts.update(count for count, offset in enumerate(segment.offsets) if offset in behind)
    return sorted(starts)


def _is_contact(text: str) -> bool:
    """True if a text begins with the label of a telephone number and a digit: `tel 01527 880 114`."""
    text = text.lstrip(" ,;:-")
    label = next(iter(LABELS.find(text)), None)
    if label is None or label.start or Concept.PHONE not in label.meanings:
        return False
    return text[label.stop :].lstrip(" .:+(")[:1].isdecimal()


def _names_at(
    candidates: Candidates, segment: Segment, texts: Sequence[str], start: int, stop: int
) -> Iterator[Candidate[str]]:
    """The words `start` to `stop` as a name; the same with the next line, and cut at a bracket."""
    offsets = segment.offsets
    first, last = offsets[start], offsets[stop - 1] + len(texts[stop - 1])
    cut = segment.text.find("(", offsets[stop - 1] + 2, last)
    previous = texts[start - 1] if start else ""
    for end in (last, cut) if cut > 0 else (last,):
        text = segment.text[first:end]
        value = text.strip(" :-,;").lstrip(_LEADERS)
        if sum(map(str.isalpha, value)) < _FEWEST_LETTERS or len(letters_and_digits(value)) < SHORTEST:
            continue
        begin = first + text.index(value[0])
        span = Span(segment, begin, begin + len(value))
        context = ValueContext(candidates.contexts, segment, begin)
        following = texts[stop] if stop < len(texts) else ""
        if following and any(
            value.start == offsets[stop] and value.kind == "code" for value in values_in(segment.text)
        ):
            following = "("  # a name ends before its number
        days = candidates.written_dates[segment.index] if following and text.endswith(",") else ()
        if any(day.start == offsets[stop] for day in days):
            following = ""  # a name ends before a day
        if segment.text[end : end + 1] == "(" or (following and _is_contact(segment.text[end:])):
            following = "("
        yield Candidate("name", value, (span,), context, previous=previous, following=following)
        if end < last or stop < len(texts) or stop - start > _LONGEST_CONTINUED:
            continue
        # It goes on in the next line if that stands right under it and begins where it does.
        sheet = candidates.layout.sheet(segment)
        below = next(iter(sheet.below(segment.box)), None)
        if below is None:
            continue
        x0 = sheet.page.words.boxes[segment.words(span.start, span.stop)[0], 0]
        if (
            below.box.y0 - segment.box.y1 < _NEXT_LINE * segment.height
            and abs(below.box.x0 - x0) <= _FLUSH
            and len(below.offsets) <= _LONGEST_CONTINUATION
        ):
            spans = (span, Span(below, 0, len(below.text)))
            yield Candidate("name", f"{value} {below.text}", spans, context, previous=previous)
