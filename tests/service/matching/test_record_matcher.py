"""The matcher of the vault links the documents of a tenant, in whatever order they come."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from psycopg.types.json import Jsonb

from docmill.matching import match, records_of
from docmill.service.app import Service
from docmill.service.ports.matching import DocumentToMatch
from docmill.service.record_matcher import RecordMatcher
from docmill.service.store import tenants
from docmill.service.store.database import lock_file, new_id
from docmill.training.linked_documents.generator import generate_linked_documents
from docmill.training.linked_documents.seeds import made_up_seeds
from support.scripted_steps import once

Content = tuple[str, dict[str, Any]]

_PARTIES = {"seller": {"name": "Sommer GmbH"}, "buyer": {"name": "Kunde AG"}, "currency": "EUR"}
_TOTALS = {**_PARTIES, "net_total": "1000.00", "gross_total": "1190.00"}
ORDER: Content = ("purchase_order", {**_TOTALS, "number": "PO-4711", "issue_date": "2026-01-05"})
DELIVERY: Content = (
    "delivery_note",
    {**_PARTIES, "number": "LS-88123", "issue_date": "2026-01-12", "order_number": "PO-4711"},
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

    async def match(self, document_id: UUID) -> None:
        document = DocumentToMatch(document_id, self.tenant_id)
        await self.matcher.prepare(document)
        decision = await self.matcher.decide(document)
        async with self.service.database.tenant(self.tenant_id) as conn:
            await lock_file(conn, f"matches of {self.tenant_id}")
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


@pytest.fixture
def made(service: Service) -> Papers:
    return Papers(service, service.default_tenant_id)


async def add_chain(made: Papers, names: Iterable[str]) -> None:
    for name in names:
        await made.match(await made.add(name, CHAIN[name]))


async def test_documents_are_linked_when_the_last_of_them_comes(made: Papers) -> None:
    await add_chain(made, CHAIN)

    assert await made.links() == {
        ("order", "delivery"),
        ("order", "invoice"),
        ("delivery", "invoice"),
        ("invoice", "statement#2"),
    }
    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]


@pytest.mark.parametrize("order", list(permutations(CHAIN))[::5])
async def test_the_order_in_which_they_come_makes_no_difference(made: Papers, order: tuple[str, ...]) -> None:
    await add_chain(made, order)

    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]
    assert len(await made.links()) == 4


async def test_matching_at_the_same_time_gives_what_matching_one_by_one_gives(made: Papers) -> None:
    ids = [await made.add(name, content) for name, content in CHAIN.items()]

    await asyncio.gather(*map(made.match, ids))
    together = await made.links(), await made.clusters()
    for document_id in ids:
        await made.match(document_id)

    assert await made.clusters() == [{"order", "delivery", "invoice", "statement#2"}]
    assert together[0] <= await made.links()


async def test_matched_again_nothing_changes(made: Papers) -> None:
    await add_chain(made, CHAIN)
    before = await made.links(), await made.clusters()

    for document_id in made.names:
        await made.match(document_id)

    assert (await made.links(), await made.clusters()) == before


async def test_a_corrected_number_parts_documents_and_their_cluster(made: Papers) -> None:
    await add_chain(made, CHAIN)
    invoice = made.id_of("invoice")
    other = {
        **INVOICE[1],
        "number": "RE-2026-0999",
        "order_number": "PO-9999",
        "gross_total": "77.00",
        "net_total": "64.71",
    }

    await made.change(invoice, ("invoice", other))
    await made.match(invoice)

    assert await made.links() == {("order", "delivery")}
    assert await made.clusters() == [{"order", "delivery"}]


async def test_a_document_that_can_be_matched_no_more_has_no_links(made: Papers) -> None:
    await add_chain(made, CHAIN)
    invoice = made.id_of("invoice")

    await made.change(invoice, ("letter", {}))
    await made.match(invoice)

    assert await made.links() == {("order", "delivery")}
    assert await made.clusters() == [{"order", "delivery"}]


async def test_a_declined_pair_does_not_come_back(made: Papers) -> None:
    await add_chain(made, ("order", "invoice"))
    await made.say("declined", "order", "invoice")

    for name in ("invoice", "order"):
        await made.match(made.id_of(name))

    assert await made.links() == set()
    assert await made.clusters() == []


async def test_a_confirmed_pair_stays_together_whatever_it_says_later(made: Papers) -> None:
    await add_chain(made, ("order", "invoice"))
    await made.say("confirmed", "order", "invoice")
    unlike = {**_PARTIES, "number": "X-1", "issue_date": "2024-01-15"}

    await made.change(made.id_of("invoice"), ("invoice", unlike))
    await made.match(made.id_of("invoice"))

    assert await made.links() == {("order", "invoice")}
    assert await made.clusters() == [{"order", "invoice"}]


async def test_what_a_confirmed_pair_excludes_is_no_longer_linked(made: Papers) -> None:
    other_order = ("purchase_order", {**ORDER[1], "number": "PO-9", "issue_date": "2025-11-05"})
    await add_chain(made, ("order", "invoice"))
    assert await made.links() == {("order", "invoice")}
    other = await made.add("other order", other_order)

    await made.say("confirmed", "other order", "invoice")
    await made.match(other)

    assert await made.links() == {("other order", "invoice")}
    assert await made.clusters() == [{"other order", "invoice"}]


async def test_documents_of_another_organisation_are_never_candidates(made: Papers, service: Service) -> None:
    async with service.database.accounts() as conn:
        other_tenant = await tenants.add(conn, "Other")
    theirs = Papers(service, other_tenant)

    await add_chain(made, ("order", "delivery"))
    await add_chain(theirs, ("invoice", "statement"))

    assert await made.clusters() == [{"order", "delivery"}]
    assert await theirs.clusters() == [{"invoice", "statement#2"}]


async def test_the_vault_links_what_the_library_links(made: Papers) -> None:
    generated = generate_linked_documents(made_up_seeds(), seed=5, links=5, decoys_per_link=2).documents
    contents = {
        each.id: (each.document_type, each.data.model_dump(mode="json"), each.text) for each in generated
    }
    expected = match([record for id_, content in contents.items() for record in records_of(id_, *content)])

    for name, (document_type, data, text) in contents.items():
        document_id = await made.add(name, (document_type, data))
        async with made.service.database.tenant(made.tenant_id) as conn:
            await conn.execute("UPDATE document SET text = %s WHERE id = %s", [text, document_id])
        await made.match(document_id)

    assert {frozenset(link) for link in await made.links()} == {
        frozenset((link.first_id, link.second_id)) for link in expected.links if link.state == "automatic"
    }
    assert sorted(map(sorted, await made.clusters())) == sorted(map(sorted, expected.clusters))
