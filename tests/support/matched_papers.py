"""Documents whose values are known, and their matching without a queue."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from docmill.service.app import Service
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.record_matcher import RecordMatcher, decide_around
from docmill.service.store.database import lock_matches, new_id
from support.scripted_steps import once

Content = tuple[str, dict[str, Any]]

PARTIES = {"seller": {"name": "Sommer GmbH"}, "buyer": {"name": "Kunde AG"}, "currency": "EUR"}
_TOTALS = {**PARTIES, "net_total": "1000.00", "gross_total": "1190.00"}
ORDER: Content = ("purchase_order", {**_TOTALS, "number": "PO-4711", "issue_date": "2026-01-05"})
DELIVERY: Content = (
    "delivery_note",
    {**PARTIES, "number": "LS-88123", "issue_date": "2026-01-12", "order_number": "PO-4711"},
)
INVOICE: Content = (
    "invoice",
    {**_TOTALS, "number": "RE-2026-0815", "issue_date": "2026-01-15", "order_number": "PO-4711"},
)
STATEMENT: Content = (
    "bank_statement",
    {
        "iban": "AT611904300234573201",
        "currency": "EUR",
        "transactions": [
            {
                "date": "2026-01-20",
                "amount": "-50.00",
                "counterparty": "Stadtwerke",
                "description": "Abschlag",
            },
            {
                "date": "2026-01-30",
                "amount": "-1190.00",
                "counterparty": "SOMMER",
                "description": "RE-2026-0815",
            },
        ],
    },
)
CHAIN: Mapping[str, Content] = {
    "order": ORDER,
    "delivery": DELIVERY,
    "invoice": INVOICE,
    "statement": STATEMENT,
}


@dataclass
class Papers:
    """Documents whose values are known, and their matching without a queue."""

    service: Service
    tenant_id: UUID
    names: dict[UUID, str] = field(default_factory=dict[UUID, str])

    @property
    def matcher(self) -> RecordMatcher:
        return RecordMatcher(self.service.database)

    async def add(self, name: str, content: Content) -> UUID:
        accepted = await self.service.intake.accept(
            once(f"{name} {self.tenant_id}".encode()), tenant_id=self.tenant_id, file_name=name
        )
        self.names[accepted.document_id] = name
        await self.change(accepted.document_id, content)
        return accepted.document_id

    async def change(self, document_id: UUID, content: Content) -> None:
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute(
                "UPDATE document SET document_type = %s, structured_data = %s WHERE id = %s",
                [content[0], Jsonb(content[1]), document_id],
            )

    async def read(self, name: str, content: Content, *, title: str) -> UUID:
        """Add a document whose processing has ended, and match it."""
        document_id = await self.add(name, content)
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), started_at = created_at,
                       structured_data = %(data)s, valid_structured_data = true, attempt_count = 1,
                       classification = %(classification)s
                 WHERE document_id = %(id)s
                """,
                {
                    "data": Jsonb(content[1]),
                    "classification": Jsonb(
                        {
                            "document_type": content[0],
                            "title": title,
                            "document_date": content[1].get("issue_date"),
                        }
                    ),
                    "id": document_id,
                },
            )
        await self.match(document_id)
        return document_id

    async def match(self, document_id: UUID) -> None:
        document = DocumentToMatch(document_id, self.tenant_id)
        await self.matcher.prepare(document)
        decision = await self.matcher.decide(document)
        async with self.service.database.tenant(self.tenant_id) as conn:
            await lock_matches(conn, self.tenant_id)
            await self.matcher.write(conn, document, decision)

    async def links(self, state: str = "automatic") -> set[tuple[str, str]]:
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute("SELECT first_id, second_id FROM match_edge WHERE state = %s", [state])
            return {(self._name(first), self._name(second)) for first, second in await cur.fetchall()}

    async def clusters(self) -> list[set[str]]:
        """The records that share a cluster, by the names of their documents."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute(
                "SELECT array_agg(id) FROM match_record WHERE cluster_id IS NOT NULL GROUP BY cluster_id"
            )
            return [{self._name(id_) for id_ in ids} for (ids,) in await cur.fetchall()]

    def id_of(self, name: str) -> UUID:
        return next(id_ for id_, own_name in self.names.items() if own_name == name)

    async def chain(self, names: Iterable[str] = ()) -> None:
        """Add documents of `CHAIN` by name, all of them unless told, and match each when it comes."""
        for name in names or CHAIN:
            await self.match(await self.add(name, CHAIN[name]))

    async def suggest(self, first: str, second: str, *, log_odds: float = 0.5) -> None:
        """Have the matcher be in doubt about two documents, as it is where less speaks for a link."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            await lock_matches(conn, self.tenant_id)
            cur = await conn.execute(
                """
                UPDATE match_edge
                   SET pair = jsonb_set(pair, '{log_odds}', to_jsonb(%(log_odds)s::float8)), is_likely = true
                 WHERE first_id = %(first_id)s AND second_id = %(second_id)s
                """,
                {
                    "first_id": str(self.id_of(first)),
                    "second_id": str(self.id_of(second)),
                    "log_odds": log_odds,
                },
            )
            assert cur.rowcount == 1
            await decide_around(conn, {str(self.id_of(first))}, tenant_id=self.tenant_id)

    async def say(self, decision: str, first: str, second: str) -> None:
        """Store what a person says of an order and its invoice."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute(
                """
                INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id,
                                            second_id, relation, decision)
                VALUES (%(id)s, %(tenant_id)s, %(first)s, %(second)s, %(first)s::text, %(second)s::text,
                        'order_to_invoice', %(decision)s)
                """,
                {
                    "id": new_id(),
                    "tenant_id": self.tenant_id,
                    "first": self.id_of(first),
                    "second": self.id_of(second),
                    "decision": decision,
                },
            )

    def _name(self, id_: str) -> str:
        document_id, _, number = id_.partition("#")
        return f"{self.names[UUID(document_id)]}{'#' * bool(number)}{number}"
