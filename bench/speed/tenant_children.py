"""Measure the time of a page where two tenants take turns in one child process, beside that of one tenant.

A child serves one tenant, so that each turn of another costs a new child. Before, tenants shared a child:
then two tenants took as long as one.
"""

import asyncio
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw

from bench.arguments import argument_parser
from docmill.reading.child.tasks import load_rapid_engine, recognise_picture
from docmill.reading.files.options import ReadingOptions
from docmill.understanding.pooled import load_vocabularies
from docmill.workers import pool as pool_module
from docmill.workers.fair_semaphore import scheduled_for
from docmill.workers.launching import Preload
from docmill.workers.pool import Pool

PAGES = 40
LIMIT_S = 120

PRELOADS: dict[str, Sequence[Preload]] = {
    "started as programs": (),
    "forked from a template": (load_rapid_engine, load_vocabularies),
}


def draw_page(path: Path) -> None:
    """Draw a picture with some lines of text."""
    page = Image.new("RGB", (1240, 1754), "white")
    for number in range(25):
        ImageDraw.Draw(page).text((100, 100 + 50 * number), f"Line {number} of a page, 12.50 EUR", "black")
    page.save(path)


async def seconds_for_page(tenants: int, preload: Sequence[Preload], page: Path) -> float:
    """Mean seconds of a page, all pages waiting from the beginning."""

    async def read(tenant: int) -> None:
        with scheduled_for(tenant, tenant):
            arguments = (page, "image/png", 1, ReadingOptions(), "rapidocr")
            await pool.run(recognise_picture, *arguments, limit_s=LIMIT_S)

    async with Pool(1, preload=preload) as pool:
        await read(0)
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for tenant in islice(cycle(range(tenants)), PAGES):
                group.create_task(read(tenant))
        return (time.perf_counter() - started) / PAGES


async def measure() -> None:
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.png"
        draw_page(page)
        for name, preload in PRELOADS.items():
            alone = await seconds_for_page(1, preload, page)
            for turn_s in (0.0, pool_module.TURN_S):
                pool_module.TURN_S = turn_s
                both = await seconds_for_page(2, preload, page)
                print(
                    f"children {name}, another tenant after {turn_s:g} s: {both * 1000:.0f} ms a page, "
                    f"{both / alone:.2f} times that of one tenant ({alone * 1000:.0f} ms)"
                )


def main() -> None:
    argument_parser(__doc__).parse_args()
    asyncio.run(measure())


if __name__ == "__main__":
    main()
