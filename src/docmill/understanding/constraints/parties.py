"""The parties of a document: seller and buyer of invoices and orders, the shop of a receipt."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from rapidfuzz import fuzz

from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_blocks import Block, find_blocks
from docmill.understanding.constraints.address_features import (
    LineFeatures,
    has_common_words,
    is_name,
    line_features,
)
from docmill.understanding.constraints.header_fields import WRONG_CHECKSUM
from docmill.understanding.constraints.name_lines import name_range
from docmill.understanding.constraints.one_line_parties import is_town_of_state
from docmill.understanding.constraints.party_forms import (
    is_attention,
    is_department,
    starts_with_salutation,
)
from docmill.understanding.constraints.party_values import (
    NO_PARTY,
    find_loose_addresses,
    find_party,
    is_same_party,
    name_key,
    with_shared_labels,
)
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, cleaned, finding_of, probabilities
from docmill.understanding.page.labels import COLUMNS, LABELS, covered_share
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.page.titles import is_title
from docmill.understanding.text.folding import alternatives, fold
from docmill.understanding.text.legal_forms import legal_form_end
from docmill.understanding.text.money import find_currencies
from docmill.understanding.vocabulary import LANGUAGES, Concept

Role = Literal["seller", "buyer"]

_DOMAIN = re.compile(r"(?:@|www\.|https?://)([\w\-]+(?:\.[\w\-]+)*)\.[a-z]{2,12}\b")
_PROVIDERS = frozenset("gmail googlemail hotmail outlook yahoo gmx web icloud aol live t-online".split())  # noqa: SIM905 - a list of names
_CONFIRMATION = re.compile(alternatives(stem for language in LANGUAGES for stem in language.confirmation))
_SELF_BILLED = re.compile(alternatives(fold(stem) for language in LANGUAGES for stem in language.self_billed))
_LABEL_SCORES: dict[Role, dict[Concept | None, float]] = {
    "seller": {
        Concept.SELLER: 4.0, Concept.BUYER: -4.0, Concept.ADVERTISER: -6.0, Concept.SHIP_TO: -4.0,
        Concept.SHIP_FROM: 1.0, None: 0.0,
    },
    "buyer": {
        Concept.SELLER: -4.0, Concept.BUYER: 4.0, Concept.ADVERTISER: 8.0, Concept.SHIP_TO: -0.5,
        Concept.SHIP_FROM: -4.0, None: 0.0,
    },
}  # fmt: skip
"""An advertiser is the customer, whoever buys the air time for it."""
_BANK = 2.0
"""A bank's name is mostly that of where to pay."""
_ASIDE_SCORES: dict[str, dict[Role, float]] = {
    "payee": {"seller": 0.0, "buyer": -5.0},
    "other": {"seller": -5.0, "buyer": -5.0},
}
"""Whom to pay is often the seller; agencies, carriers and the like are neither party."""
_SALUTED = 4.0
"""Penalty of a name behind `Herr` or `Mrs` as the writer: a letter addresses its reader so."""
_BOTTOM = 0.85
_TOP = 0.45
_NEAR_DOMAIN = 82
_SHORTEST_DOMAIN = 4
_LONELY = 1.5
_LARGE = 1.3
"""A name is large print from this height on, in heights of the page's usual text."""
_CLEARLY = 0.3
"""Least difference of the labels' strengths that decides between the two parties."""
_ADDRESSED = {
    False: (Concept.BUYER, Concept.ADVERTISER, Concept.SHIP_TO),
    True: (Concept.SELLER, Concept.SHIP_FROM),
}
"""Labels of the parties that the document is sent to. Key: whether the buyer is its writer."""
_FLUSH = 0.02
_CONTACT_LINES = 7
"""Contacts stand at most this many lines below an address."""
_NEAR_NAME = 0.12
"""Largest distance below a party's name, in page heights, at which an identifier belongs to it."""
_MOST_BLOCKS = 8
"""Blocks per role of which all pairs are tried."""
_HEAD_LINES = 20
_NAME_LINES = 14
_LONGEST_ADDRESS = 8
_SHORT_NAME = 9
_CODE = 5
"""A text shorter than this that has the code of a currency is nothing else."""


