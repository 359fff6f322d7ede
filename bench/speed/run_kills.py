"""Count documents that a run loses or exports twice when it is killed again and again, and resumed each time.

Each run is a process of its own, which writes JSON Lines. It is killed by SIGKILL at a moment spread over its
work, and begun again, so many times; then it comes to its end. The peer is the resumable pipeline of a
production guide (bench/peers/production_guide.py), as it is written there, which processes again what is
pending or has failed, and once more with what was in progress, too.
"""

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.arguments import argument_parser
from bench.data.run_components import KeyReader, Letter, TextConverter, TextExtractor
from bench.peers.production_guide import CheckpointFolder, Components, ResumablePipeline
from docmill.errors import RunExistsError
from docmill.model.document import Document
from docmill.ports import Ref
from docmill.runs.components.json_lines import JsonLinesExporter
from docmill.runs.policy import RunPolicy
from docmill.runs.running import Pipeline

KINDS = {
    "docmill": "docmill, SQLite",
    "peer": "peer, as the guide has it",
    "peer-in-progress": "peer that takes up what was in progress",
}
EXTRACTION_S = 0.005
LEASE_S = 0.5
"""After a kill, the documents at work are taken over once their lease has ended."""
LONGEST_DELAY_S = 0.03
POLL_S = 0.001


@dataclass(frozen=True)
class Losses:
    """Counts of the documents of a killed run, by what became of them."""

    kills: int
    lost: int
    doubled: int
    torn: int
    """Lines that are no whole record."""
    seconds: float


class AppendingExporter:
    """A line for each document, as soon as it is there; without docmill."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def export(self, document: Document, data: Letter, context: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"source": document.text, "data": data.model_dump()}) + "\n")


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS, help="measure one of them")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)  # the run to be killed, in a folder
    options = parser.parse_args()
    if options.within is not None:
        run_docmill(options.within, options.documents) if options.only == "docmill" else run_peer(
            options.within, options.documents, takes_up_in_progress=options.only == "peer-in-progress"
        )
        return
    kinds = [options.only] if options.only else list(KINDS)
    print(f"{'':42} {'kills':>6} {'lost':>6} {'twice':>6} {'torn':>6} {'s':>7}")
    for kind in kinds:
        losses = measure(kind, options.documents, options.kills, options.seed)
        print(
            f"{KINDS[kind]:42} {losses.kills:6} {losses.lost:6} {losses.doubled:6} {losses.torn:6}"
            f" {losses.seconds:7.1f}",
            flush=True,
        )
        if kind == "docmill" and losses.lost + losses.doubled + losses.torn:
            sys.exit("docmill has lost or doubled a document")


def measure(kind: str, documents: int, kills: int, seed: int = 1) -> Losses:
    """Kill a run so many times, unless it comes to its end before; then let it."""
    generator = random.Random(seed)
    started, killed = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="docmill-") as name:
        folder = Path(name)
        for _ in range(kills):
            until = lines_of(folder) + generator.randrange(max(1, documents // kills))
            if kill_once(kind, folder, documents, until, generator.random() * LONGEST_DELAY_S):
                killed += 1
        with start(kind, folder, documents) as process:
            pass
        if process.returncode:
            sys.exit(f"{KINDS[kind]} has ended with {process.returncode}")
        lost, doubled, torn = count_losses(folder, documents)
    return Losses(killed, lost, doubled, torn, time.monotonic() - started)


def kill_once(kind: str, folder: Path, documents: int, until: int, delay_s: float) -> bool:
    """Kill the run a moment after so many lines are there; False if it has ended by itself before."""
    with start(kind, folder, documents) as process:
        while lines_of(folder) <= until and process.poll() is None:
            time.sleep(POLL_S)
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def start(kind: str, folder: Path, documents: int) -> subprocess.Popen[bytes]:
    arguments = ["--within", str(folder), "--only", kind, "--documents", str(documents)]
    return subprocess.Popen([sys.executable, "-m", "bench.speed.run_kills", *arguments])


def lines_of(folder: Path) -> int:
    path = folder / "out.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def count_losses(folder: Path, documents: int) -> tuple[int, int, int]:
    """The numbers of documents lost and of records too many, and of lines that are no whole record."""
    counts: Counter[str] = Counter()
    torn = 0
    for line in (folder / "out.jsonl").read_bytes().splitlines():
        try:
            counts[json.loads(line)["source"]] += 1
        except ValueError:
            torn += 1
    keys = {ref.key for ref in refs(documents)}
    assert counts.keys() <= keys
    return len(keys - counts.keys()), counts.total() - len(counts), torn


def refs(count: int) -> list[Ref]:
    return [Ref(f"document {number}", f"document {number}", version="1") for number in range(count)]


def run_docmill(folder: Path, documents: int) -> None:
    """Begin the run of this folder, or go on with it."""
    pipeline = Pipeline(
        schema=Letter,
        reader=KeyReader(),
        converter=TextConverter(),
        extractor=TextExtractor(EXTRACTION_S),
        exporter=JsonLinesExporter(folder / "out.jsonl"),
        policy=RunPolicy(lease_s=LEASE_S),
    )
    store = folder / "runs.sqlite"
    try:
        report = pipeline.run(refs(documents), run_id="run", store=store, progress=None)
    except RunExistsError:
        report = pipeline.resume("run", refs(documents), store=store, progress=None)
    report.raise_on_failure()


def run_peer(folder: Path, documents: int, *, takes_up_in_progress: bool) -> None:
    """See `run_docmill`."""
    checkpoints = CheckpointFolder(folder / "checkpoints")
    exporter = AppendingExporter(folder / "out.jsonl")
    pipeline = ResumablePipeline(
        Components(KeyReader(), TextConverter(), TextExtractor(EXTRACTION_S), exporter, Letter),
        checkpoints,
        takes_up_in_progress=takes_up_in_progress,
    )
    run_ids = checkpoints.run_ids()
    asyncio.run(pipeline.run(refs(documents), run_ids[0] if run_ids else None))


if __name__ == "__main__":
    main()
