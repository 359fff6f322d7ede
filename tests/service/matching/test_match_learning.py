"""What people decide about links is learned at once, ends with the decision, and stays with its tenant."""

import asyncio
from typing import ClassVar

import pytest

from docmill.matching.decision import AUTOMATIC
from docmill.resilience.concurrency import cancel_and_wait
from docmill.service.app import Service
from docmill.service.match_learning import DECISIONS_BETWEEN_TRIALS, MatchLearning
from docmill.service.matches import Matches
from docmill.service.store import match_calibrations, party_aliases, tenants
from docmill.service.store.database import DEFAULT_USER_ID
from docmill.service.store.match_decisions import Pair
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
    for name, number in (("first", "INV-4711"), ("second", "INV-5822")):
        await add_invoice(papers, name, number, "84.90", day="2026-03-01")
        await add_payment(
            papers, f"{name} paid", "84.90", day="2026-03-03", text=number, counterparty="Amazon"
        )
    await papers.match("first", "first paid", "second", "second paid")

    await papers.decide("first", "second paid#1", RELATION, "declined")
    await learning.work()
    await papers.match("second")

    assert await state_of(papers, "second", "second paid#1") == "automatic"
    assert await state_of(papers, "first", "first paid#1") == "automatic"


async def test_a_link_by_hand_teaches_names_and_its_undo_forgets_them(
    papers: DecidedPapers, learning: MatchLearning, service: Service
) -> None:
    await add_both(papers)
    matches = Matches(service.database, service.feed)
    pair = Pair(papers.record_id("first"), papers.record_id("paid#1"), RELATION)

    await matches.link(pair, tenant_id=papers.tenant_id, decided_by=DEFAULT_USER_ID)
    await learning.work()
    await papers.match("second")
    linked = await state_of(papers, "second", "paid later#1")
    await matches.undo(pair.id, tenant_id=papers.tenant_id)
    await learning.work()
    await papers.match("second")

    assert linked == "automatic"
    assert await state_of(papers, "second", "paid later#1") == "suggested"


async def test_documents_that_are_related_in_general_teach_no_names(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)

    await papers.decide("first", "paid#1", "related", "confirmed")

    assert await learning.work() == 1
    assert not await _aliases(papers)


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


async def _until_learned(papers: DecidedPapers) -> None:
    async with asyncio.timeout(30):
        while not await _aliases(papers):
            await papers.service.wakeups.wait(papers.service.wakeups.next("aliases"), timeout_s=0.05)


async def test_a_worker_learns_as_decisions_are_made(papers: DecidedPapers, script: ScriptedSteps) -> None:
    await add_both(papers)
    stop = asyncio.Event()
    working = asyncio.create_task(run_worker(papers.service, script.steps(), stop))

    await papers.decide("first", "paid#1", RELATION, "confirmed")
    papers.service.feed.announce()
    await _until_learned(papers)

    stop.set()
    await working


class CountedLearning(MatchLearning):
    """Learning that tells of its looks at the database."""

    looks: ClassVar[list[int]] = []

    async def work(self) -> int:
        learned = await super().work()
        self.looks.append(learned)
        return learned


async def test_learning_waits_for_a_notice_and_does_not_ask_again_and_again(papers: DecidedPapers) -> None:
    service = papers.service
    await add_both(papers)
    learning = CountedLearning(service.database, service.matching_requests)
    learning.looks.clear()
    working = asyncio.create_task(learning.work_for_ever(service.wakeups))
    try:
        async with asyncio.timeout(30):
            while not learning.looks:
                await service.wakeups.wait(service.wakeups.next("looks"), timeout_s=0.05)

        await papers.decide("first", "paid#1", RELATION, "confirmed")
        service.feed.announce()
        await _until_learned(papers)
    finally:
        await cancel_and_wait([working])

    assert sum(learning.looks) == 1
    assert len(learning.looks) <= 4  # and not one each second


async def history(papers: DecidedPapers) -> list[match_calibrations.CalibrationRow]:
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        return await match_calibrations.history(conn, tenant_id=papers.tenant_id, limit=10)


async def insert_decisions(papers: DecidedPapers, score: float, decision: str, count: int) -> None:
    """Decisions about links of two documents that had this score, each of another payment."""
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        await conn.execute(
            """
            INSERT INTO match_decision (id, tenant_id, first_document_id, second_document_id, first_id,
                                        second_id, relation, decision)
            SELECT gen_random_uuid(), %(tenant_id)s, %(first)s, %(second)s, %(first)s::text,
                   %(second)s::text || '#' || gen_random_uuid(), 'invoice_to_payment', %(decision)s
              FROM generate_series(1, %(count)s)
            """,
            {
                "tenant_id": papers.tenant_id,
                "first": papers.ids["first"],
                "second": papers.ids["paid"],
                "decision": decision,
                "count": count,
            },
        )
        await conn.execute(
            "UPDATE match_decision SET score_when_decided = %s WHERE score_when_decided IS NULL", [score]
        )


