"""The operations page and its figures."""

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import httpx

from docmill.service.app import Service
from docmill.web.view.charts import scale_end

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]

BROKEN: dict[str, Any] = {
    "status": "failed",
    "classification": None,
    "error_code": "corrupt",
    "error_message": "it <b>ends</b> early",
}


async def _execute(service: Service, statement: str, *values: object) -> None:
    async with service.database.tenant(service.default_tenant_id) as conn:
        await conn.execute(statement, values)  # pyright: ignore[reportArgumentType]  literal at each call


async def _fail(service: Service, add: Add, finish: Finish, name: str, code: str, step: str) -> UUID:
    document_id = await add(name)
    await finish(document_id, **{**BROKEN, "error_code": code})
    await _execute(
        service,
        """
        INSERT INTO dead_letter (id, tenant_id, body, error_code, error_message, step, attempts)
        SELECT gen_random_uuid(), tenant_id, id, error_code, error_message, %s, 3
          FROM ingestion WHERE document_id = %s
        """,
        step,
        document_id,
    )
    return document_id


async def test_the_figures_tell_how_processing_goes(
    client: httpx.AsyncClient, service: Service, add: Add, read: Read, finish: Finish
) -> None:
    for number in range(3):
        await read(f"{number}.png")
    await add("waiting.pdf")
    await _fail(service, add, finish, "broken.pdf", "corrupt", "transcribe")
    held = await add("held.pdf")
    await _execute(
        service,
        "UPDATE ingestion SET lease_until = now() + interval '5 minutes', worker_id = 'w1', step = 'extract'"
        " WHERE document_id = %s",
        held,
    )
    deleted = await add("deleted.pdf")
    await client.delete(f"/api/v1/documents/{deleted}")  # cancelled, and not failed
    for seconds in (1, 2, 30):
        await _execute(
            service,
            "UPDATE ingestion SET timings_s = jsonb_build_object('extract', %s::float8), cost = 0.5,"
            " extraction_input_tokens = 100, extraction_model = 'small' WHERE id ="
            " (SELECT id FROM ingestion WHERE status = 'completed' AND timings_s IS NULL LIMIT 1)",
            seconds,
        )

    report = (await client.get("/api/v1/operations")).json()

    assert (report["completed"], report["failed"], report["failure_rate"]) == (3, 1, 0.25)
    assert (report["waiting"]["waiting"], report["waiting"]["in_work"]) == (1, 1)
    depth = report["queue"]
    assert (depth["due"], depth["delayed"], depth["in_flight"]) == (1, 0, 1)
    assert depth["oldest_age_s"] > 0
    assert len(report["hours"]) == 24
    assert sum(hour["completed"] for hour in report["hours"]) == 3
    (step,) = report["steps"]
    assert (step["step"], step["count"], step["p50_s"]) == ("extract", 3, 2)
    assert 2 < step["p95_s"] <= 30
    assert [(row["worker_id"], row["documents"], row["steps"]) for row in report["workers"]] == [
        ("w1", 1, ["extract"])
    ]
    (spend,) = report["spend"]
    assert (spend["model"], spend["documents"], spend["input_tokens"]) == ("small", 3, 300)
    assert Decimal(spend["cost"]) == Decimal("1.5")
    assert [(row["error_code"], row["step"], row["count"]) for row in report["failures"]] == [
        ("corrupt", "transcribe", 1)
    ]


async def test_the_page_shows_figures_and_a_table_beside_the_chart(
    client: httpx.AsyncClient, service: Service, add: Add, read: Read, finish: Finish
) -> None:
    await read()
    await _fail(service, add, finish, "broken.pdf", "corrupt", "transcribe")

    page = await client.get("/ops")

    assert page.status_code == 200
    assert 'role="img" aria-label="1 completed and 1 failed in 24 hours' in page.text
    assert page.text.count("<rect") == 2
    assert "50.0 %" in page.text
    assert "It &lt;b&gt;ends&lt;/b&gt; early." in page.text
    assert "style=" not in page.text
    assert "As a table" in page.text


async def test_an_empty_vault_has_a_page(client: httpx.AsyncClient) -> None:
    page = await client.get("/ops?code=<b>&step='&after=x&done=x&count=-1")

    assert page.status_code == 200
    assert "Nothing has failed for good." in page.text


async def test_dead_letters_are_filtered_and_changed(
    client: httpx.AsyncClient, service: Service, add: Add, finish: Finish
) -> None:
    one = await _fail(service, add, finish, "one.pdf", "corrupt", "transcribe")
    await _fail(service, add, finish, "two.pdf", "corrupt", "extract")
    await _fail(service, add, finish, "three.pdf", "timeout", "extract")
    letters = (await client.get("/api/v1/dead-letters")).json()["dead_letters"]
    ids = {letter["file_name"]: letter["id"] for letter in letters}

    filtered = (await client.get("/ops?code=corrupt&step=extract")).text
    assert ("two.pdf" in filtered, "one.pdf" in filtered, "three.pdf" in filtered) == (True, False, False)
    assert "Try all 1 that match again" in filtered

    marked = await client.post("/ops/letters/redrive", data={"id": [ids["one.pdf"], str(uuid4())]})
    assert marked.headers["location"] == "/ops?done=redriven&count=1#letters"
    assert (await client.get(f"/api/v1/documents/{one}")).json()["state"] == "processing"

    matching = await client.post("/ops/letters/redrive", data={"match": "true", "step": "extract"})
    assert matching.headers["location"] == "/ops?step=extract&done=redriven&count=2#letters"
    assert "2 documents are tried again" in (await client.get("/ops?done=redriven&count=2")).text
    assert (await client.get("/api/v1/dead-letters")).json()["dead_letters"] == []


async def test_discarded_letters_leave_their_documents(
    client: httpx.AsyncClient, service: Service, add: Add, finish: Finish
) -> None:
    one = await _fail(service, add, finish, "one.pdf", "corrupt", "transcribe")
    await _fail(service, add, finish, "two.pdf", "timeout", "extract")

    discarded = await client.post("/ops/letters/discard", data={"match": "true", "code": "corrupt"})

    assert discarded.headers["location"] == "/ops?code=corrupt&done=discarded&count=1#letters"
    left = (await client.get("/api/v1/dead-letters")).json()["dead_letters"]
    assert [letter["file_name"] for letter in left] == ["two.pdf"]
    assert (await client.get(f"/api/v1/documents/{one}")).json()["state"] == "failed"


async def test_the_api_redrives_by_step(
    client: httpx.AsyncClient, service: Service, add: Add, finish: Finish
) -> None:
    await _fail(service, add, finish, "one.pdf", "corrupt", "transcribe")
    await _fail(service, add, finish, "two.pdf", "corrupt", "extract")

    refused = await client.post(
        "/api/v1/dead-letters/redrive", json={"ids": [str(uuid4())], "step": "extract"}
    )
    redriven = await client.post("/api/v1/dead-letters/redrive", json={"code": "corrupt", "step": "extract"})

    assert (refused.status_code, redriven.json()["redriven"]) == (422, 1)


def test_axes_end_at_round_numbers() -> None:
    assert [scale_end(number) for number in (0, 1, 2, 3, 6, 11, 49, 51, 1000)] == [
        1, 1, 2, 5, 10, 20, 50, 100, 1000,
    ]  # fmt: skip
