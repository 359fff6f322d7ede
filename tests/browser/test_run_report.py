"""The report of a run, as a browser shows it."""

from pathlib import Path

from playwright.async_api import Page
from tests.runs.components import FirstWordExtractor, text_pipeline

from docmill.runs.stores.memory import MemoryStore
from support.accessibility import LOOKS, violations


async def test_the_report_of_a_run_keeps_the_rules_loads_nothing_and_fits_a_phone(
    page: Page, tmp_path: Path
) -> None:
    def fail(key: str, _call: int) -> None:
        if "bad" in key:
            raise ValueError("x" * 500)

    names = ["good.pdf", "bad.pdf", f"folder/{'bad' * 80}.pdf"]
    report = await text_pipeline(extractor=FirstWordExtractor(fail)).arun(names, store=MemoryStore())
    await report.awrite_html(tmp_path / "report.html")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))

    await page.goto((tmp_path / "report.html").as_uri())
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    assert await page.locator("details").first.get_attribute("open") is not None
    assert await violations(page, [*LOOKS, ("dark", {"width": 320, "height": 640})]) == []
    assert await page.evaluate("document.documentElement.scrollWidth") == 320
    assert len(requests) == 1
