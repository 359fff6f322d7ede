"""The time of a sale, told from those of its card payment, its beginning, its printing and opening hours."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import dropwhile, takewhile

from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import MOST_RIVALS, Finding
from docmill.understanding.page.card_slips import card_slip_lines
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.dates import MISREAD_TIME, clock_time
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.vocabulary import LANGUAGES, Concept

_SURE, _LIKELY, _POSSIBLE = 0.95, 0.8, 0.6
"""Probabilities of a time: the only one, beside the date or a label; the only one; one of several."""
_CLEAR = re.compile(r"[:hH]\s?\d\d|[AaPp]\.?[Mm]")
_TO = rf"(?:[-\u2013\u2014~]|{alternatives(word for language in LANGUAGES for word in language.dates.until)})"
_TO_TIME = re.compile(rf"\s*{_TO}\s*\d")
_FROM_TIME = re.compile(rf"\d\s*(?:[ap]\.?m\.?)?\s*{_TO}\s*$")
_OTHERS = alternatives(fold(word) for language in LANGUAGES for word in language.dates.other_times)
_OTHER = re.compile(rf"(?<![^\W\d_])(?:{_OTHERS})(?![^\W\d_])")
_HOURS = alternatives(word for language in LANGUAGES for word in ("h", *language.dates.hours))
_HALF_BEHIND = re.compile(rf"\s?(?!(?:{_HOURS})\b)[^\W\d_]{{1,2}}(?![^\W_])", re.IGNORECASE)
"""A word behind a time that may be a misread or foreign `PM`: `10:54 P`, `1:18 \u03bc\u03bc`."""
_LETTER = re.compile(r"[^\W\d_]")
_LOST_DIGIT = re.compile(r"(?:^|\s)[:;.]$")
_NOON, _MINUTES = 12, 60
_SAME_SALE = 3
"""Minutes between the times of one sale: when it was rung up, when it was paid for."""


@dataclass(frozen=True, slots=True)
class _Time:
    """A printed time of day. rank: 2 for one that may be of the sale, 1 of its card payment, 0 for others.

    is_beside: it stands beside the date or a label. is_whole: no digit of it and no `PM` may be missing.
    """

    text: str
    span: Span
    rank: int
    is_beside: bool
    is_whole: bool

    @property
    def minute(self) -> int:
        """Minutes since midnight."""
        hours, minutes = self.text[:5].split(":")
        return _MINUTES * int(hours) + int(minutes)


def sale_time(candidates: Candidates, issued: Finding | None) -> Iterator[tuple[str, Finding]]:
    """Find the time of the sale on the page of its date.

    The only time that may be of the sale is sure beside the date or a label. Of several the latest is the
    likeliest, since a bill is opened before it is paid, but no surer than a guess.
    """
    if not candidates.layout.sheets:
        return
    sheet = candidates.layout.sheets[0]
    if issued is not None:
        sheet = candidates.layout.sheet(issued.spans[0].segment)
    times = list(_times(candidates, sheet, issued))
    rank = max((time.rank for time in times), default=0)
    times = [time for time in times if time.rank == rank]
    if not times:
        return
    beside = [time for time in times if time.is_beside] or times
    first, last = min(beside, key=_minute), max(beside, key=_minute)
    chosen = first if last.minute - first.minute <= _SAME_SALE else last
    same = [time for time in times if time.minute == chosen.minute]
    others = {time.minute: time for time in reversed(times) if time.minute != chosen.minute}
    if others or not any(time.is_whole for time in same):
        probability = _POSSIBLE
    else:
        probability = _SURE if rank > 0 and (chosen.is_beside or len(same) > 1) else _LIKELY
    rivals = tuple(Finding(time.text, (time.span,), _POSSIBLE / 2) for time in others.values())
    yield "time", Finding(chosen.text, (chosen.span,), probability, rivals=rivals[:MOST_RIVALS])


def _minute(time: _Time) -> int:
    return time.minute


def _times(candidates: Candidates, sheet: Sheet, issued: Finding | None) -> Iterator[_Time]:
    """Every time of day on a page that is written as one, but for those of opening hours."""
    slip = card_slip_lines(sheet)
    days = [each for each in candidates.dates if each.segment.page_index == sheet.page_index]
    for segment in sheet.segments:
        dates = {each.value for each in days if each.segment.line == segment.line}
        is_issued = issued is not None and issued.value in dates
        text = _without_dates(segment, days)
        left = _words_left_of(sheet, segment)
        for match in MISREAD_TIME.finditer(text):
            is_labelled = _is_labelled(candidates, sheet, segment, match.start())
            if not _is_time(match, is_beside=is_issued or is_labelled):
                continue
            label = fold(f"{left} {text[: match.start()]}")
            is_other = _OTHER.search(label) is not None or (bool(dates) and not is_issued)
            yield _Time(
                clock_time(match),
                Span(segment, match.start(), match.end()),
                rank=0 if is_other else 1 if segment.line in slip else 2,
                is_beside=is_issued or is_labelled,
                is_whole=_is_whole(match),
            )


def _words_left_of(sheet: Sheet, segment: Segment) -> str:
    """The words left of a value on its line, up to another value, whose label stands beyond it."""
    texts = [other.text for other in sheet.left_of(segment)]
    from_words = dropwhile(lambda text: not _LETTER.search(text), texts)
    return " ".join(takewhile(_LETTER.search, from_words))


def _without_dates(segment: Segment, days: Iterable[Candidate[date]]) -> str:
    """The text with spaces for its dates: the digits of `15.12.` and `17-Sep-24/` are of no time."""
    text = segment.text
    for day in days:
        if day.segment is segment:
            stop = day.stop + text.startswith("/", day.stop)
            text = text[: day.start] + " " * (stop - day.start) + text[stop:]
    return text


def _is_time(match: re.Match[str], *, is_beside: bool) -> bool:
    """Return whether a time is written as one: with a colon, or beside a date or label."""
    text = fold(match.string)
    if _TO_TIME.match(text, match.end()) or _FROM_TIME.search(text[: match.start()]):
        return False
    return _CLEAR.search(match[0]) is not None or (is_beside and len(match["hour"]) > 1)


def _is_whole(match: re.Match[str]) -> bool:
    """Return whether no digit before the hour and no half of the day behind the time may be missing."""
    if match["half"] or int(match["hour"]) > _NOON:
        return True
    is_cut = _LOST_DIGIT.search(match.string[: match.start()]) is not None
    return not is_cut and _HALF_BEHIND.match(match.string, match.end()) is None


def _is_labelled(candidates: Candidates, sheet: Sheet, segment: Segment, start: int) -> bool:
    """Return whether a label for a time stands before the place, in its segment or left of it."""
    labels = [label for label in candidates.labels(segment) if label.start < start]
    labels += [label for other in sheet.left_of(segment)[:1] for label in candidates.labels(other)]
    return any(Concept.TIME in label.meanings for label in labels)
