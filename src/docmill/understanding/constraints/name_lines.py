"""The lines of a name: wrapped names are joined, and a brand above the legal name is left out."""

import re
from collections.abc import Sequence
from functools import lru_cache

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_features import FIRM_WORDS, STREET_WORDS, LineFeatures
from docmill.understanding.constraints.party_forms import is_attention, starts_with_salutation
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.folding import alternatives, token_texts
from docmill.understanding.text.legal_forms import LEGAL_FORMS, legal_form_end
from docmill.understanding.vocabulary import LANGUAGES, Concept

_JOINING = frozenset(word for language in LANGUAGES for word in language.joining)
_OF_IDENTIFIERS = frozenset({Concept.VAT_NUMBER, Concept.TAX_NUMBER, Concept.REGISTRATION_NUMBER})
_UNFINISHED = ("&", "-", ",", "+", "/")
_LEGAL_WORDS = frozenset(word for form in LEGAL_FORMS for word in form)
_FIRM_OR_LEGAL = FIRM_WORDS | _LEGAL_WORDS | _JOINING
_WRAPPED = 0.8
"""Largest gap between the lines of a name, in heights of the line."""
_LONGEST_FORM = 4
_SIZE = 1.25
"""A line larger by this factor than the next is of a logo and not the first part of a name."""

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
_STREET_TAIL = re.compile(rf",\s*(?:{alternatives(STREET_WORDS)})\.?\s*$", re.IGNORECASE)
"""The first word of an address that goes on in the next line: `Papier-Hurt Sp. z o.o., ul.`."""
_GREETINGS = alternatives(phrase for language in LANGUAGES for phrase in language.greetings)
_HEAD_NOISE = re.compile(rf"^(?:{_GREETINGS}|\W)+\s*", re.IGNORECASE)


def choose_name_lines(name: Span, below: Sequence[LineFeatures], texts: Sequence[str]) -> tuple[Span, ...]:
    """The lines of the name that begins with `name`; empty if it is that line alone.

    below: the lines under it, up to the end of the address. texts: all texts of the page as letters and
    digits, among which the whole name may stand elsewhere.
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
    if name.text.rstrip().endswith("&") and line.may_be_name:
        return (name, second)
    if line.address_score > 0 or line.has_contact or not line.legal_form_end:
        return ()
    is_person = starts_with_salutation(name.text)
    return (name, second) if not is_person and _is_wrapped(name, line.segment, texts) else (second,)


def is_name_told(
    first: Span, lines: Sequence[Span], below: Sequence[LineFeatures], texts: Sequence[str]
) -> bool:
    """True if the page confirms that the name consists of these lines.

    It does if the whole name is printed elsewhere, if the first line is unfinished, or if the last one is a
    legal form. For a name on one line, no line below may belong to it. lines: empty for `first` alone.
    """
    if not lines:
        line = next(iter(below), None)
        if line is None or legal_form_end(first.text) > 0 or is_attention(line.segment.text):
            return True
        return line.address_score > 0 or line.has_postcode or line.has_region
    whole = letters_and_digits(" ".join(line.text for line in lines))
    if len(lines) > 1:
        words = token_texts(lines[-1].text)
        is_form = _LEGAL_WORDS.issuperset(words)
        return is_form or first.text.rstrip().endswith(_UNFINISHED) or any(whole in text for text in texts)
    return texts.count(whole) > max(1, texts.count(letters_and_digits(first.text)))


def _may_go_on(name: Span, line: LineFeatures) -> bool:
    """True if a line may continue the name above it; after a label, the next line may be another value."""
    gap = line.segment.box.y0 - name.segment.box.y1
    is_near = name.start == 0 and gap <= _WRAPPED * name.segment.height
    return is_near and not (line.has_postcode or line.has_value or is_attention(line.segment.text))


def _is_wrapped(name: Span, line: Segment, texts: Sequence[str]) -> bool:
    """True if a line with a legal form continues the name above it; otherwise the upper line is a brand."""
    text = line.text
    is_second_part = (
        name.text.rstrip().endswith(_UNFINISHED)
        or text[0].islower()
        or text[0] in _UNFINISHED
        or _FIRM_OR_LEGAL.issuperset(token_texts(text))
    )
    joined, alone = letters_and_digits(f"{name.text} {text}"), letters_and_digits(text)
    if is_second_part or any(joined in other for other in texts):
        return True
    first = letters_and_digits(name.text)
    if texts.count(alone) > max(1, texts.count(first)) or any(
        other.startswith(alone) and other != alone for other in texts
    ):
        return False
    is_logo = name.segment.height > _SIZE * line.height or len(name.text.split()) == 1
    return not is_logo


@lru_cache(maxsize=4096)
def name_range(text: str) -> tuple[int, int]:
    """Start and end of the name in a line, without greetings and registration numbers."""
    start = match.end() if (match := _HEAD_NOISE.match(text)) else 0
    if (street := _STREET_TAIL.search(text)) and street.start() > start:
        text = text[: street.start()]
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
