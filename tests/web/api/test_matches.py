"""Links between documents over the API."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.store.database import new_id
from support.matched_papers import CHAIN, INVOICE, ORDER, Papers

API = "/api/v1"


@pytest.fixture
def made(service: Service) -> Papers:
    return Papers(service, service.default_tenant_id)


async def matches_of(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    response = await client.get(f"{API}/documents/{document_id}/matches")
    assert response.status_code == 200
    return response.json()


async def test_a_document_has_its_links_with_reasons_and_figures(
    client: httpx.AsyncClient, made: Papers
) -> None:
    await made.chain()
    invoice = made.id_of("invoice")

    found = await matches_of(client, invoice)

    paid = next(match for match in found["matches"] if match["relation"] == "invoice_to_payment")
    assert paid["status"] == "automatic"
    assert paid["first"]["document_id"] == str(invoice)
    assert (paid["second"]["payment"], paid["second"]["amount"], paid["second"]["currency"]) == (
        2,
        "1190.00",
        "EUR",
    )
    assert {reason["text"] for reason in paid["reasons"]} >= {
        "The number RE-2026-0815 stands in its text.",
        "The amounts are 1190.00 and 1190.00.",
    }
    assert len(found["cluster"]) == 4
    assert {
        "stage": "billed",
        "currency": "EUR",
        "documents": 1,
        "net": "1000.00",
        "gross": "1190.00",
    } in found["summary"]["totals"]
    related = (await client.get(f"{API}/documents/{invoice}/related")).json()
    assert related["matches"] == found["matches"]


async def test_a_link_is_declined_and_that_undone(client: httpx.AsyncClient, made: Papers) -> None:
    await made.chain(("order", "invoice"))
    (match,) = (await matches_of(client, made.id_of("order")))["matches"]

    declined = await client.post(f"{API}/matches/{match['id']}/decline")
    unlinked = await client.post(f"{API}/matches/{match['id']}/unlink")
    undone = await client.post(f"{API}/matches/{match['id']}/undo")
    again = await client.post(f"{API}/matches/{match['id']}/undo")

    assert (declined.json()["status"], declined.json()["decision"]) == ("declined", "declined")
    assert unlinked.json() == declined.json()
    assert undone.json() == match
    assert (again.status_code, again.json()["code"]) == (409, "changed")


async def test_undoing_what_was_seen_can_be_repeated(client: httpx.AsyncClient, made: Papers) -> None:
    await made.chain(("order", "invoice"))
    (match,) = (await matches_of(client, made.id_of("order")))["matches"]
    address = f"{API}/matches/{match['id']}"
    await client.post(f"{address}/confirm")
    declined = (await client.post(f"{address}/decline")).json()
    seen = {"decided_at": declined["decided_at"]}

    undone = await client.post(f"{address}/undo", json=seen)
    again = await client.post(f"{address}/undo", json=seen)
    vague = await client.post(f"{address}/undo", json={"decided_at": "2026-01-01T00:00:00"})

    assert undone.json()["status"] == "confirmed"
    assert (again.status_code, again.json()["code"]) == (409, "changed")
    assert vague.status_code == 422


async def test_a_document_says_how_far_its_matching_is(
    client: httpx.AsyncClient, made: Papers, service: Service
) -> None:
    letter, invoice = await made.add("letter", ("letter", {})), await made.add("invoice", INVOICE)

    async def mark(status: str, error: str | None) -> None:
        async with service.database.tenant(made.tenant_id) as conn:
            await conn.execute(
                """
                UPDATE document
                   SET matching_status = %s, matching_error = %s, matching_attempts = 3,
                       matching_failed_at = CASE WHEN %s::text IS NULL THEN NULL ELSE clock_timestamp() END
                 WHERE id = %s
                """,
                [status, error, error, invoice],
            )

    await mark("pending", None)
    waiting = await client.get(f"{API}/documents/{invoice}")
    await mark("failed", "the model is away")
    seen = {"if-none-match": waiting.headers["etag"]}
    failed = await client.get(f"{API}/documents/{invoice}", headers=seen)
    again = await client.get(
        f"{API}/documents/{invoice}", headers={"if-none-match": f"W/{failed.headers['etag']}"}
    )
    renamed = await client.patch(
        f"{API}/documents/{invoice}", json={"title": "X"}, headers={"if-match": waiting.headers["etag"]}
    )

    assert (await client.get(f"{API}/documents/{letter}")).json()["matching"] is None
    assert waiting.json()["matching"] == {
        "status": "pending",
        "attempts": 3,
        "error": None,
        "failed_at": None,
    }
    told = failed.json()["matching"]
    assert (told["status"], told["error"]) == ("failed", "the model is away")
    assert told["failed_at"] is not None
    assert (again.status_code, renamed.status_code) == (304, 200)


async def test_documents_are_linked_by_hand_and_parted_for_good(
    client: httpx.AsyncClient, made: Papers
) -> None:
    await made.match(await made.add("statement", CHAIN["statement"]))
    await made.match(await made.add("invoice", ("invoice", {**INVOICE[1], "number": "X-1"})))
    invoice, statement = made.id_of("invoice"), made.id_of("statement")
    new = {"other_id": str(statement), "relation": "invoice_to_payment", "other_payment": 1}

    linked = await client.post(f"{API}/documents/{invoice}/matches", json=new)
    listed = (await client.get(f"{API}/matches", params={"status": "confirmed"})).json()
    parted = await client.post(f"{API}/matches/{linked.json()['id']}/unlink")

    assert linked.status_code == 201
    assert linked.json()["status"] == "confirmed"
    assert [match["id"] for match in listed["matches"]] == [linked.json()["id"]]
    assert parted.json()["status"] == "declined"
    log = (await client.get(f"{API}/audit-log")).json()
    assert {entry["action"] for entry in log["entries"]} >= {"link_documents", "unlink_documents"}


async def test_what_cannot_be_linked_is_refused_in_words(client: httpx.AsyncClient, made: Papers) -> None:
    await made.chain(("order", "invoice"))
    order, invoice = made.id_of("order"), made.id_of("invoice")

    async def link(body: dict[str, Any]) -> tuple[int, str]:
        response = await client.post(f"{API}/documents/{order}/matches", json=body)
        return response.status_code, response.json()["detail"]

    assert await link({"other_id": str(order)}) == (
        422,
        "A document cannot be linked with itself. Choose another one.",
    )
    status, words = await link({"other_id": str(invoice), "relation": "invoice_to_payment"})
    assert status == 422
    assert "cannot have this relation" in words
    assert (await link({"other_id": str(invoice), "relation": "cousin"}))[0] == 422
    assert (await link({"other_id": str(invoice), "other_payment": True}))[0] == 422
    status, words = await link({"other_id": str(invoice), "other_payment": 1})
    assert (status, "Link the whole statement" in words) == (422, True)
    assert (await link({"other_id": str(new_id())}))[0] == 404


async def test_the_list_is_read_page_by_page(client: httpx.AsyncClient, made: Papers) -> None:
    await made.chain()

    first = (await client.get(f"{API}/matches", params={"limit": 3})).json()
    second = (await client.get(f"{API}/matches", params={"limit": 3, "after": first["next"]})).json()
    wrong = await client.get(f"{API}/matches", params={"after": "nowhere"})

    assert (len(first["matches"]), len(second["matches"]), second["next"]) == (3, 1, None)
    assert first["matches"][0]["score"] >= first["matches"][-1]["score"] >= second["matches"][0]["score"]
    assert wrong.status_code == 422


async def test_only_links_with_discrepancies_are_listed_if_asked(
    client: httpx.AsyncClient, made: Papers
) -> None:
    await made.match(await made.add("order", ORDER))
    dearer = ("invoice", {**INVOICE[1], "net_total": "1100.00", "gross_total": "1309.00"})
    await made.match(await made.add("invoice", dearer))
    await made.match(await made.add("delivery", CHAIN["delivery"]))

    (match,) = (await client.get(f"{API}/matches", params={"discrepancies": True})).json()["matches"]

    assert match["relation"] == "order_to_invoice"
    (discrepancy,) = match["discrepancies"]
    assert (discrepancy["code"], discrepancy["text"]) == ("over_billed", "Billed 1100.00, ordered 1000.00")


async def test_a_request_repeated_with_its_key_changes_nothing_more(
    client: httpx.AsyncClient, made: Papers
) -> None:
    await made.chain(("order", "invoice"))
    (match,) = (await matches_of(client, made.id_of("order")))["matches"]
    key = {"idempotency-key": "undo once"}
    await client.post(f"{API}/matches/{match['id']}/confirm")
    await client.post(f"{API}/matches/{match['id']}/decline")

    first = await client.post(f"{API}/matches/{match['id']}/undo", headers=key)
    second = await client.post(f"{API}/matches/{match['id']}/undo", headers=key)

    assert first.json() == second.json()
    assert first.json()["status"] == "confirmed"
