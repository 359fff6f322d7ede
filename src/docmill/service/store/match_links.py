"""Links between records as people see them: what the matcher found, under what people decided."""

import base64
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

from psycopg.rows import class_row
from pydantic import TypeAdapter, ValidationError

from docmill.matching.outcome import Link, Reason
from docmill.service.store.database import Conn
from docmill.service.store.match_decisions import Decision, Pair

Status = Literal["automatic", "suggested", "outranked", "confirmed", "declined"]
"""Of a link: what a person decided, else the matcher's state."""

LEAST_DIGITS = 4
"""Of the beginning of an id, so that a slip of the finger hits no link; as git has it."""
_DIGITS = 32
_REASONS = TypeAdapter(tuple[Reason, ...])


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link between two records. state, score, reasons: of the matcher, null where it found none."""

    first_id: str
    second_id: str
    relation: str
    state: Literal["automatic", "suggested", "outranked"] | None
    score: float | None
    reasons: list[dict[str, Any]] | None
    decision: Decision | None
    decided_by: UUID | None
    decided_at: datetime | None
    created_at: datetime

    @property
    def pair(self) -> Pair:
        """The records with their relation."""
        return Pair(self.first_id, self.second_id, self.relation)

    @property
    def status(self) -> Status:
        """What a person decided, else the matcher's state."""
        return self.decision or self.state or "outranked"

    @property
    def is_active(self) -> bool:
        """Whether the records belong together, as far as is known."""
        return self.status in ("automatic", "confirmed")

    @property
    def link(self) -> Link:
        """The link as matching knows it."""
        return Link(
            self.first_id,
            self.second_id,
            self.relation,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  or `related`, which has no discrepancies
            1.0 if self.score is None else self.score,
            "automatic",
            _REASONS.validate_python(self.reasons or ()),
        )


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """What tells a linked document from others."""

    id: UUID
    title: str
    document_type: str | None
    document_date: date | None


@dataclass(frozen=True, slots=True)
class LinkCursor:
    """A place in the list of links: the score and id of the last link before it."""

    score: float
    id: UUID

    @classmethod
    def parse(cls, text: str) -> "LinkCursor | None":
        """The place that a text names; None if it names none."""
        try:
            return TypeAdapter(cls).validate_python(json.loads(base64.urlsafe_b64decode(text)))
        except (ValueError, TypeError, ValidationError):
            return None

    @property
    def text(self) -> str:
        """The place as a part of an address."""
        return base64.urlsafe_b64encode(
            json.dumps({"score": self.score, "id": str(self.id)}).encode()
        ).decode()


def ids_beginning_with(text: str) -> tuple[UUID, UUID] | None:
    """The first and last id that begin with some hexadecimal digits; None if there are too few or others."""
    digits = text.replace("-", "").lower()
    if not LEAST_DIGITS <= len(digits) <= _DIGITS or not set(digits) <= set("0123456789abcdef"):
        return None
    return UUID(f"{digits:0<{_DIGITS}}"), UUID(f"{digits:f<{_DIGITS}}")


async def touching(conn: Conn, ids: Collection[str], *, tenant_id: UUID) -> list[LinkRow]:
    """The links of records, the likeliest first. Those to deleted documents are left out."""
    async with conn.cursor(row_factory=class_row(LinkRow)) as cur:
        await cur.execute(
            """
            WITH touched AS (
                SELECT first_id, second_id, relation, one.document_id AS first_document_id,
                       other.document_id AS second_document_id
                  FROM match_edge
                  JOIN match_record AS one ON one.id = first_id
                  JOIN match_record AS other ON other.id = second_id
                 WHERE match_edge.tenant_id = %(tenant_id)s
                   AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
                   AND state IS NOT NULL
                 UNION
                SELECT first_id, second_id, relation, first_document_id, second_document_id
                  FROM match_decision
                 WHERE tenant_id = %(tenant_id)s
                   AND (first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
            )
            SELECT touched.first_id, touched.second_id, touched.relation, edge.state, edge.score,
                   edge.reasons, held.decision, held.decided_by, held.decided_at,
                   coalesce(edge.created_at, held.decided_at) AS created_at
              FROM touched
              JOIN document AS one ON one.id = touched.first_document_id
              JOIN document AS other ON other.id = touched.second_document_id
              LEFT JOIN match_edge AS edge
                     ON edge.tenant_id = %(tenant_id)s AND edge.first_id = touched.first_id
                    AND edge.second_id = touched.second_id AND edge.relation = touched.relation
              LEFT JOIN match_decision AS held
                     ON held.tenant_id = %(tenant_id)s AND held.first_id = touched.first_id
                    AND held.second_id = touched.second_id AND held.relation = touched.relation
             ORDER BY coalesce(edge.score, 1) DESC, touched.first_id, touched.second_id, touched.relation
            """,
            {"tenant_id": tenant_id, "ids": sorted(ids)},
        )
        return await cur.fetchall()


