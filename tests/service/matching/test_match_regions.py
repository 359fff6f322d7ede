"""Links are decided together with what is connected to them, and with nothing else."""

import random
from datetime import date, timedelta
from itertools import permutations

import pytest

from docmill.service.app import Service
from docmill.service.record_matcher import decide_around
from docmill.service.store import match_regions
from docmill.service.store.database import lock_matches
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
    return frozenset(names[id_.partition("#")[0]] for id_ in found.inside)


async def states(made: DecidedPapers) -> dict[tuple[str, str], tuple[str, float]]:
    async with made.service.database.tenant(made.tenant_id) as conn:
        cur = await conn.execute("SELECT first_id, second_id, state, score FROM match_edge WHERE state <> ''")
        rows = await cur.fetchall()
    names = {str(id_): each for each, id_ in made.ids.items()}
    return {
        (names[first], names[second.partition("#")[0]] + second.partition("#")[2]): (state, round(score, 6))
        for first, second, state, score in rows
    }


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
    async with made.service.database.tenant(made.tenant_id) as conn:
        await lock_matches(conn, made.tenant_id)
        ids = {made.record_id("late"), made.record_id("paid#1")}
        await decide_around(conn, ids, tenant_id=made.tenant_id)
    decided = await explained(made)
    await made.match("late")

    assert decided == await explained(made) == 0


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


async def add_rents(made: DecidedPapers, months: int) -> None:
    """An invoice of each month, and a payment that may be of this month or of the next one."""
    for month in range(months):
        day = date(2020 + month // 12, month % 12 + 1, 1)
        values = {"number": f"M-{1000 + month * 37}", "issue_date": day.isoformat(), "gross_total": "950.00"}
        await made.add(f"rent {month}", "invoice", **PARTIES, **values)
        transaction = {
            "date": (day + timedelta(days=33)).isoformat(),
            "amount": "-950.00",
            "counterparty": "Sommer GmbH",
            "description": "Miete",
        }
        await made.add(f"paid {month}", "bank_statement", currency="EUR", transactions=[transaction])


async def test_what_is_at_the_edge_of_a_large_region_is_not_decided_without_its_rivals(
    made: DecidedPapers, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_rents(made, 14)
    names = list(made.ids)
    random.Random(7).shuffle(names)  # noqa: S311
    await made.match(*names)
    whole = await states(made)
    monkeypatch.setattr(match_regions, "MOST_AROUND", 6)

    await made.match("rent 7")

    assert len(await region(made, "rent 7")) < len(names)
    parted = await states(made)
    assert {pair: state for pair, (state, _) in parted.items()} == {
        pair: state for pair, (state, _) in whole.items()
    }
    assert all(abs(score - whole[pair][1]) < 0.002 for pair, (_, score) in parted.items())


async def test_a_statement_with_more_payments_than_a_region_has_records_is_linked(
    made: DecidedPapers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_regions, "MOST_AROUND", 4)
    transactions: list[dict[str, str]] = []
    for number in range(10, 30):
        values = {
            "number": f"RE-{number}77",
            "issue_date": f"2026-01-{number}",
            "gross_total": f"{number}3.00",
        }
        await made.add(f"invoice {number}", "invoice", **PARTIES, **values)
        transactions.append(
            {
                "date": f"2026-02-{number - 9}",
                "amount": f"-{number}3.00",
                "counterparty": "Sommer GmbH",
                "description": f"RE-{number}77",
            }
        )
    await made.add("paid", "bank_statement", currency="EUR", transactions=transactions)

    await made.match(*made.ids)

    assert [state for state, _ in (await states(made)).values()].count("automatic") == 20
