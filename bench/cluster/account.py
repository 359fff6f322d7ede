"""The record of accepted uploads and its comparison with the vault at the end."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from bench.cluster.papers import Paper

FINAL = {"ready", "needs_review", "needs_classification", "failed"}
_AT_ONCE = 8


@dataclass
class Account:
    """accepted: content hash by document; ends: how many end events each document had."""

    accepted: dict[str, str] = field(default_factory=dict[str, str])
    answers: Counter[str] = field(default_factory=Counter[str])
    ends: Counter[str] = field(default_factory=Counter[str])
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def answered(self, paper: Paper, answer: dict[str, str]) -> None:
        """An upload was answered."""
        self.answers[answer["status"]] += 1
        self.accepted[answer["document_id"]] = paper.content_hash
        self.changed.set()

    def ended(self, document_id: str) -> None:
        """Note the event that a document is finished, or failed for good."""
        self.ends[document_id] += 1
        self.changed.set()

    async def until(self, count: int) -> None:
        """Wait until so many documents have ended."""
        while len(self.ends) < count:
            self.changed.clear()
            await self.changed.wait()


@dataclass(frozen=True)
class Findings:
    """The state of the vault at the end. faults: every broken promise, in words."""

    states: Counter[str]
    attempts: Counter[int]
    faults: list[str]


async def examine(address: str, papers: Sequence[Paper], account: Account) -> Findings:
    """Fetch every document with its file and history, and compare them with the accepted uploads."""
    states: Counter[str] = Counter()
    attempts: Counter[int] = Counter()
    faults: list[str] = []
    turns = asyncio.Semaphore(_AT_ONCE)

    async def look(client: httpx.AsyncClient, document_id: str, content_hash: str) -> None:
        path = f"/api/v1/documents/{document_id}"
        async with turns:
            document = (await client.get(path)).json()
            history = (await client.get(f"{path}/ingestions")).json()["ingestions"]
            file = (await client.get(f"{path}/file")).content
        states[document["state"]] += 1
        attempts[sum(ingestion["attempt_count"] for ingestion in history)] += 1
        if document["state"] not in FINAL:
            faults.append(f"{document_id} is {document['state']}")
        if len(history) != 1:
            faults.append(f"{document_id} was ingested {len(history)} times")
        if hashlib.sha256(file).hexdigest() != content_hash:
            faults.append(f"{document_id} has another file than was sent")

    async with httpx.AsyncClient(base_url=address, timeout=60) as client, asyncio.TaskGroup() as tasks:
        for document_id, content_hash in account.accepted.items():
            tasks.create_task(look(client, document_id, content_hash))
        listed = tasks.create_task(_listed(client))
    lost = {paper.content_hash for paper in papers} - set(account.accepted.values())
    faults += [f"no document has the content {content_hash}" for content_hash in lost]
    faults += [
        f"{document_id} was never uploaded" for document_id in listed.result() - account.accepted.keys()
    ]
    twice = [document_id for document_id, count in account.ends.items() if count > 1]
    faults += [f"{document_id} ended more than once" for document_id in twice]
    return Findings(states, attempts, faults)


async def _listed(client: httpx.AsyncClient) -> set[str]:
    """Fetch every document of the vault."""
    found: set[str] = set()
    address: str | None = "/api/v1/documents?limit=200"
    while address:
        page = (await client.get(address)).json()
        found |= {document["id"] for document in page["documents"]}
        address = page["next"]
    return found
