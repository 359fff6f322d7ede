"""Measure what a run costs for each document beside the work of its components, which do nothing here.

The peer is the pattern of a production guide (bench/peers/production_guide.py): its orchestrator, and its
resumable pipeline without checkpoints, and with them at sizes at which it still comes to an end. Times are
the best of some rounds, in which everything takes turns.
"""

import asyncio
import math
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.run_components import (
    AsyncFixedConverter,
    AsyncKeyReader,
    CountingExporter,
    FixedConverter,
    KeyReader,
    Letter,
    TextExtractor,
)
from bench.peers.production_guide import CheckpointFolder, Components, ResumablePipeline, run_orchestrator
from docmill.ports import Ref
from docmill.runs.document_bytes import DocumentBytes
from docmill.runs.running import Pipeline

GOAL_US = 50.0
Runs = Callable[[int, Path], Awaitable[int]]
"""Takes so many documents to their export, with its files in a folder; their number."""


@dataclass
class Cost:
    """The time of a document, in µs of the clock and of the processor."""

    name: str
    documents: int
    wall_us: float = math.inf
    cpu_us: float = math.inf


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument(
        "--checkpointed",
        type=int,
        nargs="+",
        default=[250, 500, 1_000],
        help="numbers of documents of the peer with checkpoints",
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    costs = measure(options.documents, options.checkpointed, options.rounds)
    print_table(costs, options.checkpointed)


def measure(documents: int, checkpointed: Sequence[int], rounds: int) -> dict[str, Cost]:
    """Costs by name; of what is measured at several sizes, the name ends in the size."""
    largest = max(checkpointed)
    work: list[tuple[str, int, Runs]] = [
        ("components alone", documents, components_alone),
        ("docmill, in memory", documents, partial(docmill_run, store="memory:")),
        ("docmill, in memory, threads", documents, partial(docmill_run, store="memory:", threads=True)),
        ("docmill, SQLite", documents, docmill_run),
        ("docmill, SQLite, threads", documents, partial(docmill_run, threads=True)),
        (f"docmill, SQLite, {largest}", largest, docmill_run),
        ("peer, orchestrator, threads", documents, peer_orchestrator),
        ("peer, no checkpoints", documents, partial(peer_pipeline, has_checkpoints=False)),
    ]
    costs = {name: Cost(name, count) for name, count, _ in work}
    for _ in range(rounds):
        for name, _, run in work:
            measure_once(costs[name], run)
    for count in checkpointed:  # takes minutes: one round
        name = f"peer, checkpoints, {count}"
        costs[name] = Cost(name, count)
        measure_once(costs[name], peer_pipeline)
    return costs


def measure_once(cost: Cost, run: Runs) -> None:
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:

        async def timed() -> int:
            return await run(cost.documents, Path(folder))

        wall, cpu = time.perf_counter(), time.process_time()
        done = asyncio.run(timed())
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert done == cost.documents, (cost.name, done)
    cost.wall_us = min(cost.wall_us, wall / done * 1e6)
    cost.cpu_us = min(cost.cpu_us, cpu / done * 1e6)


async def components_alone(count: int, _folder: Path) -> int:
    reader, converter, extractor = AsyncKeyReader(), AsyncFixedConverter(), TextExtractor()
    exporter = CountingExporter()
    for ref in refs(count):
        content = DocumentBytes(ref.name, content=await reader.read(ref, None))
        document = await converter.convert(content, None)
        await exporter.export(document, await extractor.extract(document, Letter, None), None)
    return exporter.count


async def docmill_run(count: int, folder: Path, *, store: str | None = None, threads: bool = False) -> int:
    exporter = CountingExporter()
    pipeline = Pipeline(
        schema=Letter,
        reader=KeyReader() if threads else AsyncKeyReader(),
        converter=FixedConverter() if threads else AsyncFixedConverter(),
        extractor=TextExtractor(),
        exporter=exporter,
    )
    report = await pipeline.arun(refs(count), store=store or folder / "runs.sqlite")
    assert report.completed == exporter.count
    return exporter.count


async def peer_orchestrator(count: int, _folder: Path) -> int:
    components, exporter = peer_components()
    await run_orchestrator(components, list(refs(count)))
    return exporter.count


async def peer_pipeline(count: int, folder: Path, *, has_checkpoints: bool = True) -> int:
    components, exporter = peer_components()
    checkpoints = CheckpointFolder(folder if has_checkpoints else None)
    await ResumablePipeline(components, checkpoints).run(refs(count))
    return exporter.count


def peer_components() -> tuple[Components, CountingExporter]:
    exporter = CountingExporter()
    return Components(KeyReader(), FixedConverter(), TextExtractor(), exporter, Letter), exporter


def refs(count: int) -> Iterator[Ref]:
    return (Ref(f"document {number}", f"document {number}") for number in range(count))


def print_table(costs: dict[str, Cost], checkpointed: Sequence[int]) -> None:
    print(f"{'':32} {'documents':>9} {'µs each':>9} {'of CPU':>9}")
    for cost in costs.values():
        print(f"{cost.name:32} {cost.documents:9} {cost.wall_us:9.1f} {cost.cpu_us:9.1f}")
    memory = costs["docmill, in memory"]
    print(f"\ndocmill in memory {memory.wall_us:.1f} µs a document, goal less than {GOAL_US:.0f}")
    bare = costs["peer, no checkpoints"].wall_us
    durable = costs["docmill, SQLite"].wall_us
    print(f"{memory.wall_us / bare:.2f} of the peer without checkpoints; with SQLite {durable / bare:.2f}")
    largest = max(checkpointed)
    peer, own = costs[f"peer, checkpoints, {largest}"], costs[f"docmill, SQLite, {largest}"]
    print(
        f"with SQLite {own.wall_us / peer.wall_us:.3f} of the peer with checkpoints, at {largest} documents"
    )
    for fewer, more in pairwise(sorted(set(checkpointed))):
        growth = costs[f"peer, checkpoints, {more}"].cpu_us / costs[f"peer, checkpoints, {fewer}"].cpu_us
        print(f"  from {fewer} to {more} documents, its CPU for each document grows by {growth:.2f}")
    minutes = peer.cpu_us * (memory.documents / largest) * memory.documents / 1e6 / 60
    print(f"  if CPU grows with the square, {memory.documents} documents would take it {minutes:.1f} minutes")


if __name__ == "__main__":
    main()
