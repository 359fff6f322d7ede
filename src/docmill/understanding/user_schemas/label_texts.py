"""Texts that no name is: labels of a schema's fields, what goes on behind one, days, ends of titles."""

from collections.abc import Iterable

from docmill.understanding.fields.candidates import AnyCandidate, Candidates
from docmill.understanding.fields.meaning import STOP, FieldMeaning, goes_on_label, words_of
from docmill.understanding.fields.scoring import Scored
from docmill.understanding.page.labels import COLUMNS, LABELS, TERMS
from docmill.understanding.text.folding import token_texts
from docmill.understanding.text.standard_numbers import formats_named
from docmill.understanding.user_schemas.doubts import QUALIFIERS
from docmill.understanding.vocabulary import NUMBER_WORDS

_BESIDE = 0.5
"""Least strength of a label in whose row anything may be a value."""
_SMALL = STOP | NUMBER_WORDS
_LARGE = 1.3
"""Height of a title, in those of the page's texts."""


def is_known_label(text: str) -> bool:
    """True for known labels with nothing else but words of state or period: `Original Date / Revision`."""
    for phrases in (LABELS, TERMS, COLUMNS):
        labels = phrases.find(text)
        rest = text
        for label in reversed(labels):
            rest = f"{rest[: label.start]} {rest[label.stop :]}"
        others = [word for word in token_texts(rest) if word not in _SMALL and len(word) > 1]
        if (labels or others) and all(word in QUALIFIERS or formats_named(word) for word in others):
            return labels != [] or not QUALIFIERS.issuperset(others)
    return False


class LabelTexts:
    """The texts of a document that are labels of a schema's fields, days or ends of titles."""

    def __init__(self, meanings: Iterable[FieldMeaning], candidates: Candidates) -> None:
        self._meanings = list(meanings)
        self._dates = candidates.written_dates
        self._layout = candidates.layout
        self._is_label: dict[str, bool] = {}
        self._is_known: dict[str, bool] = {}

    def excluded_from(self, field: Scored) -> Scored:
        """The field without these texts, if its values are names or texts."""
        form = field.meaning.form
        if form not in ("name", "text"):
            return field
        kept = (
            index
            for index, candidate in enumerate(field.candidates)
            if not any(self._has(span.text) for span in candidate.spans)
            and not self._is_label_of_paper(field.meaning, candidate)
            and not any(self._describes_another(field.meaning, span.text) for span in candidate.spans)
            and not goes_on_label(candidate.text, candidate.previous)
            and not self._ends_title(candidate)
            and not (self._is_day(candidate) if form == "text" else self._has_day(candidate))
        )
        return field.only(list(kept))

    def _has(self, text: str) -> bool:
        if text not in self._is_label:
            self._is_label[text] = any(meaning.is_label(text) for meaning in self._meanings)
        return self._is_label[text]

    def _describes_another(self, own: FieldMeaning, text: str) -> bool:
        """True for words of another field's name or description alone: `Arrival` of `place of arrival`."""
        written = {*words_of(text)} - STOP
        return bool(written) and any(
            written <= meaning.words.keys() and not written <= own.words.keys()
            for meaning in self._meanings
            if meaning is not own
        )

    def _is_label_of_paper(self, own: FieldMeaning, candidate: AnyCandidate) -> bool:
        """True for known labels alone; one word behind the field's own label may be a value: `Paid`."""
        text, around = candidate.text, candidate.around
        beside = around.before if around.before.endswith((":", "#")) else "" if around.before else around.left
        is_word = len(text.split()) == 1 and not candidate.following
        if any(map(str.isdecimal, text)) or (is_word and own.match_strength(beside) >= _BESIDE):
            return False
        if text not in self._is_known:
            self._is_known[text] = is_known_label(text)
        return self._is_known[text]

    def _ends_title(self, candidate: AnyCandidate) -> bool:
        """True behind the first word of a line in large print: `Equipment | Rental Agreement`."""
        segment = candidate.segment
        if not candidate.start or segment.text[: candidate.start].rstrip().endswith((":", "#")):
            return False
        return segment.height > _LARGE * self._layout.sheet(segment).text_height

    def _is_day(self, candidate: AnyCandidate) -> bool:
        days = self._dates[candidate.segment.index]
        return any(day.start <= candidate.start and candidate.stop <= day.stop for day in days)

    def _has_day(self, candidate: AnyCandidate) -> bool:
        return any(
            day.start < span.stop and span.start < day.stop
            for span in candidate.spans
            for day in self._dates[span.segment.index]
        )
