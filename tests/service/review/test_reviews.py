"""What people said, weighed against the checks, also when a document is processed again."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any
from uuid import UUID

import pytest
import zstandard
from psycopg.types.json import Jsonb
from pydantic import BaseModel, Field

from docmill.errors import ChangedError, ServerError
from docmill.model import codec
from docmill.model.document import Box, Document
from docmill.model.paths import value_at
from docmill.model.result import Failure, Schema
from docmill.service import sweeper as sweeping
from docmill.service.app import Service
from docmill.service.review.review import FieldReview, InvalidValuesError, ReviewSession
from docmill.service.review.reviews import Reviews
from docmill.service.store import documents, reviews, sweeps
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.service.store.reviews import ReviewableResult, ReviewToStore
from docmill.service.sweeper import Sweeper
from docmill.understanding.gate import RuleGate
from support.scripted_steps import Observer, RunWorker, ScriptedSteps, Upload

RECEIPT = """
Corner Bakery                                   2026-11-03
Bread                                               4.50
Total                                              12.90 EUR
"""
DATA = {"seller": {"name": "Corner Bakery"}, "issue_date": "2026-11-03", "gross_total": "12.90"}
COMPUTED = {"page": None, "box": None, "text": None, "match": "computed"}

Finish = Callable[..., Awaitable[UUID]]


@pytest.fixture
def finish(service: Service, make_document: Callable[..., Document]) -> Finish:
    """Completes a document's ingestion; its id. sure: of the seller."""

    async def finish_ingestion(document_id: UUID, sure: float, *, is_kept: bool = True, **data: Any) -> UUID:  # noqa: ANN401  of JSON
        path = f"transcriptions/{new_id()}"
        if is_kept:
            await service.blobs.put_once(path, codec.dumps(make_document(RECEIPT)))
        uncertain = {"check": "confidence", "message": "Seller is uncertain.", "fields": ["seller.name"]}
        evidence = {name: {**COMPUTED, "confidence": 1.0} for name in ("issue_date", "gross_total")}
        evidence["seller.name"] = {**COMPUTED, "confidence": sure}
        async with service.database.tenant(service.default_tenant_id) as conn:
            cur = await conn.execute(
                """
                UPDATE ingestion
                   SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                       classification = '{"document_type": "receipt", "title": "A receipt"}',
                       evidence = %(evidence)s, verdict = %(verdict)s, valid_structured_data = %(valid)s,
                       transcription_file_path = %(path)s
                 WHERE document_id = %(id)s AND status = 'in-progress'
                RETURNING id
                """,
                {
                    "id": document_id,
                    "data": Jsonb({**DATA, **data}),
                    "evidence": Jsonb(evidence),
                    "verdict": Jsonb({"failures": [uncertain] if sure < 0.5 else []}),
                    "valid": sure >= 0.5,
                    "path": path,
                },
            )
            row = await cur.fetchone()
        assert row is not None
        return row[0]

    return finish_ingestion


async def _state(service: Service, document_id: UUID) -> str:
    async with service.database.tenant(service.default_tenant_id) as conn:
        row = await documents.get(conn, document_id)
    assert row is not None
    return row.state


