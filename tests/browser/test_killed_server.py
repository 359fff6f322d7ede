"""Open pages while their web server is killed and another one is there, or while it hangs."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import BrowserContext, Page, expect

from docmill.resilience.concurrency import cancel_and_wait
from support.docmill_processes import DocmillProcess, Machine

PATIENCE_MS = 60_000
INVOICE = """Harbour Ltd
12 Quay Street, Leeds

Invoice
Invoice number: R-7
Date: 2024-03-05

Net           20.00
VAT 20 %       4.00
Total         24.00 EUR
"""
RECORD_CONNECTION = """() => {
    window.connection = [];
    const mark = document.querySelector("#connection");
    new MutationObserver(() => window.connection.push(mark.dataset.state))
        .observe(mark, { attributeFilter: ["data-state"] });
}"""
"""Notes each state of the connection from now on, as long as the page is not loaded again."""


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy until either end is gone."""
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def forwarding(servers: Sequence[DocmillProcess]) -> AsyncGenerator[str]:
    """One address for several servers: each connection goes to the first that takes it."""

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for server in servers:
            address = urlsplit(server.address)
            try:
                return await asyncio.open_connection(address.hostname, address.port)
            except ConnectionRefusedError:
                continue
        raise ConnectionRefusedError("no server lives")

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await connect()
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))

    running = set[asyncio.Task[None]]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(forward(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    host, port = listener.sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}/"
    finally:
        listener.close()
        await cancel_and_wait(list(running))


async def _upload(server: DocmillProcess, folder: Path, name: str, text: str) -> str:
    """The id of the document of a file."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return await asyncio.to_thread(server.upload, file)


async def _open(context: BrowserContext, address: str) -> Page:
    """A page that is told of changes, and may report errors: a stream that breaks is one for Chromium."""
    page = await context.new_page()
    await page.goto(address)
    await expect(page.locator("#connection")).to_have_text("Live", timeout=PATIENCE_MS)
    await page.evaluate(RECORD_CONNECTION)
    return page


async def _was_lost_and_found(page: Page) -> None:
    """The page, which was not loaded again, lost the connection, has it, and says so."""
    states = await page.evaluate("window.connection")
    assert "lost" in states
    assert states[-1] == "live"
    await expect(page.locator("#connection")).to_have_text("Live")
    await expect(page.locator("#disconnected")).to_be_hidden()


async def test_open_pages_go_on_with_another_web_server_when_theirs_is_killed(
    context: BrowserContext, machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[DocmillProcess] = []
    async with forwarding(servers) as address:
        monkeypatch.setenv("DOCMILL_WEB__HOSTS", json.dumps([urlsplit(address).netloc]))
        started = [machine.start("web", "--port", "0") for _ in range(2)]
        servers += [await asyncio.to_thread(server.until_ready) for server in started]
        first, second = servers
        waiting = await _upload(second, tmp_path, "waiting.txt", INVOICE)
        documents = await _open(context, address)
        document = await _open(context, f"{address}docs/{waiting}")
        await expect(document.locator(".title-row .pill")).to_have_text("Processing")

        first.process.kill()
        await asyncio.to_thread(first.exit_code)
        await _upload(second, tmp_path, "new.txt", "Dear Ada, thank you. Bob")
        await asyncio.to_thread(machine.start("worker").until_ready)

        # What happened since is shown, also what happened while there was no connection.
        await expect(documents.locator("#arrivals")).to_have_text("1 new document", timeout=PATIENCE_MS)
        await expect(document.get_by_label("Number", exact=True)).to_have_value("R-7", timeout=PATIENCE_MS)
        await expect(document.locator(".title-row .pill")).to_have_text("Ready")
        card = documents.locator(f"#doc-{waiting}")
        await expect(card).to_have_attribute("data-state", "ready", timeout=PATIENCE_MS)
        await _was_lost_and_found(documents)
        await _was_lost_and_found(document)

        # The link in the news and every other one work as before.
        await documents.locator("#arrivals").click()
        await expect(documents.locator(".card")).to_have_count(2)


async def test_an_open_page_notices_that_its_web_server_hangs_and_that_it_goes_on(
    context: BrowserContext, machine: Machine, tmp_path: Path
) -> None:
    server = await asyncio.to_thread(machine.start("web", "--port", "0").until_ready)
    page = await context.new_page()
    await page.clock.install()
    await page.goto(server.address)
    connection = page.locator("#connection")
    await expect(connection).to_have_text("Live", timeout=PATIENCE_MS)

    server.send(signal.SIGSTOP)
    try:
        await page.clock.fast_forward("00:40")

        await expect(connection).to_have_text("Reconnecting")
        await page.clock.fast_forward("00:06")
        await expect(page.locator("#disconnected")).to_be_visible()
    finally:
        server.send(signal.SIGCONT)

    await expect(connection).to_have_text("Live", timeout=PATIENCE_MS)
    await expect(page.locator("#disconnected")).to_be_hidden()
    await _upload(server, tmp_path, "new.txt", INVOICE)
    await expect(page.locator("#arrivals")).to_have_text("1 new document", timeout=PATIENCE_MS)
