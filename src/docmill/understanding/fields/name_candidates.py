"""Candidates for names and texts: runs of words near a label of their field."""

from collections import Counter
from collections.abc import Iterator, Sequence

from docmill.model.document import letters_and_digits
from docmill.understanding.fields.candidates import MOST_CANDIDATES, SHORTEST, Candidate, Candidates
from docmill.understanding.fields.label_strengths import COUNTED_TERM
from docmill.understanding.fields.meaning import OF_FORMS, FieldMeaning
from docmill.understanding.page.context import ValueContext
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.page.value_runs import (
    counted_names,
    label_over,
    name_before_isin,
    names_in,
    values_in,
)
from docmill.understanding.text.folding import tokens
from docmill.understanding.vocabulary import LANGUAGES, Concept

_OFTEN = 3
_SMALL = 3
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
    if COUNTED_TERM in meaning.terms:
        before_isin = name_before_isin(segment.text)
        behind |= counted_names(segment.text) | ({before_isin.start} if before_isin else frozenset())
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
