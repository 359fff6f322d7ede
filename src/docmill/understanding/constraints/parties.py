"""Who sells and who buys, on invoices, orders and delivery notes."""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits
from docmill.schemas.document_types import DEFINITIONS, DocumentType
from docmill.understanding.constraints.address_blocks import Block, blocks
from docmill.understanding.constraints.address_features import lettering
from docmill.understanding.constraints.names import is_name
from docmill.understanding.constraints.shop import trimmed
from docmill.understanding.fields.candidates import Candidate, Candidates
from docmill.understanding.fields.findings import Finding, cleaned, finding_of, probabilities
from docmill.understanding.page.layout import Segment, Span
from docmill.understanding.text.folding import fold
from docmill.understanding.vocabulary import LANGUAGES, Concept

_DOMAIN = re.compile(r"(?:@|www\.|https?://)([\w\-]+(?:\.[\w\-]+)*)\.[a-z]{2,12}\b")
_PROVIDERS = frozenset("gmail googlemail hotmail outlook yahoo gmx web icloud aol live t-online".split())  # noqa: SIM905 - a list of names
_CONFIRMATION = re.compile(
    "|".join(re.escape(stem) for language in LANGUAGES for stem in language.confirmation)
)
_AS_SELLER = {
    Concept.SELLER: 4.0,
    Concept.BUYER: -4.0,
    Concept.ADVERTISER: -6.0,
    Concept.SHIP_TO: -4.0,
    Concept.SHIP_FROM: 1.0,
    None: 0.0,
}
_AS_BUYER = {
    Concept.SELLER: -4.0,
    Concept.BUYER: 4.0,
    Concept.ADVERTISER: 8.0,
    Concept.SHIP_TO: -0.5,
    Concept.SHIP_FROM: -4.0,
    None: 0.0,
}
"""An advertiser is the customer, whoever buys the air time for it."""
_DOUBTFUL = 0.4
"""How far an identifier is believed whose checksum does not hold; the gate shows it to a person."""
_SAME_NAME = 88
_NULL = 1.2
_BOTTOM = 0.85
_TOP = 0.45
_NEAR_DOMAIN = 82
_SHORTEST_DOMAIN = 4
_LONELY = 1.5
_LARGE = 1.3
"""Print this many times as high as the page's usual text is large."""
_CLEARLY = 0.3
"""By so much must a label say more of one party than of the other."""
_ADDRESSED = {
    False: (Concept.BUYER, Concept.ADVERTISER, Concept.SHIP_TO),
    True: (Concept.SELLER, Concept.SHIP_FROM),
}
"""The labels of those who do not write the paper, by whether the buyer writes it."""
_FLUSH = 0.02
_CONTACT_LINES = 7
"""So many lines, with the gaps between them, below an address may say how to reach its owner."""
_OWN = 0.12
"""How far below a party's name, in pages, an identifier is still its own."""


def parties(candidates: Candidates, document_type: DocumentType) -> dict[str, Finding]:
    """Names, addresses and VAT identifiers of seller and buyer."""
    every = [block for block in blocks(candidates) if _speaks(block) and _names(block)]
    weigher = _Weigher(candidates, document_type, every)
    best: tuple[float, Block | None, Block | None] = (0.0, None, None)
    sellers = [(block, weigher.seller(block)) for block in every]
    buyers = [(block, weigher.buyer(block, every)) for block in every]
    sellers_best = sorted(sellers, key=lambda pair: -pair[1])[:8]
    buyers_best = sorted(buyers, key=lambda pair: -pair[1])[:8]
    for seller, seller_score in [(None, _NULL), *sellers_best]:
        for buyer, buyer_score in [(None, _NULL), *buyers_best]:
            if seller is not None and buyer is not None and _same(seller, buyer):
                continue
            score = seller_score + buyer_score - weigher.lonely(seller, buyer)
            if score > best[0]:
                best = (score, seller, buyer)
    _, seller, buyer = best
    result: dict[str, Finding] = {}
    for role, chosen, scored in (("seller", seller, sellers), ("buyer", buyer, buyers)):
        if chosen is not None:
            result.update(_party(role, chosen, scored, candidates))
    writer = "buyer" if weigher.buyer_writes else "seller"
    result.update(_vat_ids(candidates, seller, buyer, writer=writer))
    return result


def _speaks(block: Block) -> bool:
    return sum(map(str.isalpha, block.name.text)) > 1


