"""Vectors of documents and tags, the jobs that make them, and the documents nearest to a vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
from psycopg.rows import class_row

from docmill.service.store.database import Conn

Vector = np.ndarray[Any, np.dtype[np.float32]]

_STORED = np.dtype("<f2")
_COMPARED = 20_000
"""Documents whose vectors are compared, the newest, if the database has no index of vectors."""
_OF_NEAREST = 0.6
"""Documents must be at least this share as near as the nearest. Of 25 questions about real papers it left 23
documents of 88, and nDCG@10 at .42 of .44."""
_NEAR = 0.3
"""Documents with this cosine are near, whatever the nearest is: one with only the query's words has 1."""
_TAGS = 5_000
_OF_TAGS = 100
"""Documents that are taken for tags near to a vector."""
_TEXT = 20_000
"""Characters; more of a text changes its vector little."""


@dataclass(frozen=True, slots=True)
class Job:
    """An embedding to be made: of a document with its tags, or of a tag. requested_at: last."""

    key: str
    tenant_id: UUID
    document_id: UUID | None
    tag_id: UUID | None
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class DocumentToEmbed:
    """The texts of a document that its vector is made of."""

    id: UUID
    title: str | None
    document_type: str | None
    summary: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class TagToEmbed:
    """A tag's name."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Near:
    """The vector of a query. least, least_of_tag: the least cosine of a document, and of a tag's name."""

    vector: Vector
    model: str
    least: float
    least_of_tag: float


async def take_jobs(conn: Conn, *, limit: int) -> list[Job]:
    """Take up to `limit` jobs, the oldest. Those that do not end may be taken again after an hour."""
    async with conn.cursor(row_factory=class_row(Job)) as cur:
        await cur.execute(
            """
            UPDATE embedding_job
               SET taken_at = clock_timestamp()
             WHERE key IN (SELECT key
                             FROM embedding_job
                            WHERE taken_at IS NULL OR taken_at <= now() - interval '1 hour'
                            ORDER BY requested_at
                            LIMIT %(limit)s
                              FOR UPDATE SKIP LOCKED)
            RETURNING key, tenant_id, document_id, tag_id, requested_at
            """,
            {"limit": limit},
        )
        return await cur.fetchall()


async def end_jobs(conn: Conn, jobs: Sequence[Job]) -> None:
    """Remove jobs that are done. One that has been asked for again meanwhile stays."""
    await conn.execute(
        """
        DELETE FROM embedding_job
         USING unnest(%(keys)s::text[], %(requested)s::timestamptz[]) AS done (key, requested_at)
         WHERE embedding_job.key = done.key AND embedding_job.requested_at = done.requested_at
        """,
        {"keys": [job.key for job in jobs], "requested": [job.requested_at for job in jobs]},
    )


async def ask_for_missing(conn: Conn, model: str, *, limit: int) -> int:
    """Ask for embeddings of all tenants that are missing or of another model; how many were asked for."""
    cur = await conn.execute("SELECT ask_for_embeddings(%s, %s)", [model, limit])
    (asked,) = await cur.fetchone() or (0,)
    return asked


async def documents_to_embed(conn: Conn, ids: Sequence[UUID]) -> list[DocumentToEmbed]:
    """Those of the tenant's documents that have a title or a text."""
    async with conn.cursor(row_factory=class_row(DocumentToEmbed)) as cur:
        await cur.execute(
            """
            SELECT id, title, document_type, summary, left(text, %(most)s) AS text
              FROM document
             WHERE id = ANY(%(ids)s) AND (title IS NOT NULL OR text IS NOT NULL)
            """,
            {"ids": list(ids), "most": _TEXT},
        )
        return await cur.fetchall()


async def tags_to_embed(
    conn: Conn, tag_ids: Sequence[UUID], document_ids: Sequence[UUID], *, model: str
) -> list[TagToEmbed]:
    """The tags, and those of the documents that have no embedding of this model."""
    async with conn.cursor(row_factory=class_row(TagToEmbed)) as cur:
        await cur.execute(
            """
            SELECT id, name
              FROM tag
             WHERE id = ANY(%(tag_ids)s)
                OR id IN (SELECT tag_id FROM tag_assignment WHERE document_id = ANY(%(document_ids)s))
                   AND NOT EXISTS (SELECT FROM tag_embedding WHERE tag_id = tag.id AND model = %(model)s)
            """,
            {"tag_ids": list(tag_ids), "document_ids": list(document_ids), "model": model},
        )
        return await cur.fetchall()


async def has_index(conn: Conn) -> bool:
    """True if the database finds the nearest vectors by an index, see `prepare_vectors` of the schema."""
    cur = await conn.execute(
        """
        SELECT EXISTS (SELECT FROM pg_attribute
                        WHERE attrelid = 'document_embedding'::regclass AND attname = 'embedding')
        """
    )
    (has,) = await cur.fetchone() or (False,)
    return has


async def put_documents(
    conn: Conn, vectors: Sequence[tuple[UUID, Vector]], *, tenant_id: UUID, model: str
) -> None:
    """Store the vectors of documents; those that are gone meanwhile are left out."""
    indexed = await has_index(conn)
    column: LiteralString = ", embedding" if indexed else ""
    value: LiteralString = ", %(embedding)s::halfvec" if indexed else ""
    update: LiteralString = ", embedding = excluded.embedding" if indexed else ""
    await _put(
        conn,
        "INSERT INTO document_embedding (document_id, tenant_id, model, vector"  # noqa: S608  literals of this module
        + column
        + ") SELECT id, tenant_id, %(model)s, %(vector)s"
        + value
        + """
          FROM document WHERE id = %(id)s
            ON CONFLICT (document_id) DO UPDATE
           SET model = excluded.model, vector = excluded.vector, made_at = excluded.made_at
        """
        + update,
        vectors,
        tenant_id=tenant_id,
        model=model,
    )


