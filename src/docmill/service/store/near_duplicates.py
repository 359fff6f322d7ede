"""Near duplicates among the documents of one tenant: their signatures, the pairs, and what people decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from docmill.model.result import Failure
from docmill.service.store.database import Conn, storable_values
from docmill.understanding.duplicates import MOST_CANDIDATES, Signature, compare, duplicate_failure

_MOST_ROWS = 20_000
"""Rows of common keys that are counted for one document: a vendor's papers share most of them."""


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A document that seems to be the same as the one asked about.

    is_earlier: it was here before that one. is_duplicate: as a person decided; None before.
    """

    document_id: UUID
    title: str
    file_name: str
    why: str
    is_earlier: bool
    is_duplicate: bool | None

    @property
    def name(self) -> str:
        """The title and the file name, since the same document mostly has the same title."""
        return self.title if self.title == self.file_name else f"{self.title} ({self.file_name})"

    @property
    def is_open(self) -> bool:
        """True if a person must decide about the document asked about: the later one of the two."""
        return self.is_earlier and self.is_duplicate is None


@dataclass(frozen=True, slots=True)
class _StoredSignature:
    document_id: UUID
    document_type: str
    facts: dict[str, str]
    words: bytes
    numbers: bytes

    @property
    def signature(self) -> Signature:
        words, numbers = np.frombuffer(self.words, "<u4"), np.frombuffer(self.numbers, "<u4")
        return Signature(self.document_type, self.facts, words, numbers)


def failures_of_pairs(pairs: Sequence[NearDuplicate]) -> list[Failure]:
    """The failed check for each earlier document about which nobody has decided."""
    return [duplicate_failure(pair.name, pair.why) for pair in pairs if pair.is_open]


async def register(
    conn: Conn, document_id: UUID, signature: Signature, *, tenant_id: UUID, ingestion_id: UUID
) -> None:
    """Compare the document's new result with those of all others; nothing if another result counts.

    The caller has locked the document. Of two that end at the same time, the one whose transaction comes
    later finds the other: the lock makes them come one after the other.
    """
    await _lock_pairs(conn, tenant_id)
    cur = await conn.execute(
        "SELECT FROM document WHERE id = %(id)s AND result_ingestion_id = %(ingestion_id)s",
        {"id": document_id, "ingestion_id": ingestion_id},
    )
    if cur.rowcount == 0:
        return
    await conn.execute("DELETE FROM document_signature WHERE document_id = %(id)s", {"id": document_id})
    matches = {
        stored.document_id: why
        for stored in await _candidates(conn, document_id, signature)
        if (why := compare(signature, stored.signature)) is not None
    }
    await _keep(conn, document_id, signature, tenant_id)
    await _keep_pairs(conn, document_id, matches, tenant_id)


async def forget(conn: Conn, document_ids: Sequence[UUID]) -> None:
    """Compare these documents with no other any more: nothing tells them from others."""
    await conn.execute(
        """
        WITH compared AS (
            DELETE FROM document_signature WHERE document_id = ANY(%(ids)s) RETURNING document_id
        )
        DELETE FROM near_duplicate
         USING compared
         WHERE compared.document_id IN (near_duplicate.document_id, other_id) AND is_duplicate IS NULL
        """,
        {"ids": list(document_ids)},
    )


async def forget_undecided(conn: Conn, document_ids: Sequence[UUID], *, tenant_id: UUID) -> None:
    """Remove the pairs of these documents about which nobody has decided: one of the two is deleted.

    No result that is stored meanwhile makes new ones: it is compared before this, or after the deletion.
    """
    await _lock_pairs(conn, tenant_id)
    await conn.execute(
        """
        DELETE FROM near_duplicate
         WHERE (document_id = ANY(%(ids)s) OR other_id = ANY(%(ids)s)) AND is_duplicate IS NULL
        """,
        {"ids": list(document_ids)},
    )


async def compare_again(conn: Conn, document_id: UUID, *, tenant_id: UUID) -> None:
    """Find the pairs of a document that is back from the bin. The caller has locked it."""
    async with conn.cursor(row_factory=class_row(_StoredSignature)) as cur:
        await cur.execute(
            """
            SELECT document_id, document_type, facts, words, numbers
              FROM document_signature
             WHERE document_id = %(id)s
            """,
            {"id": document_id},
        )
        stored = await cur.fetchone()
    if stored is None:
        return
    cur = await conn.execute(
        "SELECT result_ingestion_id FROM document WHERE id = %(id)s", {"id": document_id}
    )
    row = await cur.fetchone()
    if row is not None and row[0] is not None:
        await register(conn, document_id, stored.signature, tenant_id=tenant_id, ingestion_id=row[0])


async def refresh(
    conn: Conn, document_id: UUID, facts: Mapping[str, str], *, tenant_id: UUID, ingestion_id: UUID
) -> None:
    """Compare the document again by values that a person has changed. The caller has locked it."""
    async with conn.cursor(row_factory=class_row(_StoredSignature)) as cur:
        await cur.execute(
            """
            SELECT document_id, document_type, facts, words, numbers
              FROM document_signature
             WHERE document_id = %(id)s AND facts <> %(facts)s
            """,
            {"id": document_id, "facts": Jsonb(storable_values(dict(facts)))},
        )
        stored = await cur.fetchone()
    if stored is not None:
        signature = replace(stored.signature, facts=facts)
        await register(conn, document_id, signature, tenant_id=tenant_id, ingestion_id=ingestion_id)


async def of_document(conn: Conn, document_id: UUID) -> list[NearDuplicate]:
    """The documents that seem to be the same, the earlier ones first."""
    async with conn.cursor(row_factory=class_row(NearDuplicate)) as cur:
        await cur.execute(
            """
            SELECT other.id AS document_id, coalesce(other.title, other.file_name) AS title, file_name, why,
                   pair.document_id = %(id)s AS is_earlier, is_duplicate
              FROM near_duplicate pair
              JOIN document other
                ON other.id = CASE pair.document_id WHEN %(id)s THEN pair.other_id ELSE pair.document_id END
             WHERE %(id)s IN (pair.document_id, pair.other_id)
             ORDER BY is_earlier DESC, other.id
            """,
            {"id": document_id},
        )
        return await cur.fetchall()


async def decide(
    conn: Conn, document_id: UUID, other_id: UUID, *, is_duplicate: bool | None, decided_by: UUID
) -> bool:
    """Keep a person's decision about two documents; None takes it back. False if they are no such pair."""
    cur = await conn.execute(
        """
        UPDATE near_duplicate
           SET is_duplicate = %(is_duplicate)s,
               decided_by = CASE WHEN %(is_duplicate)s::boolean IS NOT NULL THEN %(decided_by)s::uuid END,
               decided_at = CASE WHEN %(is_duplicate)s::boolean IS NOT NULL THEN clock_timestamp() END
         WHERE (document_id, other_id) IN ((%(one)s, %(other)s), (%(other)s, %(one)s))
        """,
        {"one": document_id, "other": other_id, "is_duplicate": is_duplicate, "decided_by": decided_by},
    )
    return cur.rowcount > 0