async def test_a_new_result_is_judged_with_what_was_said_before(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    first = await finish(document_id, 0.3)
    confirm = FieldReview("seller.name", "confirm")
    assert await service.reviews.add(
        document_id, [confirm], tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
    )
    await service.intake.reprocess(document_id, tenant_id=tenant_id)
    await finish(document_id, 0.2, seller={"name": "Comer Bakery"})
    before = await _state(service, document_id)

    await service.reviews.settle(document_id, tenant_id=tenant_id)

    assert (before, await _state(service, document_id)) == ("needs_review", "ready")
    reviewed = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert reviewed is not None
    assert reviewed.current["seller.name"].is_contradicted
    assert reviewed.result.data == DATA
    with pytest.raises(ChangedError, match="processed again"):
        await service.reviews.add(
            document_id, [confirm], tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
        )


async def test_what_is_said_while_the_document_is_processed_again_lies_over_the_new_result(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    first = await finish(document_id, 0.9)
    await service.intake.reprocess(document_id, tenant_id=tenant_id)
    corrections = [
        FieldReview("gross_total", "correct", "13.00"),
        FieldReview("issue_date", "correct", "2026-11-04"),
    ]
    assert await service.reviews.add(
        document_id, corrections, tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
    )

    await finish(document_id, 0.9)

    async with service.database.tenant(tenant_id) as conn:
        before = await documents.get(conn, document_id)
    assert before is not None
    assert before.structured_data == {**DATA, "gross_total": "13.00", "issue_date": "2026-11-04"}
    assert (before.state, before.document_date) == ("needs_review", date(2026, 11, 4))


async def test_results_that_no_worker_has_judged_with_reviews_are_judged_by_the_sweeper(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_ids = [(await upload(f"{number}".encode())).document_id for number in range(3)]
    for document_id in document_ids:
        first = await finish(document_id, 0.3)
        await service.reviews.confirm_all(
            document_id, tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
        )
        await service.intake.reprocess(document_id, tenant_id=tenant_id)
        await finish(document_id, 0.2)

    await Sweeper(service).judge_reviews()

    assert [await _state(service, document_id) for document_id in document_ids] == ["ready"] * 3
    async with service.database.connection() as conn:
        assert await sweeps.to_judge(conn, after=UUID(int=0), limit=10) == []


async def test_reviews_that_cannot_be_judged_keep_none_of_the_others_waiting(
    service: Service, upload: Upload, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "_DOCUMENTS", 1)
    tenant_id = service.default_tenant_id
    document_ids = sorted([(await upload(f"{number}".encode())).document_id for number in range(3)])
    for document_id in document_ids:
        first = await finish(document_id, 0.3)
        await service.reviews.confirm_all(
            document_id, tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
        )
        await service.intake.reprocess(document_id, tenant_id=tenant_id)
        await finish(document_id, 0.2)
    settle = service.reviews.settle

    async def settle_others(document_id: UUID, *, tenant_id: UUID) -> None:
        if document_id == document_ids[0]:
            raise ServerError("its transcription is out of reach")
        await settle(document_id, tenant_id=tenant_id)

    monkeypatch.setattr(service.reviews, "settle", settle_others)
    await Sweeper(service).judge_reviews()

    states = [await _state(service, document_id) for document_id in document_ids]
    assert states == ["needs_review", "ready", "ready"]


async def test_a_result_under_reviews_that_were_all_taken_back_is_not_waited_for(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    first = await finish(document_id, 0.9)
    field_review = FieldReview("gross_total", "correct", "13.00")
    await service.reviews.add(
        document_id, [field_review], tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
    )
    await service.reviews.undo_last(
        document_id, tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
    )
    await service.intake.reprocess(document_id, tenant_id=tenant_id)

    await finish(document_id, 0.9)

    assert await _state(service, document_id) == "ready"


async def test_a_date_that_is_none_does_not_keep_a_result_from_its_document(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    first = await finish(document_id, 0.9)
    async with service.database.tenant(tenant_id) as conn:
        said = [ReviewToStore("issue_date", "correct", "2026-02-31", before=None, machine=None)]
        await reviews.add(
            conn,
            tenant_id=tenant_id,
            document_id=document_id,
            ingestion_id=first,
            reviewed_by=DEFAULT_USER_ID,
            reviews=said,
        )
    await service.intake.reprocess(document_id, tenant_id=tenant_id)

    await finish(document_id, 0.9)

    assert await _state(service, document_id) == "needs_review"


async def test_a_result_that_is_replaced_meanwhile_is_left_to_whoever_replaced_it(
    service: Service, upload: Upload, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    first = await finish(document_id, 0.3)
    await service.reviews.confirm_all(
        document_id, tenant_id=tenant_id, ingestion_id=first, reviewed_by=DEFAULT_USER_ID
    )
    get = service.blobs.get

    async def get_late(key: str) -> bytes:
        await service.intake.reprocess(document_id, tenant_id=tenant_id)
        await finish(document_id, 0.2)
        return await get(key)

    monkeypatch.setattr(service.blobs, "get", get_late)
    await service.reviews.settle(document_id, tenant_id=tenant_id)

    assert await _state(service, document_id) == "needs_review"


async def test_a_large_document_is_judged_beside_the_loop(
    service: Service, upload: Upload, finish: Finish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docmill.resilience.concurrency.LARGE", -1)
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3)

    await service.reviews.confirm_all(
        document_id,
        tenant_id=service.default_tenant_id,
        ingestion_id=ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    assert await _state(service, document_id) == "ready"


async def test_a_result_that_nobody_spoke_of_is_left_as_it_is(
    service: Service, upload: Upload, finish: Finish
) -> None:
    document_id = (await upload()).document_id
    await service.reviews.settle(document_id, tenant_id=service.default_tenant_id)
    await finish(document_id, 0.3)

    await service.reviews.settle(document_id, tenant_id=service.default_tenant_id)

    async with service.database.tenant(service.default_tenant_id) as conn:
        row = await documents.get(conn, document_id)
    assert row is not None
    assert (row.state, row.verdict) == ("needs_review", None)


async def test_without_what_was_read_the_checks_of_then_count(
    service: Service, upload: Upload, finish: Finish
) -> None:
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3, is_kept=False)
    said = [FieldReview("gross_total", "correct", "13,00 EUR", is_typed=True, page=7, box=Box(0, 0, 1, 1))]

    await service.reviews.add(
        document_id,
        said,
        tenant_id=service.default_tenant_id,
        ingestion_id=ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    reviewed = await service.reviews.of(document_id, tenant_id=service.default_tenant_id)
    assert reviewed is not None
    assert [failure.check for failure in reviewed.failures] == ["confidence"]
    assert reviewed.result.data == {**DATA, "gross_total": "13.00"}


@pytest.mark.parametrize(("content", "says"), [(b"torn", None), (b'{"format": 99}', "newer release")])
async def test_a_review_does_without_a_text_that_cannot_be_read_and_waits_for_a_release_that_can(
    service: Service, upload: Upload, finish: Finish, content: bytes, says: str | None
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3, is_kept=False)
    reviewed = await service.reviews.of(document_id, tenant_id=tenant_id)
    assert reviewed is not None
    path = reviewed.result.transcription_file_path or ""
    await service.blobs.put_once(path, content if says is None else zstandard.compress(content))

    if says is None:
        await service.reviews.confirm_all(
            document_id, tenant_id=tenant_id, ingestion_id=ingestion_id, reviewed_by=DEFAULT_USER_ID
        )
    else:
        with pytest.raises(ServerError, match=says):
            await service.reviews.confirm_all(
                document_id, tenant_id=tenant_id, ingestion_id=ingestion_id, reviewed_by=DEFAULT_USER_ID
            )

    assert await _state(service, document_id) == ("ready" if says is None else "needs_review")


async def test_a_document_that_is_gone_takes_no_word(
    service: Service, upload: Upload, finish: Finish
) -> None:
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3)
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute("DELETE FROM document WHERE id = %s", [document_id])

    assert not await service.reviews.undo_last(
        document_id,
        tenant_id=service.default_tenant_id,
        ingestion_id=ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )


async def test_a_worker_weighs_what_was_said_before_anew(
    service: Service, script: ScriptedSteps, upload: Upload, working: RunWorker, observer: Observer
) -> None:
    script.failures = (Failure(check="rule", message="The file breaks a rule."),)
    tenant_id = service.default_tenant_id
    accepted = await upload()
    async with working():
        row = await observer.until(accepted, "needs_review")
        assert row.ingestion_id is not None
        await service.reviews.confirm_all(
            row.id, tenant_id=tenant_id, ingestion_id=row.ingestion_id, reviewed_by=DEFAULT_USER_ID
        )
        confirmed = await observer.document(accepted)
        again = await service.intake.reprocess(row.id, tenant_id=tenant_id)
        ready = await observer.when(accepted, lambda now: now.ingestion_id == again and now.state == "ready")

    assert confirmed.state == "ready"
    assert ready.verdict is not None
    assert "rule" in {failure["check"] for failure in ready.verdict["accepted"]}


async def test_a_result_stands_though_what_was_said_cannot_be_weighed(
    upload: Upload, working: RunWorker, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(_self: Reviews, _document_id: UUID, *, tenant_id: UUID) -> None:
        raise ServerError(f"nobody answers for {tenant_id}")

    monkeypatch.setattr(Reviews, "settle", unreachable)
    accepted = await upload()

    async with working():
        assert (await observer.until(accepted, "ready")).title == "Invoice 7"


class Ticket(BaseModel):
    """A user's own fields, with a rule of their own."""

    seat: int | None = Field(default=None, ge=1)


def _case(data: dict[str, Any]) -> ReviewSession:
    result = ReviewableResult(
        "ticket", "t.pdf", new_id(), None, {}, data, data, {}, {}, {"failures": []}, {"failures": []}
    )
    return ReviewSession(result, {}, Schema("ticket", Ticket), None, RuleGate())


def test_the_schemas_own_rules_hold() -> None:
    with pytest.raises(InvalidValuesError) as refusal:
        _case({"seat": None}).accept([FieldReview("seat", "correct", 0)])

    assert refusal.value.faults == {"seat": "Input should be greater than or equal to 1."}


def test_a_value_that_is_sent_as_it_was_is_a_confirmation() -> None:
    (kept,) = _case({"seat": 5}).accept([FieldReview("seat", "correct", 5)])

    assert (kept.action, kept.value) == ("confirm", 5)


def test_a_path_that_leads_nowhere_has_no_value() -> None:
    assert value_at({"lines": [{"a": 1}]}, "lines[0].a") == 1
    assert value_at({"lines": [{"a": 1}]}, "lines[1].a") is None
    assert value_at({"lines": 5}, "lines.a") is None


async def test_other_schemas_can_be_given(service: Service, upload: Upload, finish: Finish) -> None:
    schemas = {"receipt": Schema("receipt", Ticket), "other": Schema("other", Ticket)}
    mine = Reviews(service.database, service.blobs, service.feed, RuleGate(), schemas)
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3, seat=None)
    said = [FieldReview("seat", "correct", "12", is_typed=True)]

    await mine.add(
        document_id,
        said,
        tenant_id=service.default_tenant_id,
        ingestion_id=ingestion_id,
        reviewed_by=DEFAULT_USER_ID,
    )

    reviewed = await mine.of(document_id, tenant_id=service.default_tenant_id)
    assert reviewed is not None
    assert reviewed.result.data == {**DATA, "seat": 12}


async def test_title_summary_and_tags_follow_a_correction_and_its_undoing_at_once(
    service: Service, upload: Upload, make_document: Callable[..., Document]
) -> None:
    tenant_id = service.default_tenant_id
    accepted = await upload()
    path = f"transcriptions/{new_id()}"
    await service.blobs.put_once(path, codec.dumps(make_document(RECEIPT)))
    read = {
        "document_type": "receipt",
        "title": "Receipt, Comer Bakery",
        "summary": "Receipt from Comer Bakery of 2026-11-03 for 12.90.",
        "document_date": "2026-11-03",
        "tags": ["Comer Bakery", "Receipt", "2026"],
    }
    data = {**DATA, "seller": {"name": "Comer Bakery"}}
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute(
            """
            UPDATE ingestion
               SET status = 'completed', completed_at = clock_timestamp(), structured_data = %(data)s,
                   classification = %(read)s, evidence = %(evidence)s, verdict = '{"failures": []}',
                   valid_structured_data = true, transcription_file_path = %(path)s
             WHERE id = %(id)s
            """,
            {
                "id": accepted.ingestion_id,
                "data": Jsonb(data),
                "read": Jsonb(read),
                "evidence": Jsonb(
                    {
                        field: {**COMPUTED, "confidence": 1.0}
                        for field in ("issue_date", "gross_total", "seller.name")
                    }
                ),
                "path": path,
            },
        )
    shown = accepted.ingestion_id
    assert shown is not None
    observer = Observer(service)

    corrections = [
        FieldReview("seller.name", "correct", "Corner Bakery"),
        FieldReview("gross_total", "correct", "13.00"),
        FieldReview("issue_date", "correct", "2027-11-03"),
    ]
    await service.reviews.add(
        accepted.document_id,
        corrections,
        tenant_id=tenant_id,
        ingestion_id=shown,
        reviewed_by=DEFAULT_USER_ID,
    )
    corrected = await observer.document(accepted)
    await service.reviews.undo_last(
        accepted.document_id, tenant_id=tenant_id, ingestion_id=shown, reviewed_by=DEFAULT_USER_ID
    )
    undone = await observer.document(accepted)

    assert corrected.title == "Receipt, Corner Bakery"
    assert corrected.summary == "Receipt from Corner Bakery of 2027-11-03 for 13.00."
    assert corrected.tags == ["Corner Bakery", "Receipt", "2027"]
    assert corrected.document_date == date(2027, 11, 3)
    assert (undone.title, undone.summary, undone.tags) == (read["title"], read["summary"], read["tags"])
    assert undone.document_date == date(2026, 11, 3)


async def test_in_words_that_are_not_made_of_the_values_a_corrected_value_is_replaced(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    accepted = await upload()
    shown = await finish(accepted.document_id, 0.9, seller={"name": "Comer Bakery"})
    async with service.database.tenant(tenant_id) as conn:
        await conn.execute(
            "UPDATE ingestion SET classification = %s WHERE id = %s",
            [
                Jsonb(
                    {
                        "document_type": "receipt",
                        "title": "Bread bought at Comer Bakery",
                        "summary": "Comer Bakery sold bread for 12.90; Comer Bakerys are elsewhere.",
                        "tags": ["bread", "Comer Bakery"],
                    }
                ),
                shown,
            ],
        )

    corrections = [
        FieldReview("seller.name", "correct", "Corner Bakery"),
        FieldReview("gross_total", "clear"),
    ]
    await service.reviews.add(
        accepted.document_id,
        corrections,
        tenant_id=tenant_id,
        ingestion_id=shown,
        reviewed_by=DEFAULT_USER_ID,
    )

    document = await Observer(service).document(accepted)
    assert document.title == "Bread bought at Corner Bakery"
    assert document.summary == "Corner Bakery sold bread for; Comer Bakerys are elsewhere."
    assert document.tags == ["bread", "Corner Bakery"]


async def test_what_was_confirmed_unseen_teaches_nothing(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    ingestion_id = await finish(document_id, 0.3)
    of = {"tenant_id": tenant_id, "ingestion_id": ingestion_id, "reviewed_by": DEFAULT_USER_ID}

    assert await service.reviews.confirm_all(document_id, reason="In a hurry", **of)
    async with service.database.tenant(tenant_id) as conn:
        unseen = await reviews.reviewed(conn, "receipt", limit=5)
    await service.reviews.add(document_id, [FieldReview("seller.name", "confirm")], **of)
    async with service.database.tenant(tenant_id) as conn:
        (seen,) = await reviews.reviewed(conn, "receipt", limit=5)

    assert unseen == []
    assert (seen.paths, seen.is_settled) == (["seller.name"], False)


async def test_a_removed_row_leaves_the_checks_and_comes_back_with_its_undo(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    lines = [{"net_amount": "12.90"}, {"net_amount": "0.10"}]
    ingestion_id = await finish(document_id, 0.9, lines=lines, net_total="12.90")
    of = {"tenant_id": tenant_id, "ingestion_id": ingestion_id, "reviewed_by": DEFAULT_USER_ID}
    remove = [FieldReview("lines[1]", "remove")]

    before = await service.reviews.check(document_id, [], tenant_id=tenant_id)
    preview = await service.reviews.check(document_id, remove, tenant_id=tenant_id)
    assert await service.reviews.add(document_id, remove, **of)
    removed = await service.reviews.of(document_id, tenant_id=tenant_id)
    with pytest.raises(InvalidValuesError, match="no such row"):
        await service.reviews.add(document_id, remove, **of)
    assert await service.reviews.undo_last(document_id, **of)
    restored = await service.reviews.of(document_id, tenant_id=tenant_id)

    assert before is not None
    assert preview is not None
    sums = [failure for failure in before if "lines[1].net_amount" in failure.fields]
    assert sums
    assert not [failure for failure in preview if "lines[1].net_amount" in failure.fields]
    assert removed is not None
    assert restored is not None
    assert (removed.result.data or {})["lines"] == [lines[0], {}]
    assert (restored.result.data or {})["lines"] == lines


async def test_only_a_document_is_rejected_and_with_a_reason(
    service: Service, upload: Upload, finish: Finish
) -> None:
    tenant_id = service.default_tenant_id
    document_id = (await upload()).document_id
    of = {
        "tenant_id": tenant_id,
        "ingestion_id": await finish(document_id, 0.9),
        "reviewed_by": DEFAULT_USER_ID,
    }

    for wrong in (
        FieldReview("seller.name", "reject", "Not for us"),
        FieldReview(":rejection", "confirm"),
        FieldReview(":rejection", "reject", "  "),
        FieldReview(":rejection", "reject", "x" * 501),
    ):
        with pytest.raises(InvalidValuesError):
            await service.reviews.add(document_id, [wrong], **of)
    with pytest.raises(InvalidValuesError):
        await service.reviews.confirm_all(document_id, reason=" ", **of)
    assert await service.reviews.reject(document_id, " Not for us ", **of)

    async with service.database.tenant(tenant_id) as conn:
        row = await documents.get(conn, document_id)
    assert row is not None
    assert (row.outcome, row.rejection) == ("rejected", "Not for us")
