"""Measure the documents page in Chromium: its first load, and how soon it shows what has changed.

Usage: python -m bench page_loads [--documents 1000] [--loads 20] [--changes 100]

A first load is one of a browser without a cache: the bytes as they were sent, without those of pictures, and
the time until the first card is drawn. A change is a new title, set through the API while the page is open;
the time goes from the request until the page has it. The peer is a page of the same HTML that a bare server
sends in one response, without styles and modules.
"""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Browser, async_playwright

from bench.arguments import argument_parser
from bench.speed.export import fill
from bench.speed.web_process import web_process
from docmill.service.app import open_service
from docmill.service.config.settings import Settings

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FIRST_PAINT = """new Promise(done => requestAnimationFrame(() => setTimeout(() => done(
    performance.getEntriesByType('paint').find(p => p.name === 'first-contentful-paint')
    ?.startTime ?? performance.now()
))))"""
"""Milliseconds until the first contents were drawn."""
SHOWN = """title => new Promise(resolve => {
    const has = () => document.querySelector('.cards')?.textContent.includes(title);
    if (has()) return resolve();
    const observer = new MutationObserver(() => { if (has()) { observer.disconnect(); resolve(); } });
    observer.observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true });
})"""


async def first_load(browser: Browser, address: str) -> tuple[float, float]:
    """Kilobytes without pictures, and milliseconds from the request to the first card drawn."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")  # pyright: ignore[reportUnknownMemberType]
    kinds: dict[str, str] = {}
    sizes: dict[str, float] = {}

    def received(event: dict[str, Any]) -> None:
        kinds[event["requestId"]] = event["type"]

    def finished(event: dict[str, Any]) -> None:
        sizes[event["requestId"]] = event["encodedDataLength"]

    session.on("Network.responseReceived", received)
    session.on("Network.loadingFinished", finished)
    await page.goto(address)
    await page.wait_for_selector(".card-title")
    drawn = await page.evaluate(FIRST_PAINT)
    await page.wait_for_load_state("load")
    await page.wait_for_timeout(300)  # modules are loaded after the page
    await context.close()
    bytes_sent = sum(size for key, size in sizes.items() if kinds.get(key) not in ("Image", "EventSource"))
    return bytes_sent / 1000, float(drawn)


async def changes(browser: Browser, address: str, count: int) -> list[float]:
    """Milliseconds from a change through the API to the page, of each change."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    await page.goto(address)
    await page.wait_for_selector("#connection[data-state=live]")
    waits: list[float] = []
    async with httpx.AsyncClient(base_url=address) as client:
        listed = (await client.get("api/v1/documents", params={"limit": 20})).json()["documents"]
        for number in range(count):
            title, key = f"Changed {number}", listed[number % len(listed)]["id"]
            shown = asyncio.ensure_future(page.evaluate(SHOWN, title))
            await asyncio.sleep(0.05)
            start = time.monotonic()
            answer = await client.patch(f"api/v1/documents/{key}", json={"title": title})
            answer.raise_for_status()
            await shown
            waits.append((time.monotonic() - start) * 1000)
    await context.close()
    return waits


async def bare_load(browser: Browser, html: bytes) -> float:
    """Milliseconds to the first paint of a page that a bare server sends."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(html)}\r\n\r\n"
        writer.write(head.encode() + html)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(send, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    await page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
    await page.wait_for_selector(".card-title")
    drawn = await page.evaluate(FIRST_PAINT)
    await context.close()
    server.close()
    return float(drawn)


def p95(values: Sequence[float]) -> float:
    """The value that 95 of 100 do not exceed."""
    return statistics.quantiles(values, n=20)[-1]


async def measure(documents: int, loads: int, count: int) -> None:
    """Print the figures."""
    # Not a folder of root's own: the server runs as another user.
    with tempfile.TemporaryDirectory(prefix="docmill-bench-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_service(settings) as service:
            await fill(service, documents)
        with web_process(settings) as web:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=list(FLAGS)
                )
                await first_load(browser, web.address)  # the first one starts what starts once
                measured = [await first_load(browser, web.address) for _ in range(loads)]
                async with httpx.AsyncClient() as client:
                    html = (await client.get(web.address)).content
                bare = [await bare_load(browser, html) for _ in range(loads)]
                waits = await changes(browser, web.address, count)
                await browser.close()
    sizes, times = [size for size, _ in measured], [drawn for _, drawn in measured]
    print(f"first load: {statistics.median(sizes):.1f} KB without pictures (goal: at most 40)")
    print(
        f"first card: {statistics.median(times):.0f} ms median, {p95(times):.0f} ms p95 of {loads}"
        f" (goal: at most 400); the same HTML alone {statistics.median(bare):.0f} ms, ratio"
        f" {statistics.median(times) / statistics.median(bare):.1f}"
    )
    print(
        f"change visible: {statistics.median(waits):.0f} ms median, {p95(waits):.0f} ms p95 of {count}"
        " (goal: at most 300)"
    )


def main() -> None:
    """Read the arguments."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--loads", type=int, default=20)
    parser.add_argument("--changes", type=int, default=100)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.documents, arguments.loads, arguments.changes))


if __name__ == "__main__":
    main()
