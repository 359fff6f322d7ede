"""The page model's answer for a document, and numbers of it for a place on a page."""

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from docmill.model.document import Page
from docmill.understanding.fields.analysis_cache import once
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.page_model.features import MOST_WORDS, label_meanings
from docmill.understanding.page_model.model import PageModel, PageReading, shipped

LABEL = "label:"
"""Stands before the path of a field in the role of words that label it."""
NONE = "none"
"""The role of words without one."""
MOST_PAGES = 3
"""Pages that are looked at: what a paper says of itself stands on the first ones."""
_LEAST = 1e-5
_PROBABLE, _POSSIBLE = 0.5, 0.2
_LONGEST = 30
"""Words of a text."""
_RELATED = ("gross_total", "net_total", "tax_total", "tip")


def width_boxes(page: Page) -> NDArray[np.float32]:
    """The boxes of a page's words in fractions of its width, also y."""
    aspect = page.height_pt / page.width_pt if page.width_pt else 1.0
    return page.words.boxes * np.array([1, aspect, 1, aspect], np.float32)


@once
def page_readings(candidates: Candidates) -> Sequence[PageReading]:
    """The answers of the shipped model for the first pages of a document."""
    return read_pages(candidates, shipped())


def read_pages(candidates: Candidates, model: PageModel) -> Sequence[PageReading]:
    """The answers of a model for the first pages of a document.

    Words behind the `MOST_WORDS`-th of a page have no role.
    """
    return [_read_page(sheet.page, model) for sheet in candidates.layout.sheets[:MOST_PAGES]]


def _read_page(page: Page, model: PageModel) -> PageReading:
    count = len(page.words)
    texts, lines = page.words.texts[:MOST_WORDS], page.words.lines[:MOST_WORDS]
    if not texts:
        return nothing_read(model.vocabulary.roles, 0)
    read = model.read(texts, width_boxes(page)[:MOST_WORDS], lines, label_meanings(texts, lines))
    rest = nothing_read(read.names, count - len(texts))
    return read._replace(
        roles=np.concatenate([read.roles, rest.roles]), goes_on=np.concatenate([read.goes_on, rest.goes_on])
    )


def nothing_read(names: Sequence[str], count: int) -> PageReading:
    """The answer for words that nobody asked for: none has a role."""
    roles = np.zeros((count, len(names)), np.float32)
    roles[:, [name == NONE for name in names]] = 1
    return PageReading(names, roles, np.zeros(count, np.float32))


class Place:
    """The words of some spans on the page of the first of them, as the model sees them."""

    def __init__(self, candidates: Candidates, spans: Sequence[Span]) -> None:
        readings = page_readings(candidates)
        index = spans[0].segment.page_index
        known = index < len(readings)
        names = readings[0].names if readings else (NONE,)
        self._texts = candidates.layout.sheet(spans[0].segment).page.words.texts
        self.reading = readings[index] if known else nothing_read(names, len(self._texts))
        self.words = [
            word
            for span in spans
            if span.segment.page_index == index
            for word in range(*span.segment.words(span.start, span.stop))
        ]

    def chance(self, role: str) -> float:
        """The mean probability, as a geometric mean, that the words have a role."""
        return float(np.exp(np.log(self.reading.of_role(role)[self.words].clip(_LEAST)).mean()))

    def best_elsewhere(self, role: str) -> float:
        """The highest probability of a role among the words of the page that read otherwise."""
        own = {self._texts[word] for word in self.words}
        others = [index for index, text in enumerate(self._texts) if text not in own]
        return float(self.reading.of_role(role)[others].max(initial=0.0))


def value_numbers(candidates: Candidates, places: Sequence[Sequence[Span]], path: str) -> NDArray[np.float32]:
    """For each place a row of numbers that tell how likely the model finds a value of this field there."""
    several = [Place(candidates, spans) for spans in places]
    rows = np.empty((len(places), 9 + len(_RELATED)), np.float32)
    alike: dict[tuple[int, int], list[int]] = {}
    for index, place in enumerate(several):
        alike.setdefault((id(place.reading), len(place.words)), []).append(index)
    for indices in alike.values():
        rows[indices] = _numbers(
            several[indices[0]].reading, np.array([several[index].words for index in indices]), path
        )
    return rows


def _numbers(reading: PageReading, words: NDArray[np.intp], path: str) -> NDArray[np.float32]:
    """See `value_numbers`. words: of each place, as many of each, shape (places, words)."""
    shares = reading.of_role(path)
    own = shares[words]
    highest = own.max(axis=1)
    others = reading.roles
    if path in reading.names:
        others = np.delete(others, reading.names.index(path), axis=1)
    columns = (
        np.log(own.clip(_LEAST)).mean(axis=1),
        own.min(axis=1),
        highest,
        highest - shares.max(),
        (shares > highest[:, None]).sum(axis=1),
        np.full(len(words), shares.sum()),
        others.max(axis=1)[words].max(axis=1),
        reading.of_role(NONE)[words].mean(axis=1),
        np.full(len(words), reading.of_role(LABEL + path).max()),
        *(reading.of_role(role)[words].max(axis=1) for role in _RELATED),
    )
    return np.stack(columns, axis=1).astype(np.float32)


def likeliest_text(candidates: Candidates, path: str) -> tuple[tuple[Span, ...], float] | None:
    """The longest run of words on the first page that probably have a role, with their mean probability.

    None if there is no such word, or if no page has words.
    """
    reading, sheet = page_readings(candidates)[0], candidates.layout.sheets[0]
    shares = reading.of_role(path)
    runs: list[range] = []
    for word in np.flatnonzero(shares >= _PROBABLE).tolist():
        if not runs or word not in runs[-1]:
            runs.append(range(word, _end_of_run(reading, shares, word)))
    if not runs:
        return None
    run = max(runs, key=lambda words: shares[words].sum())
    spans = [
        Span(segment, segment.offsets[first - segment.start], _end_of(segment, last))
        for segment in sheet.segments
        for inside in [[word for word in run if segment.start <= word < segment.stop]]
        if inside
        for first, last in [(inside[0], inside[-1])]
    ]
    return tuple(spans), float(shares[run].mean())


def _end_of_run(reading: PageReading, shares: NDArray[np.float32], start: int) -> int:
    """The end of the words that go on from this one, up to the last that may have the role."""
    end = start + 1
    for word in range(start + 1, min(start + _LONGEST, len(shares))):
        if reading.goes_on[word] < _PROBABLE:
            break
        if shares[word] >= _POSSIBLE:
            end = word + 1
    return end


def _end_of(segment: Segment, word: int) -> int:
    """The end of a word in the text of its segment."""
    behind = word + 1 - segment.start
    return segment.offsets[behind] - 1 if behind < len(segment.offsets) else len(segment.text)


def likeliest_fact(candidates: Candidates, name: str) -> tuple[str, float] | None:
    """The most probable value of a fact about the first page, one of `FACTS`; None if it has no words."""
    shares = page_readings(candidates)[0].facts.get(name)
    return max(shares.items(), key=itemgetter(1)) if shares else None
