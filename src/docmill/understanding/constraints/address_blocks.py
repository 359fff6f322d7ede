"""Names with the address lines below them, wherever they stand: labelled, in a letterhead, in a window."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from docmill.understanding.constraints.address_features import (
    NOT_LETTERHEAD,
    Lettering,
    has_postcode,
    lettering,
)
from docmill.understanding.constraints.party_forms import form, is_name_label, is_pair, is_salutation
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import Label
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.vocabulary import Concept

PARTY_CONCEPTS = (Concept.ADVERTISER, Concept.SHIP_FROM, Concept.SELLER, Concept.BUYER, Concept.SHIP_TO)
"""The first that a label means counts."""
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
_MOST_AFTER_FORM = 1
"""Words that may follow the legal form within a name."""


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
    continued: tuple[Span, ...] = field(default=())
    number: Span | None = None

    @property
    def top(self) -> float:
        """Where it begins, as a fraction of the page."""
        return self.name.segment.box.y0

    @property
    def segments(self) -> set[int]:
        """The segments it takes."""
        return {span.segment.index for span in (self.name, *self.continued, *self.address)}


def blocks(candidates: Candidates) -> list[Block]:
    """All that could name a party, on the first page."""
    if not candidates.layout.sheets:
        return []
    reader = _Reader(candidates, candidates.layout.sheets[0])
    return [*reader.labelled(), *reader.sender_lines(), *reader.addressed(), *reader.letterheads()][
        :_MOST_BLOCKS
    ]


class _Reader:
    """Reads the blocks of one page."""

    def __init__(self, candidates: Candidates, sheet: Sheet) -> None:
        self._candidates = candidates
        self._sheet = sheet
        self._looks: dict[int, Lettering] = {}

    def _look(self, segment: Segment) -> Lettering:
        look = self._looks.get(segment.index)
        if look is None:
            look = self._looks[segment.index] = lettering(self._candidates, segment)
        return look

    def labelled(self) -> Iterator[Block]:
        """What follows a label such as `Bill to`: on its line, or below it."""
        formed: set[int] = set()
        for segment in self._sheet.segments:
            label = self._party_label(segment)
            if label is None:
                continue
            concept = next(one for one in PARTY_CONCEPTS if one in label.meanings)
            block = self._formed(segment, label)
            if block is not None:
                formed.add(block.name.segment.line)
            elif segment.line in formed and is_name_label(segment.text[: label.stop]):
                continue
            else:
                name = self._named(segment, label)
                block = self._block(name) if name is not None and _is_capital(name.text) else None
                if block is not None and concept is Concept.BUYER:
                    found = form(self._candidates, self._sheet, segment, self._beginnings)
                    block = replace(block, number=found.number)
            if block is not None:
                yield replace(block, label=concept, quality=label.quality)

    def _formed(self, segment: Segment, label: Label[Concept]) -> Block | None:
        """The party of a form below its heading."""
        if any(map(str.isalnum, segment.text[label.stop :])) or is_name_label(segment.text):
            return None
        found = form(self._candidates, self._sheet, segment, self._headings)
        if not found.pairs or found.name is None:
            return None
        block = self._block(found.name)
        return replace(block, address=found.address or block.address, number=found.number)

    @cached_property
    def _beginnings(self) -> list[Segment]:
        """All segments that begin with the label of a party, whether or not its name follows."""
        return [segment for segment in self._sheet.segments if self._party_label(segment) is not None]

    @cached_property
    def _headings(self) -> list[Segment]:
        """All segments that begin with the label of a party and say nothing else."""
        labels = ((segment, self._party_label(segment)) for segment in self._sheet.segments)
        return [
            segment
            for segment, label in labels
            if label is not None
            and not any(map(str.isalnum, segment.text[label.stop :]))
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

    def _named(self, segment: Segment, label: Label[Concept]) -> Span | None:
        rest = segment.text[label.stop :]
        if is_pair(rest.lstrip(" :.)-#")) and not rest.lstrip().startswith(":"):
            return None  # as in `Seller VAT number: ...`
        if sum(map(str.isalpha, rest)) > 2:  # noqa: PLR2004 - more than a stray mark
            return self._until_next_label(
                Span(segment, label.stop + len(rest) - len(rest.lstrip(" :.)-#")), len(segment.text))
            )
        below = next((one for one in self._sheet.below(segment.box) if not is_salutation(one.text)), None)
        right = next(iter(self._sheet.right_of(segment)), None)
        beside = right is not None and right.box.x0 - segment.box.x1 < _BESIDE
        options = [right, below] if beside or rest.strip().startswith(":") else [below, right]
        for other in options:
            if other is not None and self._can_be_named(segment, other):
                return Span(other, 0, len(other.text))
        return None

    def _until_next_label(self, span: Span) -> Span:
        """The span, ended where a label of several words begins: the next column came too close."""
        for label in self._candidates.labels(span.segment):
            words = span.segment.text[label.start : label.stop].split()
            if label.start > span.start and len(words) > 1 and NOT_LETTERHEAD.intersection(label.meanings):
                return span._replace(stop=label.start)
        return span

    def _is_pair(self, segment: Segment) -> bool:
        """Whether a segment is a label with a colon; the colon may stand with the value, in a column."""
        right = next(iter(self._sheet.right_of(segment)), None)
        return is_pair(segment.text) or (right is not None and right.text.startswith(":"))

    def _can_be_named(self, label: Segment, other: Segment) -> bool:
        look = self._look(other)
        near = other.box.y0 - label.box.y1 < _HEADING_GAP * self._sheet.text_height
        if self._is_pair(other):
            return False
        return near and look.name_like and look.label < 0.5 and self._party_label(other) is None  # noqa: PLR2004 - half

    def sender_lines(self) -> Iterator[Block]:
        """Name and address in one line, as above the window of an envelope or in a footer."""
        for segment in self._sheet.segments:
            match = _SEPARATOR.search(segment.text)
            if match is None or match.start() < 3:  # noqa: PLR2004 - the shortest name
                continue
            look = self._look(segment)
            if not look.postcode:
                continue
            rest = segment.text[match.end() :]
            name = Span(segment, 0, match.start())
            if re.search(r"\s\d+\s?\w?$", name.text):
                continue  # a street with its number
            if sum(map(str.isdecimal, name.text)) > 2 or not _SEPARATOR.search(rest):  # noqa: PLR2004 - a street
                continue
            address = Span(segment, match.end(), match.end() + _address_end(rest))
            yield Block(
                name, (address,), sender=True, contact=look.contact, legal=bool(look.legal), firm=look.firm
            )

    def addressed(self) -> Iterator[Block]:
        """Lines that end in a postcode and a town, from their top."""
        for segment in self._sheet.segments:
            if has_postcode(segment.text) and not self._look(segment).value:
                top = self._top(segment)
                if top is not segment:
                    yield self._block(Span(top, 0, len(top.text)))

    def _top(self, segment: Segment) -> Segment:
        top = segment
        for _ in range(_LONGEST_BLOCK):
            above = self._neighbour(top, self._sheet.above(top.box), upwards=True)
            if above is None or not self._belongs(above):
                break
            top = above
        return top

    def _belongs(self, segment: Segment) -> bool:
        """Whether a line can be part of a name or address."""
        look = self._look(segment)
        if self._speaks_of(segment, Concept.REGISTRATION_NUMBER):
            return False
        if self._is_pair(segment) and not look.postcode:
            return False
        if look.label > 0.4 or look.value or look.registration or self._party_label(segment):  # noqa: PLR2004 - much of it
            return False
        return not look.contact and (look.name_like or look.address > 0 or look.postcode)

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

    def letterheads(self) -> Iterator[Block]:
        """Names at the top of the page, and names with a legal form anywhere."""
        for segment in self._sheet.segments:
            if segment in self._headings:
                continue
            look = self._look(segment)
            head = segment.middle < _HEAD and look.name_like and look.label < 0.3  # noqa: PLR2004 - hardly labelled
            registered = self._speaks_of(segment, Concept.REGISTRATION_NUMBER)
            if (
                (look.legal or head)
                and not (look.value or registered)
                and len(segment.text.split()) < _LONGEST_NAME_WORDS
            ):
                start = 0
                labels = self._candidates.labels(segment)
                if (
                    labels
                    and labels[0].start == 0
                    and segment.text[labels[0].stop :].lstrip().startswith(":")
                ):
                    start = labels[0].stop + 1
                stop = _name_end(segment.text, look.legal)
                if stop > start and not (self._is_pair(segment) and start == 0):
                    yield self._block(Span(segment, start, stop))

    def _block(self, name: Span) -> Block:
        """The address lines below a name."""
        if is_salutation(name.text):
            person = self._neighbour(name.segment, self._sheet.below(name.segment.box), upwards=False)
            name = Span(person, 0, len(person.text)) if person is not None else name
        look = self._look(name.segment)
        address: list[Span] = []
        contact = taxed = False
        last = name.segment
        complete = False
        for _ in range(_LONGEST_BLOCK):
            below = self._neighbour(last, self._sheet.below(last.box), upwards=False)
            if below is None:
                break
            if not self._belongs(below):
                contact = self._look(below).contact or self._speaks_of(below, *_CONTACTS)
                taxed = self._speaks_of(below, *_TAXES)
                break
            if complete and not self._look(below).region:
                break
            address.append(Span(below, 0, len(below.text)))
            complete = complete or self._look(below).ends_address
            last = below
        block = Block(
            name, tuple(address), contact=contact, taxed=taxed, legal=bool(look.legal), firm=look.firm
        )
        return block if complete else replace(block, address=_only_addresses(address, self._look))

    def _speaks_of(self, segment: Segment, *concepts: Concept) -> bool:
        return any(not set(concepts).isdisjoint(label.meanings) for label in self._candidates.labels(segment))


def _is_capital(text: str) -> bool:
    """Whether a text could be a name: a sentence's end in small letters is none."""
    words = text.split()
    return len(words) < _SHORTEST_SENTENCE or any(word[:1].isupper() or word[:1].isdigit() for word in words)


def _name_end(text: str, legal: int) -> int:
    """Where a name ends: with its legal form, unless only a few words follow, as in `Kunden AG Mitte`."""
    tail = text[legal:]
    plain = all(character.isalpha() or character in " .-" for character in tail)
    return len(text) if not legal or (plain and len(tail.split()) <= _MOST_AFTER_FORM) else legal


def _only_addresses(spans: Sequence[Span], look: Callable[[Segment], Lettering]) -> tuple[Span, ...]:
    """Without a postcode, only lines with a sign of an address are believed."""
    looks = [(span, look(span.segment)) for span in spans]
    return tuple(span for span, one in looks if one.address > 0 or one.region)


def _address_end(text: str) -> int:
    """Where an address in one line ends: after the town."""
    match = re.search(
        r"(?:[A-Z]{1,2}-)?\d{4,6}(?:\s?[A-Z]{2})?\s+[^\W\d_][^·•|●▪,;]*?(?=\s*(?:[·•|●▪,;]|\s[\u2013-]\s|$))",
        text,
    )
    return match.end() if match else len(text)
