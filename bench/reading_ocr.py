"""Documents per minute by OCR: `LocalConverter` with two processes against a bare RapidOCR loop in two.

Same pictures, same run, same thread setting, RapidOCR otherwise with its defaults; both warmed up with one
picture per process.
"""

import argparse
import asyncio
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

from docmill.ports import Original
from docmill.reading.converter import LocalConverter
from docmill.reading.pool import Pool
from docmill.reading.rapid import ONE_THREAD

DATA = Path(__file__).parents[2] / "shared" / "data" / "sroie" / "img"
PROCESSES = 2
TARGET = 0.9
_engine: Any = None


def bare_read(path: str) -> int:
    global _engine  # noqa: PLW0603 - a bare loop loads its models once
    if _engine is None:
        from rapidocr import RapidOCR  # noqa: PLC0415 - only in the loop's processes

        _engine = RapidOCR(params={**ONE_THREAD, "Global.log_level": "critical"})
    return len(_engine(path).txts or ())


def bare(files: list[Path]) -> float:
    """Seconds for all files."""
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.map(bare_read, [str(files[0])] * PROCESSES, chunksize=1)
        started = time.perf_counter()
        pool.map(bare_read, [str(path) for path in files], chunksize=1)
        return time.perf_counter() - started


async def converted(files: list[Path]) -> float:
    """Seconds for all files."""
    async with Pool(PROCESSES) as pool:
        converter = LocalConverter(pool)
        originals = [Original(path, path.name, "0" * 64) for path in files]
        await asyncio.gather(*(converter.convert(originals[0]) for _ in range(PROCESSES)))
        started = time.perf_counter()
        await asyncio.gather(*map(converter.convert, originals))
        return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=30)
    files = sorted(DATA.glob("*"))[: parser.parse_args().documents]
    if not files:
        sys.exit(f"{DATA} is absent: nothing to measure")
    bare_s, reading_s = bare(files), asyncio.run(converted(files))
    print(f"{len(files)} receipts, {PROCESSES} processes of one thread")
    print(f"bare RapidOCR   {60 * len(files) / bare_s:6.1f} documents/min")
    print(f"LocalConverter  {60 * len(files) / reading_s:6.1f} documents/min")
    ratio = bare_s / reading_s
    print(f"ratio           {ratio:6.2f} (target {TARGET}: {'met' if ratio >= TARGET else 'missed'})")


if __name__ == "__main__":
    main()
