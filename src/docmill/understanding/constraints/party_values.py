"""The values of a chosen party: its name, its address and what else its block holds, with rivals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rapidfuzz import fuzz

from docmill.model.document import letters_and_digits
from docmill.understanding.constraints.address_blocks import Block
from docmill.understanding.constraints.address_features import is_name, line_features
from docmill.understanding.constraints.name_lines import name_spans
from docmill.understanding.constraints.one_line_parties import without_tail
from docmill.understanding.constraints.party_forms import is_attention, starts_with_salutation
from docmill.understanding.fields.candidates import Candidates
from docmill.understanding.fields.findings import MOST_RIVALS, Finding, cleaned
from docmill.understanding.page.layout import Span
from docmill.understanding.vocabulary import Concept

NO_PARTY = 1.2
"""The score of no party."""
_SHARED = (Concept.SELLER, Concept.BUYER, Concept.ADVERTISER)
_BY_LOOKS = 0.7
"""Share of the names on two lines, or below a brand, that are right where only their looks tell it."""
_SAME_NAME = 88
_LONG_KEY = 12
"""Letters and digits of a name from which on another that begins with it is the same: `Acme GmbH, Bonn`."""
_HEAD = 0.3
"""An address without a name in the upper part, down to here, may be the one of the name beside it."""
_BESIDE = 0.06
"""Largest difference of the tops of a name and of an address on its right, in page heights."""


def name_key(block: Block) -> str:
    """The letters and digits of a block's name, by which names are compared."""
    return letters_and_digits(_name_text(block))


def _name_text(block: Block) -> str:
    return " ".join(span.text for span in name_spans(block.name_lines or (block.name,)))


def is_same_party(block: Block, other: Block) -> bool:
    """True if two blocks are of one party: their names match, or the name of one is a line of the other."""
    if block.name.segment.index in other.segments or other.name.segment.index in block.segments:
        return True
    one, two = name_key(block), name_key(other)
    is_longer = min(len(one), len(two)) >= _LONG_KEY and (one.startswith(two) or two.startswith(one))
    return is_longer or fuzz.ratio(one, two) >= _SAME_NAME


def with_shared_labels(blocks: Sequence[Block]) -> list[Block]:
    """The blocks; those without a label get the label of another block with the same name.

    Labels such as those for deliveries and payments are not shared: the same name may have both.
    """
    labelled = {
        name_key(block): block for block in blocks if block.label in _SHARED or block.aside == "other"
    }
    return [
        replace(block, label=other.label, label_quality=other.label_quality, aside=other.aside)
        if block.label is None and not block.aside and (other := labelled.get(name_key(block))) is not None
        else block
        for block in blocks
    ]


def find_loose_addresses(blocks: Sequence[Block], named: Sequence[Block]) -> list[Block]:
    """Addresses at the top of a page that belong to no block with a name."""
    taken = {index for block in named for index in block.segments}
    return [
        block
        for block in blocks
        if block.address
        and block.top < _HEAD
        and block.label is None
        and not block.aside
        and (block.is_street or not is_name(block.full_name))
        and taken.isdisjoint(block.segments)
    ]


def find_party(
    role: str,
    chosen: Block,
    scored: Sequence[tuple[Block, float]],
    shares: Mapping[str, float],
    candidates: Candidates,
    loose: Sequence[Block] = (),
) -> Iterator[tuple[str, Finding]]:
    """The values of the block chosen for a role, by path.

    scored: all blocks with their scores for this role. shares: the probability of each name in it. loose:
    addresses that may be beside its name.
    """
    best: dict[str, tuple[float, Block]] = {}
    for block, score in scored:
        key = name_key(block)
        if key not in best or score > best[key][0]:
            best[key] = (score, block)
    best.pop(name_key(chosen))
    others = sorted(best, key=lambda key: (-shares.get(key, 0.0), -best[key][0]))
    share = shares.get(name_key(chosen), 0.0)
    name_share = share * (1.0 if chosen.is_name_sure else _BY_LOOKS)
    rivals = [(best[key][1], shares.get(key, 0.0)) for key in others][:MOST_RIVALS]
    yield (
        f"{role}.name",
        _name(
            chosen, name_share, candidates, tuple(_name(block, part, candidates) for block, part in rivals)
        ),
    )
    number = chosen.customer_number
    if role == "buyer" and number is not None:
        yield "customer_number", Finding(number.text.strip(), (number,), share)
    spans = _address_spans(chosen, scored, loose, candidates)
    if spans:
        other = [
            _address(found, part, candidates)
            for block, part in rivals
            if (found := _without_persons(block.address, candidates))
        ]
        yield f"{role}.address", _address(spans, share, candidates, tuple(other))


def _name(block: Block, share: float, candidates: Candidates, rivals: tuple[Finding, ...] = ()) -> Finding:
    spans = name_spans(block.name_lines or (block.name,))
    text = " ".join(span.text for span in spans)
    return Finding(cleaned(text, plain=candidates.plain), spans, share, rivals=rivals)


def _address(
    spans: tuple[Span, ...], share: float, candidates: Candidates, rivals: tuple[Finding, ...] = ()
) -> Finding:
    spans = tuple(without_tail(span, candidates) for span in spans)
    lines = [cleaned(span.text, plain=candidates.plain) for span in spans]
    return Finding(cleaned(", ".join(lines), plain=candidates.plain), spans, share, rivals=rivals)


def _address_spans(
    chosen: Block, scored: Sequence[tuple[Block, float]], loose: Sequence[Block], candidates: Candidates
) -> tuple[Span, ...]:
    """The address of a block, of another one with its name, or beside its name in the head of the page."""
    same = [
        block for block, _ in scored if block.address and block is not chosen and is_same_party(block, chosen)
    ]
    same.sort(key=lambda block: bool(block.aside))
    for block in (chosen, *same):
        spans = _without_persons(block.address, candidates)
        if spans:
            return spans
    beside = [
        block
        for block in loose
        if chosen.top < _HEAD and abs(block.top - chosen.top) < _BESIDE and chosen.label is None
    ]
    if len(beside) == 1:
        return (beside[0].name, *beside[0].address)
    return ()


def _without_persons(spans: tuple[Span, ...], candidates: Candidates) -> tuple[Span, ...]:
    """The lines of an address without the department or the person that may stand before the street."""
    spans = tuple(span for span in spans if not starts_with_salutation(span.text))
    for index, span in enumerate(spans):
        line = line_features(candidates, span.segment)
        if line.address_score > 0 and not line.ends_address and not is_attention(span.text):
            return spans[index:]
    return tuple(span for span in spans if not is_attention(span.text))
