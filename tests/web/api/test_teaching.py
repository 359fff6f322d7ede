"""A correction teaches: from a person's word over the API to the next document of the same vendor."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx
import pytest

from docmill.service.app import Service
from docmill.service.worker import run_worker
from docmill.understanding.pooled import PooledCorrectionMaker
from docmill.workers.pool import Pool
from support.learning_steps import steps

NAME = "Kedai Buku Maju Sdn Bhd"

Process = Callable[[str, str], Awaitable[UUID]]


def receipt(name: str, *, number: int) -> str:
    return f"""
       {name}
          (123456-X)
   12 JALAN MAWAR 3, TAMAN INDAH
       81100 JOHOR BAHRU
   TEL: 07-355 1234
   GST ID: 001234567890

   Date: {number:02}/03/2018   Receipt {number:05}

   Pencil                 2.{number:02}
   TOTAL                  2.{number:02}
"""


@pytest.fixture
async def process(service: Service, client: httpx.AsyncClient) -> AsyncIterator[Process]:
    """Uploads a receipt and waits until a worker is done with it; gives its id."""
    stop = asyncio.Event()
    async with Pool(1) as pool:
        working = asyncio.create_task(
            run_worker(service, steps(pool, "receipt"), stop, corrections=PooledCorrectionMaker(pool))
        )

        async def process_text(name: str, text: str) -> UUID:
            response = await client.post("/api/v1/documents", files={"file": (name, text.encode())})
            document_id = UUID(response.json()["results"][0]["document_id"])
            async with asyncio.timeout(60):
                async for _ in service.feed.follow(service.default_tenant_id, 0):
                    found = (await client.get(f"/api/v1/documents/{document_id}")).json()
                    if found["state"] in ("ready", "needs_review", "failed"):
                        return document_id
            raise AssertionError

        yield process_text
        stop.set()
        async with asyncio.timeout(20):
            await working


async def _reading(client: httpx.AsyncClient, document_id: UUID) -> dict[str, Any]:
    response = await client.get(f"/api/v1/documents/{document_id}/ingestions")
    return response.json()["ingestions"][0]


async def test_a_corrected_name_is_read_on_the_vendors_next_receipt_until_it_is_taken_back(
    client: httpx.AsyncClient, process: Process
) -> None:
    first = await process("first.txt", receipt("K3DAI BUKU MAJ0 SDN 8HD", number=1))
    before = await _reading(client, first)
    assert before["structured_data"]["seller"]["name"] != NAME
    said = await client.post(
        f"/api/v1/documents/{first}/reviews",
        json={
            "ingestion_id": before["id"],
            "reviews": [{"path": "seller.name", "action": "correct", "value": NAME}],
        },
    )
    assert said.status_code == 200, said.text

    second = await _reading(client, await process("second.txt", receipt("KEDA1 BUKU MAJU S0N BHD", number=2)))

    assert second["structured_data"]["seller"]["name"] == NAME
    proof = second["evidence"]["seller.name"]
    assert proof["text"] == "KEDA1 BUKU MAJU S0N BHD"
    if "seller.name" in before["evidence"]:
        assert proof["confidence"] > before["evidence"]["seller.name"]["confidence"]
    assert proof["reason"] == "as you confirmed on first.txt"
    assert second["extraction_reason"].endswith("1 value as people confirmed before")

    undone = await client.post(f"/api/v1/documents/{first}/reviews/undo", json={"ingestion_id": before["id"]})
    assert undone.status_code == 200, undone.text
    third = await _reading(client, await process("third.txt", receipt("KEDA1 BUKU MAJU S0N BHD", number=3)))

    assert third["structured_data"]["seller"]["name"] != NAME
    assert "reason" not in third["evidence"].get("seller.name", {})  # a name that is withheld has none
