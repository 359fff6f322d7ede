"""Slips of card payments: lines that a terminal printed, under a receipt or on a paper of their own."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from docmill.schemas.document_types import DEFINITIONS
from docmill.understanding.page.labels import LABELS
from docmill.understanding.page.layout import Layout, Segment, Sheet
from docmill.understanding.text.folding import fold, remembered, token_texts
from docmill.understanding.text.money import find_amounts
from docmill.understanding.vocabulary import Concept

TYPE = "card_slip"
_GROUPS = 3
"""Kinds of terms that a slip has at least; a receipt alone names its card, and perhaps a terminal."""
_GROUPS_ALONE = 4
"""The same of a slip without a receipt."""
_GAP = 6
"""Lines from one with such terms to the next, between which are names, amounts, dates."""
_HEAD = 11
_COPY = frozenset({"copy"})
"""The same from a heading such as `Customer copy`, where name and address of the shop may follow."""
_SHORTEST_CLOSED = 7
"""Letters of a phrase that is found without its spaces, which recognition loses."""
_FORMS = {
    "chip": re.compile(r"(?<![a-z0-9])a[0o]{5,}[0-9o]{3,}"),
    "card": re.compile(r"[*x#\u2022]{4,}[ \-]?\d{3,4}(?!\d)|(?<!\d)\d{4,6}[ ]?[*x#\u2022]{4,}"),
}
"""Identifiers of a card's application (ISO/IEC 7816-5), and card numbers with most digits hidden."""


def _phrases() -> Mapping[str, str]:
    groups = DEFINITIONS[TYPE].words.phrases.items()
    by_group = {
        group: {" ".join(token_texts(fold(phrase))) for phrases in words.values() for phrase in phrases}
        for group, words in groups
    }
    return {phrase: group for group, phrases in by_group.items() for phrase in phrases}


class _Slip(NamedTuple):
    """Lines `first` to `last` of a page, with the kinds of their terms."""

    first: int
    last: int
    groups: frozenset[str]


_PHRASES = _phrases()
_CLOSED = {
    phrase.replace(" ", ""): group
    for phrase, group in _PHRASES.items()
    if len(phrase.replace(" ", "")) >= _SHORTEST_CLOSED
}
_LONGEST = max(phrase.count(" ") for phrase in _PHRASES) + 1
_FIRST_WORDS = frozenset(phrase.split(" ")[0] for phrase in _PHRASES)


def card_slip_lines(sheet: Sheet) -> frozenset[int]:
    """Indices of the page's lines that belong to slips of card payments: their times are not the sale's."""
    return frozenset(line for slip in _find_slips(sheet) for line in range(slip.first, slip.last + 1))


def is_card_slip(layout: Layout) -> bool:
    """True for a slip of a card payment alone, without a tax and with no amount but the one that was paid.

    Suggested tips, which have their rates beside them, are no amounts of a sale.
    """
    if len(layout.document.pages) != 1:
        return False
    slips = _find_slips(layout.sheets[0])
    if max((len(slip.groups) for slip in slips), default=0) < _GROUPS_ALONE:
        return False
    paid: set[str] = set()
    for _, text in _lines(layout.sheets[0]):
        amounts = [each.digits for each in find_amounts(text, misread=True) if each.has_cents]
        is_rate = "%" in text
        if any(Concept.TAX in label.meanings for label in LABELS.find(text)) or (
            is_rate and len(amounts) > 1
        ):
            return False
        paid.update(_digits(each) for each in amounts if not is_rate)
    return len(paid - {""}) <= 1


def _digits(number: str) -> str:
    return "".join(filter(str.isdecimal, number)).lstrip("0")


def _lines(sheet: Sheet) -> Iterator[tuple[int, str]]:
    def line_of(segment: Segment) -> int:
        return segment.line

    for line, segments in groupby(sheet.segments, line_of):
        yield line, " ".join(segment.text for segment in segments)


def _find_slips(sheet: Sheet) -> list[_Slip]:
    slips: list[_Slip] = []
    for line, text in _lines(sheet):
        groups = _groups(text)
        if not groups:
            continue
        last = slips[-1] if slips else None
        if last is not None and line - last.last <= (_HEAD if last.groups == _COPY else _GAP):
            slips[-1] = _Slip(last.first, line, last.groups | groups)
        else:
            slips.append(_Slip(line, line, groups))
    return [slip for slip in slips if len(slip.groups) >= _GROUPS]


@remembered
def _groups(text: str) -> frozenset[str]:
    """The kinds of terms of slips in a line."""
    folded = fold(text)
    groups = {group for group, form in _FORMS.items() if form.search(folded)}
    words = token_texts(text)
    for start in (at for at, word in enumerate(words) if word in _FIRST_WORDS):
        for stop in range(start + 1, min(len(words), start + _LONGEST) + 1):
            group = _PHRASES.get(" ".join(words[start:stop]))
            if group is not None:
                groups.add(group)
    closed = "".join(words)
    groups.update(group for phrase, group in _CLOSED.items() if phrase in closed)
    return frozenset(groups)
