"""Every state of a document, reached by a real one through a worker, and what a person does about it."""

import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from PIL import Image
from playwright.async_api import FilePayload, Locator, Page, expect

from docmill.cli.vault.serving import running_vault
from docmill.service.config.settings import Settings
from docmill.service.config.web import Web
from support.docmill_processes import DOCMILL, PATIENCE_S
from support.llm_server import Reply, Server, serving, spoken

READING_MS = 60_000
INVOICE = """Harbour Ltd
12 Quay Street, Leeds

Invoice
Invoice number: {number}
Date: 2024-03-05

Net           20.00
VAT 20 %       4.00
Total         24.00 EUR
"""
WITHOUT_NUMBER = INVOICE.replace("Invoice number: {number}", "")
RATE_LIMIT = Reply({"error": {"message": "slow down"}}, 429, {"retry-after": "3000"})


@pytest.fixture
async def model() -> AsyncIterator[Server]:
    """A language model that finds nothing."""
    async with serving() as server:
        server.answer = lambda _: spoken("openai", {"number": None})
        yield server


@pytest.fixture
async def vault(settings: Settings) -> AsyncIterator[str]:
    """The address of a web server without a worker."""
    web = settings.model_copy(update={"web": Web(port=0)})
    async with running_vault(web, worker=False) as running:
        yield running.address


