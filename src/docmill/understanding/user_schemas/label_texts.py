"""Texts that no name is: labels of a schema's fields, what goes on behind one, days, ends of titles."""

from collections.abc import Iterable

from docmill.understanding.fields.candidates import AnyCandidate, Candidates
from docmill.understanding.fields.meaning import STOP, FieldMeaning, goes_on_label, words_of
from docmill.understanding.fields.scoring import Scored

_LARGE = 1.3
"""Height of a title, in those of the page's texts."""


class LabelTexts:
    """The texts of a document that are labels of a schema's fields, days or ends of titles."""

    def __init__(self, meanings: Iterable[FieldMeaning], candidates: Candidates) -> None:
        self._meanings = list(meanings)
        self._dates = candidates.written_dates
        self._layout = candidates.layout
        self._is_label: dict[str, bool] = {}

    def excluded_from(self, field: Scored) -> Scored:
        """The field without these texts, if its values are names or texts."""
        form = field.meaning.form
        if form not in ("name", "text"):
            return field
        kept = (
            index
            for index, candidate in enumerate(field.candidates)
            if not any(self._has(span.text) for span in candidate.spans)
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
        days = self._dates[candidate.segment.index]
        return any(day.start < candidate.stop and candidate.start < day.stop for day in days)
