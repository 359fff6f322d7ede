"""Measure how much more memory parent and children hold after many documents than after few."""

import asyncio
import contextlib
import sys
import tempfile
import time
from pathlib import Path

from bench.arguments import argument_parser
from bench.data.shared import DATA
from bench.speed.hostile_files import resident_bytes
from docmill.demo import generate
from docmill.errors import DocmillError
from docmill.ports import Original
from docmill.reading.convert import LocalConverter
from docmill.workers.pool import Pool

LARGEST_BYTES = 60_000
PICTURES = {".gif", ".heic", ".heif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
"""Recognition takes seconds each: at most so many of them."""
MOST_PICTURES = 2
SETTLED_AT = 0.1
MOST_GROWTH = 0.05
QUICK_S = 1.5


def small_documents(folder: Path) -> list[Path]:
    """List small documents of every kind: the samples, and real ones where the shared data is."""
    generate(folder)
    places = [folder / "documents", DATA / "office", DATA / "mail", DATA / "formats"]
    paths = sorted(path for place in places for path in place.rglob("*") if path.is_file())
    small = [path for path in paths if path.stat().st_size < LARGEST_BYTES]
    pictures = [path for path in small if path.suffix.lower() in PICTURES]
    return [path for path in small if path not in pictures[MOST_PICTURES:]]


async def read(converter: LocalConverter, path: Path) -> float:
    started = time.perf_counter()
    with contextlib.suppress(DocmillError):  # a refusal leaves nothing either
        await converter.convert(Original(path, path.name, "0" * 64))
    return time.perf_counter() - started


async def run(count: int, folder: Path, workers: int) -> list[tuple[int, int]]:
    """Read `count` documents; return the bytes held after each twentieth of them."""
    curve: list[tuple[int, int]] = []
    async with Pool(workers) as pool:
        converter = LocalConverter(pool)
        files = await asyncio.to_thread(small_documents, folder)
        quick = [path for path in files if await read(converter, path) < QUICK_S]
        print(f"{len(quick)} of {len(files)} files are read in less than {QUICK_S} s")
        step = max(1, count // 20)
        for first in range(0, count, step):
            paths = [quick[number % len(quick)] for number in range(first, first + step)]
            for start in range(0, step, workers):
                await asyncio.gather(*(read(converter, path) for path in paths[start : start + workers]))
            curve.append((first + step, resident_bytes()))
            print(f"{curve[-1][0]:6} documents {curve[-1][1] / 1e6:7.1f} MB", flush=True)
    return curve


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        curve = asyncio.run(run(arguments.documents, Path(folder), arguments.workers))
    settled = next(held for count, held in curve if count >= arguments.documents * SETTLED_AT)
    growth = curve[-1][1] / settled - 1
    print(f"growth {growth:+.1%}, goal at most {MOST_GROWTH:.0%}")
    sys.exit(growth > MOST_GROWTH)


if __name__ == "__main__":
    main()
