"""What depends on a document is decided again when it goes to the bin, comes back, or is removed for good."""

import random
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from docmill.service.app import Service
from docmill.service.store.database import DEFAULT_USER_ID
from support.generated_vaults import Decided, GeneratedVault, decisions_about
from support.matched_papers import INVOICE, ORDER, PARTIES, STATEMENT, Content, Papers

TRANSFER: Mapping[str, Any] = STATEMENT[1]["transactions"][1]
AS_CSV: Content = ("bank_statement", {**STATEMENT[1], "transactions": [TRANSFER]})
AS_PDF: Content = (
    "bank_statement",
    {**STATEMENT[1], "transactions": [{**TRANSFER, "description": "Rechnung RE-2026-0815"}]},
)


class VaultWithBin(Papers):
    """Documents that can be deleted and restored; what is asked for is matched, as by a worker."""

    async def delete(self, name: str) -> None:
        await self.service.bin.delete(self.id_of(name), tenant_id=self.tenant_id, deleted_by=DEFAULT_USER_ID)
        await self.match_requested()

    async def restore(self, name: str) -> None:
        await self.service.bin.restore(self.id_of(name), tenant_id=self.tenant_id)
        await self.match_requested()

    async def match_requested(self) -> None:
        for document_id in await self.requested():
            await self.match(document_id)
        async with self.service.database.tenant(self.tenant_id) as conn:
            await conn.execute("DELETE FROM matching_job")

    async def requested(self) -> list[UUID]:
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute("SELECT document_id FROM matching_job ORDER BY document_id")
            return [document_id for (document_id,) in await cur.fetchall()]

    async def seen_links(self) -> set[tuple[str, str]]:
        """The automatic links of documents that are not in the bin."""
        async with self.service.database.tenant(self.tenant_id) as conn:
            cur = await conn.execute("SELECT id::text FROM document")
            there = {self._name(id_) for (id_,) in await cur.fetchall()}
        return {link for link in await self.links() if {end.partition("#")[0] for end in link} <= there}


@pytest.fixture
def vault(service: Service) -> VaultWithBin:
    return VaultWithBin(service, service.default_tenant_id)


async def read_statement_twice(vault: VaultWithBin) -> None:
    await vault.read("invoice", INVOICE, title="Invoice")
    await vault.read("csv", AS_CSV, title="CSV")
    await vault.read("pdf", AS_PDF, title="PDF")


async def test_the_other_copy_of_a_statement_is_linked_when_the_linked_one_is_deleted(
    vault: VaultWithBin,
) -> None:
    await read_statement_twice(vault)
    before = await vault.links()

    await vault.delete("csv")
    without = await vault.seen_links()
    await vault.restore("csv")

    assert before == {("invoice", "csv#1"), ("csv#1", "pdf#1")}
    assert without == {("invoice", "pdf#1")}
    assert await vault.links() == before


async def test_the_other_copy_of_a_statement_is_linked_when_the_linked_one_was_removed_at_once(
    vault: VaultWithBin,
) -> None:
    await read_statement_twice(vault)

    await vault.service.bin.delete(vault.id_of("csv"), tenant_id=vault.tenant_id, deleted_by=DEFAULT_USER_ID)
    await vault.service.bin.remove(vault.id_of("csv"), tenant_id=vault.tenant_id)
    await vault.match_requested()

    assert await vault.links() == {("invoice", "pdf#1")}


COPY: Content = ("invoice", {**INVOICE[1], "issue_date": "2026-01-14"})


async def test_a_payment_that_two_invoices_claim_is_linked_when_one_of_them_is_deleted(
    vault: VaultWithBin,
) -> None:
    await vault.read("statement", AS_CSV, title="Statement")
    await vault.read("invoice", INVOICE, title="Invoice")
    await vault.read("copy", COPY, title="Copy")
    before = await vault.links()

    await vault.delete("copy")
    without = await vault.seen_links()
    await vault.restore("copy")

    assert before == set()
    assert without == {("invoice", "statement#1")}
    assert await vault.links() == before


async def test_documents_that_only_a_deleted_one_connected_share_no_cluster(vault: VaultWithBin) -> None:
    """People linked it with both, which is kept for when it comes back."""
    await vault.read("order", ORDER, title="Order")
    await vault.read("invoice", INVOICE, title="Invoice")
    unlike = ("invoice", {**PARTIES, "number": "X-1", "issue_date": "2024-01-15"})
    await vault.read("other", unlike, title="Other")
    for name in ("invoice", "other"):
        await vault.say("confirmed", "order", name)
    await vault.match(vault.id_of("order"))
    before = await vault.clusters()

    await vault.delete("order")
    without = await vault.clusters()
    await vault.restore("order")

    assert before == [{"order", "invoice", "other"}]
    assert without == []
    assert await vault.clusters() == before


async def change(vault: GeneratedVault, source: random.Random, decisions: list[Decided]) -> None:
    """Delete a document, restore one, or link or part two; and match what that asks for."""
    async with vault.service.database.tenant(vault.tenant_id) as conn:
        cur = await conn.execute("SELECT file_name FROM document ORDER BY file_name")
        there = [name for (name,) in await cur.fetchall()]
    gone = sorted(vault.ids.keys() - set(there))
    bin_, tenant_id = vault.service.bin, vault.tenant_id
    match source.choice(("delete", "delete", "restore", "decide")):
        case "restore" if gone:
            await bin_.restore(vault.ids[source.choice(gone)], tenant_id=tenant_id)
        case "decide" if decisions:
            decided = decisions.pop()
            await vault.store([decided])
            ends = {id_.partition("#")[0] for id_ in decided[:2]}
            await vault.match(*(name for name in there if str(vault.ids[name]) in ends))
        case _:
            name = source.choice(there)
            await bin_.delete(vault.ids[name], tenant_id=tenant_id, deleted_by=DEFAULT_USER_ID)
    names = {id_: name for name, id_ in vault.ids.items()}
    async with vault.service.database.tenant(tenant_id) as conn:
        cur = await conn.execute("DELETE FROM matching_job RETURNING document_id")
        requested = sorted(names[document_id] for (document_id,) in await cur.fetchall())
    await vault.match(*source.sample(requested, len(requested)))


@pytest.mark.parametrize("seed", range(4))
async def test_links_and_clusters_are_those_of_a_vault_that_never_had_what_was_deleted(
    service: Service, seed: int
) -> None:
    source = random.Random(seed)  # noqa: S311  a sample
    vault = GeneratedVault(service, service.default_tenant_id)
    await vault.fill(seed)
    undecided = await vault.match_anew(*([name] for name in vault.ids))
    decisions = await decisions_about(vault, undecided, source)
    for _ in range(15):
        await change(vault, source, decisions)

    changed = await vault.outcome()

    async with service.database.tenant(vault.tenant_id) as conn:
        cur = await conn.execute("SELECT file_name FROM document ORDER BY id")
        there = [name for (name,) in await cur.fetchall()]
    assert changed == await vault.match_anew(*([name] for name in there))
