"""Measure a worker with 1,000 documents in flight, each of which waits two seconds for a fake model."""

import asyncio
import tempfile
import time
from pathlib import Path

import psutil

from bench.arguments import argument_parser
from bench.speed.no_op_service import NoOp, fill, service_on
from docmill.service.worker import Worker

ANSWER_S = 2.0
TICK_S = 0.005


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--in-flight", type=int, default=1_000, help="documents that wait at a time (1,000)")
    parser.add_argument("--seconds", type=int, default=20, help="seconds in the middle of the run (20)")
    options = parser.parse_args()
    asyncio.run(measure(options.in_flight, options.seconds))


async def measure(in_flight: int, measured_s: int) -> None:
    """Print rate, longest block of the event loop and memory.

    Measured in the middle: at the start nothing is in flight yet, at the end less and less.
    """
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        async with service_on(Path(folder), concurrency=in_flight) as service:
            await fill(service, round(in_flight / ANSWER_S * (measured_s + 4 * ANSWER_S)))
            stop = asyncio.Event()
            model = NoOp(ANSWER_S)
            running = asyncio.create_task(Worker(service, model.attempt, "bench").run(stop, asyncio.Event()))
            await asyncio.sleep(2 * ANSWER_S)
            lags = asyncio.create_task(_lags(measured_s))
            before, cpu = model.answers, time.process_time()
            started = time.perf_counter()
            await asyncio.sleep(measured_s)
            seconds = time.perf_counter() - started
            rate = (model.answers - before) / seconds
            share = (time.process_time() - cpu) / seconds
            memory_mb = psutil.Process().memory_info().rss / 1e6
            stop.set()
            await running
    ideal = in_flight / ANSWER_S
    worst_ms = max(await lags) * 1000
    print(f"{rate:.0f} documents/s, {rate / ideal:.1%} of the ideal {ideal:.0f}/s   (goal: at least 90 %)")
    print(f"longest block of the event loop {worst_ms:.0f} ms   (goal: at most 50)")
    print(f"memory of the worker {memory_mb:.0f} MB   (goal: at most 400); {share:.0%} of one core")


async def _lags(seconds: float) -> list[float]:
    """Return by how many seconds each tick of the event loop came late."""
    lags: list[float] = []
    end = time.perf_counter() + seconds
    while (now := time.perf_counter()) < end:
        await asyncio.sleep(TICK_S)
        lags.append(time.perf_counter() - now - TICK_S)
    return lags


if __name__ == "__main__":
    main()
