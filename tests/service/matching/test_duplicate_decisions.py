"""What people decide about two documents that may be one holds, whichever of them is the earlier one."""

import pytest

from docmill.service.app import Service
from support.decided_papers import DecidedPapers
from support.matched_papers import INVOICE


@pytest.fixture
async def made(service: Service) -> DecidedPapers:
    """Two invoices of one number and day, matched."""
    made = DecidedPapers(service, service.default_tenant_id)
    for name in ("invoice", "copy"):
        await made.add(name, INVOICE[0], **INVOICE[1])
    await made.match("invoice", "copy")
    return made


async def exchange_days(made: DecidedPapers, first: str, second: str) -> None:
    """Correct the dates of two documents, so that the second one is the earlier, and match both."""
    async with made.service.database.tenant(made.tenant_id) as conn:
        for name, day in ((first, "2026-01-16"), (second, "2026-01-14")):
            await conn.execute(
                """
                UPDATE document
                   SET structured_data = structured_data || jsonb_build_object('issue_date', %s::text)
                 WHERE id = %s
                """,
                [day, made.ids[name]],
            )
    await made.match(first, second)


async def decisions(made: DecidedPapers) -> list[tuple[str, str, str]]:
    async with made.service.database.tenant(made.tenant_id) as conn:
        cur = await conn.execute("SELECT first_id, second_id, decision FROM match_decision ORDER BY decision")
        return [(first, second, decision) for first, second, decision in await cur.fetchall()]


def in_order(made: DecidedPapers) -> tuple[str, str]:
    """Both documents as they were matched: of one day, the lesser id is the first."""
    first, second = sorted(("invoice", "copy"), key=made.record_id)
    return first, second


@pytest.mark.parametrize(("decision", "state"), [("declined", None), ("confirmed", "automatic")])
async def test_a_decision_holds_when_corrected_dates_change_the_order(
    made: DecidedPapers, decision: str, state: str | None
) -> None:
    first, second = in_order(made)
    await made.decide(first, second, "duplicate", decision)

    await exchange_days(made, first, second)

    link = await made.link(second, first)
    assert link is not None
    assert link.state == state
    assert await decisions(made) == [(made.record_id(second), made.record_id(first), decision)]


async def test_what_was_decided_in_the_present_order_is_kept(made: DecidedPapers) -> None:
    first, second = in_order(made)
    await made.decide(first, second, "duplicate", "confirmed")
    await made.decide(second, first, "duplicate", "declined")

    await exchange_days(made, first, second)

    assert await decisions(made) == [
        (made.record_id(first), made.record_id(second), "confirmed"),
        (made.record_id(second), made.record_id(first), "declined"),
    ]
    link = await made.link(second, first)
    assert link is not None
    assert link.state is None


async def test_no_other_decision_is_turned_round(made: DecidedPapers) -> None:
    first, second = in_order(made)
    await made.decide(first, second, "related", "confirmed")

    await exchange_days(made, first, second)

    assert await decisions(made) == [(made.record_id(first), made.record_id(second), "confirmed")]
