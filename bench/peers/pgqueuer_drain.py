"""Print pgqueuer's jobs per second; runs in an environment of its own.

Arguments: database URL, number of jobs, and `rows` if each job shall claim and complete an ingestion.
"""

import asyncio
import sys
import time
from uuid import UUID

import asyncpg
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode

CLAIM = """
UPDATE ingestion
   SET lease_until = clock_timestamp() + interval '300 s', worker_id = 'peer', fence = fence + 1,
       attempt_count = attempt_count + 1
 WHERE id = $1 AND status = 'in-progress'
"""
COMPLETE = """
UPDATE ingestion
   SET status = 'completed', completed_at = clock_timestamp(), lease_until = NULL,
       classification = '{"title": "text/plain"}', structured_data = '{}', evidence = '{}', verdict = '{}',
       valid_structured_data = true
 WHERE id = $1 AND fence = 1
"""


async def main(url: str, count: int, *, rows: bool) -> None:
    driver = AsyncpgDriver(await asyncpg.connect(url))
    queries = Queries(driver)
    await queries.install()
    pool = await asyncpg.create_pool(url, max_size=10)
    found = await pool.fetch("SELECT id FROM ingestion") if rows else []
    payloads = [row["id"].bytes for row in found] or [None] * count
    await queries.enqueue(["fetch"] * count, payloads, [0] * count)
    manager = QueueManager(queries)
    done = 0

    @manager.entrypoint("fetch")
    async def fetch(job: Job) -> None:
        nonlocal done
        if job.payload is not None:
            ingestion_id = UUID(bytes=job.payload)
            await pool.execute(CLAIM, ingestion_id)
            await pool.execute(COMPLETE, ingestion_id)
        done += 1

    started = time.perf_counter()
    await manager.run(batch_size=10, mode=QueueExecutionMode.drain)
    seconds = time.perf_counter() - started
    assert done == count, done
    print(count / seconds)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), rows="rows" in sys.argv[3:]))
