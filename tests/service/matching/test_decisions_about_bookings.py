"""What people decide about a booking stays with it when its statement is read again."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from docmill.service.app import Service
from support.decided_papers import DecidedPapers

PARTIES = {"seller": {"name": "Sommer GmbH"}, "buyer": {"name": "Kunde AG"}, "currency": "EUR"}


def booked(amount: str, counterparty: str) -> dict[str, str]:
    return {"date": "2026-01-30", "amount": amount, "counterparty": counterparty, "description": "Danke"}


POWER, GOODS, OTHER = booked("-50.00", "Stadtwerke"), booked("-1190.00", "Sommer"), booked("-77.00", "Fremd")


@pytest.fixture
async def made(service: Service) -> DecidedPapers:
    papers = DecidedPapers(service, service.default_tenant_id)
    await papers.add(
        "invoice", "invoice", **PARTIES, number="RE-1", issue_date="2026-01-15", gross_total="1190.00"
    )
    await papers.add("statement", "bank_statement", currency="EUR", transactions=[POWER, GOODS, OTHER])
    await papers.match("invoice", "statement")
    return papers


async def read_again(made: DecidedPapers, *transactions: dict[str, str]) -> None:
    async with made.service.database.tenant(made.tenant_id) as conn:
        data = Jsonb({"currency": "EUR", "transactions": list(transactions)})
        await conn.execute(
            "UPDATE document SET structured_data = %s WHERE id = %s", [data, made.ids["statement"]]
        )
    await made.match("statement")


async def decisions(made: DecidedPapers) -> list[tuple[Any, ...]]:
    async with made.service.database.tenant(made.tenant_id) as conn:
        cur = await conn.execute("SELECT second_id, decision FROM match_decision")
        return await cur.fetchall()


@pytest.mark.parametrize("decision", ["confirmed", "declined"])
async def test_a_decision_follows_its_booking_to_another_row(made: DecidedPapers, decision: str) -> None:
    await made.decide("invoice", "statement#2", "invoice_to_payment", decision)

    await read_again(made, GOODS, OTHER)

    assert await decisions(made) == [(made.record_id("statement#1"), decision)]
    link = await made.link("invoice", "statement#1")
    assert (link is not None and link.state == "automatic") == (decision == "confirmed")


async def test_a_decision_about_a_booking_that_is_gone_is_about_no_other(made: DecidedPapers) -> None:
    await made.decide("invoice", "statement#2", "invoice_to_payment", "confirmed")

    await read_again(made, POWER, OTHER)
    gone = await decisions(made)
    await read_again(made, OTHER, POWER, GOODS)

    assert gone[0][0] not in {made.record_id("statement#1"), made.record_id("statement#2")}
    assert await decisions(made) == [(made.record_id("statement#3"), "confirmed")]
