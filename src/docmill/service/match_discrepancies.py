"""The discrepancies of clusters by stored links, and what these links may still explain."""

from collections.abc import Collection, Mapping, Sequence

from docmill.matching.discrepancies import find_discrepancies
from docmill.matching.match_record import MatchRecord
from docmill.matching.outcome import Discrepancy
from docmill.service.store.match_links import LinkRow


def cluster_discrepancies(
    cluster: Collection[str],
    contents: Mapping[str, MatchRecord],
    links: Sequence[LinkRow],
    *,
    of_sellers: Mapping[str, MatchRecord] | None = None,
) -> list[Discrepancy]:
    """The discrepancies of the records of a cluster; see `find_discrepancies`.

    links: all that touch these records, also suggested ones. contents: of both ends of links, as far as they
    are there. of_sellers: other invoices of the same sellers, for their accounts.
    """
    of_sellers = of_sellers or {}
    suggested = [
        link
        for link in links
        if link.status == "suggested"
        and {link.first_id, link.second_id} <= contents.keys()
        and not {link.first_id, link.second_id}.isdisjoint(cluster)
    ]
    ends = {id_ for link in suggested for id_ in (link.first_id, link.second_id)}
    records = {**of_sellers, **{id_: contents[id_] for id_ in ends.union(cluster) if id_ in contents}}
    own = {id_ for id_ in cluster if id_ in contents}
    active = [link.link for link in links if link.is_active and {link.first_id, link.second_id} <= own]
    found = find_discrepancies(records, active, suggested=[link.link for link in suggested])
    known = own | of_sellers.keys()
    return [each for each in found if each.record_id in own and known.issuperset(each.other_ids)]
