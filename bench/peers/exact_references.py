"""Links records by equal numbers alone: what a document names is looked up among the numbers of the others.

A number of several documents is that of the same seller, or of nobody. Of a payment, every word is looked up.
Documents of one type, number, seller and amount are duplicates.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bench.data.link_records import RELATIONS, PlainRecord, key_of, plain_records
from docmill.matching.outcome import Link, Matching
from docmill.training.linked_documents.truth import GeneratedDocument

_SHORTEST = 4
"""Letters and digits of a number in a payment's text."""

_Index = dict[tuple[str, str], list[PlainRecord]]


def match(documents: Sequence[GeneratedDocument]) -> Matching:
    records = plain_records(documents)
    index: _Index = defaultdict(list)
    for record in records:
        if record.number:
            index[record.kind, key_of(record.number)].append(record)
    links = {(link.first_id, link.second_id): link for record in records for link in _links(record, index)}
    links |= {(link.first_id, link.second_id): link for link in _duplicates(index)}
    return Matching(tuple(links.values()), clusters_of(list(links.values())), ())


def _links(record: PlainRecord, index: _Index) -> Iterator[Link]:
    for kinds, number in record.references:
        for part in number.split(","):
            for kind in kinds:
                yield from _found(record, kind, part, index)
    if record.kind == "payment":
        for word in record.words:
            if len(key_of(word)) >= _SHORTEST and any(character.isdigit() for character in word):
                for kind in ("invoice", "credit_note", "receipt"):
                    yield from _found(record, kind, word, index)


def _found(record: PlainRecord, kind: str, number: str, index: _Index) -> Iterator[Link]:
    others = index.get((kind, key_of(number)), [])
    if len(others) > 1:
        others = [other for other in others if other.seller.casefold() == record.seller.casefold()]
    for other in others[:1]:
        relation = RELATIONS.get((other.kind, record.kind))
        if relation is not None:
            yield Link(other.id, record.id, relation, 1.0, "automatic")


def _duplicates(index: _Index) -> Iterator[Link]:
    for same in index.values():
        first, *others = sorted(same, key=lambda record: record.id)
        for other in others:
            if (first.seller.casefold(), first.amount) == (other.seller.casefold(), other.amount):
                yield Link(first.id, other.id, "duplicate", 1.0, "automatic")


def clusters_of(links: Sequence[Link]) -> tuple[tuple[str, ...], ...]:
    """The records that automatic links connect."""
    cluster_of: dict[str, set[str]] = {}
    for link in links:
        if link.state != "automatic":
            continue
        first = cluster_of.setdefault(link.first_id, {link.first_id})
        second = cluster_of.setdefault(link.second_id, {link.second_id})
        if first is not second:
            first |= second
            cluster_of.update(dict.fromkeys(second, first))
    return tuple(tuple(sorted(each)) for each in {id(each): each for each in cluster_of.values()}.values())
