"""Records of documents that are matched, and the keys under which they are found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from docmill.matching.candidate_keys import WEIGHTS, KeyKind, asked_keys, stored_keys
from docmill.matching.candidates import MOST_CANDIDATES, MOST_OF_KEY, MOST_OF_KIND, expected_day
from docmill.matching.match_record import MatchRecord
from docmill.matching.relations import related_kinds
from docmill.matching.version import MATCHING_VERSION
from docmill.service.store.database import Conn, storable_values

_RECORD = TypeAdapter(MatchRecord)
_NO_DAY = date(1, 1, 1)
LONGEST_TEXT = 100_000
"""Characters of a document's text in which numbers are looked for."""


@dataclass(frozen=True, slots=True)
class RecordSource:
    """What the records of a document are made from. data: as in JSON, with what people have corrected."""

    document_type: str
    data: dict[str, Any]
    text: str


async def source_of(conn: Conn, document_id: UUID) -> RecordSource | None:
    """What a document is matched by; None if it is deleted or was not read."""
    async with conn.cursor(row_factory=class_row(RecordSource)) as cur:
        await cur.execute(
            """
            SELECT document_type, structured_data AS data, left(coalesce(text, ''), %(most)s) AS text
              FROM document
             WHERE id = %(id)s AND document_type IS NOT NULL AND structured_data IS NOT NULL
            """,
            {"id": document_id, "most": LONGEST_TEXT},
        )
        return await cur.fetchone()


async def replace(conn: Conn, document_id: UUID, records: Sequence[MatchRecord], *, tenant_id: UUID) -> None:
    """Store the records of a document and their keys, instead of those before; done again, it is the same.

    Records that are there keep their links and cluster. Others are found no more, but keep them, too, until
    `remove_gone`: whoever removes links must know whose clusters they change.
    """
    ids = [record.id for record in records]
    cur = await conn.execute(
        "SELECT id FROM match_record WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s",
        {"tenant_id": tenant_id, "document_id": document_id},
    )
    before = [id_ for (id_,) in await cur.fetchall()]
    if before:
        # By their ids, since with a join the planner takes the whole table of keys.
        await conn.execute(
            "DELETE FROM match_key WHERE tenant_id = %(tenant_id)s AND record_id = ANY(%(ids)s)",
            {"tenant_id": tenant_id, "ids": before},
        )
        await conn.execute(
            "UPDATE match_record SET is_gone = true WHERE tenant_id = %(tenant_id)s AND id = ANY(%(ids)s)",
            {"tenant_id": tenant_id, "ids": sorted({*before} - {*ids})},
        )
    await conn.execute(
        """
        INSERT INTO match_record (id, tenant_id, document_id, content, version)
        SELECT id, %(tenant_id)s, %(document_id)s, content, %(version)s
          FROM unnest(%(ids)s::text[], %(contents)s::jsonb[]) AS made (id, content)
            ON CONFLICT (id) DO UPDATE
           SET content = excluded.content, version = excluded.version, is_gone = false
         WHERE match_record.tenant_id = excluded.tenant_id
        """,
        {
            "tenant_id": tenant_id,
            "document_id": document_id,
            "ids": ids,
            "version": MATCHING_VERSION,
            "contents": [
                Jsonb(storable_values(_RECORD.dump_python(record, mode="json"))) for record in records
            ],
        },
    )
    keys = [(key, record) for record in records for key in stored_keys(record)]
    await conn.execute(
        """
        INSERT INTO match_key (tenant_id, key, kind, day, record_id)
        SELECT %(tenant_id)s, key, kind, day, record_id
          FROM unnest(%(keys)s::bigint[], %(kinds)s::text[], %(days)s::date[], %(ids)s::text[])
               AS made (key, kind, day, record_id)
        """,
        {
            "tenant_id": tenant_id,
            "keys": [key for key, _ in keys],
            "kinds": [record.kind for _, record in keys],
            "days": [record.issue_date or _NO_DAY for _, record in keys],
            "ids": [record.id for _, record in keys],
        },
    )


async def remove_gone(conn: Conn, document_id: UUID) -> None:
    """Remove the records that a document has no more, with their links."""
    await conn.execute("DELETE FROM match_record WHERE document_id = %(id)s AND is_gone", {"id": document_id})
    await conn.execute(
        """
        UPDATE document SET cluster_id = NULL
         WHERE id = %(id)s
           AND cluster_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM match_record WHERE match_record.id = %(id)s::text)
        """,
        {"id": document_id},
    )


async def of_document(conn: Conn, document_id: UUID) -> list[MatchRecord]:
    """The records of a document, in no order."""
    cur = await conn.execute(
        "SELECT content FROM match_record WHERE document_id = %(id)s AND NOT is_gone", {"id": document_id}
    )
    return [_RECORD.validate_python(content) for (content,) in await cur.fetchall()]


