"""Candidates for names and texts of a user's schema: runs of words in whose context the field is named."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import MOST_CANDIDATES, SHORTEST, Candidate, Candidates
from docmill.understanding.page.context import ValueContext
from docmill.understanding.page.layout import Segment, Span

MatchStrength: TypeAlias = Callable[[str], float]
"""How strongly a text names a field."""

_NEXT_LINE = 0.9
"""Text heights to the line in which a name goes on."""
_FLUSH = 0.005
_LONGEST_NAME = 11
_ANY_END = 6
_LONGEST_LABEL = 4
_LEAST_MATCH = 0.3
"""How strongly the texts around must name the field before the runs of words in a text are tried."""
_IS_LABEL = 1.2
_FEWEST_LETTERS = 2
_LONGEST_CONTINUED = 8
_LONGEST_CONTINUATION = 6


def find_names(candidates: Candidates, match_strength: MatchStrength) -> list[Candidate[str]]:
    """Runs of words in whose context the field is named at all, in the order of the pages."""
    names: list[Candidate[str]] = []
    for segment in candidates.layout.segments:
        page = candidates.layout.sheet(segment).page
        texts = page.words.texts[segment.start : segment.stop]
        for start in _starts(candidates, segment, texts, match_strength):
            for stop in _ends(texts, start):
                names.extend(_names_at(candidates, segment, texts, start, stop))
    return names[:MOST_CANDIDATES]


def _starts(
    candidates: Candidates, segment: Segment, texts: Sequence[str], match_strength: MatchStrength
) -> list[int]:
    """The words that may begin a name: the first, if texts around name the field, and those after labels."""
    around = candidates.contexts.texts(segment)
    outside = max(map(match_strength, (around.left, around.above, around.head, around.row)))
    starts = {0} if outside >= _LEAST_MATCH else set[int]()
    for count in range(1, min(len(texts), _LONGEST_LABEL + 1)):
        is_marked = texts[count - 1].endswith((":", "#"))
        if is_marked or match_strength(" ".join(texts[:count])) >= _LEAST_MATCH:
            starts.add(count)
    if starts and len(texts) < _LONGEST_LABEL and match_strength(segment.text) >= _IS_LABEL:
        return []
    return sorted(starts)


def _ends(texts: Sequence[str], start: int) -> list[int]:
    """The ends of names that start there: anywhere near, then only before marks and labels."""
    return [
        stop
        for stop in range(start + 1, min(len(texts), start + _LONGEST_NAME) + 1)
        if stop == len(texts)
        or stop - start <= _ANY_END
        or texts[stop].startswith(("(", "[", "-", "/", "|"))
        or texts[stop].endswith(":")
    ]


def _names_at(
    candidates: Candidates, segment: Segment, texts: Sequence[str], start: int, stop: int
) -> Iterator[Candidate[str]]:
    """The words `start` to `stop` as a name; the same with the next line, and cut at a bracket."""
    offsets = segment.offsets
    first, last = offsets[start], offsets[stop - 1] + len(texts[stop - 1])
    cut = segment.text.find("(", offsets[stop - 1] + 2, last)
    for end in (last, cut) if cut > 0 else (last,):
        text = segment.text[first:end]
        value = text.strip(" :-,;")
        if sum(map(str.isalpha, value)) < _FEWEST_LETTERS or len(letters_and_digits(value)) < SHORTEST:
            continue
        begin = first + text.index(value[0])
        following = texts[stop] if stop < len(texts) else ""
        name = Candidate(
            "name",
            value,
            (Span(segment, begin, begin + len(value)),),
            ValueContext(candidates.contexts, segment, begin),
            previous=texts[start - 1] if start else "",
            following="(" if segment.text[end : end + 1] == "(" else following,
        )
        yield name
        if end == last and stop == len(texts) and stop - start <= _LONGEST_CONTINUED:
            yield from _continued(candidates, name)


def _continued(candidates: Candidates, name: Candidate[str]) -> Iterator[Candidate[str]]:
    """The name with the next line, if that stands right under it and begins where it does."""
    segment = name.segment
    sheet = candidates.layout.sheet(segment)
    other = next(iter(sheet.below(segment.box)), None)
    if other is None:
        return
    is_near = other.box.y0 - segment.box.y1 < _NEXT_LINE * segment.height
    x0 = sheet.page.words.boxes[segment.words(name.start, name.stop)[0], 0]
    if is_near and abs(other.box.x0 - x0) <= _FLUSH and len(other.offsets) <= _LONGEST_CONTINUATION:
        spans = (*name.spans, Span(other, 0, len(other.text)))
        yield Candidate("name", f"{name.value} {other.text}", spans, name.context, previous=name.previous)
