"""Questions to models about links: cached answers, what they cost, and what they say of pairs of records."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from docmill.matching.questions import Judgement
from docmill.model.document import Usage
from docmill.service.store.database import Conn, storable, storable_values


async def answer_to(conn: Conn, digest: str, *, tenant_id: UUID) -> dict[str, Any] | None:
    """The answer that was given to this question before."""
    cur = await conn.execute(
        "SELECT answer FROM match_question WHERE tenant_id = %(tenant_id)s AND digest = %(digest)s",
        {"tenant_id": tenant_id, "digest": digest},
    )
    row = await cur.fetchone()
    return row[0] if row else None


async def record(
    conn: Conn,
    digest: str,
    *,
    tenant_id: UUID,
    document_id: UUID,
    model: str,
    answer: Any,  # noqa: ANN401  JSON
    usage: Usage,
) -> None:
    """Record that a model was asked, and what that cost. answer: None if it gave no valid one."""
    await conn.execute(
        """
        INSERT INTO match_question AS question (tenant_id, digest, document_id, model, answer, input_tokens,
                                                output_tokens, cost)
        VALUES (%(tenant_id)s, %(digest)s, %(document_id)s, %(model)s, %(answer)s, %(input_tokens)s,
                %(output_tokens)s, %(cost)s)
            ON CONFLICT (tenant_id, digest) DO UPDATE
           SET answer = coalesce(excluded.answer, question.answer),
               input_tokens = question.input_tokens + excluded.input_tokens,
               output_tokens = question.output_tokens + excluded.output_tokens,
               cost = question.cost + excluded.cost,
               asked_at = clock_timestamp()
        """,
        {
            "tenant_id": tenant_id,
            "digest": digest,
            "document_id": document_id,
            "model": model,
            "answer": None if answer is None else Jsonb(storable_values(answer)),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": usage.cost,
        },
    )


async def cost_of(conn: Conn, document_id: UUID, *, tenant_id: UUID) -> Decimal:
    """What models have cost for a document, in US dollars: for its result, and for its links."""
    cur = await conn.execute(
        """
        SELECT coalesce((SELECT sum(cost) FROM match_question
                          WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s), 0)
               + coalesce((SELECT ingestion.cost
                             FROM document
                             JOIN ingestion ON ingestion.id = result_ingestion_id
                            WHERE document.id = %(document_id)s AND document.tenant_id = %(tenant_id)s), 0)
        """,
        {"tenant_id": tenant_id, "document_id": document_id},
    )
    (cost,) = await cur.fetchone() or (Decimal(0),)
    return cost


async def replace_judgements(
    conn: Conn, document_id: UUID, judgements: Sequence[Judgement], *, tenant_id: UUID
) -> None:
    """Store what was answered when it was asked about a document, instead of what was answered before."""
    await conn.execute(
        "DELETE FROM match_judgement WHERE tenant_id = %(tenant_id)s AND document_id = %(document_id)s",
        {"tenant_id": tenant_id, "document_id": document_id},
    )
    for judgement in judgements:
        await conn.execute(
            """
            INSERT INTO match_judgement (tenant_id, document_id, first_id, second_id, relation, digest,
                                         belongs, reason, model, is_suspicious)
            VALUES (%(tenant_id)s, %(document_id)s, %(first_id)s, %(second_id)s, %(relation)s, %(digest)s,
                    %(belongs)s, %(reason)s, %(model)s, %(is_suspicious)s)
                ON CONFLICT DO NOTHING
            """,
            {
                "tenant_id": tenant_id,
                "document_id": document_id,
                "first_id": judgement.first_id,
                "second_id": judgement.second_id,
                "relation": judgement.relation,
                "digest": judgement.digest,
                "belongs": judgement.belongs,
                "reason": storable(judgement.reason),
                "model": judgement.by,
                "is_suspicious": judgement.is_suspicious,
            },
        )


async def judgements_between(
    conn: Conn, ids: Collection[str], *, tenant_id: UUID, but_of: UUID | None = None
) -> list[Judgement]:
    """What was answered of pairs of these records. but_of: a document whose own questions are left out."""
    cur = await conn.execute(
        """
        SELECT first_id, second_id, relation, digest, belongs, reason, model, is_suspicious
          FROM match_judgement
         WHERE tenant_id = %(tenant_id)s AND first_id = ANY(%(ids)s) AND second_id = ANY(%(ids)s)
           AND document_id IS DISTINCT FROM %(but_of)s
         ORDER BY first_id, second_id, relation, document_id
        """,
        {"tenant_id": tenant_id, "ids": list(ids), "but_of": but_of},
    )
    return [Judgement(*row) for row in await cur.fetchall()]
