"""Matching of a set of records, from candidates to links, clusters and discrepancies."""

from collections.abc import Iterable, Mapping

from docmill.matching.clusters import clusters_of
from docmill.matching.decision import decide
from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Matching, Relation
from docmill.matching.pairs import pairs_of
from docmill.matching.scoring import Weights, shipped_weights


def match(records: Iterable[MatchRecord], *, weights: Mapping[Relation, Weights] | None = None) -> Matching:
    """Link the records that belong together; see `records_of` for how they are made.

    weights: instead of the shipped ones. The order of the records makes no difference.
    """
    weights = weights or shipped_weights()
    by_id = {record.id: record for record in sorted(records, key=lambda record: record.id)}
    links = decide(pairs_of(by_id.values(), weights), weights)
    automatic = [link for link in links if link.state == "automatic"]
    suggested = [link for link in links if link.state == "suggested"]
    return Matching(
        links=tuple(links),
        clusters=tuple(clusters_of((link.first_id, link.second_id) for link in automatic)),
        discrepancies=tuple(find_discrepancies(by_id, automatic, suggested=suggested)),
    )
