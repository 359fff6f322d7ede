"""Documents of a tenant, whose values are known, matched without a queue, and what people decide."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from docmill.service.app import Service
from docmill.service.ports.matching import DocumentToMatch, Matcher
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store.database import lock_matches, new_id
from support.scripted_steps import once


@dataclass(frozen=True)
class StoredLink:
    """A link as the database holds it, with the names of its records."""

    state: str | None
    score: float | None
    codes: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass
class DecidedPapers:
    """Documents by names. matcher: None for the one of the vault."""

    service: Service
    tenant_id: UUID
    matcher: Matcher[Any] | None = None
    ids: dict[str, UUID] = field(default_factory=dict[str, UUID])

    async def add(self, name: str, document_type: str, **values: object) -> UUID:
        """A document with these values, which is not matched yet."""
        content = once(f"{name} {self.tenant_id}".encode())
        accepted = await self.service.intake.accept(content, tenant_id=self.tenant_id, file_name=name)
        self.ids[name] = accepted.document_id
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute(
                """
                UPDATE document SET document_type = %s, structured_data = %s, result_ingestion_id = %s
                 WHERE id = %s
                """,
                [document_type, Jsonb(values), accepted.ingestion_id, accepted.document_id],
            )
        return accepted.document_id

    async def match(self, *names: str) -> None:
        """Match documents, one after the other."""
        matcher = self.matcher or RecordMatcher(self.service.database)
        for name in names:
            document = DocumentToMatch(self.ids[name], self.tenant_id)
            await matcher.prepare(document)
            decision = await matcher.decide(document)
            async with self.service.database.tenant(self.tenant_id) as conn:
                await lock_matches(conn, self.tenant_id)
                await matcher.write(conn, document, decision)

    async def decide(self, first: str, second: str, relation: str, decision: str | None) -> None:
        """Store what a person says of two records; None: it is taken back. `name#2` is the second payment."""
        first_id, second_id = self.record_id(first), self.record_id(second)
        values = {
            "tenant_id": self.tenant_id,
            "first_id": first_id,
            "second_id": second_id,
            "relation": relation,
            "decision": decision,
            "id": new_id(),
            "first": first_id.partition("#")[0],
            "second": second_id.partition("#")[0],
        }
        async with self.service.database.tenant(self.tenant_id) as conn:
            if decision is None:
                await conn.execute(
                    """
                    DELETE FROM match_decision
                     WHERE first_id = %(first_id)s AND second_id = %(second_id)s AND relation = %(relation)s
                    """,
                    values,
                )
                return
            await conn.execute(
                """
                INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id,
                                            second_id, relation, decision)
                VALUES (%(id)s, %(tenant_id)s, %(first)s, %(second)s, %(first_id)s, %(second_id)s,
                        %(relation)s, %(decision)s)
                    ON CONFLICT (tenant_id, first_id, second_id, relation) DO UPDATE
                   SET decision = excluded.decision, decided_at = excluded.decided_at
                """,
                values,
            )

    async def link(self, first: str, second: str) -> StoredLink | None:
        """What the matcher found of two records; None if it did not compare them."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute(
                "SELECT state, score, reasons FROM match_edge WHERE first_id = %s AND second_id = %s",
                [self.record_id(first), self.record_id(second)],
            )
            row = await cur.fetchone()
        if row is None:
            return None
        state, score, reasons = row
        texts = (" ".join(reason["values"].values()) for reason in reasons)
        return StoredLink(state, score, tuple(reason["code"] for reason in reasons), tuple(texts))

    def record_id(self, name: str) -> str:
        """The id of a record: `name` or `name#2`."""
        document, mark, number = name.partition("#")
        return f"{self.ids[document]}{mark}{number}"