async def put_tags(
    conn: Conn, vectors: Sequence[tuple[UUID, Vector]], *, tenant_id: UUID, model: str
) -> None:
    """Store the vectors of tags; those that are gone meanwhile are left out."""
    await _put(
        conn,
        """
        INSERT INTO tag_embedding (tag_id, tenant_id, model, vector)
        SELECT id, tenant_id, %(model)s, %(vector)s FROM tag WHERE id = %(id)s
            ON CONFLICT (tag_id) DO UPDATE
           SET model = excluded.model, vector = excluded.vector, made_at = excluded.made_at
        """,
        vectors,
        tenant_id=tenant_id,
        model=model,
    )


async def _put(
    conn: Conn,
    statement: LiteralString,
    vectors: Sequence[tuple[UUID, Vector]],
    *,
    tenant_id: UUID,
    model: str,
) -> None:
    async with conn.cursor() as cur:
        await cur.executemany(
            statement,
            [
                {
                    "id": id_,
                    "tenant": tenant_id,
                    "model": model,
                    "vector": vector.astype(_STORED).tobytes(),
                    "embedding": _literal(vector),
                }
                for id_, vector in sorted(vectors, key=lambda pair: pair[0])
            ],
        )


async def nearest_documents(
    conn: Conn, near: Near, found: LiteralString, values: dict[str, Any], *, limit: int
) -> list[UUID]:
    """Up to `limit` documents near to a vector, the nearest first.

    found, values: the tables and conditions of documents that come into question, from `FROM document` on.
    Without an index the newest documents alone are compared.
    """
    values = values | {"model": near.model, "near": _literal(near.vector), "limit": limit}
    found = found.replace(
        " FROM document",
        " FROM document_embedding JOIN document ON document.id = document_embedding.document_id",
        1,
    )
    found += " AND document_embedding.model = %(model)s"
    if await has_index(conn):
        # Else the conditions are checked of what the index gives first, which may all be of other tenants.
        await conn.execute("SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)")
        cur = await conn.execute(
            "SELECT document.id, 1 - (embedding <=> %(near)s::halfvec)"
            + found
            + " ORDER BY embedding <=> %(near)s::halfvec LIMIT %(limit)s",
            values,
        )
        rows: list[tuple[UUID, float]] = await cur.fetchall()
        return _near_enough(sorted(rows, key=lambda row: -row[1]), near.least)
    cur = await conn.execute(
        "SELECT document.id, vector"
        + found
        + " ORDER BY document_embedding.document_id DESC LIMIT %(compared)s",
        values | {"compared": _COMPARED},
        binary=True,
    )
    return _near_enough(_nearest(await cur.fetchall(), near.vector), near.least)[:limit]


async def documents_of_near_tags(
    conn: Conn, near: Near, found: LiteralString, values: dict[str, Any]
) -> list[UUID]:
    """The newest documents with a tag whose name is near to a vector, the nearest tag first."""
    cur = await conn.execute(
        """
        SELECT tag_id, vector
          FROM tag_embedding JOIN tag ON tag.id = tag_id
         WHERE model = %(model)s AND removed_at IS NULL
         LIMIT %(limit)s
        """,
        {"model": near.model, "limit": _TAGS},
        binary=True,
    )
    nearest = _nearest(await cur.fetchall(), near.vector)
    tag_ids = [tag_id for tag_id, similarity in nearest if similarity >= near.least_of_tag]
    if not tag_ids:
        return []
    cur = await conn.execute(
        "SELECT document.id"  # noqa: S608  literals of this module
        + found.replace(
            " FROM document", " FROM tag_assignment JOIN document ON document.id = document_id", 1
        )
        + """
           AND tag_id = ANY(%(near_tags)s) AND NOT is_removed
         ORDER BY array_position(%(near_tags)s, tag_id), document.id DESC
         LIMIT %(limit)s
        """,
        values | {"near_tags": tag_ids, "limit": _OF_TAGS},
    )
    return list(dict.fromkeys(document_id for (document_id,) in await cur.fetchall()))


def _near_enough(nearest: Sequence[tuple[UUID, float]], least: float) -> list[UUID]:
    """The ids of documents of which the first is the nearest, without those that are far from it."""
    best = nearest[0][1] if nearest else 0.0
    enough = max(least, min(_OF_NEAREST * best, _NEAR))
    return [each for each, similarity in nearest if similarity >= enough]


def _nearest(rows: Sequence[tuple[UUID, bytes]], vector: Vector) -> list[tuple[UUID, float]]:
    """The ids of vectors, each with its cosine to one, the nearest first."""
    if not rows:
        return []
    stored = np.frombuffer(b"".join(raw for _, raw in rows), _STORED).reshape(len(rows), -1)
    similarities = stored.astype(np.float32) @ vector
    return [(rows[index][0], float(similarities[index])) for index in np.argsort(-similarities)]


def _literal(vector: Vector) -> str:
    """As pgvector reads it."""
    return "[" + ",".join(f"{number:.5f}" for number in vector) + "]"
