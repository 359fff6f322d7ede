"""Clusters are computed from what is around the records, however many others there are."""

import pytest
from psycopg import AsyncConnection

from docmill.service.app import Service
from docmill.service.store import match_clusters
from docmill.service.store.database import Conn, lock_matches
from support.decided_papers import DecidedPapers

PAIRS = 1000


@pytest.fixture
def made(service: Service) -> DecidedPapers:
    return DecidedPapers(service, service.default_tenant_id)


async def add_pairs(conn: Conn, made: DecidedPapers, name: str) -> list[str]:
    """Give a document the records of many pairs that are undecided; the ids of all records."""
    values = {"tenant": made.tenant_id, "document": made.ids[name], "pairs": PAIRS}
    await conn.execute(
        """
        INSERT INTO match_record (id, tenant_id, document_id, content)
        SELECT format('%%s#%%s', %(document)s::uuid, number), %(tenant)s, %(document)s, '{}'
          FROM generate_series(2, 2 * %(pairs)s + 1) AS number
        """,
        values,
    )
    cur = await conn.execute(
        """
        INSERT INTO match_edge (id, tenant_id, first_id, second_id, relation, pair)
        SELECT md5(number::text)::uuid, %(tenant)s, format('%%s#%%s', %(document)s::uuid, 2 * number),
               format('%%s#%%s', %(document)s::uuid, 2 * number + 1), 'duplicate', '{}'
          FROM generate_series(1, %(pairs)s) AS number
        RETURNING first_id, second_id
        """,
        values,
    )
    return [id_ for ends in await cur.fetchall() for id_ in ends]


async def link_all(conn: Conn, made: DecidedPapers) -> None:
    """Make all pairs automatic links, each a cluster of its own."""
    values = {"tenant": made.tenant_id}
    await conn.execute(
        "UPDATE match_edge SET state = 'automatic', score = 1 WHERE tenant_id = %(tenant)s", values
    )
    await conn.execute(
        """
        UPDATE match_record SET cluster_id = match_edge.id
          FROM match_edge
         WHERE match_record.tenant_id = %(tenant)s AND match_record.id IN (first_id, second_id)
        """,
        values,
    )


async def fetched(conn: Conn) -> int:
    """The rows of records and links that this transaction has read from their tables."""
    cur = await conn.execute(
        """
        SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))
          FROM pg_stat_xact_user_tables
         WHERE relname IN ('match_record', 'match_edge')
        """
    )
    return int((await cur.fetchone() or (0,))[0])


async def test_other_links_are_not_gone_through_where_statistics_are_of_before(made: DecidedPapers) -> None:
    await made.add("statement", "letter")
    async with made.service.database.tenant(made.tenant_id) as conn:
        ids = await add_pairs(conn, made, "statement")
    async with await AsyncConnection.connect(made.service.owner_url, autocommit=True) as owner:
        await owner.execute("ANALYZE match_record, match_edge")
    async with made.service.database.tenant(made.tenant_id) as conn:
        await lock_matches(conn, made.tenant_id)
        await link_all(conn, made)
        before = await fetched(conn)

        await match_clusters.recompute(conn, ids[:2], tenant_id=made.tenant_id)

        assert await fetched(conn) - before < PAIRS / 10
