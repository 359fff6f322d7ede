"""Links of documents in a browser: the graph, decisions, and linking by hand."""

import os
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from docmill.service.app import Service
from docmill.testing.steps import PaintedPages
from support.accessibility import violations
from support.matched_papers import CHAIN, INVOICE, ORDER, PARTIES, Content, Papers

PICTURES = os.environ.get("DOCMILL_PICTURES")
"""Where to put pictures of the pages, to look at."""

LINES = [
    {"description": "Schraube M4 verzinkt", "quantity": "100", "unit_price": "5.00", "net_amount": "500.00"},
    {"description": "Mutter M4 Edelstahl", "quantity": "50", "unit_price": "10.00", "net_amount": "500.00"},
]
LESS = [LINES[0], {**LINES[1], "quantity": "40", "net_amount": "400.00"}]
WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("body *")].filter((element) =>
        element.getBoundingClientRect().right > innerWidth && !element.closest(".match-graph")
    ).map((element) => element.outerHTML.slice(0, 200))"""
"""What makes a page wider than its window."""
CUT_OFF = """() => [...document.querySelectorAll(".match, .match-actions > *")].filter((element) => {
    const panel = element.closest(".panel-body, main").getBoundingClientRect();
    return element.checkVisibility() && element.getBoundingClientRect().right > panel.right;
}).map((element) => element.outerHTML.slice(0, 200))"""
"""What of a list reaches beyond its panel."""
DOUBTFUL: Content = (
    "invoice",
    {
        **PARTIES,
        "number": "RE-7",
        "issue_date": "2026-01-16",
        "net_total": "1000.00",
        "gross_total": "1190.00",
    },
)


@pytest.fixture
def renderer() -> PaintedPages:
    return PaintedPages()


@pytest.fixture
async def made(service: Service) -> Papers:
    """A chain with a discrepancy, and an invoice about which a person decides."""
    made = Papers(service, service.default_tenant_id)
    contents: dict[str, tuple[str, Content]] = {
        "order": ("Order PO-4711, Sommer GmbH", (ORDER[0], {**ORDER[1], "lines": LINES})),
        "delivery": (
            "Delivery note LS-88123, Sommer GmbH",
            (CHAIN["delivery"][0], {**CHAIN["delivery"][1], "lines": LESS}),
        ),
        "invoice": ("Invoice RE-2026-0815, Sommer GmbH", (INVOICE[0], {**INVOICE[1], "lines": LINES})),
        "statement": ("Statement January", CHAIN["statement"]),
        "other order": (
            "Order PO-8800, Sommer GmbH",
            (ORDER[0], {**ORDER[1], "number": "PO-8800", "issue_date": "2026-01-08"}),
        ),
        "other": ("Invoice RE-7, Sommer GmbH", DOUBTFUL),
        "letter": ("Letter of Sommer GmbH", ("letter", {})),
    }
    for name, (title, content) in contents.items():
        await made.read(name, content, title=title)
    await made.suggest("other order", "other", log_odds=1.5)
    return made


async def _picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


async def _size(page: Page, width: int) -> None:
    await page.set_viewport_size({"width": width, "height": 900})


async def test_a_suggestion_is_confirmed_and_that_undone(page: Page, address: str, made: Papers) -> None:
    await page.goto(f"{address}docs/{made.id_of('other')}?tab=matches")
    await expect(page.locator(".edge-suggested")).to_have_count(1)
    await _picture(page, "suggested")

    await page.get_by_role("button", name="Confirm: Order PO-8800").click()

    await expect(page.locator("#match-notice")).to_contain_text("Confirmed")
    await expect(page.locator(".edge-confirmed")).to_have_count(1)
    await _picture(page, "confirmed")
    await page.locator("#match-notice").get_by_role("button", name="Undo").click()
    await expect(page.locator("#match-notice")).to_contain_text("Undone")
    await expect(page.locator(".edge-suggested")).to_have_count(1)


async def test_a_document_is_linked_by_search_without_javascript(
    context: BrowserContext, address: str, made: Papers
) -> None:
    page = await context.new_page()
    await page.route("**/*.js", lambda route: route.abort())
    await page.goto(f"{address}docs/{made.id_of('other')}?tab=matches")

    await page.get_by_text("Link another document").click()
    await page.get_by_label("Search for a document to link").fill("letter")
    await page.get_by_role("button", name="Search").click()
    await page.get_by_role("button", name="Link: Letter of Sommer GmbH").click()

    await expect(page.locator("#match-notice")).to_contain_text("Linked")
    await expect(page.get_by_role("listitem").filter(has_text="Letter of Sommer")).to_contain_text(
        "Linked by a person"
    )


async def test_the_graph_is_used_with_the_keyboard(page: Page, address: str, made: Papers) -> None:
    await page.goto(f"{address}docs/{made.id_of('order')}?tab=matches")
    edge = page.locator(".edge").first
    entry = page.locator(str(await edge.get_attribute("href")))

    await edge.focus()
    await page.keyboard.press("Enter")

    await expect(entry).to_be_in_viewport()
    assert await entry.evaluate("entry => entry.matches(':target')")
    node = page.get_by_role("link", name="Payment to SOMMER")
    await node.first.focus()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{address}docs/{made.id_of('statement')}?tab=matches")


async def test_a_decision_elsewhere_is_shown_at_once(page: Page, address: str, made: Papers) -> None:
    await page.goto(f"{address}docs/{made.id_of('other')}?tab=matches")
    await expect(page.locator("#connection")).to_have_text("Live")
    match_id = await page.locator(".match").first.get_attribute("id")
    assert match_id

    await page.request.post(f"{address}api/v1/matches/{match_id.removeprefix('match-')}/confirm")

    await expect(page.locator(".edge-confirmed")).to_have_count(1)


async def test_the_list_of_all_follows_suggestions_and_decisions(
    page: Page, address: str, made: Papers
) -> None:
    await page.goto(f"{address}matches")
    await expect(page.locator("#connection")).to_have_text("Live")
    entry = page.locator(".match")
    await expect(entry).to_have_count(1)
    await page.evaluate("() => { window.isSamePage = true; }")
    match_id = str(await entry.get_attribute("id")).removeprefix("match-")

    await page.request.post(f"{address}api/v1/matches/{match_id}/decline")

    await expect(entry).to_have_count(0)
    await expect(page.locator("#matches-count")).to_have_text("0 suggestions to decide about")
    await made.read(
        "third order",
        (ORDER[0], {**ORDER[1], "number": "PO-9900", "issue_date": "2026-01-09"}),
        title="Order PO-9900",
    )
    await made.suggest("third order", "other", log_odds=1.5)
    await expect(entry).to_have_count(1)
    await expect(entry).to_contain_text("Order PO-9900")
    assert await page.evaluate("() => window.isSamePage")


async def test_a_new_suggestion_is_shown_in_the_tab_of_both_documents(
    page: Page, address: str, made: Papers
) -> None:
    await made.read(
        "third order",
        (ORDER[0], {**ORDER[1], "number": "PO-9900", "issue_date": "2026-01-09"}),
        title="Order PO-9900",
    )
    await page.goto(f"{address}docs/{made.id_of('third order')}?tab=matches")
    await expect(page.locator("#connection")).to_have_text("Live")
    await expect(page.locator(".edge-suggested")).to_have_count(0)

    await made.suggest("third order", "other", log_odds=1.6)

    await expect(page.locator(".edge-suggested")).to_have_count(1)


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_pages_of_matches_fit_every_width_and_keep_the_rules(
    page: Page, address: str, made: Papers, language: str
) -> None:
    await page.context.add_cookies([{"name": "docmill-language", "value": language, "url": address}])
    paths = {
        "tab": f"docs/{made.id_of('order')}?tab=matches",
        "found": f"docs/{made.id_of('other')}?tab=matches&find=Sommer",
        "review": f"review/{made.id_of('invoice')}",
        "list": "matches?status=all",
        "empty": "matches?relation=quote_to_order",
    }
    found: list[str] = []
    for name, path in paths.items():
        await page.goto(f"{address}{path}")
        found += await violations(page)
        for width in (360, 768, 1024, 1440, 1920):
            await _size(page, width)
            found += [f"{path} {width} px: {wide}" for wide in await page.evaluate(WIDER)]
            found += [f"{path} {width} px: {wide}" for wide in await page.evaluate(CUT_OFF)]
            if width in (360, 1440):
                await _picture(page, f"{name}-{language}-{width}")
        await page.emulate_media(color_scheme="dark")
        await _picture(page, f"{name}-{language}-dark")

    assert found == []


async def test_no_label_of_the_graph_covers_another(page: Page, address: str, made: Papers) -> None:
    for index in range(6):
        delivery = {**CHAIN["delivery"][1], "number": f"LS-9000{index}", "lines": None}
        await made.read(f"part {index}", ("delivery_note", delivery), title=f"Delivery note LS-9000{index}")
    await page.goto(f"{address}docs/{made.id_of('order')}?tab=matches")
    await _picture(page, "many")

    covered = await page.evaluate(
        """() => {
            const labels = [...document.querySelectorAll(".match-graph text")];
            const boxes = labels.map((label) => label.getBoundingClientRect());
            return boxes.filter((one, at) => boxes.slice(at + 1).some((other) =>
                one.left < other.right && other.left < one.right &&
                one.top + 2 < other.bottom && other.top + 2 < one.bottom)).length;
        }"""
    )

    assert await page.locator(".match-graph .node").count() > 4
    assert covered == 0