async def learn_all(learning: MatchLearning) -> None:
    while await learning.work():
        pass


async def test_a_decision_keeps_the_score_that_the_link_had_when_it_was_made(papers: DecidedPapers) -> None:
    await add_both(papers)
    link = await papers.link("first", "paid#1")

    await papers.decide("first", "paid#1", RELATION, "declined")
    await papers.match("first")
    await papers.decide("first", "paid#1", RELATION, "confirmed")
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        (label,) = await match_calibrations.labels(conn, tenant_id=papers.tenant_id)

    assert link is not None
    assert (label.score, label.is_right) == (link.score, True)


async def test_enough_decisions_correct_scores_and_a_reset_undoes_it(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    await add_invoice(papers, "late", "INV-99333", "84.90", day="2026-03-01", seller="Sommer Metallbau GmbH")
    await add_payment(
        papers, "paid late", "80.00", day="2026-06-20", text="Ref INV-99333", counterparty="Sommer"
    )
    await papers.match("late", "paid late")
    before = await papers.link("late", "paid late#1")
    await insert_decisions(papers, 0.8, "confirmed", 100)
    await insert_decisions(papers, 0.15, "declined", 40)

    await learn_all(learning)
    promoted = await history(papers)
    asked = await requested(papers)
    await papers.match("late")
    corrected = await papers.link("late", "paid late#1")
    await learning.reset_calibration(papers.tenant_id)
    await papers.match("late")
    after = await papers.link("late", "paid late#1")

    assert [row.outcome for row in promoted] == ["promoted"]
    assert promoted[0].may_raise
    assert {"first", "paid", "second", "paid later"} <= asked
    assert before is not None
    assert 0.5 < (before.score or 0) < AUTOMATIC
    assert corrected is not None
    assert (corrected.score or 0) > (before.score or 0)
    assert after == before
    assert [row.outcome for row in await history(papers)] == ["reset", "promoted"]


async def test_a_correction_that_is_no_better_is_recorded_and_not_used(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    await insert_decisions(papers, 0.8, "confirmed", 48)
    await insert_decisions(papers, 0.8, "declined", 12)
    await insert_decisions(papers, 0.2, "confirmed", 4)
    await insert_decisions(papers, 0.2, "declined", 16)

    await learn_all(learning)

    assert [row.outcome for row in await history(papers)] == ["rejected"]
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        assert await match_calibrations.current(conn, tenant_id=papers.tenant_id) is None


async def test_scores_are_tried_again_only_after_some_more_decisions(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_both(papers)
    await insert_decisions(papers, 0.8, "confirmed", 60)
    await insert_decisions(papers, 0.15, "declined", 40)
    await learn_all(learning)

    await insert_decisions(papers, 0.8, "confirmed", DECISIONS_BETWEEN_TRIALS - 1)
    await learn_all(learning)
    few = len(await history(papers))
    await insert_decisions(papers, 0.8, "confirmed", 1)
    await learn_all(learning)

    assert (few, len(await history(papers))) == (1, 2)


async def test_the_decisions_of_one_tenant_correct_nothing_of_another(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    async with papers.service.database.accounts() as conn:
        other_tenant = await tenants.add(conn, "Other")
    theirs = DecidedPapers(papers.service, other_tenant)
    await add_both(papers)
    await add_both(theirs)
    before = await theirs.link("second", "paid later#1")
    await insert_decisions(papers, 0.8, "confirmed", 60)
    await insert_decisions(papers, 0.15, "declined", 40)

    await learn_all(learning)
    await theirs.match("second")

    assert await theirs.link("second", "paid later#1") == before
    assert await history(theirs) == []


async def _aliases(papers: DecidedPapers) -> list[party_aliases.AliasRow]:
    async with papers.service.database.tenant(papers.tenant_id) as conn:
        return await party_aliases.shown(conn, tenant_id=papers.tenant_id, limit=10)


async def test_documents_that_are_merely_related_teach_nothing(
    papers: DecidedPapers, learning: MatchLearning
) -> None:
    await add_invoice(papers, "water", "W-1", "84.90", day="2026-03-01", seller="Stadtwerke")
    await add_invoice(papers, "paper", "P-1", "17.50", day="2026-03-02", seller="Papier Meier")
    await papers.match("water", "paper")

    await papers.decide("water", "paper", "related", "confirmed")
    await learning.work()

    async with papers.service.database.tenant(papers.tenant_id) as conn:
        cur = await conn.execute("SELECT count(*) FROM party_alias")
        assert await cur.fetchall() == [(0,)]
