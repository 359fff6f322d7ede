"""Which date is which: issued, due, delivered, and the period."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise

from docmill.model.result import DocumentType
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, best, found, probabilities
from docmill.understanding.fields.meaning import FieldMeaning, built_in_meaning
from docmill.understanding.page.layout import Span
from docmill.understanding.text.clock import MISREAD_TIME, clock_time
from docmill.understanding.vocabulary import Concept
from docmill.understanding.vocabulary.terms import is_payable_by

_START, _END = built_in_meaning("period_start"), built_in_meaning("period_end")
_LINKED = 1.6
"""What being written as one period adds to each of its ends."""
_LONGEST_PERIOD = timedelta(days=800)
_IN_PERIOD = -1.5
_IN_TERMS = 4.0
"""What it says for a due date to be the end of a sentence on payment."""


def dates(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """All date fields; a period first, since its ends are not other dates."""
    chosen: dict[str, Finding] = dict(_period(candidates.dates))
    meaning = built_in_meaning("issue_date", document_type)
    issued = best(_issue_scores(candidates, meaning), null=meaning.null)
    if issued is not None:
        chosen["issue_date"] = issued
    for field in ("due_date", "delivery_date"):
        meaning = built_in_meaning(field)
        scored = [
            (candidate, max(meaning.score(candidate.clues), _said(candidates, candidate, field)))
            for candidate in candidates.dates
            if not (_too_early(field, candidate.value, issued) or (field == "due_date" and candidate.role))
        ]
        finding = best(scored, null=meaning.null)
        if finding is not None:
            chosen[field] = finding
    return chosen


def _said(candidates: Candidates, candidate: Candidate[date], field: str) -> float:
    """What a sentence around the date says of it, where no label before it does."""
    if field != "due_date":
        return 0.0
    before = candidate.segment.text[: candidate.start]
    return _IN_TERMS if is_payable_by(before) or _is_due_after(candidates, candidate) else 0.0


def _is_due_after(candidates: Candidates, candidate: Candidate[date]) -> bool:
    """Whether the next word says it, and ends the line: `ist am 06.12.2013 fällig`."""
    text, at = candidate.segment.text, candidate.stop
    labels = [label for label in candidates.labels(candidate.segment) if label.start >= at]
    if not labels or Concept.DUE_DATE not in labels[0].meanings:
        return False
    rest = text[at : labels[0].start] + text[labels[0].stop :]
    return not any(map(str.isalnum, rest)) and ":" not in rest


def _too_early(field: str, value: date, issued: Finding | None) -> bool:
    return (
        field == "due_date" and issued is not None and isinstance(issued.value, date) and value < issued.value
    )


def _issue_scores(candidates: Candidates, meaning: FieldMeaning) -> Iterator[tuple[Candidate[date], float]]:
    for index, candidate in enumerate(candidates.dates):
        said = meaning.score(candidate.clues)
        value = max(said, meaning.unlabelled + min(said, 0))
        if candidate.role:
            value += _IN_PERIOD
        if MISREAD_TIME.search(candidate.segment.text[candidate.stop :]):
            value += 0.8
        value -= (
            0.06 * min(index, 15)
            + 0.4 * candidate.segment.middle
            + 0.5 * min(2, candidate.segment.page_index)
        )
        yield candidate, value


def _period(all_dates: list[Candidate[date]]) -> Iterator[tuple[str, Finding]]:
    """The pair of dates most likely a period: written as one, or labelled as start and end."""
    pairs = [*_linked(all_dates), *_labelled(all_dates)]
    if not pairs:
        return
    pairs.sort(key=lambda pair: -pair[2])
    start, end, value = pairs[0]
    if value <= 2 * _START.null:
        return
    rivals = {(pair[0].value, pair[1].value): pair[2] for pair in reversed(pairs)}
    rivals.pop((start.value, end.value))
    share = probabilities([value / 2, *(rival / 2 for rival in rivals.values())], null=_START.null)[0]
    yield "period_start", found(start, share)
    yield "period_end", found(end, share)


_Pair = tuple[Candidate[date], Candidate[date], float]


def _linked(all_dates: list[Candidate[date]]) -> Iterator[_Pair]:
    for start, end in pairwise(all_dates):
        if start.role == "start" and end.role == "end" and start.value <= end.value:
            # The label speaks for both ends; the start's own label is the nearest.
            value = 2 * max(0.0, _START.score(start.clues)) + 2 * _LINKED
            yield start, end, value - _late(start)


def _labelled(all_dates: list[Candidate[date]]) -> Iterator[_Pair]:
    starts = [one for one in all_dates if one.clues.get(Concept.PERIOD_START) and not one.role]
    ends = [one for one in all_dates if one.clues.get(Concept.PERIOD_END) and not one.role]
    for start in starts:
        for end in ends:
            if timedelta(0) <= end.value - start.value <= _LONGEST_PERIOD:
                distance = abs(end.segment.index - start.segment.index)
                value = _START.score(start.clues) + _END.score(end.clues)
                yield start, end, value - 0.02 * min(distance, 50) - _late(start)


def _late(candidate: Candidate[date]) -> float:
    return 0.5 * candidate.segment.middle + 0.8 * min(2, candidate.segment.page_index)


def time_of_day(candidates: Candidates, issued: Finding | None) -> Iterator[tuple[str, Finding]]:
    """The time printed with the issue date, on its line or the next ones, or after a label."""
    if issued is None:
        return
    segment = issued.spans[0].segment
    sheet = candidates.layout.sheet(segment)
    after = Span(segment, issued.spans[0].stop, len(segment.text))
    near = [after, *(Span(other, 0, len(other.text)) for other in sheet.right_of(segment))]
    labelled = [
        Span(other, 0, len(other.text))
        for other in sheet.segments
        if abs(other.line - segment.line) <= 2 and other is not segment  # noqa: PLR2004 - lines around the date
    ]
    for rank, span in enumerate([*near, *labelled]):
        match = MISREAD_TIME.search(span.text)  # what stands before it, as in `201818:08:38`, is the date's
        if match and (":" in match[0] or rank < len(near)):
            where = Span(span.segment, span.start + match.start(), span.start + match.end())
            yield "time", Finding(clock_time(match), (where,), 0.95 if rank < len(near) else 0.8)
            return
