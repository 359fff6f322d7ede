"""Links are decided together with what is connected to them, and with nothing else."""

from itertools import permutations

import pytest

from docmill.service.app import Service
from docmill.service.store import match_regions
from support.decided_papers import DecidedPapers

PARTIES = {"seller": {"name": "Sommer GmbH"}, "buyer": {"name": "Kunde AG"}, "currency": "EUR"}
COLLECTIVE = ("paid", "early", "late")


@pytest.fixture
def made(service: Service) -> DecidedPapers:
    return DecidedPapers(service, service.default_tenant_id)


async def add_collective(made: DecidedPapers) -> None:
    """Two invoices, and a payment of both that names neither."""
    for name, day, amount in (("early", "2026-01-10", "310.25"), ("late", "2026-01-14", "520.40")):
        await made.add(name, "invoice", **PARTIES, number=f"RE-{name}", issue_date=day, gross_total=amount)
    transaction = {
        "date": "2026-01-28",
        "amount": "-830.65",
        "counterparty": "Sommer GmbH",
        "description": "Danke",
    }
    await made.add("paid", "bank_statement", currency="EUR", transactions=[transaction])


async def region(made: DecidedPapers, name: str) -> frozenset[str]:
    async with made.service.database.tenant(made.tenant_id) as conn:
        ids = {str(made.ids[name])}
        found = await match_regions.region_of(conn, ids, tenant_id=made.tenant_id)
    names = {str(id_): each for each, id_ in made.ids.items()}
    return frozenset(names[id_.partition("#")[0]] for id_ in found.ids)


async def explained(made: DecidedPapers) -> int:
    async with made.service.database.tenant(made.tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM match_edge WHERE explained <> '{}'")
        row = await cur.fetchone()
    assert row is not None
    return row[0]


@pytest.mark.parametrize("order", list(permutations(COLLECTIVE)))
async def test_what_a_sum_explains_is_decided_together(made: DecidedPapers, order: tuple[str, ...]) -> None:
    await add_collective(made)

    await made.match(*order)

    assert await explained(made) == 2
    assert await region(made, "early") == frozenset(COLLECTIVE)


async def test_a_sum_ends_when_one_of_its_parts_is_corrected(made: DecidedPapers) -> None:
    await add_collective(made)
    await made.match(*COLLECTIVE)

    async with made.service.database.tenant(made.tenant_id) as conn:
        await conn.execute(
            """
            UPDATE document SET structured_data = structured_data || '{"gross_total": "77.00"}' WHERE id = %s
            """,
            [made.ids["late"]],
        )
    await made.match("late")

    assert await explained(made) == 0


async def test_a_declined_pair_is_in_no_sum(made: DecidedPapers) -> None:
    await add_collective(made)
    await made.match(*COLLECTIVE)

    await made.decide("late", "paid#1", "invoice_to_payment", "declined")
    await made.match("late")

    assert await explained(made) == 0


async def test_invoices_of_one_partner_are_decided_apart(made: DecidedPapers) -> None:
    for number in range(8):
        values = {
            "number": f"RE-{number}",
            "issue_date": f"2026-01-1{number}",
            "gross_total": f"{number}10.00",
        }
        await made.add(f"invoice {number}", "invoice", **PARTIES, **values)
        transaction = {
            "date": f"2026-01-2{number}",
            "amount": f"-{number}10.00",
            "counterparty": "Sommer GmbH",
            "description": f"RE-{number}",
        }
        await made.add(f"paid {number}", "bank_statement", currency="EUR", transactions=[transaction])

    await made.match(*made.ids)

    assert await region(made, "invoice 3") == {"invoice 3", "paid 3"}
