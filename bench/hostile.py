"""Malformed and malicious files: every one must end in a result or a refusal, in time and memory.

Forbidden: an unhandled exception, more than 30 s in all attempts, more than 1.5 GB of parent and children.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from docmill.errors import DocmillError, TransientError
from docmill.ports import Original
from docmill.reading.converter import LocalConverter
from docmill.reading.pool import Pool

DATA = Path(__file__).parents[2] / "shared" / "data"
ATTEMPTS = 3
MAX_S = 30.0
MAX_BYTES = 1_500_000_000
SAMPLE_S = 0.03


@dataclass(slots=True)
class Outcome:
    path: Path
    kind: str
    seconds: float
    peak_bytes: int

    def __str__(self) -> str:
        return f"{self.kind:24} {self.seconds:6.2f} s {self.peak_bytes / 1e6:6.0f} MB  {self.path}"


async def attempt(converter: LocalConverter, original: Original) -> str:
    """What became of the file: `result`, `partial`, the code of a refusal."""
    for number in range(1, ATTEMPTS + 1):
        try:
            document = await converter.convert(original)
        except TransientError as error:
            if number == ATTEMPTS or error.code == "internal":
                return f"FORBIDDEN {error}" if error.code == "internal" else error.code
        except DocmillError as error:
            return error.code
        except Exception as error:  # noqa: BLE001 - an unhandled exception is a finding
            return f"FORBIDDEN {error!r}"
        else:
            return "partial" if any(page.problem for page in document.pages) else "result"
    raise AssertionError


async def measure(converter: LocalConverter, path: Path) -> Outcome:
    peak = 0
    done = asyncio.Event()

    async def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, resident_bytes())
            await asyncio.sleep(SAMPLE_S)

    watching = asyncio.create_task(watch())
    started = time.perf_counter()
    kind = await attempt(converter, Original(path, path.name, "0" * 64))
    seconds = time.perf_counter() - started
    done.set()
    await watching
    if seconds > MAX_S:
        kind = f"FORBIDDEN too slow, then {kind}"
    if peak > MAX_BYTES:
        kind = f"FORBIDDEN too much memory, then {kind}"
    return Outcome(path, kind, seconds, peak)


def resident_bytes() -> int:
    """The memory of this process and its children."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for task in Path("/proc/self/task").iterdir():
        children += (task / "children").read_text().split()
    return sum(_resident(pid) for pid in {"self", *children})


def _resident(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


async def run(files: list[Path], good: Path, workers: int) -> list[Outcome]:
    outcomes: list[Outcome] = []
    async with Pool(workers) as pool:
        converter = LocalConverter(pool)
        for path in files:
            outcome = await measure(converter, path)
            outcomes.append(outcome)
            if outcome.kind.startswith("FORBIDDEN") or outcome.seconds > MAX_S / 3:
                print(
                    f"{outcome.kind}: {path} {outcome.seconds:.1f} s {outcome.peak_bytes / 1e6:.0f} MB",
                    flush=True,
                )
        last = await measure(converter, good)
        print(f"afterwards a good file gives: {last.kind}")
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[DATA / "hostile", DATA / "formats"])
    parser.add_argument("--list", action="store_true", help="print every file")
    parser.add_argument("--part", default="1/1", help="K/N: only every N-th file, starting with the K-th")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    if not DATA.exists():
        sys.exit(f"{DATA} is absent: nothing to measure")
    part, parts = map(int, arguments.part.split("/"))
    found = {
        path for folder in arguments.folders for path in ([folder] if folder.is_file() else folder.rglob("*"))
    }
    files = sorted((path for path in found if path.is_file()), key=lambda path: path.stat().st_size)
    outcomes = asyncio.run(
        run(files[part - 1 :: parts], DATA / "sroie" / "img" / "000.jpg", arguments.workers)
    )
    if arguments.list:
        for outcome in outcomes:
            print(outcome)
    print(f"\n{len(outcomes)} files")
    for kind, count in Counter(outcome.kind.split(" ")[0] for outcome in outcomes).most_common():
        print(f"{kind:24} {count:6}")
    slowest = max(outcome.seconds for outcome in outcomes)
    largest = max(outcome.peak_bytes for outcome in outcomes)
    print(f"slowest {slowest:.1f} s, most memory {largest / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