async def _lock_pairs(conn: Conn, tenant_id: UUID) -> None:
    """Keep the pairs of the tenant for this transaction."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended('near duplicates of ' || %(tenant_id)s::text, 0))",
        {"tenant_id": tenant_id},
    )


async def _candidates(conn: Conn, document_id: UUID, signature: Signature) -> list[_StoredSignature]:
    """The documents with the most common keys; no part of the document, and none that it is a part of."""
    async with conn.cursor(row_factory=class_row(_StoredSignature)) as cur:
        await cur.execute(
            """
            WITH shared AS (
                SELECT document_id, count(*) AS keys, bool_or(key = ANY(%(exact)s)) AS is_exact
                  FROM (SELECT document_id, key FROM signature_key
                         WHERE key = ANY(%(keys)s) AND document_id <> %(id)s
                         LIMIT %(rows)s) AS common
                 GROUP BY document_id
                 ORDER BY is_exact DESC, keys DESC, document_id DESC
                 LIMIT %(limit)s
            )
            SELECT document_id, document_signature.document_type, facts, document_signature.words, numbers
              FROM shared
              JOIN document_signature USING (document_id)
              JOIN document ON document.id = document_id  -- those in the bin are hidden
             WHERE NOT EXISTS (
                   SELECT FROM part
                    WHERE (parent_id = %(id)s AND child_id = document_id)
                       OR (parent_id = document_id AND child_id = %(id)s)
             )
            """,
            {
                "id": document_id,
                "keys": signature.keys,
                "exact": signature.exact_keys,
                "rows": _MOST_ROWS,
                "limit": MOST_CANDIDATES,
            },
        )
        return await cur.fetchall()


async def _keep(conn: Conn, document_id: UUID, signature: Signature, tenant_id: UUID) -> None:
    values: dict[str, Any] = {
        "id": document_id,
        "tenant_id": tenant_id,
        "document_type": signature.document_type,
        "facts": Jsonb(storable_values(dict(signature.facts))),
        "words": signature.words.astype("<u4").tobytes(),
        "numbers": signature.numbers.astype("<u4").tobytes(),
        "keys": signature.keys,
    }
    await conn.execute(
        """
        WITH kept AS (
            INSERT INTO document_signature (document_id, tenant_id, document_type, facts, words, numbers)
            VALUES (%(id)s, %(tenant_id)s, %(document_type)s, %(facts)s, %(words)s, %(numbers)s)
        )
        INSERT INTO signature_key (tenant_id, key, document_id)
        SELECT DISTINCT %(tenant_id)s::uuid, key, %(id)s::uuid FROM unnest(%(keys)s::bigint[]) AS key
        """,
        values,
    )


async def _keep_pairs(conn: Conn, document_id: UUID, matches: Mapping[UUID, str], tenant_id: UUID) -> None:
    """Make `matches` the pairs of the document; a pair about which a person decided stays as it is."""
    await conn.execute(
        """
        DELETE FROM near_duplicate
         WHERE (document_id = %(id)s AND other_id <> ALL(%(others)s)
                OR other_id = %(id)s AND document_id <> ALL(%(others)s))
           AND is_duplicate IS NULL
        """,
        {"id": document_id, "others": list(matches)},
    )
    if matches:
        await conn.execute(
            """
            INSERT INTO near_duplicate (tenant_id, document_id, other_id, why)
            SELECT %(tenant_id)s, %(id)s, match.id, match.why
              FROM unnest(%(others)s::uuid[], %(reasons)s::text[]) AS match (id, why)
             WHERE NOT EXISTS (
                   SELECT FROM near_duplicate
                    WHERE (document_id, other_id) IN ((%(id)s, match.id), (match.id, %(id)s))
             )
            """,
            {
                "tenant_id": tenant_id,
                "id": document_id,
                "others": list(matches),
                "reasons": list(matches.values()),
            },
        )
