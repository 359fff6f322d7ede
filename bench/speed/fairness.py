"""Measure the time of a one-page document while others keep every process busy, with and without fair turns.

Pages are stood for by tasks that sleep: what is measured is who waits for whom.
"""

import asyncio
import contextlib
import statistics
import time
from collections.abc import Awaitable, Callable

from bench.arguments import argument_parser
from docmill.workers.fair_semaphore import scheduled_for
from docmill.workers.pool import Pool

PAGE_S = 0.05
WORKERS = 2
SMALL = 20

Load = Callable[[Pool, bool], Awaitable[None]]


async def read(pool: Pool, tenant: str, document: str, pages: int, *, fair: bool) -> None:
    """Read a document, as many pages at a time as there are processes."""
    account = scheduled_for(tenant, document) if fair else contextlib.nullcontext()
    ahead = asyncio.Semaphore(pool.workers)

    async def page() -> None:
        async with ahead:
            await pool.run(time.sleep, PAGE_S, limit_s=30)

    with account:
        async with asyncio.TaskGroup() as group:
            for _ in range(pages):
                group.create_task(page())


async def one_long(pool: Pool, fair: bool) -> None:  # noqa: FBT001 - a load's signature
    await read(pool, "a", "long", 400, fair=fair)


async def one_greedy(pool: Pool, fair: bool) -> None:  # noqa: FBT001 - a load's signature
    documents = (read(pool, "greedy", f"{number}", 8, fair=fair) for number in range(50))
    await asyncio.gather(*documents)


LOADS: dict[str, Load] = {
    "while 400 pages of one document are read": one_long,
    "while another tenant has 50 documents of 8 pages in work": one_greedy,
}


async def latencies(load: Load, *, fair: bool) -> list[float]:
    """Return the seconds of one-page documents, one after the other, under the load."""
    found: list[float] = []
    async with Pool(WORKERS) as pool:
        await read(pool, "warm", "warm", WORKERS, fair=fair)
        busy = asyncio.ensure_future(load(pool, fair))
        await asyncio.sleep(PAGE_S * 2)
        while not busy.done() and len(found) < SMALL:
            started = time.perf_counter()
            await read(pool, "modest", f"small {len(found)}", 1, fair=fair)
            found.append(time.perf_counter() - started)
        busy.cancel()
        await asyncio.wait([busy])
    return found


def main() -> None:
    argument_parser(__doc__).parse_args()
    print(f"{WORKERS} processes, a page takes {PAGE_S * 1000:.0f} ms; one-page documents")
    for name, load in LOADS.items():
        for fair in (False, True):
            found = asyncio.run(latencies(load, fair=fair))
            order = "in turn" if fair else "first come, first served"
            middle, worst = statistics.median(found), max(found)
            print(
                f"{name}, {order}: median {middle * 1000:.0f} ms, worst {worst * 1000:.0f} ms, n {len(found)}"
            )


if __name__ == "__main__":
    main()