def _names(block: Block) -> bool:
    """What a label calls a party is its name; of other lines only what can be one."""
    return block.label is not None or is_name(block.name.text)


def _same(one: Block, other: Block) -> bool:
    """Whether two blocks are of one party: by name, or since the name of one is a line of the other."""
    if one.name.segment.index in other.segments or other.name.segment.index in one.segments:
        return True
    return fuzz.ratio(_key(one), _key(other)) >= _SAME_NAME


def _key(block: Block) -> str:
    start, stop = trimmed(block.name.text)
    return letters_and_digits(block.name.text[start:stop])


class _Weigher:
    """Scores of blocks as seller and as buyer."""

    def __init__(
        self, candidates: Candidates, document_type: DocumentType, every: Sequence[Block] = ()
    ) -> None:
        segments = [(segment, fold(segment.text)) for segment in candidates.layout.segments]
        sheets = candidates.layout.sheets
        self._height = sheets[0].text_height if sheets else 0.01
        # A plain order is written by the buyer; everything else on the writer's own paper is the seller's.
        confirmed = any(_CONFIRMATION.search(text) for _, text in segments)
        self.buyer_writes = DEFINITIONS[document_type].written_by == "buyer" and not confirmed
        addressed = [block for block in every if block.label in _ADDRESSED[self.buyer_writes]]
        self._domains = {
            part
            for segment, text in segments
            for match in _DOMAIN.finditer(text)
            if not any(self._stands_with(segment, block) for block in addressed)
            for part in match[1].split(".")
            if part not in _PROVIDERS and len(part) >= _SHORTEST_DOMAIN
        }

    def _stands_with(self, segment: Segment, block: Block) -> bool:
        """Whether a mail or web address is that of a party: it stands flush below its name and address."""
        name = block.name.segment
        if segment.page_index != name.page_index or abs(segment.box.x0 - name.box.x0) > _FLUSH:
            return False
        bottom = max((span.segment.box.y1 for span in block.address), default=name.box.y1)
        return name.box.y0 <= segment.box.y0 < bottom + _CONTACT_LINES * self._height

    def seller(self, block: Block) -> float:
        """How far `block` is the seller."""
        score = _AS_SELLER[block.label]
        return score * max(block.quality, 0.5) + (
            self._addressed(block, []) if self.buyer_writes else self._writer(block)
        )

    def buyer(self, block: Block, every: Sequence[Block]) -> float:
        """How far `block` is the buyer."""
        score = _AS_BUYER[block.label]
        return score * max(block.quality, 0.5) + (
            self._writer(block) if self.buyer_writes else self._addressed(block, every)
        )

    def lonely(self, seller: Block | None, buyer: Block | None) -> float:
        """What it costs to name the one addressed and not the writer, whom every paper names."""
        writer, addressed = (buyer, seller) if self.buyer_writes else (seller, buyer)
        alone = writer is None and addressed is not None and addressed.label is None
        return _LONELY if alone else 0.0

    def _writer(self, block: Block) -> float:
        """Signs of the paper's owner: letterhead, sender line, footer, domain."""
        size = block.name.segment.height / self._height
        score = (
            2.0 * block.sender + 0.8 * block.legal + 0.4 * block.firm + 0.9 * (block.contact or block.taxed)
        )
        score += (
            0.9 * (1 - block.top)
            + 0.5 * (block.top > _BOTTOM)
            + 0.6 * (size > _LARGE)
            + 0.5 * bool(block.address)
        )
        score += 2.0 * self._owns_domain(block)
        return score - self._noise(block)

    def _addressed(self, block: Block, every: Sequence[Block]) -> float:
        """Signs of who the paper is sent to: a plain address in the upper part, below a sender line."""
        score = (
            1.4 * bool(block.address)
            + 0.3 * block.legal
            + 0.8 * (block.top < _TOP)
            - 1.2 * (block.top > _BOTTOM)
        )
        score -= 2.5 * block.sender + 1.0 * block.contact + 2.0 * self._owns_domain(block)
        below_sender = any(
            other.sender
            and 0 < block.top - other.top < 8 * self._height
            and abs(block.name.segment.box.x0 - other.name.segment.box.x0) < 0.05  # noqa: PLR2004 - a window of an envelope
            for other in every
        )
        return (
            score
            + 1.8 * below_sender
            - self._noise(block)
            - 0.6 * (not block.address and block.label is None)
        )

    def _noise(self, block: Block) -> float:
        words = block.name.text.split()
        digits = sum(map(str.isdecimal, block.name.text))
        return (
            0.25 * max(0, len(words) - 6)
            + 0.3 * digits
            + 1.0 * (len(words) == 1 and not block.label and not block.legal and not block.address)
        )

    def _owns_domain(self, block: Block) -> bool:
        name = _key(block)
        return (
            any(
                domain.replace("-", "") in name
                or fuzz.partial_ratio(domain.replace("-", ""), name) >= _NEAR_DOMAIN
                for domain in self._domains
            )
            and len(name) >= _SHORTEST_DOMAIN
        )


