"""Links records by the likeness of name, numbers and amount as one text: rapidfuzz's token sort ratio.

Each record is linked with the likest one of each kind that its own can follow, if their ratio reaches the
threshold of the relation; below it, suggested. The thresholds are tuned together to the best F1 on documents
of the train part.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from rapidfuzz import process
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.utils import default_process

from bench.data.link_records import RELATIONS, Matcher, PlainRecord, plain_records
from bench.data.link_scores import LinkScores, Share
from bench.peers.exact_references import clusters_of
from docmill.matching.outcome import Link, Matching, Relation
from docmill.training.linked_documents.truth import GeneratedDocument, LabelledDocuments

_LEAST = 40
"""Percent from which on a pair is suggested."""
_NEVER = 101.0
_ROUNDS = 8


Thresholds = Mapping[Relation, float]
"""The least ratio of a relation's links, in percent."""


def matcher(thresholds: Thresholds) -> Matcher:
    """The matcher that takes pairs from these ratios on."""

    def match(documents: Sequence[GeneratedDocument]) -> Matching:
        links = tuple(_best_links(plain_records(documents), thresholds))
        return Matching(links, clusters_of(links), ())

    return match


def tuned_thresholds(tenants: Sequence[LabelledDocuments]) -> Thresholds:
    """The thresholds with the best F1 of all links together on these tenants.

    The best F1 is twice the weight w at which the relations' sums of right - w * given are highest: it is
    found in a few rounds (Dinkelbach's algorithm).
    """
    found = [tuple(_best_links(plain_records(tenant.documents), {})) for tenant in tenants]
    curves = {each: _shares(tenants, found, each) for each in (*range(_LEAST, 100), _NEVER)}
    weight = 0.0
    best: dict[Relation, float] = {}
    for _ in range(_ROUNDS):
        for relation in RELATIONS.values():
            gains = {
                each: share.right - weight * share.given
                for each, shares in curves.items()
                if (share := shares.get(relation))
            }
            best[relation] = max(gains, key=lambda each, gains=gains: gains[each], default=_NEVER)
        shares = [curves[each].get(relation, Share()) for relation, each in best.items()]
        total = Share(
            sum(share.right for share in shares),
            sum(share.given for share in shares),
            sum(share.true for share in shares),
        )
        weight = total.f1 / 2
    return best


def _shares(
    tenants: Sequence[LabelledDocuments], found: Sequence[Sequence[Link]], threshold: float
) -> dict[str, Share]:
    """The number of right links of each relation, if all pairs with at least some ratio are taken."""
    scores = LinkScores()
    for tenant, links in zip(tenants, found, strict=True):
        taken = [replace(link, state="automatic") for link in links if 100 * link.score >= threshold]
        scores.add(Matching(tuple(taken), (), ()), tenant.truth)
    return scores.by_relation


def _best_links(records: Sequence[PlainRecord], thresholds: Thresholds) -> Iterator[Link]:
    by_kind: dict[str, list[PlainRecord]] = defaultdict(list)
    for record in records:
        by_kind[record.kind].append(record)
    for (first_kind, second_kind), relation in RELATIONS.items():
        firsts, seconds = by_kind[first_kind], by_kind[second_kind]
        if not firsts or not seconds:
            continue
        ratios = process.cdist(
            [_text(record) for record in seconds],
            [_text(record) for record in firsts],
            scorer=token_sort_ratio,
            processor=default_process,
            dtype=np.uint8,
            workers=2,
        )
        for second, row in zip(seconds, ratios, strict=True):
            best = int(row.argmax())
            ratio = float(row[best])
            if ratio >= _LEAST:
                state = "automatic" if ratio >= thresholds.get(relation, _NEVER) else "suggested"
                yield Link(firsts[best].id, second.id, relation, ratio / 100, state)


def _text(record: PlainRecord) -> str:
    if record.kind == "payment":
        return f"{record.seller} {record.text} {record.amount}"
    numbers = " ".join([record.number, *(number for _, number in record.references)])
    return f"{record.seller} {numbers} {record.amount or ''}"
