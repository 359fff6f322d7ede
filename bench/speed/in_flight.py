"""A thousand documents in flight in one worker process, each waiting two seconds for a fake model."""

import asyncio
import tempfile
import time
from pathlib import Path

import psutil

from bench.speed.no_op_service import NoOp, fill, service_on
from docmill.service.worker import Worker

IN_FLIGHT = 1_000
ANSWER_S = 2.0
MEASURED_S = 20
"""In the middle of the run: not at its start, when nothing is in flight, and not at its end."""

TICK_S = 0.005


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        async with service_on(Path(folder), concurrency=IN_FLIGHT) as service:
            await fill(service, round(IN_FLIGHT / ANSWER_S * (MEASURED_S + 4 * ANSWER_S)))
            stop = asyncio.Event()
            model = NoOp(ANSWER_S)
            running = asyncio.create_task(Worker(service, model.attempt, "bench").run(stop, asyncio.Event()))
            await asyncio.sleep(2 * ANSWER_S)
            lags = asyncio.create_task(_lags(MEASURED_S))
            before, cpu = model.answers, time.process_time()
            started = time.perf_counter()
            await asyncio.sleep(MEASURED_S)
            seconds = time.perf_counter() - started
            rate = (model.answers - before) / seconds
            share = (time.process_time() - cpu) / seconds
            memory_mb = psutil.Process().memory_info().rss / 1e6
            stop.set()
            await running
    ideal = IN_FLIGHT / ANSWER_S
    worst_ms = max(await lags) * 1000
    print(f"{rate:.0f} documents/s, {rate / ideal:.1%} of the ideal {ideal:.0f}/s   (goal: at least 90 %)")
    print(f"longest block of the event loop {worst_ms:.0f} ms   (goal: at most 50)")
    print(f"memory of the worker {memory_mb:.0f} MB   (goal: at most 400); {share:.0%} of one core")


async def _lags(seconds: float) -> list[float]:
    """By how much each tick came late."""
    lags: list[float] = []
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        await asyncio.sleep(TICK_S)
        lags.append(time.perf_counter() - now - TICK_S)
    return lags


if __name__ == "__main__":
    asyncio.run(main())
