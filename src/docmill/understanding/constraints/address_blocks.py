"""Address blocks: a name with the address lines below it, behind a label, in a letterhead or in a window."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_features import (
    NOT_LETTERHEAD,
    STREET_ENDS,
    STREET_WORDS,
    LineFeatures,
    has_postcode,
    is_bank,
    line_features,
)
from docmill.understanding.constraints.consignments import with_consignment
from docmill.understanding.constraints.name_lines import choose_name_lines, is_name_told
from docmill.understanding.constraints.one_line_parties import label_in_note, split_at_address, with_note
from docmill.understanding.constraints.party_forms import (
    find_aside_label,
    is_attention,
    is_name_label,
    is_pair,
    is_salutation,
    read_form,
)
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.page.labels import Label
from docmill.understanding.page.layout import Segment, Sheet, Span
from docmill.understanding.text.countries import is_country
from docmill.understanding.text.folding import token_texts
from docmill.understanding.vocabulary import Concept

PARTY_CONCEPTS = (Concept.ADVERTISER, Concept.SHIP_FROM, Concept.SELLER, Concept.BUYER, Concept.SHIP_TO)
"""The parties that labels name. The first one counts if a label has several meanings."""
_CONTACTS = (Concept.PHONE, Concept.IBAN)
"""Labels that follow the address of the document's writer."""
_TAX_IDS = (Concept.VAT_NUMBER, Concept.TAX_NUMBER)
"""Labels that mostly follow the address of the writer, sometimes that of the other party."""
_MOST_BLOCK_LINES = 7
_LINE_GAP = 1.4
"""Largest gap between two lines of a block, in line heights."""
_ADDRESS_GAP = 2.1
"""Largest gap before a street or a town, which envelopes set apart."""
_ALIGNMENT = 0.012
"""Tolerance for lines that are flush or centred, in page widths, besides half a line height."""
_HEADING_GAP = 3.2
"""Largest gap between a label and the name below it, in line heights."""
_SEPARATOR = re.compile(r"\s+[·•|*●▪\u2013\u2014-]\s+|\s*[·•|●▪]\s*|,\s+|;\s+")
"""Between the parts of an address that is written in one line."""
_LONGEST_NAME_WORDS = 12
_LETTERHEAD_BOTTOM = 0.22
"""Bottom of the letterhead, as a fraction of the page's height."""
_LABEL_GAP = 0.12
"""A value this near, in page widths, belongs to the label on its left."""
_MOST_BLOCKS = 60
_LABEL_JOINERS = frozenset({"/", "&", "|", "-"})
"""Marks between two labels of one party, as in `Buyer / Recipient`."""
_SENTENCE_WORDS = 3
"""A text of at least this many words, all in lower case, is part of a sentence and no name."""
_MOST_WORDS_AFTER_LEGAL_FORM = 1
"""Most words of a name that may follow its legal form."""


_BARE_POSTCODE = re.compile(r"^\d{4,6}$")
"""A postcode on a line of its own, below a town."""
_MOST_IDENTIFIERS = 2
"""Lines with identifiers that may stand between a heading and a name."""
_MOSTLY = 0.5
_TOWN_END = re.compile(
    r"(?:[A-Z]{1,2}-)?\d{4,6}(?:\s?[A-Z]{2})?\s+[^\W\d_][^·•|●▪,;]*?(?=\s*(?:[·•|●▪,;]|\s[\u2013-]\s|$))"
)
"""The postcode and town at the end of an address that is written in one line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A name with its address, which may be the block of a party.

    label: the party named by the label before it. label_quality: how exactly that label matches, from 0 to 1.
    is_sender_line: name and address stand on one line, as above the window of an envelope.

    name_lines: the printed lines of the whole name, of which `name` is one. aside: the party is labelled as
    the one to pay (`payee`), or as neither seller nor buyer (`other`). is_bank: the name is a bank's.
    is_street: its first line belongs to an address. is_name_sure: False if only the look of the lines shows
    where the name begins.

    has_contact, has_tax_id: the block has a telephone number, mail address or account; a tax identifier.
    has_legal_form, has_firm_word: of the name, see `LineFeatures`. customer_number: printed below the label.
    """

    name: Span
    address: tuple[Span, ...] = ()
    label: Concept | None = None
    label_quality: float = 0.0
    is_sender_line: bool = False
    has_contact: bool = False
    has_tax_id: bool = False
    has_legal_form: bool = False
    has_firm_word: bool = False
    customer_number: Span | None = None
    name_lines: tuple[Span, ...] = ()
    aside: str = ""
    is_bank: bool = False
    is_street: bool = False
    is_name_sure: bool = True

    @property
    def full_name(self) -> str:
        """The whole name, in one line."""
        return " ".join(span.text for span in self.name_lines) if self.name_lines else self.name.text

    @property
    def top(self) -> float:
        """The top of its name, as a fraction of the page's height."""
        return self.name.segment.box.y0

    @property
    def segments(self) -> set[int]:
        """The indices of its segments."""
        return {span.segment.index for span in (self.name, *self.name_lines, *self.address)}