async def of_ids(conn: Conn, ids: Collection[str]) -> dict[str, MatchRecord]:
    """The records with these ids, without those of deleted documents."""
    cur = await conn.execute(
        """
        SELECT match_record.id, content
          FROM match_record
          JOIN document ON document.id = document_id
         WHERE match_record.id = ANY(%(ids)s) AND NOT is_gone
        """,
        {"ids": list(ids)},
    )
    return {id_: _RECORD.validate_python(content) for id_, content in await cur.fetchall()}


async def first_invoices_by_account(
    conn: Conn, sellers: Collection[str], *, tenant_id: UUID
) -> dict[str, MatchRecord]:
    """The first invoice with each account of some sellers. sellers: the keys of their names."""
    cur = await conn.execute(
        """
        SELECT DISTINCT ON (content #>> '{seller,key}', content #>> '{seller,vat_id}',
                            content #>> '{seller,iban}')
               match_record.id, content
          FROM match_record
          JOIN document ON document.id = document_id
         WHERE match_record.tenant_id = %(tenant_id)s AND content #>> '{seller,key}' = ANY(%(sellers)s)
           AND content ->> 'kind' = 'invoice' AND content #>> '{seller,iban}' <> ''
           AND content ->> 'issue_date' IS NOT NULL AND NOT is_gone
         ORDER BY content #>> '{seller,key}', content #>> '{seller,vat_id}', content #>> '{seller,iban}',
                  content ->> 'issue_date', match_record.id
        """,
        {"tenant_id": tenant_id, "sellers": sorted(sellers)},
    )
    return {id_: _RECORD.validate_python(content) for id_, content in await cur.fetchall()}


async def existing(conn: Conn, ids: Collection[str]) -> set[str]:
    """Those of the ids that `of_ids` would give."""
    cur = await conn.execute(
        """
        SELECT match_record.id
          FROM match_record
          JOIN document ON document.id = document_id
         WHERE match_record.id = ANY(%(ids)s) AND NOT is_gone
        """,
        {"ids": list(ids)},
    )
    return {id_ for (id_,) in await cur.fetchall()}


async def candidates(
    conn: Conn, record: MatchRecord, *, tenant_id: UUID, asked: Mapping[int, KeyKind] | None = None
) -> list[MatchRecord]:
    """The records of the tenant that may be related to one, the likeliest first.

    As `CandidateIndex.find`: of each key, the records nearest in time. asked: by which they are looked for;
    None for the record's own keys.
    """
    asked = asked_keys(record) if asked is None else asked
    kinds = sorted(related_kinds(record.kind))
    cur = await conn.execute(
        """
        SELECT record_id
          FROM (SELECT nearest.record_id, sum(weight) AS weight, abs(nearest.day - wanted.day) AS days,
                       row_number() OVER (PARTITION BY wanted.kind
                                          ORDER BY sum(weight) DESC, abs(nearest.day - wanted.day),
                                                   nearest.record_id) AS place
                  FROM unnest(%(keys)s::bigint[], %(weights)s::float8[]) AS asked (key, weight)
                 CROSS JOIN unnest(%(kinds)s::text[], %(days)s::date[]) AS wanted (kind, day)
                 CROSS JOIN LATERAL (
                           (SELECT record_id, day
                              FROM match_key
                             WHERE tenant_id = %(tenant_id)s AND match_key.key = asked.key
                               AND match_key.kind = wanted.kind AND match_key.day >= wanted.day
                             ORDER BY match_key.day, record_id
                             LIMIT %(most)s)
                            UNION ALL
                           (SELECT record_id, day
                              FROM match_key
                             WHERE tenant_id = %(tenant_id)s AND match_key.key = asked.key
                               AND match_key.kind = wanted.kind AND match_key.day < wanted.day
                             ORDER BY match_key.day DESC, record_id DESC
                             LIMIT %(most)s)
                       ) AS nearest
                 WHERE record_id <> %(id)s
                 GROUP BY wanted.kind, wanted.day, nearest.record_id, nearest.day) AS found
         WHERE place <= %(most_of_kind)s
         ORDER BY weight DESC, days, record_id
         LIMIT %(limit)s
        """,
        {
            "tenant_id": tenant_id,
            "keys": list(asked),
            "weights": [WEIGHTS[kind] for kind in asked.values()],
            "kinds": kinds,
            "days": [expected_day(record, kind) or _NO_DAY for kind in kinds],
            "most": MOST_OF_KEY // 2,
            "id": record.id,
            "most_of_kind": MOST_OF_KIND,
            "limit": MOST_CANDIDATES,
        },
    )
    ids = [id_ for (id_,) in await cur.fetchall()]
    found: Mapping[str, MatchRecord] = await of_ids(conn, ids)
    return [found[id_] for id_ in ids if id_ in found]
