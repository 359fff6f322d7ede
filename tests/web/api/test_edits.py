"""Titles and dates that people give documents."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.store.database import DEFAULT_USER_ID

Add = Callable[..., Awaitable[UUID]]
Finish = Callable[..., Awaitable[None]]
Read = Callable[..., Awaitable[UUID]]

MACHINE = {"document_type": "receipt", "title": "Read anew", "document_date": "2020-01-01"}


async def _get(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    return (await client.get(f"/api/v1/documents/{document_id}")).json()


async def test_a_title_and_a_date_of_a_person_hold_against_a_later_reading(
    client: httpx.AsyncClient, read: Read, finish: Finish, service: Service
) -> None:
    document_id = await read()

    response = await client.patch(
        f"/api/v1/documents/{document_id}", json={"title": " My  lunch ", "document_date": "2026-11-05"}
    )
    await service.intake.reprocess(document_id, tenant_id=service.default_tenant_id)
    await finish(document_id, classification=MACHINE)

    assert response.status_code == 200
    assert (response.json()["title"], response.json()["edited"]) == ("My lunch", ["title", "document_date"])
    later = await _get(client, document_id)
    assert (later["title"], later["document_date"]) == ("My lunch", "2026-11-05")


async def test_an_edit_taken_back_shows_what_is_read_now(
    client: httpx.AsyncClient, read: Read, finish: Finish, service: Service
) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    await client.patch(address, json={"title": "First"})
    await client.patch(address, json={"title": "Second", "document_date": ""})
    await service.intake.reprocess(document_id, tenant_id=service.default_tenant_id)
    await finish(document_id, classification=MACHINE)

    once = (await client.patch(address, json={"title": None})).json()
    twice = (await client.patch(address, json={"title": None, "document_date": None})).json()

    assert (once["title"], once["document_date"]) == ("First", None)
    assert (twice["title"], twice["document_date"], twice["edited"]) == ("Read anew", "2020-01-01", [])


async def test_a_corrected_value_changes_the_title_unless_a_person_set_it(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read(
        classification={
            "document_type": "receipt",
            "title": "Corner Bakery 12.90",
            "summary": "Corner Bakery",
        }
    )
    address = f"/api/v1/documents/{document_id}"
    state = (await client.get(f"{address}/reviews")).json()

    async def correct(name: str) -> dict[str, Any]:
        review = {"path": "seller.name", "action": "correct", "value": name}
        await client.post(
            f"{address}/reviews", json={"ingestion_id": state["ingestion_id"], "reviews": [review]}
        )
        return await _get(client, document_id)

    followed = await correct("Round Bakery")
    await client.patch(address, json={"document_date": "2026-11-04"})
    assert (await _get(client, document_id))["title"] == followed["title"]
    await client.patch(address, json={"title": "Breakfast"})
    dated = (await client.patch(address, json={"document_date": "2026-11-05"})).json()
    kept = await correct("Square Bakery")
    back = (await client.patch(address, json={"title": None})).json()

    assert "Round Bakery" in followed["title"]
    assert (dated["title"], dated["summary"]) == ("Breakfast", followed["summary"])
    assert kept["title"] == "Breakfast"
    assert "Square Bakery" in kept["summary"]
    assert "Square Bakery" in back["title"]


async def test_between_a_result_and_its_judgement_the_title_has_the_corrected_value(
    client: httpx.AsyncClient, read: Read, finish: Finish, service: Service
) -> None:
    machine = {"document_type": "receipt", "title": "Corner Bakery 12.90", "summary": "Corner Bakery"}
    document_id = await read(classification=machine)
    address = f"/api/v1/documents/{document_id}"
    before = await _get(client, document_id)
    state = (await client.get(f"{address}/reviews")).json()
    review = {"path": "seller.name", "action": "correct", "value": "Round Bakery"}
    await client.post(f"{address}/reviews", json={"ingestion_id": state["ingestion_id"], "reviews": [review]})

    await service.intake.reprocess(document_id, tenant_id=service.default_tenant_id)
    await finish(document_id, classification=machine, structured_data=before["data"])
    between = await _get(client, document_id)
    await service.reviews.settle(document_id, tenant_id=service.default_tenant_id)
    after = await _get(client, document_id)

    for document in (between, after):
        assert document["title"] == "Round Bakery 12.90"
        assert document["summary"] == "Round Bakery"
        assert document["data"]["seller"]["name"] == "Round Bakery"
    assert between["state"] == "needs_review"


async def test_edits_stand_in_the_history(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"

    await client.patch(address, json={"title": "Lunch"})
    await client.patch(address, json={"title": None})

    history = (await client.get(f"{address}/reviews")).json()["history"]
    assert [(row["path"], row["action"], row["value"]) for row in history] == [
        (":title", "undo", "Corner Bakery"),
        (":title", "correct", "Lunch"),
    ]
    page = (await client.get(f"/docs/{document_id}?tab=history")).text
    assert "Title: Corrected to <q>Lunch</q>" in page


async def test_a_failed_document_takes_a_title(client: httpx.AsyncClient, add: Add, finish: Finish) -> None:
    document_id = await add("broken.pdf")
    await finish(
        document_id, status="failed", classification=None, error_code="corrupt", error_message="it is broken"
    )

    given = await client.patch(f"/api/v1/documents/{document_id}", json={"title": "Old contract"})
    taken = await client.patch(f"/api/v1/documents/{document_id}", json={"title": None})

    assert (given.json()["title"], given.json()["state"]) == ("Old contract", "failed")
    assert taken.json()["title"] is None
    assert [
        row["title"] for row in (await client.get("/api/v1/documents?q=contract")).json()["documents"]
    ] == []


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"seen": "receipt"},
        {"title": ""},
        {"title": "  "},
        {"title": "…"},
        {"title": "x" * 301},
        {"document_date": "2026-02-30"},
        {"document_date": "tomorrow"},
        {"summary": "no"},
    ],
)
async def test_what_is_no_title_or_date_is_refused(
    client: httpx.AsyncClient, read: Read, change: dict[str, str]
) -> None:
    document_id = await read()

    response = await client.patch(f"/api/v1/documents/{document_id}", json=change)

    assert (response.status_code, response.json()["code"]) == (422, "validation")
    assert (await _get(client, document_id))["title"] == "Corner Bakery"


async def test_nothing_is_stored_if_one_of_the_changes_is_refused(
    client: httpx.AsyncClient, read: Read
) -> None:
    document_id = await read()

    response = await client.patch(
        f"/api/v1/documents/{document_id}",
        json={"document_type": "invoice", "title": "!", "document_date": ""},
    )

    assert response.status_code == 422
    assert response.json()["faults"][0]["where"] == "title"
    after = await _get(client, document_id)
    assert (after["chosen_type"], after["edited"], after["state"]) == (None, [], "ready")


async def test_a_change_of_another_version_is_refused(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    seen = (await client.get(address)).headers["etag"]
    await client.patch(address, json={"title": "Mine"})

    late = await client.patch(address, json={"title": "Theirs"}, headers={"if-match": seen})
    typed = await client.patch(address, json={"document_type": "invoice"}, headers={"if-match": seen})
    now = (await client.get(address)).headers["etag"]
    fresh = await client.patch(address, json={"title": "Theirs"}, headers={"if-match": f'"1", {now}'})
    anyhow = await client.patch(address, json={"title": "Ours"}, headers={"if-match": "*"})
    weak = await client.patch(
        address, json={"title": "Nobody's"}, headers={"if-match": f"W/{anyhow.headers['etag']}"}
    )

    assert [answer.status_code for answer in (late, typed, fresh, anyhow, weak)] == [412, 412, 200, 200, 412]
    assert late.json()["code"] == "changed"
    assert (await _get(client, document_id))["title"] == "Ours"


async def test_of_two_changes_of_one_version_one_wins(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    seen = (await client.get(address)).headers["etag"]

    answers = await asyncio.gather(
        *(client.patch(address, json={"title": f"By {n}"}, headers={"if-match": seen}) for n in range(5))
    )

    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412, 412]


async def test_a_known_version_is_not_sent_again(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    seen = (await client.get(address)).headers["etag"]

    same = await client.get(address, headers={"if-none-match": seen})
    await client.patch(address, json={"title": "Lunch"})
    other = await client.get(address, headers={"if-none-match": seen})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", seen)
    assert (other.status_code, other.json()["title"]) == (200, "Lunch")


async def test_no_tenant_edits_a_document_of_another(
    client: httpx.AsyncClient, service: Service, read: Read
) -> None:
    document_id = await read()
    elsewhere = UUID("00000000-0000-7000-8000-0000000000ff")

    is_there = await service.edits.change(
        document_id, {":title": "Stolen"}, tenant_id=elsewhere, edited_by=DEFAULT_USER_ID
    )

    assert not is_there
    assert (await _get(client, document_id))["title"] == "Corner Bakery"


async def test_the_form_edits_title_and_date(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    form = {"seen_title": "Corner Bakery", "seen_date": "2026-11-03"}

    saved = await client.post(
        f"/docs/{document_id}/edit", data={**form, "title": "Lunch", "document_date": "2026-11-03"}
    )
    stale = await client.post(
        f"/docs/{document_id}/edit", data={**form, "title": "Dinner", "document_date": "2026-11-03"}
    )
    empty = await client.post(
        f"/docs/{document_id}/edit", data={**form, "seen_title": "Lunch", "title": "", "document_date": ""}
    )
    page = (await client.get(f"/docs/{document_id}")).text

    assert (saved.status_code, stale.status_code, empty.status_code) == (303, 409, 422)
    assert "Somebody has changed the title" in stale.text
    assert "A document needs a title." in empty.text
    assert '<h1 translate="no">Lunch</h1>' in page
    assert "Undo the title" in page
    assert "Undo the date" not in page

    undone = await client.post(
        f"/docs/{document_id}/edit", data={**form, "seen_title": "Lunch", "title": "Lunch", "undo": "title"}
    )
    assert undone.status_code == 303
    assert '<h1 translate="no">Corner Bakery</h1>' in (await client.get(f"/docs/{document_id}")).text


async def test_a_document_is_given_an_archive_serial_number(client: httpx.AsyncClient, read: Read) -> None:
    first, second = await read("first.png"), await read("second.png")
    address = f"/api/v1/documents/{first}"

    given = (await client.patch(address, json={"archive_serial_number": 12})).json()
    refused = await client.patch(f"/api/v1/documents/{second}", json={"archive_serial_number": 12})

    assert (given["archive_serial_number"], given["edited"]) == (12, ["archive_serial_number"])
    assert refused.status_code == 422
    assert "“Corner Bakery” has the archive serial number 12 already." in refused.text
    listed = (await client.get("/api/v1/documents?asn=12")).json()["documents"]
    assert [row["id"] for row in listed] == [str(first)]
    assert listed[0]["archive_serial_number"] == 12
    others = (await client.get("/api/v1/documents?has_asn=false")).json()["documents"]
    assert [row["id"] for row in others] == [str(second)]
    history = (await client.get(f"{address}/reviews")).json()["history"]
    assert [(row["path"], row["action"], row["value"]) for row in history] == [
        (":archive_serial_number", "correct", 12)
    ]


async def test_an_archive_serial_number_is_taken_away_and_back(client: httpx.AsyncClient, read: Read) -> None:
    address = f"/api/v1/documents/{await read()}"
    version = (await client.patch(address, json={"archive_serial_number": 12})).headers["etag"]

    cleared = await client.patch(address, json={"archive_serial_number": ""}, headers={"if-match": version})
    outdated = await client.patch(address, json={"archive_serial_number": 13}, headers={"if-match": version})
    back = await client.patch(address, json={"archive_serial_number": None})
    wrong = await client.patch(address, json={"archive_serial_number": -1})

    assert cleared.json()["archive_serial_number"] is None
    assert outdated.status_code == 412
    assert back.json()["archive_serial_number"] == 12
    assert wrong.status_code == 422


async def test_a_number_taken_back_before_anything_was_read_is_none(
    client: httpx.AsyncClient, add: Add
) -> None:
    address = f"/api/v1/documents/{await add()}"

    given = await client.patch(address, json={"archive_serial_number": 7, "title": "Rent"})
    taken = await client.patch(address, json={"archive_serial_number": None})

    assert (given.json()["archive_serial_number"], given.json()["title"]) == (7, "Rent")
    assert (taken.json()["archive_serial_number"], taken.json()["title"]) == (None, "Rent")


async def test_the_page_gives_and_takes_a_number(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/docs/{document_id}"
    seen = {"title": "Corner Bakery", "seen_title": "Corner Bakery"}
    days = {"document_date": "2026-11-03", "seen_date": "2026-11-03"}

    given = await client.post(
        f"{address}/edit", data={**seen, **days, "archive_serial_number": "12", "seen_number": ""}
    )
    page = (await client.get(address)).text
    outdated = await client.post(
        f"{address}/edit", data={**seen, **days, "archive_serial_number": "13", "seen_number": ""}
    )
    refused = await client.post(
        f"{address}/edit", data={**seen, **days, "archive_serial_number": "twelve", "seen_number": "12"}
    )
    history = (await client.get(f"{address}?tab=history")).text
    listed = (await client.get("/?asn=0012")).text
    undone = await client.post(
        f"{address}/edit", data={"undo": "archive_serial_number", "seen_number": "12", **seen, **days}
    )

    assert (given.status_code, outdated.status_code, refused.status_code) == (303, 409, 422)
    assert "ASN 12" in page
    assert "Archive serial number: Corrected to <q>12</q>" in history
    assert "Archive serial number: 12" in listed
    assert "Corner Bakery" in listed
    assert undone.status_code == 303
    assert (await _get(client, document_id))["archive_serial_number"] is None


async def test_redo_leaves_a_number_alone(client: httpx.AsyncClient, read: Read) -> None:
    document_id = await read()
    address = f"/api/v1/documents/{document_id}"
    await client.patch(address, json={"archive_serial_number": 12})
    await client.patch(address, json={"archive_serial_number": None})
    state = (await client.get(f"{address}/reviews")).json()

    redone = await client.post(f"{address}/reviews/redo", json={"ingestion_id": state["ingestion_id"]})

    assert redone.status_code == 409
    assert (await _get(client, document_id))["edited"] == []


async def test_a_number_settles_the_question_about_a_document_without_values(
    client: httpx.AsyncClient, add: Add, finish: Finish
) -> None:
    document_id = await add("label.pdf")
    failure: dict[str, object] = {"check": "archive_serial_number", "message": "taken", "fields": []}
    await finish(document_id, verdict={"failures": [failure]}, valid_structured_data=False)
    asked = await _get(client, document_id)

    answered = await client.patch(f"/api/v1/documents/{document_id}", json={"archive_serial_number": 5})

    assert (asked["state"], answered.json()["state"]) == ("needs_review", "ready")
