"""The date fields of a document: issue, due and delivery date, the ends of its period, and the time."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise, product

from docmill.schemas.document_types import DocumentType
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, best, finding_of, probabilities
from docmill.understanding.fields.meaning import built_in_meaning
from docmill.understanding.page.layout import Span
from docmill.understanding.page.terms import is_payable_by
from docmill.understanding.text.dates import MISREAD_TIME, clock_time
from docmill.understanding.vocabulary import Concept

_START, _END = built_in_meaning("period_start"), built_in_meaning("period_end")
_RANGE_BONUS = 1.6
"""Score added to each end of a period that is written as one, such as `01.03. - 31.03.`."""
_LONGEST_PERIOD = timedelta(days=800)
_PERIOD_PENALTY = -1.5
"""Added to the score of an issue date that is an end of a period."""
_DEADLINE_SCORE = 4.0
"""Least score of a due date by which a sentence asks for payment."""


def dates(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """Find all date fields, by path. The ends of a period are seldom other dates as well."""
    findings: dict[str, Finding] = dict(_period(candidates.dates))
    meaning = built_in_meaning("issue_date", document_type)
    scored: list[tuple[Candidate[date], float]] = []
    for index, candidate in enumerate(candidates.dates):
        segment = candidate.segment
        by_label = meaning.score(candidate.clues)
        score = max(by_label, meaning.unlabelled + min(by_label, 0))
        score += _PERIOD_PENALTY * bool(candidate.role)
        score += 0.8 * (MISREAD_TIME.search(segment.text[candidate.stop :]) is not None)
        score -= 0.06 * min(index, 15) + 0.4 * segment.middle + 0.5 * min(2, segment.page_index)
        scored.append((candidate, score))
    issued = best(scored, null=meaning.null)
    if issued is not None:
        findings["issue_date"] = issued
    for field in ("due_date", "delivery_date"):
        meaning = built_in_meaning(field)
        scored = []
        for candidate in candidates.dates:
            score = meaning.score(candidate.clues)
            if field == "due_date":
                is_early = issued and isinstance(issued.value, date) and candidate.value < issued.value
                if candidate.role or is_early:
                    continue
                if _is_payment_deadline(candidates, candidate):
                    score = max(score, _DEADLINE_SCORE)
            scored.append((candidate, max(score, 0.0)))
        finding = best(scored, null=meaning.null)
        if finding is not None:
            findings[field] = finding
    return findings


def _is_payment_deadline(candidates: Candidates, candidate: Candidate[date]) -> bool:
    """True if the sentence around a date asks for payment by that day: `ist am 06.12.2013 fällig`."""
    segment, at = candidate.segment, candidate.stop
    text = segment.text
    if is_payable_by(text[: candidate.start]):
        return True
    labels = [label for label in candidates.labels(segment) if label.start >= at]
    if not labels or Concept.DUE_DATE not in labels[0].meanings:
        return False
    rest = text[at : labels[0].start] + text[labels[0].stop :]
    return not any(map(str.isalnum, rest)) and ":" not in rest


def _period(all_dates: list[Candidate[date]]) -> Iterator[tuple[str, Finding]]:
    """The most likely pair of dates that are written as one period or labelled as its ends."""
    pairs: list[tuple[Candidate[date], Candidate[date], float]] = []
    for start, end in pairwise(all_dates):
        if start.role == "start" and end.role == "end" and start.value <= end.value:
            # One label counts for both ends; it stands nearest to the start.
            score = 2 * max(0.0, _START.score(start.clues)) + 2 * _RANGE_BONUS
            pairs.append((start, end, score - _position_penalty(start)))
    starts = [start for start in all_dates if start.clues.get(Concept.PERIOD_START) and not start.role]
    ends = [end for end in all_dates if end.clues.get(Concept.PERIOD_END) and not end.role]
    for start, end in product(starts, ends):
        if timedelta(0) <= end.value - start.value <= _LONGEST_PERIOD:
            distance = abs(end.segment.index - start.segment.index)
            score = _START.score(start.clues) + _END.score(end.clues)
            pairs.append((start, end, score - 0.02 * min(distance, 50) - _position_penalty(start)))
    pairs.sort(key=lambda pair: -pair[2])
    if not pairs or pairs[0][2] <= 2 * _START.null:
        return
    start, end, score = pairs[0]
    rivals = {(pair[0].value, pair[1].value): pair[2] for pair in reversed(pairs)}
    rivals.pop((start.value, end.value))
    share = probabilities([score / 2, *(rival / 2 for rival in rivals.values())], null=_START.null)[0]
    yield "period_start", finding_of(start, share)
    yield "period_end", finding_of(end, share)


def _position_penalty(candidate: Candidate[date]) -> float:
    """Penalty for a date that stands low on its page or on a later page."""
    return 0.5 * candidate.segment.middle + 0.8 * min(2, candidate.segment.page_index)


def time_of_day(candidates: Candidates, issued: Finding | None) -> Iterator[tuple[str, Finding]]:
    """Find the time of day behind the issue date or on the two lines before and after it."""
    if issued is None:
        return
    segment = issued.spans[0].segment
    sheet = candidates.layout.sheet(segment)
    after = Span(segment, issued.spans[0].stop, len(segment.text))
    near = [after, *(Span(other, 0, len(other.text)) for other in sheet.right_of(segment))]
    around = [
        Span(other, 0, len(other.text))
        for other in sheet.segments
        if abs(other.line - segment.line) <= 2 and other is not segment  # noqa: PLR2004 - lines around the date
    ]
    for rank, span in enumerate([*near, *around]):
        match = MISREAD_TIME.search(span.text)  # in `201818:08:38` the first digits belong to the date
        if match and (":" in match[0] or rank < len(near)):
            where = Span(span.segment, span.start + match.start(), span.start + match.end())
            yield "time", Finding(clock_time(match), (where,), 0.95 if rank < len(near) else 0.8)
            return
