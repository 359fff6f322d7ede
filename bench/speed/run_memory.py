"""Measure the memory of a run of many documents beside one of few, each in a process of its own.

Documents come from a generator, and their components do next to nothing. The peer is the resumable pipeline
of a production guide (bench/peers/production_guide.py), without checkpoints: with them, 100,000 documents
would take more than a day. Memory is the peak of resident bytes.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.arguments import argument_parser
from bench.speed.run_overhead import docmill_run, peer_pipeline

MOST_GROWTH = 0.20
KINDS = {"sqlite": "docmill, SQLite", "memory": "docmill, in memory", "peer": "peer, no checkpoints"}


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--only", choices=KINDS, help=argparse.SUPPRESS)  # in a process of its own
    options = parser.parse_args()
    if options.only:
        print(peak_bytes_of(options.only, options.many))
        return
    growth = print_table(options.few, options.many)
    print(f"\ndocmill with SQLite {growth:+.1%}, goal at most {MOST_GROWTH:+.0%}")
    sys.exit(growth > MOST_GROWTH)


def print_table(few: int, many: int) -> float:
    """Print the peaks; the growth of docmill with SQLite."""
    print(f"{'peak, MB':24} {few:>9,} {many:>9,}   growth")
    growths: dict[str, float] = {}
    for kind, name in KINDS.items():
        first, last = (measure(kind, count) for count in (few, many))
        growths[kind] = last / first - 1
        print(f"{name:24} {first / 1e6:9.1f} {last / 1e6:9.1f}  {growths[kind]:+7.1%}", flush=True)
    return growths["sqlite"]


def measure(kind: str, count: int) -> int:
    """The peak of a new process, in bytes."""
    command = ["-m", "bench.speed.run_memory", "--only", kind, "--many", str(count)]
    done = subprocess.run([sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout)


def peak_bytes_of(kind: str, count: int) -> int:
    """The peak of this process once the run is over."""
    with tempfile.TemporaryDirectory(prefix="docmill-") as folder:
        asyncio.run(run(kind, count, Path(folder)))
    return peak_bytes()


async def run(kind: str, count: int, folder: Path) -> None:
    if kind == "peer":
        await peer_pipeline(count, folder, has_checkpoints=False)
    else:
        await docmill_run(count, folder, store="memory:" if kind == "memory" else None)


def peak_bytes() -> int:
    """From /proc: the peak that `getrusage` gives is that of the parent if it was greater."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError("Linux names no peak of memory here")


if __name__ == "__main__":
    main()
