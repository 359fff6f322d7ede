"""What the columns of a bank's table mean is kept from one file to the next, and corrected by people."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.store import documents
from docmill.service.worker import ready_worker

PATH = "/api/v1/statement-columns"
HEADINGS = "Buchungstag;Name;Verwendungszweck;Betrag;Saldo\n"
PROVED = f"{HEADINGS}03.11.2026;A GmbH;eins;-10,00;90,00\n14.11.2026;B GmbH;zwei;5,00;95,00\n"
OPEN = f"{HEADINGS}03.12.2026;A GmbH;drei;-1,00;94,00\n03.12.2026;C GmbH;vier;2,00;96,00\n"


@pytest.fixture
async def working(service: Service) -> AsyncIterator[None]:
    """A worker that reads with real processes."""
    stop = asyncio.Event()
    async with ready_worker(service) as work:
        task = asyncio.create_task(work(stop))
        try:
            yield
        finally:
            stop.set()
            await task


async def read(client: httpx.AsyncClient, service: Service, name: str, text: str) -> list[str]:
    """The days of the bookings of an uploaded file."""
    answer = await client.post("/api/v1/documents", files={"file": (name, text.encode())})
    document_id = UUID(answer.json()["results"][0]["document_id"])
    async with asyncio.timeout(60):
        while True:
            async with service.database.tenant(service.default_tenant_id) as conn:
                row = await documents.get(conn, document_id)
            if row is not None and row.state not in ("processing", "stale"):
                break
            await service.wakeups.wait(service.wakeups.next("event"), timeout_s=0.1)
    assert row.structured_data is not None, row
    return [booking["date"] for booking in row.structured_data["transactions"]]


async def only_kept(client: httpx.AsyncClient, service: Service) -> dict[str, Any]:
    """The only kind of table that is kept, as soon as it is: that is after the document is read."""
    async with asyncio.timeout(20):
        while not (kept := (await client.get(PATH)).json()["statement_columns"]):
            await service.wakeups.wait(service.wakeups.next("event"), timeout_s=0.05)
    (one,) = kept
    return one


@pytest.mark.usefixtures("working")
async def test_what_one_file_shows_of_its_columns_holds_for_the_next_until_a_person_corrects_it(
    client: httpx.AsyncClient, service: Service
) -> None:
    first = await read(client, service, "november.csv", PROVED)
    kept = await only_kept(client, service)
    second = await read(client, service, "december.csv", OPEN)
    american = {**kept["columns"], "date_order": "mdy"}
    put = await client.put(PATH, json=american)
    third = await read(client, service, "again.csv", OPEN.replace("drei", "sechs"))
    fourth = await read(client, service, "proved.csv", PROVED.replace("eins", "acht"))
    corrected = await only_kept(client, service)
    forgotten = [await client.delete(f"{PATH}/{corrected['id']}") for _ in range(2)]

    assert first == ["2026-11-03", "2026-11-14"]
    assert (kept["set_by"], kept["columns"]["date_order"]) == (None, "dmy")
    assert second == ["2026-12-03", "2026-12-03"]
    assert put.status_code == 200, put.text
    assert third == ["2026-03-12", "2026-03-12"]
    assert fourth == ["2026-11-03", "2026-11-14"]  # it cannot be in the other order
    assert (corrected["id"], corrected["set_by"]) == (kept["id"], put.json()["set_by"])
    assert [answer.status_code for answer in forgotten] == [204, 404]


@pytest.mark.parametrize(
    "changes",
    [{"amount": 9}, {"amount": None}, {"date": -1}, {"delimiter": "::"}, {"headings": []}, {"secret": 1}],
)
async def test_columns_that_cannot_be_are_refused(
    client: httpx.AsyncClient, changes: dict[str, object]
) -> None:
    columns: dict[str, object] = {
        "delimiter": ";",
        "headings": ["Buchungstag", "Name", "Betrag"],
        "date": 0,
        "date_order": "dmy",
        "decimal_mark": ",",
        "amount": 2,
    }

    accepted = await client.put(PATH, json=columns)
    refused = await client.put(PATH, json={**columns, **changes})

    assert accepted.status_code == 200
    assert refused.status_code == 422
