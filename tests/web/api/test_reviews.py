"""What people say of values, through the API."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from docmill.ports import PageRenderer
from docmill.service.app import Service
from docmill.service.config.settings import Settings
from docmill.service.store import events
from docmill.service.store.database import DEFAULT_USER_ID, new_id
from docmill.web.app import create_app

Read = Callable[..., Awaitable[UUID]]

SUM = {
    "check": "sum",
    "message": "Net total 9.00 and tax 1.00 do not add up to the total 12.90.",
    "fields": ["net_total", "tax_total", "gross_total"],
}
UNKNOWN_RULE: dict[str, Any] = {"check": "rule", "message": "The file breaks a rule.", "fields": []}


UNCERTAIN = {
    "check": "confidence",
    "message": "Seller name is uncertain; please look at it.",
    "fields": ["seller.name"],
}
PATHS = (
    "currency",
    "gross_total",
    "seller.name",
    "issue_date",
    "lines[0].description",
    "lines[0].net_amount",
    "lines[1].description",
)


def _sure(**confidences: float) -> dict[str, Any]:
    """Evidence that the gate believes, but for those values whose confidence is given."""
    return {
        path: {"page": None, "box": None, "text": None, "match": "computed", "confidence": confidence}
        for path, confidence in (dict.fromkeys(PATHS, 1.0) | confidences).items()
    }


@pytest.fixture
def open_receipt(read: Read) -> Read:
    """Adds a receipt whose seller is uncertain. failures: what its verdict says instead."""

    async def read_open(*failures: dict[str, Any], **columns: object) -> UUID:
        return await read(
            **{
                "verdict": {"failures": list(failures) or [UNCERTAIN]},
                "valid_structured_data": False,
                "evidence": _sure(**({} if failures else {"seller.name": 0.3})),
                **columns,
            }
        )

    return read_open


async def _state(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    response = await client.get(f"/api/v1/documents/{document_id}/reviews")
    assert response.status_code == 200
    return response.json()


async def _say(client: httpx.AsyncClient, document_id: UUID, *said: dict[str, Any]) -> httpx.Response:
    ingestion_id = (await _state(client, document_id))["ingestion_id"]
    return await client.post(
        f"/api/v1/documents/{document_id}/reviews",
        json={"ingestion_id": ingestion_id, "reviews": list(said)},
    )


async def _document(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    return (await client.get(f"/api/v1/documents/{document_id}")).json()


async def test_confirming_the_uncertain_value_makes_the_document_ready(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt(
        structured_data={
            "currency": "EUR",
            "gross_total": "12.90",
            "seller": {"name": "Corner Bakery"},
            "issue_date": "2026-11-03",
            "lines": [
                {"description": "Bread", "net_amount": "4.50"},
                {"description": "Salt", "net_amount": "8.40"},
            ],
        },
        evidence=_sure(**{"seller.name": 0.3, "lines[1].net_amount": 1.0}),
    )
    assert (await _document(client, document_id))["state"] == "needs_review"

    response = await _say(client, document_id, {"path": "seller.name", "action": "confirm"})

    assert response.status_code == 200, response.text
    assert response.json()["needs_human_review"] is False
    assert [failure["check"] for failure in response.json()["accepted"]] == ["confidence"]
    shown = await _document(client, document_id)
    assert (shown["state"], shown["verdict"]) == ("ready", {"failures": []})


async def test_a_correction_is_the_documents_value_and_what_was_read_is_kept(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt()

    response = await _say(
        client, document_id, {"path": "seller.name", "action": "correct", "value": "Corner"}
    )

    assert response.json()["current"]["seller.name"]["value"] == "Corner"
    (said,) = response.json()["history"]
    assert (said["before"], said["value"], said["machine"]) == ("Corner Bakery", "Corner", "Corner Bakery")
    shown = await _document(client, document_id)
    assert shown["data"]["seller"]["name"] == "Corner"
    assert shown["evidence"]["seller.name"]["text"] == "Corner"
    ingestions = (await client.get(f"/api/v1/documents/{document_id}/ingestions")).json()["ingestions"]
    assert ingestions[0]["structured_data"]["seller"]["name"] == "Corner Bakery"


async def test_undoing_brings_back_what_was_before_step_by_step(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt()
    for name in ("Corner", "Bakery"):
        await _say(client, document_id, {"path": "seller.name", "action": "correct", "value": name})
    undo = {"path": "seller.name", "action": "undo"}

    names: list[Any] = []
    for _ in range(2):
        names.append((await _document(client, document_id))["data"]["seller"]["name"])
        assert (await _say(client, document_id, undo)).status_code == 200
    shown = await _document(client, document_id)

    assert names == ["Bakery", "Corner"]
    assert (shown["data"]["seller"]["name"], shown["state"]) == ("Corner Bakery", "needs_review")
    refused = await _say(client, document_id, undo)
    assert (refused.status_code, refused.json()["detail"]) == (422, "There is nothing to undo here.")


async def test_values_that_fields_do_not_take_are_refused_in_words_and_nothing_is_kept(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt()

    response = await _say(
        client,
        document_id,
        {"path": "seller.name", "action": "confirm"},
        {"path": "issue_date", "action": "correct", "value": "03/11/2026"},
        {"path": "gross_total", "action": "correct", "value": "much"},
        {"path": "payment.iban", "action": "correct", "value": "DE00 1234"},
        {"path": "seller.address", "action": "correct", "value": "\u202e\n\r"},
        {"path": "gross", "action": "correct", "value": "1"},
        {"path": "lines[7].description", "action": "correct", "value": "1"},
        {"path": "", "action": "clear"},
        {"path": "number", "action": "confirm"},
        {"path": "number", "action": "clear"},
    )

    assert (response.status_code, response.json()["code"]) == (422, "validation")
    faults = {fault["where"]: fault["message"] for fault in response.json()["faults"]}
    assert faults == {
        "issue_date": "Day or month first? Write the date as year-month-day, such as 2026-11-03.",
        "gross_total": "This is not an amount. Write digits and a point, such as 1234.50.",
        "payment.iban": "This is no valid IBAN: a character is wrong or missing.",
        "seller.address": "This has no letter or digit. Leave the field empty to delete the value.",
        "gross": "This type of document has no such value.",
        "lines[7].description": "This type of document has no such value.",
        "": "A document as a whole can only be confirmed.",
        "number": "This value was spoken of twice.",
    }
    assert (await _state(client, document_id))["history"] == []


async def test_a_review_of_what_is_no_longer_there_is_refused(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt()

    other_value = await _say(
        client, document_id, {"path": "seller.name", "action": "confirm", "seen": "Corner"}
    )
    other_result = await client.post(
        f"/api/v1/documents/{document_id}/reviews/confirm", json={"ingestion_id": str(new_id())}
    )
    as_seen = await _say(
        client, document_id, {"path": "seller.name", "action": "confirm", "seen": "Corner Bakery"}
    )

    assert [answer.status_code for answer in (other_value, other_result, as_seen)] == [409, 409, 200]
    assert other_value.json()["code"] == "changed"


async def test_all_is_confirmed_and_taken_back_at_once(
    client: httpx.AsyncClient, open_receipt: Read, service: Service
) -> None:
    document_id = await open_receipt(SUM, UNKNOWN_RULE)
    address = f"/api/v1/documents/{document_id}/reviews"
    of = {"ingestion_id": (await _state(client, document_id))["ingestion_id"]}
    await _say(client, document_id, {"path": "currency", "action": "confirm"})

    confirmed = (await client.post(f"{address}/confirm", json=of)).json()
    undone = (await client.post(f"{address}/undo", json=of)).json()

    assert (confirmed["needs_human_review"], confirmed["failures"]) == (False, [])
    assert confirmed["current"][""]["value"] == ["rule"]
    assert {"gross_total", "lines[0].net_amount", "currency"} <= set(confirmed["current"])
    assert (undone["needs_human_review"], set(undone["current"])) == (True, {"currency"})
    async with service.database.tenant(service.default_tenant_id) as conn:
        changes = await events.since(conn, 0, limit=100)
    assert [event.kind for event in changes].count("changed") == 3


async def test_a_corrected_sum_needs_no_further_word(client: httpx.AsyncClient, open_receipt: Read) -> None:
    document_id = await open_receipt(
        SUM,
        structured_data={
            "seller": {"name": "Corner Bakery"},
            "issue_date": "2026-11-03",
            "net_total": "9.00",
            "tax_total": "1.00",
            "gross_total": "12.90",
        },
        evidence=_sure(net_total=1.0, tax_total=1.0),
    )

    first = await _say(client, document_id, {"path": "tax_total", "action": "correct", "value": "2.90"})
    second = await _say(client, document_id, {"path": "net_total", "action": "correct", "value": 10})

    assert [failure["check"] for failure in first.json()["failures"]] == ["sum"]
    assert (second.json()["failures"], second.json()["needs_human_review"]) == ([], False)


async def test_a_place_that_a_person_points_at_is_kept(client: httpx.AsyncClient, open_receipt: Read) -> None:
    document_id = await open_receipt()
    there = {"page": 1, "box": [0.04, 0.0, 0.4, 0.4]}

    kept = await _say(
        client, document_id, {"path": "seller.name", "action": "correct", "value": "Corner Shop", **there}
    )
    no_page = await _say(
        client, document_id, {"path": "seller.name", "action": "confirm", **there, "page": 9}
    )
    half = await _say(client, document_id, {"path": "seller.name", "action": "confirm", "page": 1})

    assert kept.status_code == 200, kept.text
    assert kept.json()["current"]["seller.name"]["evidence"]["box"] == there["box"]
    assert kept.json()["history"][0]["page"] == 1
    assert (no_page.status_code, no_page.json()["detail"]) == (422, "The document has no such page.")
    assert half.status_code == 422


async def test_what_is_not_there_can_be_confirmed_missing_or_given(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    missing = {"check": "critical_missing", "message": "Number was not found.", "fields": ["number"]}
    document_id = await open_receipt(missing)

    response = await _say(
        client,
        document_id,
        {"path": "number", "action": "confirm"},
        {"path": "currency", "action": "clear"},
        {"path": "time", "action": "clear"},
        {"path": "lines[2].description", "action": "correct", "value": "Milk"},
        {"path": "seller.name", "action": "confirm"},
        {"path": "gross_total", "action": "correct", "value": "12.90"},
    )

    shown = await _document(client, document_id)
    assert shown["data"]["currency"] is None
    assert shown["data"]["lines"][2] == {"description": "Milk"}
    actions = {path: held["action"] for path, held in response.json()["current"].items()}
    assert actions == {
        "number": "confirm",
        "currency": "clear",
        "time": "confirm",
        "lines[2].description": "correct",
        "seller.name": "confirm",
        "gross_total": "confirm",
    }
    assert "currency" not in shown["evidence"]


async def test_the_date_that_a_person_gave_is_the_documents(
    client: httpx.AsyncClient, open_receipt: Read
) -> None:
    document_id = await open_receipt()
    correct = {"path": "issue_date", "action": "correct", "value": "2026-10-03"}

    dates: list[str] = []
    for said in (correct, {"path": "issue_date", "action": "clear"}):
        assert (await _say(client, document_id, said)).status_code == 200
        dates.append((await _document(client, document_id))["document_date"])

    assert dates == ["2026-10-03", "2026-11-03"]


async def test_a_document_of_another_tenant_is_not_there(
    client: httpx.AsyncClient,
    open_receipt: Read,
    service: Service,
    renderer: PageRenderer,
    settings: Settings,
    database_url: str,
) -> None:
    stranger = new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [stranger])
    document_id = await open_receipt()
    ingestion_id = (await _state(client, document_id))["ingestion_id"]
    theirs = create_app(replace(service, default_tenant_id=stranger), renderer, settings)
    address = f"/api/v1/documents/{document_id}/reviews"

    transport = httpx.ASGITransport(theirs, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as other:
        answers = [
            await other.get(address),
            await other.post(
                address,
                json={"ingestion_id": ingestion_id, "reviews": [{"path": "number", "action": "confirm"}]},
            ),
            await other.post(f"{address}/confirm", json={"ingestion_id": ingestion_id}),
            await other.post(f"{address}/undo", json={"ingestion_id": ingestion_id}),
        ]

    assert [answer.status_code for answer in answers] == [404, 404, 404, 404]
    kept = await service.reviews.confirm_all(
        document_id, tenant_id=stranger, ingestion_id=UUID(ingestion_id), reviewed_by=DEFAULT_USER_ID
    )
    assert kept is False
    assert await service.reviews.of(document_id, tenant_id=stranger) is None


async def test_a_document_without_values_has_nothing_to_review(
    client: httpx.AsyncClient, add: Callable[..., Awaitable[UUID]], finish: Callable[..., Awaitable[None]]
) -> None:
    document_id = await add()
    before = await _state(client, document_id)
    refused = await client.post(
        f"/api/v1/documents/{document_id}/reviews/confirm", json={"ingestion_id": str(new_id())}
    )
    await finish(document_id)
    after = await _state(client, document_id)

    assert (before["ingestion_id"], before["current"]) == (None, {})
    assert (refused.status_code, refused.json()["code"]) == (409, "changed")
    assert after["ingestion_id"] is not None


async def test_the_type_of_a_document_is_changed_and_taken_back(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"

    changed = await client.patch(address, json={"document_type": "invoice"})
    chosen = (await client.get(address)).json()
    back = await client.patch(address, json={"document_type": None})
    recognised = (await client.get(address)).json()
    told = (await client.get(f"{address}/reviews")).json()["history"]

    assert (changed.status_code, back.status_code) == (202, 202)
    assert changed.json()["ingestion_id"] == back.json()["ingestion_id"]  # the one under way begins again
    assert chosen["state"] == "processing"
    assert (chosen["chosen_type"], recognised["chosen_type"]) == ("invoice", None)
    assert [(review["path"], review["action"], review["value"]) for review in told] == [
        (":document_type", "undo", "receipt"),
        (":document_type", "correct", "invoice"),
    ]


async def test_a_type_that_does_not_exist_is_refused_with_those_that_do(
    client: httpx.AsyncClient, read: Read, add: Callable[..., Awaitable[UUID]]
) -> None:
    document_id, unread = await read(), await add("unread.png")

    unknown = await client.patch(f"/api/v1/documents/{document_id}", json={"document_type": "novel"})
    empty = await client.patch(f"/api/v1/documents/{document_id}", json={})
    other_member = await client.patch(f"/api/v1/documents/{document_id}", json={"summary": "Mine"})
    too_early = await client.patch(f"/api/v1/documents/{unread}", json={"document_type": "invoice"})
    nobodys = await client.patch(f"/api/v1/documents/{new_id()}", json={"document_type": "invoice"})

    assert unknown.status_code == 422
    assert "there are bank_statement" in unknown.json()["detail"]
    assert (empty.status_code, other_member.status_code) == (422, 422)
    assert (too_early.status_code, too_early.json()["code"]) == (409, "changed")
    assert nobodys.status_code == 404


async def test_the_type_of_anothers_document_is_not_changed(
    service: Service, renderer: PageRenderer, settings: Settings, read: Read, database_url: str
) -> None:
    document_id, stranger = await read(), new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'Stranger')", [stranger])
    app = create_app(replace(service, default_tenant_id=stranger), renderer, settings)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as strangers:
        answer = await strangers.patch(f"/api/v1/documents/{document_id}", json={"document_type": "invoice"})
        form = await strangers.post(f"/docs/{document_id}/type", data={"document_type": "invoice"})

    assert (answer.status_code, form.status_code) == (404, 404)
    reviewed = await service.reviews.of(document_id, tenant_id=service.default_tenant_id)
    assert reviewed is not None
    assert reviewed.history == []


SUGGESTIONS: dict[str, Any] = {
    "number": [
        {
            "value": "R-4711",
            "evidence": {
                "page": 1,
                "box": [0.05, 0.1, 0.3, 0.15],
                "text": "R-4711",
                "match": "exact",
                "confidence": 0.41,
            },
        },
        {
            "value": "471",
            "evidence": {
                "page": 2,
                "box": [0.1, 0.1, 0.2, 0.2],
                "text": "471",
                "match": "exact",
                "confidence": 0.2,
            },
        },
    ]
}


async def test_a_document_has_suggestions_until_a_person_has_spoken_of_the_field(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read(
        structured_data={"number": None, "gross_total": "12.90"}, suggestions=SUGGESTIONS
    )
    address = f"/api/v1/documents/{document_id}"

    before = (await client.get(address)).json()
    (suggested, _) = before["suggestions"]["number"]
    review = {
        "path": "number",
        "action": "correct",
        "value": suggested["value"],
        "page": suggested["evidence"]["page"],
        "box": suggested["evidence"]["box"],
    }
    state = (await client.get(f"{address}/reviews")).json()
    await client.post(f"{address}/reviews", json={"ingestion_id": state["ingestion_id"], "reviews": [review]})
    after = (await client.get(address)).json()

    assert before["data"]["number"] is None
    assert suggested == SUGGESTIONS["number"][0]
    assert (after["data"]["number"], after["suggestions"]) == ("R-4711", {})
    assert after["evidence"]["number"]["box"] == pytest.approx([0.05, 0.1, 0.3, 0.15])
