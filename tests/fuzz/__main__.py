"""Damaged files for every parser until the time is up. Ends with 1 if one does worse than refuse.

A finding names its entry and number; `--only ENTRY --from NUMBER --save FILE` writes that file.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path

from docmill.workers.pool import Pool
from fuzz.runs import BATCH, Entry, entries, fuzz
from fuzz.targets import damaged


async def run(chosen: list[Entry], *, minutes: float, first: int, workers: int) -> list[str]:
    """All findings."""
    ends = time.monotonic() + minutes * 60
    findings: list[str] = []
    done = dict.fromkeys((entry.name for entry in chosen), 0)

    async def work(mine: list[Entry]) -> None:
        number = first
        while time.monotonic() < ends:
            for entry in mine:
                if time.monotonic() < ends:
                    for finding in await fuzz(pool, entry, number):
                        findings.append(finding)
                        sys.stdout.write(finding + "\n")
                        sys.stdout.flush()
                    done[entry.name] += BATCH
            number += BATCH

    async with Pool(workers) as pool, asyncio.TaskGroup() as tasks:
        for index in range(workers):
            tasks.create_task(work(chosen[index::workers]))
    sys.stdout.write(f"{sum(done.values())} files of {len(done)} kinds, {len(findings)} findings\n")
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    chosen = [entry for entry in entries() if not arguments.only or entry.name in arguments.only]
    if arguments.save:
        (entry,) = chosen
        arguments.save.write_bytes(damaged(entry.files, entry.name, arguments.first))
        return
    running = run(chosen, minutes=arguments.minutes, first=arguments.first, workers=arguments.workers)
    sys.exit(1 if asyncio.run(running) else 0)


if __name__ == "__main__":
    main()