async def page(
    conn: Conn,
    *,
    tenant_id: UUID,
    status: Status | None = None,
    relation: str | None = None,
    ids: Collection[str] | None = None,
    between: tuple[UUID, UUID] | None = None,
    after: LinkCursor | None = None,
    limit: int = 50,
) -> list[LinkRow]:
    """Up to `limit` links of the tenant, the likeliest first; those by hand alone have the score 1.

    ids: only links of these records. between: the first and last id of the links.
    """
    is_decision = status in ("confirmed", "declined")
    async with conn.cursor(row_factory=class_row(LinkRow)) as cur:
        await cur.execute(
            """
            SELECT first_id, second_id, relation, state, score, reasons, decision, decided_by, decided_at,
                   created_at
              FROM (
                   (SELECT edge.id, first_id, second_id, relation, edge.state, edge.score, edge.reasons,
                           held.decision, held.decided_by, held.decided_at, edge.created_at,
                           edge.score AS place
                      FROM match_edge AS edge
                      LEFT JOIN match_decision AS held USING (tenant_id, first_id, second_id, relation)
                      JOIN match_record AS first_record ON first_record.id = first_id
                      JOIN match_record AS second_record ON second_record.id = second_id
                      JOIN document AS one ON one.id = first_record.document_id
                      JOIN document AS other ON other.id = second_record.document_id
                     WHERE edge.tenant_id = %(tenant_id)s AND edge.state IS NOT NULL
                       AND (%(state)s::text IS NULL OR edge.state = %(state)s AND held.decision IS NULL)
                       AND (%(decision)s::text IS NULL OR held.decision = %(decision)s)
                       AND (%(relation)s::text IS NULL OR relation = %(relation)s)
                       AND (%(ids)s::text[] IS NULL OR first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
                       AND (%(first)s::uuid IS NULL OR edge.id BETWEEN %(first)s AND %(last)s)
                       AND (%(score)s::float8 IS NULL OR (edge.score, edge.id) < (%(score)s, %(after)s))
                     ORDER BY edge.score DESC, edge.id DESC
                     LIMIT %(limit)s)
                    UNION ALL
                   (SELECT held.id, first_id, second_id, relation, NULL, NULL, NULL, held.decision,
                           held.decided_by, held.decided_at, held.decided_at, 1
                      FROM match_decision AS held
                      LEFT JOIN match_edge AS edge USING (tenant_id, first_id, second_id, relation)
                      JOIN document AS one ON one.id = first_document_id
                      JOIN document AS other ON other.id = second_document_id
                     WHERE held.tenant_id = %(tenant_id)s AND edge.state IS NULL
                       AND %(state)s::text IS NULL
                       AND (%(decision)s::text IS NULL OR held.decision = %(decision)s)
                       AND (%(relation)s::text IS NULL OR relation = %(relation)s)
                       AND (%(ids)s::text[] IS NULL OR first_id = ANY(%(ids)s) OR second_id = ANY(%(ids)s))
                       AND (%(first)s::uuid IS NULL OR held.id BETWEEN %(first)s AND %(last)s)
                       AND (%(score)s::float8 IS NULL OR (1, held.id) < (%(score)s, %(after)s))
                     ORDER BY held.id DESC
                     LIMIT %(limit)s)
              ) AS listed
             ORDER BY place DESC, id DESC
             LIMIT %(limit)s
            """,
            {
                "tenant_id": tenant_id,
                "state": None if is_decision else status,
                "decision": status if is_decision else None,
                "relation": relation,
                "ids": None if ids is None else list(ids),
                "first": between and between[0],
                "last": between and between[1],
                "score": after and after.score,
                "after": after and after.id,
                "limit": limit,
            },
        )
        return await cur.fetchall()


async def count_suggested(conn: Conn, *, tenant_id: UUID, most: int) -> int:
    """The number of links that a person should decide about, at most `most`."""
    cur = await conn.execute(
        """
        SELECT count(*)
          FROM (SELECT 1
                  FROM match_edge AS edge
                  LEFT JOIN match_decision AS held USING (tenant_id, first_id, second_id, relation)
                  JOIN match_record AS first_record ON first_record.id = first_id
                  JOIN match_record AS second_record ON second_record.id = second_id
                  JOIN document AS one ON one.id = first_record.document_id
                  JOIN document AS other ON other.id = second_record.document_id
                 WHERE edge.tenant_id = %(tenant_id)s AND edge.state = 'suggested'
                   AND held.decision IS NULL
                 LIMIT %(most)s) AS counted
        """,
        {"tenant_id": tenant_id, "most": most},
    )
    (number,) = await cur.fetchone() or (0,)
    return number


async def record_ids(conn: Conn, document_ids: Collection[UUID], *, tenant_id: UUID) -> list[str]:
    """The ids of the records of documents."""
    cur = await conn.execute(
        """
        SELECT match_record.id
          FROM match_record
          JOIN document ON document.id = document_id
         WHERE match_record.tenant_id = %(tenant_id)s AND document_id = ANY(%(ids)s) AND NOT is_gone
         ORDER BY match_record.id
        """,
        {"tenant_id": tenant_id, "ids": list(document_ids)},
    )
    return [id_ for (id_,) in await cur.fetchall()]


async def cluster_members(
    conn: Conn, ids: Collection[str], *, tenant_id: UUID
) -> Mapping[str, frozenset[str]]:
    """The ids of all records in the cluster of each record; records without a cluster are left out."""
    cur = await conn.execute(
        """
        SELECT own.id, array_agg(member.id)
          FROM match_record AS own
          JOIN match_record AS member USING (tenant_id, cluster_id)
         WHERE tenant_id = %(tenant_id)s AND own.id = ANY(%(ids)s)
         GROUP BY own.id
        """,
        {"tenant_id": tenant_id, "ids": list(ids)},
    )
    return {id_: frozenset(members) for id_, members in await cur.fetchall()}


async def documents(conn: Conn, ids: Collection[UUID]) -> dict[UUID, DocumentSummary]:
    """What tells documents from others, by id, without deleted ones."""
    async with conn.cursor(row_factory=class_row(DocumentSummary)) as cur:
        await cur.execute(
            """
            SELECT id, coalesce(title, file_name) AS title, document_type, document_date
              FROM document
             WHERE id = ANY(%(ids)s)
            """,
            {"ids": list(ids)},
        )
        return {row.id: row for row in await cur.fetchall()}