def find_blocks(candidates: Candidates) -> list[Block]:
    """Find the blocks on the first page that may be a party."""
    if not candidates.layout.sheets:
        return []
    finder = _BlockFinder(candidates, candidates.layout.sheets[0])
    blocks = [
        *finder.find_aside(),
        *finder.find_labelled(),
        *finder.find_sender_lines(),
        *finder.find_addresses(),
        *finder.find_letterheads(),
    ]
    # What another block has as a line of its name or below the heading of another party begins none.
    inner = {span.segment.index for block in blocks for span in block.name_lines if span is not block.name}
    aside = {index for block in blocks if block.aside for index in block.segments}
    return [
        block
        for block in blocks
        if (block.name_lines or block.name.segment.index not in inner)
        and (block.aside or block.name.segment.index not in aside)
    ][:_MOST_BLOCKS]


class _BlockFinder:
    """Finder of the blocks on one page."""

    def __init__(self, candidates: Candidates, sheet: Sheet) -> None:
        self._candidates = candidates
        self._sheet = sheet
        self._features = {segment.index: line_features(candidates, segment) for segment in sheet.segments}
        self._aside = {
            segment.index: label for segment in sheet.segments if (label := find_aside_label(segment.text))
        }
        labels = {
            segment.index: label
            for segment in sheet.segments
            if segment.index not in self._aside and (label := self._find_party_label(segment))
        }
        self._party_labels = with_consignment(labels, {each.index: each.text for each in sheet.segments})
        self._labelled = [segment for segment in sheet.segments if segment.index in self._party_labels]
        self._texts = [letters_and_digits(segment.text) for segment in sheet.segments]
        self._headings = [
            segment
            for segment in self._labelled
            if not any(map(str.isalnum, segment.text[self._party_labels[segment.index].stop :]))
            and not is_name_label(segment.text)
        ]

    def _find_party_label(self, segment: Segment) -> Label[Concept] | None:
        """Find the label of a party at the start of a segment, unless a sentence goes on behind it."""
        labels = self._candidates.labels(segment)
        noted = label_in_note(segment.text)
        if noted is not None and set(PARTY_CONCEPTS).intersection(noted.meanings):
            return noted
        if not labels or labels[0].start > 1 or not set(PARTY_CONCEPTS).intersection(labels[0].meanings):
            return None
        if is_attention(segment.text) and self._stands_below_name(segment):
            return None
        label = labels[0]
        for other in labels[1:]:
            if segment.text[label.stop : other.start].strip() not in _LABEL_JOINERS:
                break
            if set(PARTY_CONCEPTS).intersection(other.meanings):
                label = label._replace(stop=other.stop)  # as in `Buyer / Recipient`
        label = with_note(segment.text, label)
        rest = segment.text[label.stop :]
        set_off = not any(map(str.isalnum, rest)) or rest.lstrip(" )").startswith(":")
        set_off = set_off or Concept.ADVERTISER in label.meanings
        # As in `Spett.le Acme, Via Roma 5`; a person below the name of a firm has no address behind.
        set_off = set_off or ("," in rest and is_salutation(segment.text[: label.stop]))
        several_words = " " in segment.text[: label.stop].strip()
        return label if set_off or (several_words and len(rest.split()) < _LONGEST_NAME_WORDS) else None

    def _stands_below_name(self, segment: Segment) -> bool:
        """True if a line of the same block, which may be a name, stands above a segment."""
        above = self._find_neighbour(segment, self._sheet.above(segment.box), upwards=True)
        if above is None or not self._features[above.index].may_be_name:
            return False
        return not any(
            label.start <= 1 and not set(PARTY_CONCEPTS).isdisjoint(label.meanings)
            for label in self._candidates.labels(above)
        )

    def find_aside(self) -> Iterator[Block]:
        """Find blocks behind or below the label of a party that is neither seller nor buyer."""
        for segment in self._sheet.segments:
            label = self._aside.get(segment.index)
            name = self._find_labelled_name(segment, label.stop) if label is not None else None
            if label is not None and name is not None:
                yield replace(self._build_block(name), aside=label.meanings[0])

    def find_labelled(self) -> Iterator[Block]:
        """Find blocks behind or below a label such as `Bill to`, also with a label on each line."""
        lines_of_forms: set[int] = set()
        for segment in self._labelled:
            label = self._party_labels[segment.index]
            concept = next(concept for concept in PARTY_CONCEPTS if concept in label.meanings)
            if segment in self._headings:
                form = read_form(self._candidates, self._sheet, segment, self._headings)
                if form.has_labels and form.name:
                    lines_of_forms.update(span.segment.line for span in form.name)
                    block = self._build_block(form.name[-1])
                    first, *rest = form.name
                    lines = choose_name_lines(
                        first, [self._features[span.segment.index] for span in rest], self._texts
                    )
                    yield replace(
                        block,
                        name=lines[0] if lines else first,
                        is_name_sure=not lines or is_name_told(first, lines, (), self._texts),
                        name_lines=lines or form.name,
                        address=form.address or block.address,
                        label=concept,
                        label_quality=label.quality,
                        customer_number=form.customer_number,
                    )
                    continue
            if segment.line in lines_of_forms and is_name_label(segment.text[: label.stop]):
                continue
            name = self._find_labelled_name(segment, label.stop)
            words = name.text.split() if name is not None else []
            is_sentence = len(words) >= _SENTENCE_WORDS and not any(
                word[:1].isupper() or word[:1].isdigit() for word in words
            )
            if name is not None and not is_sentence:
                block = replace(self._build_block(name), label=concept, label_quality=label.quality)
                if concept is Concept.ADVERTISER:
                    # Broadcasters' forms print the agency on the next line.
                    block = replace(block, name=name, name_lines=())
                if concept is Concept.BUYER:
                    form = read_form(self._candidates, self._sheet, segment, self._labelled)
                    block = replace(block, customer_number=form.customer_number)
                yield _with_own_address(block, name)

    def _find_labelled_name(self, segment: Segment, label_stop: int) -> Span | None:
        """Find the name behind a label, which ends at `label_stop`, or below it or right of it."""
        rest = segment.text[label_stop:]
        if is_pair(rest.lstrip(" :.)-#")) and not rest.lstrip().startswith(":"):
            return None  # as in `Seller VAT number: ...`
        if sum(map(str.isalpha, rest)) > 2:  # noqa: PLR2004 - more than a stray mark
            start = label_stop + len(rest) - len(rest.lstrip(" :.)-#"))
            # A label of several words belongs to the next column, which was joined to this segment.
            ends = (
                other.start
                for other in self._candidates.labels(segment)
                if other.start > start
                and len(segment.text[other.start : other.stop].split()) > 1
                and NOT_LETTERHEAD.intersection(other.meanings)
            )
            return Span(segment, start, next(ends, len(segment.text)))
        below = self._find_below_heading(segment)
        right = next(iter(self._sheet.right_of(segment)), None)
        beside = right is not None and right.box.x0 - segment.box.x1 < _LABEL_GAP
        for other in [right, below] if beside or rest.strip().startswith(":") else [below, right]:
            if other is None or self._is_pair(other) or self._is_heading(other):
                continue
            features = self._features[other.index]
            skipped = _MOST_IDENTIFIERS * (other is below)
            near = other.box.y0 - segment.box.y1 < (_HEADING_GAP + skipped) * self._sheet.text_height
            if near and features.may_be_name and features.label_share < 0.5:  # noqa: PLR2004 - half
                return Span(other, 0, len(other.text))
        return None

    def _find_below_heading(self, heading: Segment) -> Segment | None:
        """Find the first line below a heading that is neither a salutation nor an identifier."""
        below = [other for other in self._sheet.below(heading.box) if not is_salutation(other.text)]
        for other in below[:_MOST_IDENTIFIERS]:
            digits = sum(map(str.isdecimal, other.text))
            if digits < _MOSTLY * len(other.text.replace(" ", "")) and not self._has_label(
                other, Concept.CUSTOMER_NUMBER, Concept.OTHER_NUMBER
            ):
                return other
        return below[_MOST_IDENTIFIERS] if len(below) > _MOST_IDENTIFIERS else None

    def _is_heading(self, segment: Segment) -> bool:
        return segment.index in self._party_labels or segment.index in self._aside

    def find_sender_lines(self) -> Iterator[Block]:
        """Find name and address in one line, as above the window of an envelope or in a footer."""
        for segment in self._sheet.segments:
            match = _SEPARATOR.search(segment.text)
            if segment.index in self._party_labels or segment.index in self._aside:
                continue  # a party by its label, which writes no letterhead
            if match is None or match.start() < 3 or self._is_of_person(segment):  # noqa: PLR2004 - the shortest name
                continue
            features = self._features[segment.index]
            name = Span(segment, 0, match.start())
            is_street = (
                re.search(r"\s\d+\s?\w?$", name.text) or sum(map(str.isdecimal, name.text)) > 2  # noqa: PLR2004 - a number
            )
            rest = segment.text[match.end() :]
            if not features.has_postcode or is_street or not _SEPARATOR.search(rest):
                continue
            # The last one: `1242 chemin du Lac` looks like a postcode and a town, too.
            towns = [town for town in _TOWN_END.finditer(rest) if not _is_numbered_street(town[0])]
            stop = match.end() + (towns[-1].end() if towns else len(rest))
            yield Block(
                name,
                (Span(segment, match.end(), stop),),
                is_sender_line=True,
                has_contact=features.has_contact,
                has_legal_form=bool(features.legal_form_end),
                has_firm_word=features.has_firm_word,
            )

    def find_addresses(self) -> Iterator[Block]:
        """Find blocks by their postcode, from which the lines are followed upwards to the name."""
        for segment in self._sheet.segments:
            if not has_postcode(segment.text) or self._features[segment.index].has_value:
                continue
            top = segment
            for _ in range(_MOST_BLOCK_LINES):
                above = self._find_neighbour(top, self._sheet.above(top.box), upwards=True)
                if above is None or not self._may_continue_block(above):
                    break
                top = above
            if top is not segment:
                yield self._build_block(Span(top, 0, len(top.text)))

    def find_letterheads(self) -> Iterator[Block]:
        """Find names at the top of the page, and names with a legal form anywhere."""
        for segment in self._sheet.segments:
            features, text = self._features[segment.index], segment.text
            head = segment.middle < _LETTERHEAD_BOTTOM and features.may_be_name and features.label_share < 0.3  # noqa: PLR2004 - hardly labelled
            if segment in self._headings or not (features.legal_form_end or head) or features.has_value:
                continue
            if (
                self._has_label(segment, Concept.REGISTRATION_NUMBER)
                or len(text.split()) >= _LONGEST_NAME_WORDS
            ):
                continue
            label = next(iter(self._candidates.labels(segment)), None)
            is_labelled = label and label.start == 0 and text[label.stop :].lstrip().startswith(":")
            start = label.stop + 1 if label and is_labelled else 0
            # The name ends with its legal form, unless only a few words follow, as in `Kunden AG Mitte`.
            tail = text[features.legal_form_end :]
            plain = all(character.isalpha() or character in " .-" for character in tail)
            whole = not features.legal_form_end or (
                plain and len(tail.split()) <= _MOST_WORDS_AFTER_LEGAL_FORM
            )
            stop = len(text) if whole else features.legal_form_end
            if stop > start and (start or not self._is_pair(segment)):
                yield self._build_block(Span(segment, start, stop))

    def _build_block(self, name: Span) -> Block:
        """Build the block of a name and the lines below it.

        If no line has a postcode, only those with signs of an address count.
        """
        if is_salutation(name.text):
            person = self._find_neighbour(name.segment, self._sheet.below(name.segment.box), upwards=False)
            name = Span(person, 0, len(person.text)) if person is not None else name
        lines, stopper, complete = self._follow_block(name)
        features = [self._features[line.index] for line in lines]
        name_at_first, names = name, choose_name_lines(name, features, self._texts)
        address = [
            line for line in features if line.segment.index not in {span.segment.index for span in names}
        ]
        if not complete:
            address = [line for line in address if line.address_score > 0 or line.has_region]
        first = next((index for index, line in enumerate(address) if _is_street_line(line)), 0)
        name = names[0] if names else name
        own = self._features[name.segment.index]
        return Block(
            name,
            tuple(Span(line.segment, 0, len(line.segment.text)) for line in address[first:]),
            has_contact=stopper is not None
            and (self._features[stopper.index].has_contact or self._has_label(stopper, *_CONTACTS)),
            has_tax_id=stopper is not None and self._has_label(stopper, *_TAX_IDS),
            has_legal_form=any(
                self._features[span.segment.index].legal_form_end > 0 for span in (name, *names)
            ),
            has_firm_word=own.has_firm_word,
            name_lines=names,
            is_name_sure=is_name_told(name_at_first, names, features, self._texts),
            is_bank=is_bank(name.text),
            is_street=own.address_score > 0 and not own.legal_form_end,
        )

    def _follow_block(self, name: Span) -> tuple[list[Segment], Segment | None, bool]:
        """The lines below a name, the one at which they end, and whether they have a town."""
        lines: list[Segment] = []
        complete = has_street = False
        last = name.segment
        start = self._sheet.page.words.boxes[name.segment.words(name.start, name.stop)[0], 0]
        for _ in range(_MOST_BLOCK_LINES):
            below = self._find_neighbour(
                last, self._sheet.below(last.box), upwards=False, indent=float(start)
            )
            if below is None:
                return lines, None, complete
            features = self._features[below.index]
            is_postcode = has_street and _BARE_POSTCODE.match(below.text.strip()) is not None
            if not (is_postcode or is_attention(below.text) or self._may_continue_block(below)):
                return lines, below, complete
            is_street = features.address_score > 0 and not features.ends_address
            if complete and not (
                features.has_region or is_country(below.text) or (is_street and not has_street)
            ):
                return lines, None, complete
            lines.append(below)
            has_street = has_street or is_street
            complete = complete or features.ends_address or is_postcode
            last = below
        return lines, None, complete

    def _may_continue_block(self, segment: Segment) -> bool:
        """True if a line may be part of a name or address."""
        features = self._features[segment.index]
        if self._has_label(segment, Concept.REGISTRATION_NUMBER) or self._is_heading(segment):
            return False
        if self._is_pair(segment) and not features.has_postcode:
            return False
        if features.has_value or features.is_registration_number or features.has_contact:
            return False
        is_telling = features.is_street or features.legal_form_end > 0
        if features.label_share > 0.4 and not is_telling:  # noqa: PLR2004 - much of it
            return False
        return features.may_be_name or features.address_score > 0 or features.has_postcode

    def _find_neighbour(
        self, segment: Segment, others: Sequence[Segment], *, upwards: bool, indent: float | None = None
    ) -> Segment | None:
        """Find the next line of the same block: close to this one, and flush on either side or centred.

        indent: where the name begins behind its label; the next line may begin there or in between.
        """
        for other in others:
            gap = segment.box.y0 - other.box.y1 if upwards else other.box.y0 - segment.box.y1
            features = self._features[other.index]
            is_plain = not (features.ends_address or features.is_street)
            if gap > (_LINE_GAP if is_plain else _ADDRESS_GAP) * max(segment.height, self._sheet.text_height):
                return None
            left = abs(other.box.x0 - segment.box.x0)
            centre = abs(other.box.x0 + other.box.x1 - segment.box.x0 - segment.box.x1) / 2
            right = abs(other.box.x1 - segment.box.x1)
            nearest = min(left, centre, right)
            if indent is not None and segment.box.x0 < other.box.x0 <= indent + _ALIGNMENT:
                nearest = 0.0
            if nearest <= _ALIGNMENT + 0.5 * segment.height:
                return other
        return None

    def _is_pair(self, segment: Segment) -> bool:
        """True if a segment is a label with a colon; the colon may also begin the segment on its right."""
        right = next(iter(self._sheet.right_of(segment)), None)
        return is_pair(segment.text) or (right is not None and right.text.startswith(":"))

    def _is_of_person(self, segment: Segment) -> bool:
        """True if a line begins with a label for persons, as `Managing director: ...` in a footer."""
        label = next(iter(self._candidates.labels(segment)), None)
        is_first = label is not None and not any(map(str.isalnum, segment.text[: label.start]))
        return label is not None and is_first and label.quality == 1 and Concept.CONTACT in label.meanings

    def _has_label(self, segment: Segment, *concepts: Concept) -> bool:
        return any(not set(concepts).isdisjoint(label.meanings) for label in self._candidates.labels(segment))


def _with_own_address(block: Block, name: Span) -> Block:
    """The block with the name and address that stand together behind its label."""
    parts = split_at_address(name)
    if parts is None:
        return block
    return replace(block, name=parts[0], address=(parts[1],), name_lines=(), is_name_sure=True)


def _is_street_line(line: LineFeatures) -> bool:
    """True if a line has a sign of a street and does not name the person whom the letter is for."""
    return line.address_score > 0 and not line.ends_address and not is_attention(line.segment.text)


def _is_numbered_street(text: str) -> bool:
    """True if a number is followed by a word of streets."""
    words = token_texts(text)
    return any(word in STREET_WORDS or word.endswith(STREET_ENDS) for word in words[1:2])
