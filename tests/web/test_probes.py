"""What a process answers to those who watch it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest
from fastapi import FastAPI
from obstore.store import MemoryStore
from prometheus_client.parser import text_string_to_metric_families

from docmill.errors import ServerError
from docmill.service.app import Service
from docmill.service.observe.health import HealthChecks
from docmill.service.observe.metrics import Metrics
from docmill.service.probes import Probes
from docmill.service.storage.blobs import Blobs
from docmill.service.store import dead_letters, ingestions
from docmill.service.store.database import DEFAULT_USER_ID, Database, new_id
from docmill.testing.queue import MemoryQueue
from docmill.web.app import create_probe_app

FILE = {"file": ("bill.pdf", b"%PDF-1.7 bill")}


class BrokenQueue(MemoryQueue):
    async def ping(self) -> None:
        raise ServerError("the queue is gone")


class Alone:
    """The routes of a process without pages, and the parts a test breaks."""

    def __init__(self, database_url: str, queue: MemoryQueue) -> None:
        self.stopping = asyncio.Event()
        self.metrics = Metrics()
        health = HealthChecks(
            database_url, {"ingestion": queue}, Blobs(MemoryStore()), self.stopping, limit_s=20
        )
        self.app = create_probe_app(Probes(health, self.metrics, Database(database_url)))

    async def get(self, path: str, host: str = "localhost") -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.get(path)


@pytest.fixture
def worker(database_url: str) -> Alone:
    return Alone(database_url, MemoryQueue())


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_worker_that_is_well_says_so(worker: Alone) -> None:
    healthy, ready = await worker.get("/healthz"), await worker.get("/readyz")

    assert (healthy.status_code, ready.status_code) == (200, 200)
    assert healthy.json() == {"status": "ok", "checks": {"database": "ok"}}
    assert ready.json() == {"status": "ok", "checks": {"database": "ok", "queue": "ok", "files": "ok"}}
    assert ready.headers["cache-control"] == "no-store"


async def test_a_worker_that_stops_is_alive_and_takes_nothing(worker: Alone) -> None:
    worker.stopping.set()

    assert (await worker.get("/healthz")).status_code == 200
    ready = await worker.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (503, "stopping")


async def test_without_a_database_nothing_is_well_and_metrics_still_answer() -> None:
    worker = Alone("postgresql://user:hunter2@127.0.0.1:1/none", BrokenQueue())
    worker.metrics.attempt_started()

    healthy, ready, metrics = [await worker.get(path) for path in ("/healthz", "/readyz", "/metrics")]

    assert (healthy.status_code, ready.status_code, metrics.status_code) == (503, 503, 200)
    assert ready.json()["checks"] == {"database": "failing", "queue": "failing", "files": "ok"}
    seen = samples(metrics.text)
    assert seen["docmill_up", "database"] == 0
    assert seen["docmill_up", "files"] == 1
    assert seen["docmill_jobs_in_flight",] == 1
    assert ("docmill_queue_messages", "ingestion", "due") not in seen
    assert "hunter2" not in healthy.text + ready.text + metrics.text


async def test_other_names_and_other_routes_are_not_answered(worker: Alone) -> None:
    assert (await worker.get("/metrics", host="evil.example")).status_code == 421
    assert (await worker.get("/")).status_code == 404
    assert (await worker.get("/docs")).status_code == 404


async def test_the_vault_tells_what_it_took_in_and_what_waits(client: httpx.AsyncClient) -> None:
    for _ in range(2):
        await client.post("/api/v1/documents", files=FILE)

    response = await client.get("/metrics")

    seen = samples(response.text)
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert seen["docmill_uploads_total", "accepted"] == 1
    assert seen["docmill_uploads_total", "already_here"] == 1
    assert seen["docmill_queue_messages", "ingestion", "due"] == 1
    assert seen["docmill_queue_oldest_age_seconds", "ingestion"] > 0
    assert seen["docmill_up", "queue"] == 1
    assert seen["docmill_dead_letters", "ingestion"] == 0
    assert seen["docmill_outbox_messages", "ingestion"] == 0


async def test_what_waits_for_a_person_is_counted(
    service: Service,
    client: httpx.AsyncClient,
    add: Callable[..., Awaitable[UUID]],
    finish: Callable[..., Awaitable[None]],
) -> None:
    document_id = await add()
    await finish(document_id, status="failed", error_code="corrupt", error_message="damaged")
    async with service.database.tenant(service.default_tenant_id) as conn:
        (ingestion,) = await ingestions.of_document(conn, document_id)
        await dead_letters.write(conn, ingestion.id, receive_count=1)

    seen = samples((await client.get("/metrics")).text)

    assert seen["docmill_dead_letters", "ingestion"] == 1


async def test_dead_letters_of_every_tenant_are_counted_and_none_is_named(
    database_url: str, client: httpx.AsyncClient
) -> None:
    stranger, document, ingestion = new_id(), new_id(), new_id()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute("INSERT INTO tenant (id, name) VALUES (%s, 'other')", [stranger])
        await owner.execute("SELECT set_config('docmill.tenant_id', %s, false)", [str(stranger)])
        await owner.execute(
            """
            INSERT INTO document (id, tenant_id, content_hash, byte_size, file_name, file_path)
            VALUES (%s, %s, repeat('0', 64), 1, 'a', 'p')
            """,
            [document, stranger],
        )
        await owner.execute(
            """
            INSERT INTO ingestion
                (id, tenant_id, document_id, uploaded_by, status, error_code, error_message, completed_at)
            VALUES (%s, %s, %s, %s, 'failed', 'corrupt', 'damaged', now())
            """,
            [ingestion, stranger, document, DEFAULT_USER_ID],
        )
        await owner.execute(
            """
            INSERT INTO dead_letter (id, tenant_id, body, error_code, error_message, attempts)
            VALUES (%s, %s, %s, 'corrupt', 'damaged', 1)
            """,
            [new_id(), stranger, ingestion],
        )

    text = (await client.get("/metrics")).text

    assert samples(text)["docmill_dead_letters", "ingestion"] == 1
    assert str(stranger) not in text


async def test_a_pool_that_has_ended_leaves_out_what_it_would_have_counted(worker: Alone) -> None:
    seen = samples((await worker.get("/metrics")).text)

    assert seen["docmill_up", "database"] == 1
    assert ("docmill_dead_letters", "ingestion") not in seen


async def test_no_label_tells_whose_documents_they_are(
    client: httpx.AsyncClient, service: Service, tmp_path: Path
) -> None:
    await client.post("/api/v1/documents", files=FILE)

    text = (await client.get("/metrics")).text

    assert str(service.default_tenant_id) not in text
    assert str(tmp_path) not in text
    assert "bill" not in text


async def test_every_metric_is_in_the_api_description(app: FastAPI) -> None:
    assert {"/healthz", "/readyz", "/metrics"} <= set(app.openapi()["paths"])
