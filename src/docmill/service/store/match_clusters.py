"""Clusters of records: what automatic and confirmed links connect, kept while links change."""

from collections.abc import Collection, Sequence
from uuid import UUID, uuid5

from docmill.matching.clusters import clusters_of
from docmill.service.store.database import Conn

_CLUSTERS = UUID("6f2c1f6e-3d0b-5a37-9a0a-6a1d3c1a7b52")
"""Namespace of the ids of clusters."""


async def recompute(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> None:
    """Give these records, and all of their clusters, the clusters that links now connect.

    Connected components over automatic and confirmed links. The id of a cluster follows from its first
    record, so that it is the same in whatever order its documents were matched, deleted and restored.
    """
    touched = await _with_clusters(conn, ids, tenant_id=tenant_id)
    connected: set[tuple[str, str]] = set()
    newest = touched
    while newest:
        links = await _links_of(conn, newest, tenant_id=tenant_id)
        connected |= links
        newest = {id_ for link in links for id_ in link} - touched
        touched = touched | newest
    cluster_of = {id_: _cluster_id(cluster) for cluster in clusters_of(connected) for id_ in cluster}
    await conn.execute(
        """
        UPDATE match_record
           SET cluster_id = wanted.cluster_id
          FROM unnest(%(ids)s::text[], %(clusters)s::uuid[]) AS wanted (id, cluster_id)
         WHERE match_record.id = wanted.id
           AND match_record.tenant_id = %(tenant_id)s
           AND match_record.cluster_id IS DISTINCT FROM wanted.cluster_id
        """,
        {
            "tenant_id": tenant_id,
            "ids": sorted(touched),
            "clusters": [cluster_of.get(id_) for id_ in sorted(touched)],
        },
    )
    await conn.execute(
        """
        WITH changed AS (
            SELECT document.id, match_record.cluster_id
              FROM match_record
              JOIN document ON document.id = document_id
             WHERE match_record.tenant_id = %(tenant_id)s
               AND match_record.id = ANY(%(ids)s)
               AND match_record.id = document_id::text
               AND document.cluster_id IS DISTINCT FROM match_record.cluster_id
             ORDER BY document.id
               FOR NO KEY UPDATE OF document
        )
        UPDATE document
           SET cluster_id = changed.cluster_id
          FROM changed
         WHERE document.id = changed.id
        """,
        {"tenant_id": tenant_id, "ids": sorted(touched)},
    )


async def _with_clusters(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[str]:
    """These records and all that share a cluster with one of them."""
    # Without `cluster_id IS NOT NULL`, for which the planner may go through all records with a cluster.
    cur = await conn.execute(
        """
        SELECT id
          FROM match_record
         WHERE tenant_id = %(tenant_id)s
           AND cluster_id = ANY(ARRAY(SELECT cluster_id
                                        FROM match_record
                                       WHERE tenant_id = %(tenant_id)s AND id = ANY(%(ids)s)))
        """,
        {"tenant_id": tenant_id, "ids": list(ids)},
    )
    return {id_ for (id_,) in await cur.fetchall()} | set(ids)


async def _links_of(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> set[tuple[str, str]]:
    """The automatic and confirmed links of these records, without those to records of deleted documents.

    These keep their links in the bin, and people's decisions about them are kept, too.
    """
    # IS TRUE, since the planner may go through all automatic links of the tenant otherwise: of a vault that
    # has grown fast, its statistics say that there are hardly any.
    cur = await conn.execute(
        """
        WITH link AS (
            SELECT first_id, second_id
              FROM match_edge
             WHERE tenant_id = %(tenant_id)s AND (state = 'automatic') IS TRUE AND first_id = ANY(%(ids)s)
             UNION
            SELECT first_id, second_id
              FROM match_edge
             WHERE tenant_id = %(tenant_id)s AND (state = 'automatic') IS TRUE AND second_id = ANY(%(ids)s)
             UNION
            SELECT first_id, second_id
              FROM match_decision
             WHERE tenant_id = %(tenant_id)s AND decision = 'confirmed' AND first_id = ANY(%(ids)s)
             UNION
            SELECT first_id, second_id
              FROM match_decision
             WHERE tenant_id = %(tenant_id)s AND decision = 'confirmed' AND second_id = ANY(%(ids)s)
        )
        SELECT first_id, second_id
          FROM link
         WHERE EXISTS (SELECT FROM document WHERE document.id = split_part(first_id, '#', 1)::uuid)
           AND EXISTS (SELECT FROM document WHERE document.id = split_part(second_id, '#', 1)::uuid)
        """,
        {"tenant_id": tenant_id, "ids": list(ids)},
    )
    return {(first_id, second_id) for first_id, second_id in await cur.fetchall()}


def _cluster_id(cluster: Sequence[str]) -> UUID:
    """The id of a cluster, which follows from that of its first record."""
    return uuid5(_CLUSTERS, cluster[0])