def _party(
    role: str, chosen: Block, scored: Sequence[tuple[Block, float]], candidates: Candidates
) -> Iterator[tuple[str, Finding]]:
    rivals: dict[str, float] = {}
    for block, score in scored:
        rivals[_key(block)] = max(rivals.get(_key(block), -9.0), score)
    own = rivals.pop(_key(chosen))
    share = probabilities([own, *rivals.values()], null=_NULL)[0]
    start, stop = trimmed(chosen.name.text)
    name = Span(chosen.name.segment, chosen.name.start + start, chosen.name.start + stop)
    yield f"{role}.name", Finding(cleaned(name.text, plain=candidates.plain), (name,), share)
    if role == "buyer" and chosen.number is not None:
        yield "customer_number", Finding(chosen.number.text.strip(), (chosen.number,), share)
    with_address = [block for block, _ in scored if block.address and _same(block, chosen)]
    if chosen.address or with_address:
        spans = chosen.address or with_address[0].address
        first = next((index for index, span in enumerate(spans) if _is_address(candidates, span)), 0)
        spans = spans[first:]
        text = cleaned(
            ", ".join(cleaned(span.text, plain=candidates.plain) for span in spans), plain=candidates.plain
        )
        yield f"{role}.address", Finding(text, spans, share)


def _is_address(candidates: Candidates, span: Span) -> bool:
    """Whether the street begins here; a department or a person may stand before it."""
    look = lettering(candidates, span.segment)
    return look.address > 0 or look.postcode


def _vat_ids(
    candidates: Candidates, seller: Block | None, buyer: Block | None, *, writer: str
) -> Iterator[tuple[str, Finding]]:
    """Whose VAT identifier is whose: the writer's, unless it stands below the buyer's name or says so."""
    known = {one.value: one for one in reversed(candidates.vat_ids)}
    doubtful = {one.value: one for one in reversed(candidates.doubtful_vat_ids)}
    for by_value, sure in ((doubtful, _DOUBTFUL), (known, 0.9)):
        owners: dict[str, list[Candidate[str]]] = {}
        for one in reversed(by_value.values()):
            if not _is_strangers(one):
                owners.setdefault(_owner(one, seller, buyer) or writer, []).append(one)
        for role in ("seller", "buyer"):
            if role in owners:
                yield f"{role}.vat_id", finding_of(owners[role][0], sure / len(owners[role]))


def _owner(vat_id: Candidate[str], seller: Block | None, buyer: Block | None) -> str | None:
    """Whose it is said to be, or below whose name it stands; None if neither tells."""
    buyers = _said(vat_id, Concept.BUYER, Concept.CUSTOMER_NUMBER)
    sellers = _said(vat_id, Concept.SELLER)
    if abs(buyers - sellers) > _CLEARLY:
        return "buyer" if buyers > sellers else "seller"
    near = [
        (_distance(vat_id, block), role)
        for role, block in (("buyer", buyer), ("seller", seller))
        if block is not None and vat_id.segment.page_index == block.name.segment.page_index
    ]
    distance, role = min(near, default=(1.0, ""))
    return role if distance < _OWN else None


def _is_strangers(vat_id: Candidate[str]) -> bool:
    """Whether it is said to be that of a place which goods go to or come from."""
    places = _said(vat_id, Concept.SHIP_TO, Concept.SHIP_FROM)
    return places > _CLEARLY and places >= _said(vat_id, Concept.SELLER, Concept.BUYER)


def _said(vat_id: Candidate[str], *concepts: Concept) -> float:
    return max(vat_id.clues.get(concept, 0.0) for concept in concepts)


def _distance(vat_id: Candidate[str], block: Block) -> float:
    box, own = block.name.segment.box, vat_id.segment.box
    below = own.y0 - box.y1
    return (below if below >= -0.01 else 1.0) + 0.5 * abs(own.x0 - box.x0)  # noqa: PLR2004 - on the same line at best
