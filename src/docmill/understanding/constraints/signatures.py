"""The names of parties above the places where they sign: `ACME Ltd`, and below it `By: ________`."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_features import is_name
from docmill.understanding.page.layout import Layout, Segment, Span
from docmill.understanding.text.folding import alternatives, fold, tokens
from docmill.understanding.text.legal_forms import legal_form_end

_ABOVE = 2
"""Segments above a place of signature among which the name is."""
_FAR = 6.0
"""Heights of a line from the place to the name at most."""
_LONGEST = 10
"""Words of a name."""
_MOST_PLACES = 60
"""Places of signatures that are looked at."""
_ALIKE = 80
"""Likeness of two forms of one name, of 100."""
_BEHIND_NAME = 200
"""Characters behind a name in which its definition stands: what the business is, and where, comes before."""
SHORT_FORM = re.compile(r"[(\[][^()\[\]]{0,60}[\"'\u201c\u201d\u201e\u2018\u2019\u00ab]")
"""The beginning of a short form that a party has from there on: `(the "Seller")`."""
_ARTICLES = ("the ", "die ", "der ", "das ", "la ", "le ", "el ", "o ", "a ", "de ", "het ")
_SENTENCE_END = re.compile(r"[^\W\d_]{5}\.\s+(?=[A-Z])|\n\s*\n")


class SignedName(NamedTuple):
    """A name above a place of signature."""

    text: str
    span: Span

    @property
    def letters(self) -> str:
        """The name without all that is neither letter nor digit."""
        return letters_and_digits(self.text)

    def is_like(self, name: str) -> bool:
        """Return True if a name is this one, perhaps misspelt, in part, or with another legal form."""
        return fuzz.partial_ratio(self.letters, letters_and_digits(name)) >= _ALIKE

    def defined_at(self, text: str) -> tuple[int, int] | None:
        """The place where a text gives this party a short form: `Old Mill Inc. (the "Company")`."""
        name = self.text.partition(" ")[2] if fold(self.text).startswith(_ARTICLES) else self.text
        words = (re.escape(word.text) for word in tokens(name))
        pattern = re.compile(r"(?<!\w)" + r"[\W_]+".join(words) + r"(?!\w)")
        for printed in pattern.finditer(fold(text)):
            stop = printed.end() + (text[printed.end() : printed.end() + 1] == ".")
            behind = text[stop : stop + _BEHIND_NAME]
            short_form = SHORT_FORM.search(behind)
            if short_form and not _SENTENCE_END.search(behind[: short_form.start()]):
                return printed.start(), stop
        return None


def signed_names(layout: Layout, kind: DocumentType) -> list[SignedName]:
    """The names above places of signatures, each once, in their order."""
    pattern = _pattern(DEFINITIONS[kind].words.sentences)
    sheets = map(layout.sheet_of_page, range(len(layout.document.pages)))
    places = [segment for sheet in sheets for segment in sheet.segments if pattern.match(fold(segment.text))]
    names = (name for place in places[:_MOST_PLACES] for name in _names_above(layout, place, pattern))
    return list({name.letters: name for name in reversed(list(names))}.values())[::-1]


def _names_above(layout: Layout, place: Segment, pattern: re.Pattern[str]) -> Iterator[SignedName]:
    """The name beside or above a place of signature, if there is one; also at the foot of the page before."""
    sheet = layout.sheet(place)
    around = [*sheet.left_of(place)[:1], *sheet.above(place.box)[:_ABOVE]]
    is_first = not around and place.page_index > 0
    foot = layout.sheet_of_page(place.page_index - 1).segments[-1:] if is_first else []
    for segment in (*around, *foot):
        is_near = place.box.y0 - segment.box.y1 <= _FAR * place.height
        text = SHORT_FORM.split(segment.text)[0].strip(" ,;")
        if not is_near or pattern.match(fold(text)):
            return
        if 1 < len(text.split()) <= _LONGEST and _may_be_party(text):
            start = segment.text.index(text)
            yield SignedName(text, Span(segment, start, start + len(text)))
            return


def _may_be_party(text: str) -> bool:
    """Return True for a name; a comma stands before its legal form only, since titles of people have one."""
    is_certain = legal_form_end(text) > 0 or not ("," in text or text.endswith((":", ".")))
    return text[0].isupper() and is_certain and not any(map(str.isdecimal, text)) and is_name(text)


def _pattern(sentences: Mapping[str, Mapping[str, tuple[str, ...]]]) -> re.Pattern[str]:
    words = (fold(word) for of_language in sentences.get("signing", {}).values() for word in of_language)
    return re.compile(rf"(?:{alternatives(words)})\s*:")
