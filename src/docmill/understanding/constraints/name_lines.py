"""The lines of a name: wrapped names are joined, and a brand above the legal name is left out."""

import re
from collections.abc import Sequence
from functools import lru_cache

from docmill.understanding.constraints.address_features import LineFeatures
from docmill.understanding.constraints.party_forms import is_attention, starts_with_salutation
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Span
from docmill.understanding.text.folding import alternatives, token_texts
from docmill.understanding.text.legal_forms import LEGAL_FORMS, legal_form_end
from docmill.understanding.vocabulary import LANGUAGES, Concept

_OF_IDENTIFIERS = frozenset({Concept.VAT_NUMBER, Concept.TAX_NUMBER, Concept.REGISTRATION_NUMBER})
_LEGAL_WORDS = frozenset(word for form in LEGAL_FORMS for word in form)
_WRAPPED = 0.8
"""Largest gap between the lines of a name, in heights of the line."""
_LONGEST_FORM = 4
_NUMBER_WORDS = alternatives(word for language in LANGUAGES for word in language.numbers)
_REGISTRATION_LABELS = "|".join(
    re.escape(phrase).replace(r"\ ", r"[\s.]*").replace(r"\#", f"(?:{_NUMBER_WORDS})?")
    for language in LANGUAGES
    for phrase in language.labels.get(Concept.REGISTRATION_NUMBER, ())
)
_REGISTRATION_TAIL = re.compile(
    rf"[\s,]*[(\[{{]?\s*(?:(?<![^\W\d_])(?:{_REGISTRATION_LABELS})[\s.]*:?\s*)?"
    r"(?<![a-z])[a-z]{0,3}\d[\d ]{4,12}\s?-?\s?[a-z0-9]?\s*[)\]}]?\W*$",
    re.IGNORECASE,
)
_GREETINGS = alternatives(phrase for language in LANGUAGES for phrase in language.greetings)
_HEAD_NOISE = re.compile(rf"^(?:{_GREETINGS}|\W)+\s*", re.IGNORECASE)


def choose_name_lines(name: Span, below: Sequence[LineFeatures]) -> tuple[Span, ...]:
    """The lines of the name that begins with `name`; empty if it is that line alone.

    below: the lines under it, up to the end of the address. A single word above a name with a legal form is
    a brand and no part of it.
    """
    line = next(iter(below), None)
    if line is None or not _may_go_on(name, line):
        return ()
    text = line.segment.text
    second = Span(line.segment, 0, len(text))
    words = token_texts(text)
    is_form = _LEGAL_WORDS.issuperset(words) and (words in LEGAL_FORMS or len(words) <= _LONGEST_FORM)
    if words and is_form:
        return (name, second)  # the rest of a legal form
    if legal_form_end(name.text):
        return ()
    if line.address_score > 0 or line.has_contact or not line.legal_form_end:
        return ()
    is_aside = starts_with_salutation(name.text) or len(name.text.split()) == 1
    return (second,) if is_aside else (name, second)


def is_name_told(first: Span, lines: Sequence[Span], below: Sequence[LineFeatures]) -> bool:
    """True if the page confirms that the name consists of these lines.

    It does if the last of several is a legal form. For a name on one line, no line below may belong to it.
    lines: empty for `first` alone.
    """
    if not lines:
        line = next(iter(below), None)
        if line is None or legal_form_end(first.text) > 0 or is_attention(line.segment.text):
            return True
        return line.address_score > 0 or line.has_postcode or line.has_region
    return len(lines) > 1 and _LEGAL_WORDS.issuperset(token_texts(lines[-1].text))


def _may_go_on(name: Span, line: LineFeatures) -> bool:
    """True if a line may continue the name above it; after a label, the next line may be another value."""
    gap = line.segment.box.y0 - name.segment.box.y1
    is_near = name.start == 0 and gap <= _WRAPPED * name.segment.height
    return is_near and not (line.has_postcode or line.has_value or is_attention(line.segment.text))


@lru_cache(maxsize=4096)
def name_range(text: str) -> tuple[int, int]:
    """Start and end of the name in a line, without greetings and registration numbers."""
    start = match.end() if (match := _HEAD_NOISE.match(text)) else 0
    legal = legal_form_end(text)
    tail = text[legal:]
    if legal and (any(map(str.isdecimal, tail)) or not any(map(str.isalnum, tail))):
        return start, legal
    identifier = _identifier_start(text, start)
    if identifier < len(text):
        text = text[:identifier].rstrip(" ,;:-\u2013\u00b7|(")
    match = _REGISTRATION_TAIL.search(text)
    return start, match.start() if match and match.start() > start else len(text)


def _identifier_start(text: str, start: int) -> int:
    """The place of the label of an identifier behind the name, as in `Firma SL CIF B81234567`."""
    return next(
        (
            label.start
            for label in LABELS.find(text)
            if label.start > start
            and label.quality == 1
            and not _OF_IDENTIFIERS.isdisjoint(label.meanings)
            and any(map(str.isdecimal, text[label.stop :]))
        ),
        len(text),
    )


def name_spans(lines: Sequence[Span]) -> tuple[Span, ...]:
    """The places of a name, without greetings before it and registration numbers behind it."""
    if len(lines) == 1:
        start, stop = name_range(lines[0].text)
        line = lines[0]
        return (Span(line.segment, line.start + start, line.start + stop),)
    *rest, last = lines
    return (*rest, Span(last.segment, last.start, last.start + name_range(last.text)[1]))
