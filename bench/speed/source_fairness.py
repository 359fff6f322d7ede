"""Measure how long one tenant's document waits in the queue while another tenant has thousands in it.

Documents are stood for by messages, and a worker by a loop that takes one after the other: what is measured
is who waits for whom. The wait is counted in documents of the other tenant that are taken first.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from uuid import UUID

from bench.arguments import argument_parser
from docmill.service.app import Service, open_service
from docmill.service.config.settings import Settings
from docmill.service.ports import Queue, Sender
from docmill.service.store import tenants
from docmill.service.store.database import new_id

NEWCOMERS = 20
TAKEN_BETWEEN = 25
"""Messages that the worker takes before the next document of the other tenant comes."""


async def send(service: Service, tenant_id: UUID, count: int, *, at_once: int) -> list[str]:
    """Send messages as uploads do, some in each transaction."""
    bodies = [str(new_id()) for _ in range(count)]
    sender: Sender = service.sender
    for start in range(0, count, at_once):
        async with service.database.tenant(tenant_id) as conn:
            await sender.send_in(conn, bodies[start : start + at_once])
    return bodies


async def take(queue: Queue) -> tuple[str, float]:
    """The body of the next message, and the seconds of receiving it."""
    started = time.perf_counter()
    (message,) = await queue.receive(limit=1, wait_s=0)
    seconds = time.perf_counter() - started
    await queue.delete([message])
    return message.body, seconds


async def measure(flood: int) -> None:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        async with open_service(Settings(data_dir=Path(folder))) as service:
            async with service.database.accounts() as conn:
                modest = await tenants.add(conn, "Modest")
            started = time.perf_counter()
            await send(service, service.default_tenant_id, flood, at_once=1)
            sending_ms = (time.perf_counter() - started) / flood * 1000
            waits: list[int] = []
            receiving: list[float] = []
            for _ in range(NEWCOMERS):
                receiving += [(await take(service.queue))[1] for _ in range(TAKEN_BETWEEN)]
                (wanted,) = await send(service, modest, 1, at_once=1)
                waits.append(0)
                while (await take(service.queue))[0] != wanted:
                    waits[-1] += 1
    print(
        f"beside {flood:,} documents of another tenant, a document waits for {statistics.median(waits):.0f}"
        f" of them (median), {max(waits)} at most, n {len(waits)}; sent in {sending_ms:.1f} ms, received in"
        f" {statistics.median(receiving) * 1000:.1f} ms"
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--flood", type=int, default=10_000, help="documents of the other tenant (10,000)")
    asyncio.run(measure(parser.parse_args().flood))


if __name__ == "__main__":
    main()
