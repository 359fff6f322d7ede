"""Address blocks: a name with the address lines below it, labelled, in a letterhead or in a window."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from docmill.understanding.constraints.address_features import (
    NOT_LETTERHEAD,
    LineFeatures,
    has_postcode,
    line_features,
)
from docmill.understanding.constraints.party_forms import is_name_label, is_pair, is_salutation, read_form
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import Label
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.vocabulary import Concept

PARTY_CONCEPTS = (Concept.ADVERTISER, Concept.SHIP_FROM, Concept.SELLER, Concept.BUYER, Concept.SHIP_TO)
"""The first of them that a label means counts."""
_CONTACTS = (Concept.PHONE, Concept.IBAN)
_TAXES = (Concept.VAT_NUMBER, Concept.TAX_NUMBER)
"""What stands below the address of either party, but mostly of the one who writes."""
_LONGEST_BLOCK = 7
_LINE_GAP = 1.4
"""Lines of a block are no farther apart than this many line heights."""
_ALIGNED = 0.012
_HEADING_GAP = 3.2
_SEPARATOR = re.compile(r"\s+[·•|*●▪\u2013\u2014-]\s+|\s*[·•|●▪]\s*|,\s+|;\s+")
_LONGEST_NAME_WORDS = 12
_HEAD = 0.22
_BESIDE = 0.12
"""A value this near, in page widths, belongs to the label on its left."""
_MOST_BLOCKS = 60
_OR = frozenset({"/", "&", "|", "-"})
"""Between two labels of one party."""
_SHORTEST_SENTENCE = 3
"""A text of so many words in small letters is the end of a sentence and no name."""
_MOST_AFTER_FORM = 1
"""Words that may follow the legal form within a name."""


_TOWN_END = re.compile(
    r"(?:[A-Z]{1,2}-)?\d{4,6}(?:\s?[A-Z]{2})?\s+[^\W\d_][^·•|●▪,;]*?(?=\s*(?:[·•|●▪,;]|\s[\u2013-]\s|$))"
)
"""The postcode and the town, with which an address in one line ends."""


@dataclass(frozen=True, slots=True)
class Block:
    """A name and an address. label: what is printed before it. sender: written small in one line.

    number: what a form below the label says of it: the customer's, if it is a buyer's.

    contact: a telephone, mail or account stands with it. taxed: a tax identifier does. legal: the name has
    a legal form.
    """

    name: Span
    address: tuple[Span, ...] = ()
    label: Concept | None = None
    quality: float = 0.0
    sender: bool = False
    contact: bool = False
    taxed: bool = False
    legal: bool = False
    firm: bool = False
    number: Span | None = None

    @property
    def top(self) -> float:
        """Its upper edge, as a fraction of the page."""
        return self.name.segment.box.y0

    @property
    def segments(self) -> set[int]:
        """The segments it takes."""
        return {span.segment.index for span in (self.name, *self.address)}


def blocks(candidates: Candidates) -> list[Block]:
    """All that could name a party, on the first page."""
    if not candidates.layout.sheets:
        return []
    reader = _BlockReader(candidates, candidates.layout.sheets[0])
    return [*reader.labelled(), *reader.sender_lines(), *reader.addressed(), *reader.letterheads()][
        :_MOST_BLOCKS
    ]


class _BlockReader:
    """Reads the blocks of one page."""

    def __init__(self, candidates: Candidates, sheet: Sheet) -> None:
        self._candidates = candidates
        self._sheet = sheet
        self._features_by_segment: dict[int, LineFeatures] = {}
        self._party_labels = {
            segment.index: label for segment in sheet.segments if (label := self._party_label(segment))
        }
        self._labelled = [segment for segment in sheet.segments if segment.index in self._party_labels]
        self._headings = [
            segment
            for segment in self._labelled
            if not any(map(str.isalnum, segment.text[self._party_labels[segment.index].stop :]))
            and not is_name_label(segment.text)
        ]

    def _party_label(self, segment: Segment) -> Label[Concept] | None:
        """The label a segment begins with, if it speaks of a party and is set off from what follows."""
        labels = self._candidates.labels(segment)
        if not labels or labels[0].start > 1 or not set(PARTY_CONCEPTS).intersection(labels[0].meanings):
            return None
        label = labels[0]
        for other in labels[1:]:
            if segment.text[label.stop : other.start].strip() not in _OR:
                break
            if set(PARTY_CONCEPTS).intersection(other.meanings):
                label = label._replace(stop=other.stop)  # as in `Buyer / Recipient`
        rest = segment.text[label.stop :]
        set_off = not any(map(str.isalnum, rest)) or rest.lstrip(" )").startswith(":")
        set_off = set_off or Concept.ADVERTISER in label.meanings
        several_words = " " in segment.text[: label.stop].strip()
        return label if set_off or (several_words and len(rest.split()) < _LONGEST_NAME_WORDS) else None

    def _features(self, segment: Segment) -> LineFeatures:
        features = self._features_by_segment.get(segment.index)
        if features is None:
            features = self._features_by_segment[segment.index] = line_features(self._candidates, segment)
        return features

    def labelled(self) -> Iterator[Block]:
        """Blocks behind a label such as `Bill to`: on its line, or below it, perhaps as a form."""
        lines_of_forms: set[int] = set()
        for segment in self._labelled:
            label = self._party_labels[segment.index]
            concept = next(concept for concept in PARTY_CONCEPTS if concept in label.meanings)
            if segment in self._headings:
                form = read_form(self._candidates, self._sheet, segment, self._headings)
                if form.pairs and form.name is not None:
                    lines_of_forms.add(form.name.segment.line)
                    block = self._block(form.name)
                    address = form.address or block.address
                    block = replace(block, address=address, number=form.number)
                    yield replace(block, label=concept, quality=label.quality)
                    continue
            if segment.line in lines_of_forms and is_name_label(segment.text[: label.stop]):
                continue
            name = self._labelled_name(segment, label)
            words = name.text.split() if name is not None else []
            is_sentence = len(words) >= _SHORTEST_SENTENCE and not any(
                word[:1].isupper() or word[:1].isdigit() for word in words
            )
            if name is not None and not is_sentence:
                block = replace(self._block(name), label=concept, quality=label.quality)
                if concept is Concept.BUYER:
                    form = read_form(self._candidates, self._sheet, segment, self._labelled)
                    block = replace(block, number=form.number)
                yield block

    def _labelled_name(self, segment: Segment, label: Label[Concept]) -> Span | None:
        rest = segment.text[label.stop :]
        if is_pair(rest.lstrip(" :.)-#")) and not rest.lstrip().startswith(":"):
            return None  # as in `Seller VAT number: ...`
        if sum(map(str.isalpha, rest)) > 2:  # noqa: PLR2004 - more than a stray mark
            start = label.stop + len(rest) - len(rest.lstrip(" :.)-#"))
            # A label of several words is of the next column, which came too close.
            ends = (
                other.start
                for other in self._candidates.labels(segment)
                if other.start > start
                and len(segment.text[other.start : other.stop].split()) > 1
                and NOT_LETTERHEAD.intersection(other.meanings)
            )
            return Span(segment, start, next(ends, len(segment.text)))
        below = next(
            (other for other in self._sheet.below(segment.box) if not is_salutation(other.text)), None
        )
        right = next(iter(self._sheet.right_of(segment)), None)
        beside = right is not None and right.box.x0 - segment.box.x1 < _BESIDE
        for other in [right, below] if beside or rest.strip().startswith(":") else [below, right]:
            if other is None or self._is_pair(other) or other.index in self._party_labels:
                continue
            features = self._features(other)
            near = other.box.y0 - segment.box.y1 < _HEADING_GAP * self._sheet.text_height
            if near and features.name_like and features.label < 0.5:  # noqa: PLR2004 - half
                return Span(other, 0, len(other.text))
        return None

    def sender_lines(self) -> Iterator[Block]:
        """Name and address in one line, as above the window of an envelope or in a footer."""
        for segment in self._sheet.segments:
            match = _SEPARATOR.search(segment.text)
            if match is None or match.start() < 3:  # noqa: PLR2004 - the shortest name
                continue
            features = self._features(segment)
            name = Span(segment, 0, match.start())
            is_street = (
                re.search(r"\s\d+\s?\w?$", name.text) or sum(map(str.isdecimal, name.text)) > 2  # noqa: PLR2004 - a number
            )
            rest = segment.text[match.end() :]
            if not features.postcode or is_street or not _SEPARATOR.search(rest):
                continue
            town = _TOWN_END.search(rest)
            stop = match.end() + (town.end() if town else len(rest))
            yield Block(
                name,
                (Span(segment, match.end(), stop),),
                sender=True,
                contact=features.contact,
                legal=bool(features.legal),
                firm=features.firm,
            )

    def addressed(self) -> Iterator[Block]:
        """Lines that end in a postcode and a town, from their top."""
        for segment in self._sheet.segments:
            if not has_postcode(segment.text) or self._features(segment).value:
                continue
            top = segment
            for _ in range(_LONGEST_BLOCK):
                above = self._neighbour(top, self._sheet.above(top.box), upwards=True)
                if above is None or not self._belongs(above):
                    break
                top = above
            if top is not segment:
                yield self._block(Span(top, 0, len(top.text)))

    def letterheads(self) -> Iterator[Block]:
        """Names at the top of the page, and names with a legal form anywhere."""
        for segment in self._sheet.segments:
            features, text = self._features(segment), segment.text
            head = segment.middle < _HEAD and features.name_like and features.label < 0.3  # noqa: PLR2004 - hardly labelled
            if segment in self._headings or not (features.legal or head) or features.value:
                continue
            if self._means(segment, Concept.REGISTRATION_NUMBER) or len(text.split()) >= _LONGEST_NAME_WORDS:
                continue
            label = next(iter(self._candidates.labels(segment)), None)
            is_labelled = label and label.start == 0 and text[label.stop :].lstrip().startswith(":")
            start = label.stop + 1 if label and is_labelled else 0
            # The name ends with its legal form, unless only a few words follow, as in `Kunden AG Mitte`.
            tail = text[features.legal :]
            plain = all(character.isalpha() or character in " .-" for character in tail)
            whole = not features.legal or (plain and len(tail.split()) <= _MOST_AFTER_FORM)
            stop = len(text) if whole else features.legal
            if stop > start and (start or not self._is_pair(segment)):
                yield self._block(Span(segment, start, stop))

    def _block(self, name: Span) -> Block:
        """A name and the address lines below it; without a postcode, only those that look like one."""
        if is_salutation(name.text):
            person = self._neighbour(name.segment, self._sheet.below(name.segment.box), upwards=False)
            name = Span(person, 0, len(person.text)) if person is not None else name
        features = self._features(name.segment)
        lines: list[Segment] = []
        contact = taxed = complete = False
        last = name.segment
        for _ in range(_LONGEST_BLOCK):
            below = self._neighbour(last, self._sheet.below(last.box), upwards=False)
            if below is None:
                break
            if not self._belongs(below):
                contact = self._features(below).contact or self._means(below, *_CONTACTS)
                taxed = self._means(below, *_TAXES)
                break
            if complete and not self._features(below).region:
                break
            lines.append(below)
            complete = complete or self._features(below).ends_address
            last = below
        if not complete:
            lines = [
                line for line in lines if self._features(line).address > 0 or self._features(line).region
            ]
        address = tuple(Span(line, 0, len(line.text)) for line in lines)
        return Block(
            name, address, contact=contact, taxed=taxed, legal=bool(features.legal), firm=features.firm
        )

    def _belongs(self, segment: Segment) -> bool:
        """True if a line can be part of a name or address."""
        features = self._features(segment)
        if self._means(segment, Concept.REGISTRATION_NUMBER) or segment.index in self._party_labels:
            return False
        if self._is_pair(segment) and not features.postcode:
            return False
        if features.label > 0.4 or features.value or features.registration or features.contact:  # noqa: PLR2004 - much of it
            return False
        return features.name_like or features.address > 0 or features.postcode

    def _neighbour(self, segment: Segment, others: Sequence[Segment], *, upwards: bool) -> Segment | None:
        """The next line of the same block: close, and flush on either side or centred."""
        for other in others:
            gap = segment.box.y0 - other.box.y1 if upwards else other.box.y0 - segment.box.y1
            if gap > _LINE_GAP * max(segment.height, self._sheet.text_height):
                return None
            left = abs(other.box.x0 - segment.box.x0)
            centre = abs(other.box.x0 + other.box.x1 - segment.box.x0 - segment.box.x1) / 2
            right = abs(other.box.x1 - segment.box.x1)
            if min(left, centre, right) <= _ALIGNED + 0.5 * segment.height:
                return other
        return None

    def _is_pair(self, segment: Segment) -> bool:
        """True if a segment is a label with a colon; the colon may stand with the value, in a column."""
        right = next(iter(self._sheet.right_of(segment)), None)
        return is_pair(segment.text) or (right is not None and right.text.startswith(":"))

    def _means(self, segment: Segment, *concepts: Concept) -> bool:
        return any(not set(concepts).isdisjoint(label.meanings) for label in self._candidates.labels(segment))
