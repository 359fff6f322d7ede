"""Print procrastinate's jobs per second; runs in an environment of its own.

Arguments: database URL, number of jobs.
"""

import asyncio
import sys
import time

from procrastinate import App, PsycopgConnector

CONCURRENCY = 200


async def main(url: str, count: int) -> None:
    app = App(connector=PsycopgConnector(conninfo=url, max_size=10))
    done = 0

    @app.task
    async def fetch() -> None:
        nonlocal done
        done += 1

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await fetch.batch_defer_async(*[{} for _ in range(count)])
        started = time.perf_counter()
        await app.run_worker_async(concurrency=CONCURRENCY, wait=False, install_signal_handlers=False)
        seconds = time.perf_counter() - started
    assert done == count, done
    print(count / seconds)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