@pytest.fixture
def worker(
    settings: Settings, model: Server, tmp_path: Path, database_url: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, which asks the model."""
    environment = {
        "DOCMILL_DATABASE_URL": database_url,
        "DOCMILL_LLM__BASE_URL": model.url("openai"),
        "DOCMILL_LLM__API_KEY": "key",
        "DOCMILL_UNDERSTANDING__SMALL__MODEL": "gpt-4o",
    }
    with (tmp_path / "worker.log").open("w") as log:
        process = subprocess.Popen(
            [DOCMILL, "worker", "--data-dir", settings.folder],
            env={**os.environ, **environment},
            stdout=log,
            stderr=log,
        )
    yield process
    process.kill()  # it may be stopped, or wait for the model
    process.wait(PATIENCE_S)


async def upload(page: Page, vault: str, name: str, content: bytes | str) -> str:
    """The id of the document."""
    data = content.encode() if isinstance(content, str) else content
    file: FilePayload = {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    answer = await page.request.post(f"{vault}api/v1/documents", multipart={"file": file})
    return str((await answer.json())["results"][0]["document_id"])


def card_of(page: Page, document_id: str) -> Locator:
    return page.locator(f"#doc-{document_id}")


async def in_state(card: Locator, state: str, pill: str, mark: str, reason: str) -> None:
    """A card says what state it is in: by its words, the tone of its edge, and its reason."""
    await expect(card).to_have_attribute("data-state", state, timeout=READING_MS)
    await expect(card.locator(".pill")).to_have_text(pill)
    await expect(card).to_have_class(re.compile(rf"^card {mark}$"))
    if reason:
        await expect(card.locator(".card-reason")).to_contain_text(reason, timeout=READING_MS)
    else:
        await expect(card.locator(".card-reason")).to_have_count(0)


async def test_a_document_is_shown_as_it_is_and_offers_what_helps(
    page: Page, vault: str, worker: subprocess.Popen[bytes]
) -> None:
    assert worker.pid
    blank = BytesIO()
    Image.new("RGB", (300, 400), "white").save(blank, "PNG")
    ready = await upload(page, vault, "ready.txt", INVOICE.format(number="R-7"))
    doubtful = await upload(page, vault, "doubtful.txt", WITHOUT_NUMBER)
    foreign = await upload(page, vault, "letter.txt", "Привет, здесь письмо про мельницу")
    broken = await upload(page, vault, "broken.pdf", b"%PDF-1.7 broken")
    unread = await upload(page, vault, "blank.png", blank.getvalue())
    await page.goto(vault)
    await expect(page.locator("#connection")).to_have_text("Live")

    await in_state(card_of(page, ready), "ready", "Ready", "", "")
    await expect(card_of(page, ready).get_by_role("button")).to_have_count(0)
    await in_state(card_of(page, doubtful), "needs_review", "Needs review", "info", "Number was not found")
    await in_state(card_of(page, unread), "ready", "Kept, not read", "", "No word was read")
    card = card_of(page, broken)
    await in_state(card, "failed", "Failed", "error", "The PDF is damaged beyond repair")
    async with page.expect_response("**/retry"):
        await card.get_by_role("button", name="Retry processing").click()
    again = await page.request.get(f"{vault}api/v1/documents/{broken}/ingestions")
    assert len((await again.json())["ingestions"]) == 2
    await in_state(card, "failed", "Failed", "error", "The PDF is damaged beyond repair")
    await in_state(
        card_of(page, foreign),
        "needs_classification",
        "Needs classification",
        "warn",
        "what this document is",
    )
    await expect(card_of(page, foreign).get_by_role("button", name="Retry classification")).to_be_visible()

    # The page of each says the same, with the action.
    await card_of(page, foreign).get_by_role("link", name="Choose type").click()
    await expect(page.locator(".message.warn")).to_contain_text("Needs classification")
    await expect(page.get_by_role("button", name="Retry classification")).to_be_visible()
    await page.get_by_label("Type", exact=True).select_option("other")
    await page.get_by_role("button", name="Read as this type").click()
    await expect(page.locator(".title-row .pill")).to_have_text("Ready", timeout=READING_MS)

    await page.goto(f"{vault}docs/{broken}")
    await expect(page.locator(".message.error")).to_contain_text("The PDF is damaged beyond repair")
    await page.get_by_role("button", name="Retry processing").click()
    await expect(page.locator("#retried")).to_contain_text("with the same outcome", timeout=READING_MS)

    await page.goto(f"{vault}docs/{unread}")
    await expect(page.locator(".title-row .pill.warn")).to_have_text("Kept, not read")
    await expect(page.locator(".message")).to_contain_text("No word was read")

    await page.goto(f"{vault}docs/{doubtful}")
    await page.get_by_role("link", name="Review", exact=True).last.click()
    await page.wait_for_url(f"**/review/{doubtful}")
    await expect(page.locator("#connection")).to_have_text("Live")
    await page.keyboard.press("x")
    await page.keyboard.type("It is not for us")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/review?rejected={doubtful}")
    await page.goto(f"{vault}?state=rejected")
    await in_state(card_of(page, doubtful), "needs_review", "Rejected", "", "It is not for us")
    await page.goto(f"{vault}docs/{doubtful}")
    await page.get_by_role("button", name="Undo the rejection").click()
    await expect(page.locator(".title-row .pill")).to_have_text("Needs review")


async def test_a_slow_model_a_busy_one_and_a_stopped_worker_are_told_apart(
    page: Page, vault: str, worker: subprocess.Popen[bytes], model: Server, database_url: str
) -> None:
    model.answer = lambda _: RATE_LIMIT
    await page.clock.install()
    await page.goto(vault)
    waiting = await upload(page, vault, "waiting.txt", WITHOUT_NUMBER)
    await page.locator("#arrivals").click()
    card = card_of(page, waiting)
    await in_state(card, "processing", "Processing", "", "Waiting to be tried again")
    await expect(card.locator(".skeleton")).to_have_count(0)  # what the rules found is there

    model.silent = True
    slow = await upload(page, vault, "slow.txt", WITHOUT_NUMBER + "\nHarbour master")
    await page.locator("#arrivals").click()
    card = card_of(page, slow)
    await in_state(card, "processing", "Processing", "", "Finding the values")
    await expect(card.locator(".thumbnail.skeleton")).to_be_visible()
    await expect(card.locator(".skeleton.line")).to_have_count(2)
    await expect(card.get_by_role("button")).to_have_count(0)

    # No event tells that nothing happens: the page's own clock does.
    worker.send_signal(signal.SIGSTOP)
    await _pass_eleven_minutes(database_url, UUID(slow))
    await page.clock.fast_forward("11:00")
    await in_state(card, "stale", "Stuck", "warn", "No progress for")
    assert int(await card.locator("[data-minutes]").inner_text()) >= 11
    tab = await page.context.new_page()
    await tab.goto(f"{vault}docs/{slow}")
    await expect(tab.locator(".message.warn")).to_contain_text("No progress since")
    await expect(tab.get_by_role("button", name="Retry", exact=True)).to_be_visible()
    await tab.close()

    await card.get_by_role("button", name="Retry").click()
    await expect(card.locator(".pill")).to_have_text("Processing")
    model.silent = False
    model.answer = lambda _: spoken("openai", {"number": None})
    model.over.set()
    worker.send_signal(signal.SIGCONT)
    await expect(card).to_have_attribute("data-state", "needs_review", timeout=READING_MS)


async def _pass_eleven_minutes(database_url: str, document_id: UUID) -> None:
    """Let the last sign of progress be eleven minutes ago."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as owner:
        await owner.execute(
            """
            UPDATE ingestion
               SET progress_at = progress_at - interval '11 minutes',
                   lease_until = lease_until - interval '11 minutes'
             WHERE document_id = %s
            """,
            [document_id],
        )