def parties(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """Names, addresses and VAT identifiers of seller and buyer.

    Blocks without a label are considered only if their first line may be a name.
    """
    blocks = find_blocks(candidates)
    named = [block for block in blocks if _may_be_party(block)]
    named = with_shared_labels([block for block in named if not _is_person_of(block, named)])
    loose = find_loose_addresses(blocks, named)
    scorer = _PartyScorer(candidates, document_type, named)
    sellers = [(block, scorer.score(block, "seller")) for block in named]
    buyers = [(block, scorer.score(block, "buyer")) for block in named]
    sellers_tried, buyers_tried = (
        [(None, NO_PARTY), *sorted(scored, key=lambda pair: -pair[1])[:_MOST_BLOCKS]]
        for scored in (sellers, buyers)
    )
    pairs = [(0.0, None, None), *_pairs(sellers_tried, buyers_tried, scorer)]
    _, seller, buyer = max(pairs, key=lambda pair: pair[0])
    if "sender.name" in DEFINITIONS[document_type].fields:
        seller, buyer = _upper_first(seller, buyer)
    shares = _shares(pairs)
    result: dict[str, Finding] = {}
    for role, chosen, scored in (("seller", seller, sellers), ("buyer", buyer, buyers)):
        if chosen is not None:
            result.update(find_party(role, chosen, scored, shares[role], candidates, loose))
    writer_role = "buyer" if scorer.buyer_writes else "seller"
    return result | dict(_vat_ids(candidates, seller, buyer, writer=writer_role))


_Scores = Sequence[tuple[Block | None, float]]
_Pair = tuple[float, Block | None, Block | None]


def _pairs(sellers: _Scores, buyers: _Scores, scorer: "_PartyScorer") -> Iterator[_Pair]:
    """Each seller with each buyer that is another party, and the score of both."""
    for seller, seller_score in sellers:
        for buyer, buyer_score in buyers:
            if seller is not None and buyer is not None and is_same_party(seller, buyer):
                continue
            # Every paper names its writer, so that the addressed party alone is unlikely.
            writer, addressed = (buyer, seller) if scorer.buyer_writes else (seller, buyer)
            alone = writer is None and addressed is not None and addressed.label is None
            yield seller_score + buyer_score - _LONELY * alone, seller, buyer


def _shares(pairs: Sequence[_Pair]) -> dict[str, dict[str, float]]:
    """The probability of each name in each role, by role and `name_key`: a softmax over the pairs."""
    shares: dict[str, dict[str, float]] = {"seller": defaultdict(float), "buyer": defaultdict(float)}
    top = max(score for score, *_ in pairs)
    weights = [math.exp(score - top) for score, *_ in pairs]
    for weight, (_, seller, buyer) in zip(weights, pairs, strict=True):
        for role, block in (("seller", seller), ("buyer", buyer)):
            if block is not None:
                shares[role][name_key(block)] += weight / sum(weights)
    return shares


def _upper_first(writer: Block | None, addressed: Block | None) -> tuple[Block | None, Block | None]:
    """Writer and addressee of a letter: two unlabelled addresses in the head are told by their order."""
    if writer is None or addressed is None or writer.label is not None or addressed.label is not None:
        return writer, addressed
    are_in_head = addressed.top < writer.top < _TOP and writer.name.segment.page_index == 0
    is_told = writer.is_sender_line or bool(writer.aside or addressed.aside)
    return (addressed, writer) if are_in_head and not is_told else (writer, addressed)


def _may_be_party(block: Block) -> bool:
    """True if a block's first line may be a name; that behind a label always is one."""
    if is_title(block.full_name) or is_department(block.full_name) or _is_of_form(block.full_name):
        return False
    letters, digits = (sum(map(kind, block.full_name)) for kind in (str.isalpha, str.isdecimal))
    if letters <= 1 or is_town_of_state(block.name.segment.text):
        return False
    if block.label is not None or block.aside:
        return block.has_legal_form or letters >= digits
    is_loose = block.is_street and digits > 0
    return letters > digits and not is_loose and is_name(block.full_name)


def _is_person_of(block: Block, others: Sequence[Block]) -> bool:
    """True if a block begins with the person in the address of a firm, above or below its name."""
    if block.has_legal_form or block.label is not None:
        return False
    is_person = _is_person(block)
    address = {span.segment.index for span in block.address}
    of_firm = (
        other
        for other in others
        if (other.has_legal_form or (is_person and not _is_person(other)))
        and not address.isdisjoint(span.segment.index for span in other.address)
        and not other.is_street
    )
    return any(is_person or other.top < block.top for other in of_firm)


def _is_person(block: Block) -> bool:
    return starts_with_salutation(block.name.text) or is_attention(block.name.text)


def _is_of_form(text: str) -> bool:
    """True if a text is nothing but labels, headings of columns or a currency: `QTY`, `BIC/SWIFT ID`.

    Joined words, as in `BUYER_NAME`, stand in place of a value.
    """
    covered = max(covered_share(text, LABELS.find(text)), covered_share(text, COLUMNS.find(text)))
    is_printed = covered == 1 and "_" not in text
    if any(mark in text for mark in "<>{}"):
        return True  # a tag of XML that is shown as text
    return (is_printed and not legal_form_end(text)) or bool(
        find_currencies(text.strip()) and len(text) < _CODE
    )


class _PartyScorer:
    """Scores of blocks as seller and as buyer."""

    def __init__(self, candidates: Candidates, document_type: DocumentType, named: Sequence[Block]) -> None:
        self._blocks = named
        segments = [(segment, fold(segment.text)) for segment in candidates.layout.segments]
        sheets = candidates.layout.sheets
        self._height = sheets[0].text_height if sheets else 0.01
        # A plain order is written by the buyer; everything else on the writer's own paper is the seller's.
        confirmed = any(_CONFIRMATION.search(text) for _, text in segments)
        is_order = DEFINITIONS[document_type].written_by == "buyer" and not confirmed
        self.buyer_writes = is_order or any(_SELF_BILLED.search(text) for _, text in segments)
        addressed = [block for block in named if block.label in _ADDRESSED[self.buyer_writes]]
        self._domains = {
            part.replace("-", "")
            for segment, text in segments
            for match in _DOMAIN.finditer(text)
            if not any(self._is_contact(segment, block) for block in addressed)
            for part in match[1].split(".")
            if part not in _PROVIDERS and len(part) >= _SHORTEST_DOMAIN
        }

    def _is_contact(self, segment: Segment, block: Block) -> bool:
        """True if a mail or web address belongs to a block: it stands flush below its name and address."""
        name = block.name.segment
        if segment.page_index != name.page_index or abs(segment.box.x0 - name.box.x0) > _FLUSH:
            return False
        bottom = max((span.segment.box.y1 for span in block.address), default=name.box.y1)
        return name.box.y0 <= segment.box.y0 < bottom + _CONTACT_LINES * self._height

    def score(self, block: Block, role: Role) -> float:
        """The score of a block as the seller or the buyer."""
        by_label = _LABEL_SCORES[role][block.label] * max(block.label_quality, 0.5)
        if block.aside:
            by_label += _ASIDE_SCORES[block.aside][role]
        if (role == "buyer") == self.buyer_writes:
            return by_label + self._writer_score(block)
        return by_label + self._addressed_score(block, self._blocks if role == "buyer" else ())

    def _writer_score(self, block: Block) -> float:
        """Score of the signs of the document's writer: letterhead, sender line, footer, domain."""
        size = block.name.segment.height / self._height
        score = (
            2.0 * block.is_sender_line
            + 0.8 * block.has_legal_form
            + 0.4 * block.has_firm_word
            + 0.9 * (block.has_contact or block.has_tax_id)
        )
        score += (
            0.9 * (1 - block.top)
            + 0.5 * (block.top > _BOTTOM)
            + 0.6 * (size > _LARGE)
            + 0.5 * bool(block.address)
        )
        score -= _SALUTED * starts_with_salutation(block.name.text)
        return score + 2.0 * self._owns_domain(block) - self._noise(block)

    def _addressed_score(self, block: Block, others: Sequence[Block]) -> float:
        """Score of the signs of the addressee: a plain address in the upper part, below a sender line."""
        score = (
            1.4 * bool(block.address)
            + 0.3 * block.has_legal_form
            + 0.8 * (block.top < _TOP)
            - 1.2 * (block.top > _BOTTOM)
        )
        saluted = starts_with_salutation(block.name.text)
        score -= (
            2.5 * (block.is_sender_line and not saluted)
            + 1.0 * block.has_contact
            + 2.0 * self._owns_domain(block)
        )
        below_sender = any(
            other.is_sender_line
            and 0 < block.top - other.top < 8 * self._height
            and abs(block.name.segment.box.x0 - other.name.segment.box.x0) < 0.08  # noqa: PLR2004 - a window of an envelope
            for other in others
        )
        nameless = not block.address and block.label is None
        return score + 1.8 * below_sender - self._noise(block) - 0.6 * nameless

    def _noise(self, block: Block) -> float:
        words = block.name.text.split()
        digits = sum(map(str.isdecimal, block.name.text))
        alone = len(words) == 1 and not block.label and not block.has_legal_form and not block.address
        is_sentence = not block.label and not block.has_legal_form and has_common_words(block.full_name)
        return (
            0.25 * max(0, len(words) - 6)
            + 0.3 * digits
            + 1.0 * alone
            + _BANK * block.is_bank
            + 1.0 * is_sentence
        )

    def _owns_domain(self, block: Block) -> bool:
        name = name_key(block)
        return len(name) >= _SHORTEST_DOMAIN and any(
            domain in name or fuzz.partial_ratio(domain, name) >= _NEAR_DOMAIN for domain in self._domains
        )


def _vat_ids(
    candidates: Candidates, seller: Block | None, buyer: Block | None, *, writer: str
) -> Iterator[tuple[str, Finding]]:
    """VAT identifiers of both parties: an identifier is that of the party named near it, else the writer's.

    Not that of a place which goods go to or come from.
    """
    for vat_ids, probability in ((candidates.doubtful_vat_ids, WRONG_CHECKSUM), (candidates.vat_ids, 0.9)):
        owners: dict[str, list[Candidate[str]]] = {}
        for vat_id in reversed({vat_id.value: vat_id for vat_id in reversed(vat_ids)}.values()):
            places = _strength(vat_id, Concept.SHIP_TO, Concept.SHIP_FROM)
            if places <= _CLEARLY or places < _strength(vat_id, Concept.SELLER, Concept.BUYER):
                owners.setdefault(_owner(vat_id, seller, buyer) or writer, []).append(vat_id)
        for role in ("seller", "buyer"):
            if role in owners:
                yield f"{role}.vat_id", finding_of(owners[role][0], probability / len(owners[role]))


def _owner(vat_id: Candidate[str], seller: Block | None, buyer: Block | None) -> str | None:
    """The role whose label or name stands near the identifier; None without one."""
    buyers = _strength(vat_id, Concept.BUYER, Concept.CUSTOMER_NUMBER)
    sellers = _strength(vat_id, Concept.SELLER)
    if abs(buyers - sellers) > _CLEARLY:
        return "buyer" if buyers > sellers else "seller"
    near: list[tuple[float, str]] = []
    for role, block in (("buyer", buyer), ("seller", seller)):
        if block is not None and vat_id.segment.page_index == block.name.segment.page_index:
            name, box = block.name.segment.box, vat_id.segment.box
            below = box.y0 - name.y1
            distance = (below if below >= -0.01 else 1.0) + 0.5 * abs(box.x0 - name.x0)  # noqa: PLR2004 - on the same line at best
            near.append((distance, role))
    distance, role = min(near, default=(1.0, ""))
    return role if distance < _NEAR_NAME else None


def _strength(vat_id: Candidate[str], *concepts: Concept) -> float:
    return max(vat_id.clues.get(concept, 0.0) for concept in concepts)


def shop(candidates: Candidates) -> Iterator[tuple[str, Finding]]:
    """`seller.name` and `seller.address` of a receipt: the name at its head and the address below it."""
    sheets = candidates.layout.sheets
    segments = [segment for segment in sheets[0].segments if segment.line < _HEAD_LINES] if sheets else []
    head = [line_features(candidates, segment) for segment in segments]
    name = _shop_name(head, plain=candidates.plain)
    if name is not None:
        yield "seller.name", name
    taken = {span.segment.index for span in name.spans} if name else set[int]()
    address = _shop_address(candidates, [line for line in head if line.segment.index not in taken])
    if address is not None:
        yield "seller.address", address


def _shop_name(head: Sequence[LineFeatures], *, plain: bool) -> Finding | None:
    options: list[tuple[float, tuple[Span, ...], str]] = []
    for index, line in enumerate(head[:_NAME_LINES]):
        text = line.segment.text
        if not line.may_be_name or is_title(text):
            continue
        score = (
            3.0
            - 0.35 * index
            + 3.2 * bool(line.legal_form_end)
            + 0.6 * line.has_firm_word
            - 4.0 * line.label_share
        )
        if not line.legal_form_end:
            score -= 1.6 * line.address_score + 2.0 * (line.has_postcode or line.has_region)
        score -= 1.5 * (line.letter_count < 5)  # noqa: PLR2004 - too short for most names
        score -= 1.0 * (line.segment.confidence < 0.75)  # noqa: PLR2004 - logos are often misread
        score -= 1.5 * text.islower()
        span = Span(line.segment, *name_range(text))
        options.append((score, (span,), span.text))
        above = head[index - 1] if index else None
        if above is None or not line.legal_form_end or above.legal_form_end or not above.may_be_name:
            continue
        # The name began on the line above if this one is little more than a legal form.
        short = len(text[: line.legal_form_end].replace(" ", "")) <= _SHORT_NAME
        if short or above.segment.text.rstrip().endswith(("&", "-", ",")):
            first = Span(above.segment, name_range(above.segment.text)[0], len(above.segment.text))
            options.append((score + 0.6, (first, span), f"{first.text} {span.text}"))
    if not options:
        return None
    options.sort(key=lambda option: -option[0])
    share = probabilities([score for score, *_ in options], null=0.0)[0]
    return Finding(cleaned(options[0][2], plain=plain), options[0][1], share)


def _shop_address(candidates: Candidates, head: Sequence[LineFeatures]) -> Finding | None:
    """Find the run of lines with the most signs of an address."""
    scores: list[float] = []
    follows_comma = False
    for index, line in enumerate(head):
        text = line.segment.text.rstrip()
        score = (
            (-0.5 if line.may_be_name else -0.9)
            + line.address_score
            + 1.5 * line.has_postcode
            + 1.3 * line.has_region
        )
        score -= 4.0 * (line.has_value or line.is_registration_number) + 3.0 * (
            line.has_contact and not line.address_score
        )
        score -= 4.0 * line.label_share + 2.5 * bool(line.legal_form_end)
        score += 0.5 * text.endswith(",") + 0.3 * ("," in text[:-1]) + 0.9 * follows_comma
        score -= 2 * (not line.letter_count and not line.has_postcode)
        scores.append(score - 0.05 * index)
        follows_comma = text.endswith(",")
    runs = [
        (sum(scores[start:stop]), start, stop)
        for start in range(len(head))
        for stop in range(start + 1, min(len(head), start + _LONGEST_ADDRESS) + 1)
        if scores[start] > -1 and scores[stop - 1] > -1
    ]
    runs = sorted((run for run in runs if run[0] > 0), key=lambda run: (-run[0], run[1]))
    if not runs:
        return None
    _, start, stop = runs[0]
    spans = [_address_span(candidates, line) for line in head[start:stop]]
    spans = [span for span in spans if span.text.strip()]
    text = cleaned(" ".join(span.text for span in spans), plain=candidates.plain)
    share = probabilities([run[0] for run in runs[:6]], null=0.0)[0]
    return Finding(text, tuple(spans), share) if text else None


def _address_span(candidates: Candidates, line: LineFeatures) -> Span:
    """The line without the label before the address and the telephone after it."""
    whole = line.segment.text
    start, stop = 0, len(whole)
    for label in candidates.labels(line.segment):
        if Concept.ADDRESS in label.meanings and label.start == start:
            start = label.stop
        if Concept.PHONE in label.meanings and label.start > start:
            stop = min(stop, label.start)
    start += len(whole[start:stop]) - len(whole[start:stop].lstrip(" :.-"))
    if stop < len(whole):
        stop = start + len(whole[start:stop].rstrip(" ,("))
    return Span(line.segment, start, stop)
