"""What people decide about links is learned at once, ends with the decision, and stays with its tenant."""

import asyncio

import pytest

from docmill.service.app import Service
from docmill.service.match_learning import MatchLearning
from docmill.service.store import party_aliases, tenants
from docmill.service.worker import run_worker
from support.decided_papers import DecidedPapers
from support.scripted_steps import ScriptedSteps

RELATION = "invoice_to_payment"
BUYER = {"name": "Kunde AG"}


@pytest.fixture
def papers(service: Service) -> DecidedPapers:
    return DecidedPapers(service, service.default_tenant_id)


@pytest.fixture
def learning(service: Service) -> MatchLearning:
    return MatchLearning(service.database, service.matching_requests)


async def add_invoice(
    papers: DecidedPapers, name: str, number: str, total: str, *, day: str, seller: str = "Amazon EU"
) -> None:
    await papers.add(
        name,
        "invoice",
        number=number,
        issue_date=day,
        seller={"name": seller},
        buyer=BUYER,
        currency="EUR",
        gross_total=total,
    )


async def add_payment(
    papers: DecidedPapers, name: str, total: str, *, day: str, text: str, counterparty: str | None = None
) -> None:
    transaction = {"date": day, "amount": f"-{total}", "description": text, "counterparty": counterparty}
    await papers.add(
        name, "bank_statement", iban="AT611904300234573201", currency="EUR", transactions=[transaction]
    )


async def add_both(papers: DecidedPapers) -> None:
    """An invoice and its payment, which a person has to decide, and two of the next month."""
    await add_invoice(papers, "first", "INV-77811", "84.90", day="2026-03-01")
    await add_payment(
        papers, "paid", "84.90", day="2026-03-03", text="Ref INV-77811", counterparty="AMZN MKTP"
    )
    await add_invoice(papers, "second", "INV-88222", "17.50", day="2026-04-01")
    await add_payment(
        papers, "paid later", "17.50", day="2026-04-03", text="Ref INV-88222", counterparty="AMZN MKTP"
    )
    await papers.match("first", "paid", "second", "paid later")


async def state_of(papers: DecidedPapers, first: str, second: str) -> str | None:
    link = await papers.link(first, second)
    return link and link.state


async def requested(papers: DecidedPapers) -> set[str]:
    """The documents that are to be matched again."""
    async with papers.service.database.connection() as conn:
        cur = await conn.execute("SELECT document_id FROM matching_job")
        ids = {document_id for (document_id,) in await cur.fetchall()}
    return {name for name, id_ in papers.ids.items() if id_ in ids}


async def test_the_next_document_of_a_party_is_linked_by_what_a_person_confirmed(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    before = await state_of(papers, "second", "paid later#1")

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    assert await learning.work() == 1
    await papers.match("second")
    after = await papers.link("second", "paid later#1")

    assert before == "suggested"
    assert after is not None
    assert after.state == "automatic"
    assert "party_alias" in after.codes


async def test_earlier_documents_of_both_names_are_asked_to_be_matched_again(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    await add_invoice(papers, "other", "R-1", "17.50", day="2026-04-01", seller="Winter KG")
    await papers.match("other")

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    await learning.work()

    assert await requested(papers) == {"first", "paid", "second", "paid later"}
    assert await learning.work() == 0


@pytest.mark.parametrize("decision", [None, "declined"])
async def test_a_decision_that_is_taken_back_teaches_nothing_any_more(
    papers: DecidedPapers, learning: MatchLearning, decision: str | None
) -> None:
    await add_both(papers)
    await papers.decide("first", "paid#1", RELATION, "confirmed")
    await learning.work()
    await papers.match("second")

    await papers.decide("first", "paid#1", RELATION, decision)
    assert await learning.work() == 1
    await papers.match("second")

    assert await state_of(papers, "second", "paid later#1") == "suggested"
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        assert not await party_aliases.shown(conn, tenant_id=papers.tenant_id, limit=10)


async def test_an_alias_does_not_count_from_the_moment_its_decision_is_gone(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    await papers.decide("first", "paid#1", RELATION, "confirmed")
    await learning.work()

    await papers.decide("first", "paid#1", RELATION, None)
    await papers.match("second")

    assert await state_of(papers, "second", "paid later#1") == "suggested"


async def test_a_declined_pair_with_equal_names_spoils_nothing(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    for name in ("first", "second"):
        await add_invoice(papers, name, f"INV-{name}-4711", "84.90", day="2026-03-01")
        await add_payment(
            papers, f"{name} paid", "84.90", day="2026-03-03", text=f"INV-{name}-4711", counterparty="Amazon"
        )
    await papers.match("first", "first paid", "second", "second paid")

    await papers.decide("first", "second paid#1", RELATION, "declined")
    await learning.work()
    await papers.match("second")

    assert await state_of(papers, "second", "second paid#1") == "automatic"
    assert await state_of(papers, "first", "first paid#1") == "automatic"


async def test_what_one_tenant_learned_is_nothing_to_another(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    async with papers.service.database.accounts() as conn:
        other_tenant = await tenants.add(conn, "Other")
    theirs = DecidedPapers(papers.service, other_tenant)
    await add_both(papers)
    await add_both(theirs)

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    await learning.work()
    await papers.match("second")
    await theirs.match("second")

    assert await state_of(papers, "second", "paid later#1") == "automatic"
    assert await state_of(theirs, "second", "paid later#1") == "suggested"
    assert await requested(theirs) == set()


async def test_a_text_of_a_card_stands_for_the_seller_of_the_invoice(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_invoice(papers, "first", "INV-77811", "84.90", day="2026-03-01")
    await add_payment(papers, "paid", "84.90", day="2026-03-03", text="AMZN MKTP DE*2X3Y4 INV-77811")
    await add_invoice(papers, "second", "INV-88222", "17.50", day="2026-04-01")
    await add_payment(papers, "paid later", "17.50", day="2026-04-03", text="AMZN MKTP LU*9Q8W7 INV-88222")
    await papers.match("first", "paid", "second", "paid later")
    before = await papers.link("second", "paid later#1")

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    await learning.work()
    await papers.match("paid later")
    after = await papers.link("second", "paid later#1")

    assert before is not None
    assert after is not None
    assert "party_alias" not in before.codes
    assert "party_alias" in after.codes
    assert (after.score or 0) > (before.score or 0)


async def test_a_worker_learns_as_decisions_are_made(papers: DecidedPapers, script: ScriptedSteps) -> None:
    await add_both(papers)
    stop = asyncio.Event()
    working = asyncio.create_task(run_worker(papers.service, script.steps(), stop))

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    async with asyncio.timeout(30):
        while not await _aliases(papers):
            await papers.service.wakeups.wait(papers.service.wakeups.next("aliases"), timeout_s=0.05)

    stop.set()
    await working


async def _aliases(papers: DecidedPapers) -> list[party_aliases.AliasRow]:
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        return await party_aliases.shown(conn, tenant_id=papers.tenant_id, limit=10)
